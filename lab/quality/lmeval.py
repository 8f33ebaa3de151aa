"""The lab's parts inside lm-eval: two models that watch their answers, and a task over a suite's items.

Importing this file imports lm-eval (about a second), so it is done when a suite runs or is pinned.
The digest of every suite covers this file. Written against lm-eval 0.4.13.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

import aiohttp
import datasets
from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask
from lm_eval.models.api_models import JsonChatStr
from lm_eval.models.openai_completions import LocalChatCompletion, LocalCompletionsAPI

from lab.quality import suite as suites
from lab.quality.replies import (
    Echo,
    Reply,
    failed,
    read_chat,
    read_completion,
    read_echo,
    unsent,
)
from lab.quality.scoring import KEYS, METRICS, MetricName
from lab.records import Outcome, Unscored

Key = tuple[str, int, int]
"""One request: name of the task, index of the item, index of the request within the item."""

OUTPUT_TYPES: dict[suites.Output, str] = {
    "chat": "generate_until",
    "completion": "generate_until",
    "choice": "multiple_choice",
    "continuation": "loglikelihood",
    "perplexity": "loglikelihood_rolling",
}
"""What lm-eval calls the outputs of a suite."""

_URL = re.compile(r"https?://[^\s\"'<>]+")
_PATH = re.compile(r"(?<![\w/\\])(?:~|[A-Za-z]:)?(?:[/\\][\w.@+\-]+){2,}")


class Tokenizer(Protocol):
    """What likelihoods need of a model's tokenizer; special tokens are never added."""

    @property
    def prefix_id(self) -> int | None:
        """The token a text without context begins with; None when there is none."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: its whole body, and how its response is read."""

    payload: dict[str, Any]
    read: Callable[[int, bytes, float], Reply]


class Transport:
    """Sends every request of a suite once, the same bytes at any concurrency, and loses nothing.

    lm-eval's own sends other stop strings when it runs concurrently, repeats failed requests without counting
    them, and gives up on the whole run when one stays failed.

    Attributes:
        replies: by request, also for those that were not sent.
        ended: why the rest is not asked; None while the engine answers and nobody has stopped it.
    """

    def __init__(
        self, base_url: str, timeout_s: float, concurrency: int, on_progress: Callable[[int, int], None], items: int
    ) -> None:
        self.replies: dict[Key, Reply] = {}
        self.ended: Literal["engine-gone", "stopped"] | None = None
        self._base_url = base_url.rstrip("/")
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._concurrency = concurrency
        self._on_progress, self._done, self._items = on_progress, 0, items

    def ask_all(self, path: str, asks: Mapping[Key, Ask | Reply]) -> None:
        """Fill `replies` for all `asks`; a `Reply` among them stands for a request that need not be sent."""
        # A loop in a thread of its own, because the thread of a notebook already runs one.
        with ThreadPoolExecutor(1, "quality") as thread:
            asking = thread.submit(asyncio.run, self._ask_all(self._base_url + path, asks))
            try:
                asking.result()
            except KeyboardInterrupt:
                self.ended = "stopped"  # only the requests in flight are waited for
                asking.result()

    async def _ask_all(self, url: str, asks: Mapping[Key, Ask | Reply]) -> None:
        turns = asyncio.Semaphore(self._concurrency)
        left = Counter((task, item) for task, item, _ in asks)
        key = os.environ.get("OPENAI_API_KEY")  # it is kept nowhere else
        # A connection per request: an idle one that the server closed would look like a failed item.
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._concurrency, force_close=True),
            timeout=self._timeout,
            headers={"Authorization": f"Bearer {key}"} if key else {},
        )
        async with session:

            async def ask(name: Key, what: Ask | Reply) -> None:
                async with turns:
                    self.replies[name] = what if isinstance(what, Reply) else await self._ask(session, url, what)
                left[name[:2]] -= 1
                if not left[name[:2]] and self.ended is None:
                    self._done += 1
                    self._on_progress(self._done, self._items)

            async with asyncio.TaskGroup() as group:
                for name, what in asks.items():
                    group.create_task(ask(name, what))

    async def _ask(self, session: aiohttp.ClientSession, url: str, ask: Ask) -> Reply:
        if self.ended is not None:
            return unsent(Unscored.NOT_ASKED, f"not asked: {_ENDINGS[self.ended]}")
        sent = time.perf_counter()
        try:
            async with session.post(url, json=ask.payload, allow_redirects=False) as response:
                status, body = response.status, await response.read()
            reply = ask.read(status, body, time.perf_counter() - sent)
        except TimeoutError:
            outcome, error = Outcome.TIMEOUT, f"no answer within {self._timeout.total:g} s"
        except aiohttp.ClientConnectorError:
            self.ended = self.ended or "engine-gone"
            outcome, error = Outcome.CONNECTION, "nobody accepts connections"
        except aiohttp.ClientPayloadError:
            outcome, error = Outcome.TRUNCATED, "the body was cut"
        except aiohttp.ClientResponseError:
            outcome, error = Outcome.MALFORMED, "the response is not HTTP"
        except (aiohttp.ClientError, OSError) as problem:
            outcome, error = Outcome.CONNECTION, f"the connection was lost: {type(problem).__name__}"
        else:
            return _without_secrets(reply)
        return failed(outcome, error, latency_s=time.perf_counter() - sent)


