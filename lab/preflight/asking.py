"""One question to a running engine, as every probe asks it: neutral sampling, the plan's template, one limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lab.endpoint import Answer, Endpoint
from lab.engines.base import Adapter
from lab.errors import EndpointError
from lab.load import sse
from lab.load.answer import error_words, read_answer
from lab.load.prompts import PATHS
from lab.load.spool import Exchange
from lab.records import Effective, RequestRecord
from lab.spec import NEUTRAL_SAMPLING, RunSpec

Result = Literal["pass", "fail", "not-exposed"]
Messages = Sequence[Mapping[str, Any]]

FIRST_WORD = "Preflight"
"""Begins every prompt of a probe and none of the load: what a probe leaves in a prefix cache is of no use to it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a probe saw.

    Attributes:
        result: how the check ended.
        detail: in words; they may quote the server.
        counts: what was counted, where runs are compared by it.
    """

    result: Result
    detail: str
    counts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one question.

    Attributes:
        status: HTTP status.
        body: its JSON object; empty when it is none.
        words: what a refusal says; empty for a 200.
        seconds: from asking to the end of the answer.
    """

    status: int
    body: dict[str, Any]
    words: str
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether it answered with at least one choice."""
        return self.status == 200 and bool(self.choice)

    @property
    def refused(self) -> bool:
        """Whether it said that it does not do this: the request's fault, in HTTP's words."""
        return 400 <= self.status < 500 or self.status == 501

    @property
    def choice(self) -> dict[str, Any]:
        """The first choice; empty when there is none."""
        choices = self.body.get("choices")
        return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}

    @property
    def message(self) -> dict[str, Any]:
        """The message of a chat answer; empty when there is none."""
        message = self.choice.get("message")
        return message if isinstance(message, dict) else {}

    @property
    def text(self) -> str:
        """The answer's text, of either route."""
        text = self.message.get("content") or self.choice.get("text")
        return text if isinstance(text, str) else ""

    @property
    def finish_reason(self) -> str | None:
        """Why it ended; None when it does not say."""
        reason = self.choice.get("finish_reason")
        return reason if isinstance(reason, str) else None

    def count(self, *path: str) -> int | None:
        """A count below `usage`, for instance "prompt_tokens"; None when it is not sent."""
        value: Any = self.body.get("usage")
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def said(self) -> str:
        """Status and words of an answer that is not what was asked for."""
        return f"HTTP {self.status}" + (f": {self.words[:160]}" if self.words else "")


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine that is asked, and until when.

    Attributes:
        adapter: knows its dialect.
        endpoint: where it listens.
        spec: what is about to be run.
        effective: what was read back from it.
        tokenizer: counts tokens with the model's own files; None: they cannot be read.
        deadline: second of `time.monotonic` after which nothing more is asked.
        route: which route is asked; None: the one that the workload drives.
    """

    adapter: Adapter
    endpoint: Endpoint
    spec: RunSpec
    effective: tuple[Effective, ...] = ()
    tokenizer: Callable[[str], int] | None = None
    deadline: float = float("inf")
    route: Literal["chat", "completions"] | None = None

    def until(self, deadline: float) -> Engine:
        """The same engine, asked until `deadline` at most."""
        return replace(self, deadline=min(deadline, self.deadline))

    def on_chat(self) -> Engine:
        """The same engine, asked by its chat route whatever the workload drives."""
        return replace(self, route="chat")

    def remaining_s(self) -> float:
        """Seconds left; raises EndpointError when there are none."""
        left_s = self.deadline - time.monotonic()
        if left_s <= 0:
            raise EndpointError("the time for this check was over")
        return min(left_s, 3600.0)

    def get(self, path: str) -> Answer:
        """GET a route; any status is an answer."""
        return self.endpoint.get(path, timeout_s=self.remaining_s())

    def neutral(self, **changes: Any) -> dict[str, Any]:
        """Every sampling field this engine has, greedy and neutral but for `changes`."""
        return self.adapter.sampling_fields(NEUTRAL_SAMPLING.model_copy(update=changes)).body

    def user(self, text: str) -> list[dict[str, Any]]:
        """One message, begun so that no load knows it."""
        return [{"role": "user", "content": f"{FIRST_WORD}: {text}"}]

    def ask(self, messages: Messages, tokens: int, *, sampling: dict[str, Any] | None = None, **fields: Any) -> Reply:
        """Ask for an answer that is not streamed, by the route that is driven.

        Args:
            messages: the conversation; the completions route gets its texts as one.
            tokens: the most tokens of the answer.
            sampling: fields of the sampling; None: neutral, every one of them.
            **fields: further fields of the request.
        """
        return self._ask(self._path, self.body(messages, tokens, sampling) | fields)

    def body(self, messages: Messages, tokens: int, sampling: dict[str, Any] | None = None) -> dict[str, Any]:
        """The request of `ask` as data."""
        chat: dict[str, Any] = {"messages": list(messages), **self.adapter.template_fields(self.spec).body}
        plain = {"prompt": "\n".join(str(message["content"]) for message in messages)}
        return {
            "model": self.adapter.served_name(self.spec),
            **(plain if self._route == "completions" else chat),
            **(self.neutral() if sampling is None else sampling),
            **self.adapter.length_fields(tokens, exact=False).body,
        }

    @property
    def _route(self) -> Literal["chat", "completions"]:
        return self.route or self.spec.workload.endpoint

    @property
    def _path(self) -> str:
        return self.adapter.api_path + PATHS[self._route]

    def complete(self, prompt: str, tokens: int, **fields: Any) -> Reply:
        """Ask the completions route, not streamed."""
        body = {"model": self.adapter.served_name(self.spec), "prompt": prompt, **self.neutral(), "max_tokens": tokens}
        return self._ask(self.adapter.api_path + "/completions", body | fields)

    def stream(self, body: dict[str, Any], tokens: int, *, exact: bool) -> RequestRecord:
        """One streamed answer, judged as the load judges it; its times mean nothing."""
        answer = self._stream(body)
        exchange = Exchange(level=0, index=0, warmup=False, intended_s=0.0, end_s=0.0, status=answer.status)
        exchange.packets, exchange.arrivals = [answer.body], [0.0]
        return read_answer(exchange, asked_tokens=tokens, exact=exact)

    def stream_events(self, body: dict[str, Any]) -> tuple[int, list[str]]:
        """Status, and the data of every event of one streamed answer."""
        answer = self._stream(body)
        return answer.status, [event.data.strip() for event in sse.parse([answer.body], [0.0])]

    def _stream(self, body: dict[str, Any]) -> Answer:
        whole = {**body, "stream": True, "stream_options": {"include_usage": True}}
        return self.endpoint.post(self._path, whole, timeout_s=self.remaining_s())

    def _ask(self, path: str, body: dict[str, Any]) -> Reply:
        start_s = time.monotonic()
        answer = self.endpoint.post(path, body, timeout_s=self.remaining_s())
        seconds = time.monotonic() - start_s
        document = answer.json()
        words = "" if answer.status == 200 else error_words(answer.body) or ""
        return Reply(answer.status, document if isinstance(document, dict) else {}, words, seconds)
