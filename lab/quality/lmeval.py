"""The lab's two parts inside lm-eval: a chat model that watches its answers and a task over a suite's items.

Importing this file imports lm-eval (about a second), so `lab/quality/harness.py` does it when a suite runs.
The digest of every suite covers this file. Written against lm-eval 0.4.13.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
import datasets
from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask
from lm_eval.models.openai_completions import LocalChatCompletion

from lab.quality import suite as suites
from lab.quality.replies import Reply, failed, read_reply
from lab.quality.scoring import METRICS
from lab.records import Outcome


class WatchedChat(LocalChatCompletion):
    """lm-eval's chat model with a transport that loses nothing.

    lm-eval's own sends other stop strings when it runs concurrently, repeats failed requests without counting
    them, gives up on the whole run when one stays failed, and takes an empty or cut answer for a wrong one.
    This one sends each request once, the same bytes at any concurrency, keeps a `Reply` for every item, and
    hands lm-eval None where there is nothing to score.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        sampling: dict[str, Any],
        context_limit: int,
        timeout_s: float,
        concurrency: int,
        on_progress: Callable[[int, int], None] | None,
    ) -> None:
        super().__init__(
            base_url=f"{base_url.rstrip('/')}/chat/completions",
            model=model,
            max_length=context_limit,
            num_concurrent=concurrency,
            max_retries=1,
        )
        self.replies: dict[tuple[str, int], Reply] = {}
        """By task name and index of the item."""
        self._sampling = sampling
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._on_progress = on_progress or (lambda done, total: None)
        self._gone = False

    @property
    def header(self) -> dict[str, str]:
        """The key of the environment, if there is one; it is kept nowhere else."""
        key = os.environ.get("OPENAI_API_KEY")
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _create_payload(self, messages: Any, *, gen_kwargs: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Everything that is sent: the messages, the task's limits, and every sampling value by name."""
        limits = {"max_tokens": gen_kwargs["max_gen_toks"], "stop": gen_kwargs["until"]}
        if not limits["stop"]:
            del limits["stop"]
        if "response_format" in gen_kwargs:
            limits["response_format"] = gen_kwargs["response_format"]
        return {"model": self.model, "messages": messages, "stream": False, **limits, **self._sampling}

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str | None]:
        """Answers in the order of the requests; None where there is nothing to score."""
        # A loop in a thread of its own, because the thread of a notebook already runs one.
        with ThreadPoolExecutor(1, "quality") as thread:
            asking = thread.submit(asyncio.run, self._ask_all(requests))
            try:
                asking.result()
            except BaseException:
                self._gone = True  # after Ctrl-C only the requests in flight are waited for
                raise
        replies = (self.replies[request.task_name, request.doc_id] for request in requests)
        return [reply.text if reply.unscored is None else None for reply in replies]

    async def _ask_all(self, requests: list[Instance]) -> None:
        turns = asyncio.Semaphore(self._concurrent)
        # A connection per request: an idle one that the server closed would look like a failed item.
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._concurrent, force_close=True),
            timeout=self._timeout,
            headers=self.header,
        )
        async with session:

            async def ask(request: Instance) -> None:
                async with turns:
                    self.replies[request.task_name, request.doc_id] = await self._ask(session, request)
                self._on_progress(len(self.replies), len(requests))

            async with asyncio.TaskGroup() as group:
                for request in requests:
                    group.create_task(ask(request))

    async def _ask(self, session: aiohttp.ClientSession, request: Instance) -> Reply:
        if self._gone:
            return failed(Outcome.CONNECTION, "not asked: the engine was gone", attempts=0)
        context, gen_kwargs = request.args
        payload = self._create_payload(self.create_message([context]), gen_kwargs=gen_kwargs)
        sent = time.perf_counter()
        try:
            async with session.post(self.base_url, json=payload, allow_redirects=False) as response:
                status, body = response.status, await response.read()
            reply = read_reply(status, body, time.perf_counter() - sent, "response_format" in payload)
        except TimeoutError:
            outcome, error = Outcome.TIMEOUT, f"no answer within {self._timeout.total:g} s"
        except aiohttp.ClientConnectorError:
            self._gone = True
            outcome, error = Outcome.CONNECTION, "nobody accepts connections"
        except aiohttp.ClientPayloadError:
            outcome, error = Outcome.TRUNCATED, "the body was cut"
        except aiohttp.ClientResponseError:
            outcome, error = Outcome.MALFORMED, "the response is not HTTP"
        except (aiohttp.ClientError, OSError) as problem:
            outcome, error = Outcome.CONNECTION, f"the connection was lost: {type(problem).__name__}"
        else:
            return _without_key(reply)
        return failed(outcome, error, latency_s=time.perf_counter() - sent)


class ItemTask(ConfigurableTask):
    """A task of a suite: chat turns by lm-eval, the item's own schema in its own request, the lab's score."""

    def __init__(self, suite: suites.Suite, task: suites.Task) -> None:
        self._task = task
        config = task.config
        shown = [{"question": example.question, "target": example.answer} for example in config.examples]
        super().__init__(
            config={
                "task": config.task,
                "output_type": "generate_until",
                "test_split": "test",
                "doc_to_text": "question",
                "doc_to_target": "target",
                "num_fewshot": len(shown),
                "fewshot_config": {"sampler": "first_n", "samples": shown},
                "generation_kwargs": {"until": list(config.stop), "max_gen_toks": config.max_tokens},
                "process_results": self._score,
                "metric_list": [{"metric": config.metric, "aggregation": "mean", "higher_is_better": True}],
                "metadata": {"version": suite.version},
            }
        )

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """The items in memory: no file is looked for, no cache is written, no hub is asked."""
        rows = [
            {"index": i, "question": item.question, "target": item.accept[0] if item.accept else ""}
            for i, item in enumerate(self._task.items)
        ]
        self.dataset = {"test": datasets.Dataset.from_list(rows)}

    def build_all_requests(self, **kwargs: Any) -> None:
        """One request an item, in the order of the file; lm-eval's own adds a progress bar and a cache."""
        chat = {key: kwargs[key] for key in ("apply_chat_template", "fewshot_as_multiturn", "chat_template")}
        self._instances = []
        for index, doc in self.doc_iterator():
            context = self.fewshot_context(doc, self.config.num_fewshot, **chat)
            names = (self.config.task, index, 1)
            self._instances.append(self.construct_requests(doc=doc, ctx=context, metadata=names))

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **kwargs: Any) -> Instance:
        """The item's request, with the item's own schema when the task asks for constrained answers."""
        request = super().construct_requests(doc, ctx, **kwargs)
        if self._task.config.response_format == "json_schema":
            item = self._task.items[doc["index"]]
            named = {"name": item.id, "schema": item.answer_schema, "strict": True}
            request.args[1]["response_format"] = {"type": "json_schema", "json_schema": named}
        return request

    def _score(self, doc: dict[str, Any], results: list[str | None]) -> dict[str, float]:
        """The item's score by name of the metric; nothing when there is no complete answer."""
        (answer,) = results
        if answer is None:
            return {}
        item, metric = self._task.items[doc["index"]], self._task.config.metric
        key = item.answer_schema if metric == "schema_valid" else item.accept
        return {metric: METRICS[metric](answer, key)}


def _without_key(reply: Reply) -> Reply:
    """The reply, with the API key struck out should the server have quoted it."""
    key = os.environ.get("OPENAI_API_KEY")
    if not key or key not in (reply.error or ""):
        return reply
    return reply.model_copy(update={"error": (reply.error or "").replace(key, "[key]")})