_ENDINGS = {"engine-gone": "the engine was gone", "stopped": "the run was stopped"}


@dataclass(frozen=True, slots=True)
class Asking:
    """What both models send with and through.

    Attributes:
        transport: shared, so that an engine that is gone is gone for both.
        model: the name the engine knows the model by.
        sampling: sent as it is in every request.
        context_limit: most tokens of one sequence, prompt and answer together.
        tokenizer: of the model; None when its files are not at hand.
    """

    transport: Transport
    model: str
    sampling: Mapping[str, Any]
    context_limit: int
    tokenizer: Tokenizer | None

    def body(self, payload: dict[str, Any]) -> dict[str, Any]:
        """The whole body of a request."""
        return {"model": self.model, **payload, **self.sampling}

    def least_tokens(self, texts: Sequence[str]) -> int:
        """Tokens that a prompt made of these texts has at least; 0 when nothing can count them.

        Templates strip the ends of a text, which can cost it a token.
        """
        if self.tokenizer is None:
            return 0
        return sum(max(len(self.tokenizer.encode(text.strip())) - 1, 0) for text in texts)

    def misfit(self, tokens: int, answer: int) -> Reply | None:
        """Says that prompt and answer are longer than the context; None when they are not."""
        if tokens + answer <= self.context_limit:
            return None
        words = f"{tokens} tokens and {answer} for the answer do not fit into {self.context_limit}; nothing was cut"
        return unsent(Unscored.DOES_NOT_FIT, words)

    def written(self, path: str, asks: Mapping[Key, Ask | Reply], requests: Sequence[Instance]) -> list[str | None]:
        """Answers in the order of the requests; None where there is nothing to score."""
        self.transport.ask_all(path, asks)
        replies = (self.transport.replies[key_of(request)] for request in requests)
        return [reply.text if reply.unscored is None else None for reply in replies]


class WatchedChat(LocalChatCompletion):
    """lm-eval's chat model; it keeps a `Reply` for every item and hands lm-eval None where nothing is to score."""

    def __init__(self, asking: Asking) -> None:
        super().__init__(base_url="unused: the transport knows it", model=asking.model, tokenizer_backend=None)
        self._asking = asking

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> Any:
        """The turns themselves: the engine applies its own template."""
        return as_turns(chat_history)

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str | None]:
        """Answers in the order of the requests; None where there is nothing to score."""
        asks = {key_of(request): self._ask(*request.args) for request in requests}
        return self._asking.written("/chat/completions", asks, requests)

    def _ask(self, context: JsonChatStr, gen_kwargs: dict[str, Any]) -> Ask | Reply:
        payload = chat_payload(context, gen_kwargs)
        least = self._asking.least_tokens([message["content"] for message in payload["messages"]])
        constrained = "response_format" in payload

        def read(status: int, body: bytes, latency_s: float) -> Reply:
            return read_chat(status, body, latency_s, constrained=constrained, least_tokens=least)

        return self._asking.misfit(least, payload["max_tokens"]) or Ask(self._asking.body(payload), read)


class WatchedCompletions(LocalCompletionsAPI):
    """lm-eval's completions model: what a text is followed by, and how likely a text is, by the engine's own echo.

    lm-eval's own cuts long prompts from the left without a word, adds up whatever logprobs came back, and takes an
    empty or cut answer for a wrong one. This one sends a prompt whole or not at all.
    """

    def __init__(self, asking: Asking) -> None:
        super().__init__(base_url="unused: the transport knows it", model=asking.model, tokenizer_backend=None)
        self._asking = asking

    def tok_encode(self, string: str, **_: Any) -> list[int]:
        """Token ids, no special ones added."""
        assert self._asking.tokenizer is not None  # tasks that need ids are not run without one
        return self._asking.tokenizer.encode(string)

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str | None]:
        """Continuations in the order of the requests; None where there is nothing to score."""
        asks = {key_of(request): self._ask_text(*request.args) for request in requests}
        return self._asking.written("/completions", asks, requests)

    def loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool | None] | None]:
        """Log-likelihood of each continuation and whether greedy decoding writes it; None where it is not known."""
        greedy: dict[Key, bool | None] = {}
        asks = {key_of(request): self._ask_pair(request, greedy) for request in requests}
        self._asking.transport.ask_all("/completions", asks)
        return [
            None if (value := self._value(request)) is None else (value, greedy[key_of(request)])
            for request in requests
        ]

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> list[float | None]:
        """Log-likelihood of each text, its first token after the prefix token; None where it is not known."""
        asks = {key_of(request): self._ask_whole(request) for request in requests}
        self._asking.transport.ask_all("/completions", asks)
        return [self._value(request) for request in requests]

    def _value(self, request: Instance) -> float | None:
        reply = self._asking.transport.replies[key_of(request)]
        return reply.loglikelihoods[0] if reply.unscored is None else None

    def _ask_text(self, context: str, gen_kwargs: dict[str, Any]) -> Ask | Reply:
        payload = completion_payload(context, gen_kwargs)
        least = self._asking.least_tokens([context])

        def read(status: int, body: bytes, latency_s: float) -> Reply:
            return read_completion(status, body, latency_s, least_tokens=least)

        return self._asking.misfit(least, payload["max_tokens"]) or Ask(self._asking.body(payload), read)

    def _ask_pair(self, request: Instance, greedy: dict[Key, bool | None]) -> Ask | Reply:
        context, continuation = request.args
        before, after = self._encode_pair(context, continuation)
        ids = self.tok_encode(context + continuation)
        if not before or not after or before + after != ids:
            words = "this tokenizer draws the end of the context and the text into one token"
            return unsent(Unscored.NOT_SUPPORTED, words)
        key = key_of(request)

        def note(value: bool | None) -> None:
            greedy[key] = value

        return self._ask_echo(ids, len(before), note)

    def _ask_whole(self, request: Instance) -> Ask | Reply:
        (text,) = request.args
        assert self._asking.tokenizer is not None
        prefix = self._asking.tokenizer.prefix_id
        if prefix is None:
            return unsent(Unscored.NOT_SUPPORTED, "the tokenizer names no token that a text begins with")
        return self._ask_echo([prefix, *self.tok_encode(text)], 1, None)

    def _ask_echo(
        self, ids: list[int], scored_from: int, note_greedy: Callable[[bool | None], None] | None
    ) -> Ask | Reply:
        assert self._asking.tokenizer is not None
        echo = Echo(tuple(ids), scored_from, self._asking.tokenizer.decode, needs_greedy=note_greedy is not None)

        def read(status: int, body: bytes, latency_s: float) -> Reply:
            found = read_echo(status, body, latency_s, echo)
            if note_greedy is not None:
                note_greedy(found.greedy)
            return found.reply

        return self._asking.misfit(len(ids), 1) or Ask(self._asking.body(echo_payload([ids])), read)


class ItemTask(ConfigurableTask):
    """A task of a suite: prompts by lm-eval, the item's own schema in its own request, no file, no hub, no cache."""

    def __init__(self, suite: suites.Suite, task: suites.Task) -> None:
        self._task = task
        config, written = task.config, task.config.output in suites.WRITTEN
        delimiters = {
            name: value
            for name in ("target_delimiter", "fewshot_delimiter")
            if (value := getattr(config, name)) is not None
        }
        shown: list[dict[str, Any]] = [{"question": one.question, "target": one.answer} for one in config.examples]
        if config.output == "choice":
            shown = [one | {"target": 0, "choices": [one["target"]]} for one in shown]
        super().__init__(
            config={
                "task": config.task,
                "output_type": OUTPUT_TYPES[config.output],
                "test_split": "test",
                "doc_to_text": "question",
                "doc_to_target": "target",
                **({"doc_to_choice": "choices"} if config.output == "choice" else {}),
                **delimiters,
                "num_fewshot": len(shown),
                "fewshot_config": {"sampler": "first_n", "samples": shown},
                **(
                    {
                        "generation_kwargs": {"until": list(config.stop), "max_gen_toks": config.max_tokens},
                        "process_results": self._score,
                    }
                    if written
                    else {}
                ),
                "metric_list": [
                    {
                        "metric": config.metric,
                        "aggregation": "bits_per_byte" if config.metric == "bits_per_byte" else "mean",
                        "higher_is_better": config.better == "higher",
                    }
                ],
                "metadata": {"version": suite.version, "extract": config.extract},
            }
        )

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """The items in memory: no file is looked for, no cache is written, no hub is asked."""
        self.dataset = {"test": datasets.Dataset.from_list([self._row(*one) for one in enumerate(self._task.items)])}

    def build_all_requests(self, **kwargs: Any) -> None:
        """The requests of every item, in the order of the file; lm-eval's own adds a progress bar and a cache."""
        chat = {key: kwargs[key] for key in ("apply_chat_template", "fewshot_as_multiturn", "chat_template")}
        self._instances = []
        for index, doc in self.doc_iterator():
            context = self.fewshot_context(doc, self.config.num_fewshot, **chat)
            built = self.construct_requests(doc=doc, ctx=context, metadata=(self.config.task, index, 1))
            self._instances += built if isinstance(built, list) else [built]

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **kwargs: Any) -> Instance | list[Instance]:
        """The item's requests, with the item's own schema when the task asks for constrained answers."""
        requests = super().construct_requests(doc, ctx, **kwargs)
        if self._task.config.response_format == "json_schema":
            item = self._task.items[doc["index"]]
            named = {"name": item.id, "schema": item.answer_schema, "strict": True}
            requests.args[1]["response_format"] = {"type": "json_schema", "json_schema": named}
        return requests

    def process_results(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """The item's score by name of the metric; nothing when one of its requests has nothing to score."""
        scored: dict[str, Any] = {} if None in results else super().process_results(doc, results)
        return scored

    def _row(self, index: int, item: suites.Item) -> dict[str, Any]:
        row: dict[str, Any] = {"index": index, "question": question(self._task.config, item)}
        match self._task.config.output:
            case "choice":
                return row | {"target": item.choices.index(item.accept[0]), "choices": list(item.choices)}
            case "continuation":
                return row | {"target": self.config.target_delimiter + item.accept[0]}
            case "perplexity":
                return row | {"target": item.question}
        return row | {"target": item.accept[0] if item.accept else ""}

    def _score(self, doc: dict[str, Any], results: list[str]) -> dict[str, float]:
        """A written answer by the lab's own metric."""
        (answer,) = results
        item, config = self._task.items[doc["index"]], self._task.config
        if config.extract is not None:
            found = re.findall(config.extract, answer)
            if not found:
                return {config.metric: 0.0}
            answer = found[-1]
        metric = cast(MetricName, config.metric)  # suites check that the metric fits the output
        key = KEYS[metric]
        return {metric: METRICS[metric](answer, getattr(item, key) if key else None)}


def question(config: suites.TaskConfig, item: suites.Item) -> str:
    """What the model is asked: the item's question, with its schema where the task shows it."""
    if not config.show_schema:
        return item.question
    schema = json.dumps(item.answer_schema, ensure_ascii=False, separators=(",", ":"))
    asked = "Answer with one JSON value that fits this JSON Schema, and nothing else:"
    return f"{item.question}\n\n{asked}\n{schema}"


def key_of(request: Instance) -> Key:
    """Names a request."""
    return request.task_name, request.doc_id, request.idx


def as_turns(messages: list[dict[str, str]], **_: Any) -> JsonChatStr:
    """Chat turns as lm-eval hands them from a task to a chat model."""
    return JsonChatStr(json.dumps(messages, ensure_ascii=False))


def chat_payload(context: JsonChatStr, gen_kwargs: dict[str, Any]) -> dict[str, Any]:
    """What a chat request says, model and sampling apart."""
    return {"messages": json.loads(context.prompt), **_limits(gen_kwargs)}


def completion_payload(context: str, gen_kwargs: dict[str, Any]) -> dict[str, Any]:
    """What a request for a continuation says, model and sampling apart."""
    return {"prompt": context, **_limits(gen_kwargs)}


def echo_payload(prompt: Any) -> dict[str, Any]:
    """What a request for a likelihood says, model and sampling apart.

    One new token, because some servers refuse to make none (SGLang: HTTP 400).
    """
    return {"prompt": prompt, "echo": True, "logprobs": 1, "max_tokens": 1, "stream": False}


def _limits(gen_kwargs: dict[str, Any]) -> dict[str, Any]:
    limits = {"stream": False, "max_tokens": gen_kwargs["max_gen_toks"]}
    if gen_kwargs["until"]:
        limits["stop"] = gen_kwargs["until"]
    if "response_format" in gen_kwargs:
        limits["response_format"] = gen_kwargs["response_format"]
    return limits


def _without_secrets(reply: Reply) -> Reply:
    """The reply without the API key, and a server's words without names of hosts and paths."""
    key, error, text = os.environ.get("OPENAI_API_KEY"), reply.error, reply.text
    if key:
        error, text = (words and words.replace(key, "[key]") for words in (error, text))
    if error:
        error = _PATH.sub("[path]", _URL.sub("[url]", error))
        host = socket.gethostname()
        error = re.sub(rf"(?<![\w.\-]){re.escape(host)}(?![\w\-])", "[host]", error) if host else error
    return reply.model_copy(update={"error": error, "text": text})
