"""A small real server that does everything preflight asks for, and can be told to misbehave in one way.

One word is one token; the chat template adds a BOS and one token a message. A text is drawn from the prompt, and
from the seed where the temperature is above zero.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from lab.endpoint import Endpoint
from lab.engines.reference import Reference
from lab.spec import RunSpec

LIMIT = 1024
BOS = 1


class Obliging(ThreadingHTTPServer):
    """The server.

    Args:
        faults: names of what it does wrong; `_answer` below says what each means.
    """

    daemon_threads = True

    def __init__(self, *faults: str) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        self.faults = frozenset(faults)
        self.seen: set[str] = set()
        self.numbers = itertools.count()
        self.resets = 0
        self.asked: list[int] = []
        """Tokens of every answer that was asked for."""
        self.endpoint = Endpoint(f"http://127.0.0.1:{self.server_port}")


class ObligingAdapter(Reference):
    """Knows the server above; its text carries meaning."""

    key = "obliging"
    has_quality = True

    def chat_token_ids(
        self, endpoint: Endpoint, messages: Sequence[Mapping[str, Any]], spec: RunSpec
    ) -> tuple[int, ...] | None:
        tokens = endpoint.post("/tokenize", {"messages": list(messages)}).json().get("tokens")
        return tuple(tokens) if tokens else None


@contextmanager
def obliging(*faults: str) -> Iterator[Obliging]:
    """A running server."""
    with Obliging(*faults) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()


class _Asked(BaseHTTPRequestHandler):
    server: Obliging

    def do_GET(self) -> None:
        limit = 2048 if "states another limit" in self.server.faults else LIMIT
        self._send(200, {"data": [{"id": "seeded words", "max_model_len": limit}, {"id": "other", "max_model_len": 9}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/reset_prefix_cache":
            self.server.resets += 1
            self.server.seen.clear()
            self._send(200, {})
        elif self.path == "/tokenize":
            ids = _ids(body) if "messages" in body else [7] * len(body["content"].split())
            doubled = "doubles BOS in its template" in self.server.faults
            self._send(200, {"tokens": [BOS] * doubled + ids, "count": len(ids)})
        else:
            status, answer = _answer(self.server, body, chat="chat" in self.path)
            if body.get("stream") and status == 200:
                self._stream(answer, reasoning="thinks" in self.server.faults)
            else:
                self._send(status, answer)

    def _send(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, answer: dict[str, Any], reasoning: bool) -> None:
        choice = answer["choices"][0]
        if "text" in choice:
            pieces = [{"index": 0, "text": f"{word} ", "finish_reason": None} for word in choice["text"].split()]
            pieces[-1]["finish_reason"] = choice["finish_reason"]
            self._events([*({"choices": [piece]} for piece in pieces), {"choices": [], "usage": answer["usage"]}])
            return
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
        deltas += [
            {"reasoning" if reasoning else "content": f"{word} "} for word in choice["message"]["content"].split()
        ]
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        if "never ends" not in self.server.faults:
            chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
        self._events([*chunks, {"choices": [], "usage": answer["usage"]}])

    def _events(self, chunks: list[dict[str, Any]]) -> None:
        events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        done = [] if "never ends" in self.server.faults else ["data: [DONE]\n\n"]
        data = "".join(events + done).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def _ids(body: dict[str, Any]) -> list[int]:
    messages = body["messages"]
    words = [word for message in messages for word in (message.get("content") or "").split()]
    return [BOS, *(8 for _ in messages), *(7 for _ in words)]


def _answer(server: Obliging, body: dict[str, Any], *, chat: bool) -> tuple[int, dict[str, Any]]:
    faults = server.faults
    server.asked.append(body["max_tokens"])
    if chat and "has no chat route" in faults:
        return 404, {"error": {"message": "this model has no chat template"}}
    refuse = {"error": {"message": "not supported here"}}
    if "refuses unknown fields" in faults and "lab_preflight_unknown" in body:
        return 400, {"error": {"message": "extra fields not permitted"}}
    if body.get("max_tokens") == 0 and "needs max_tokens 1" in faults:
        return 400, {"error": {"message": "max_tokens must be at least 1"}}
    for field, fault in (("response_format", "refuses schemas"), ("tools", "refuses tools")):
        if field in body and fault in faults:
            return 400, refuse
    prompt = json.dumps(body["messages"]) if chat else body["prompt"]
    counted = len(_ids(body)) if chat else 1 + len(prompt.split())
    if counted > LIMIT:
        if "cuts long prompts" not in faults:
            return 400, {"error": {"message": f"{counted} tokens are more than {LIMIT}"}}
        counted = LIMIT - 1
    hit = prompt in server.seen and "caches" in faults
    server.seen.add(prompt)
    usage: dict[str, Any] = {
        "prompt_tokens": counted + ("doubles BOS" in faults),
        "prompt_tokens_details": None if "hides cached tokens" in faults else {"cached_tokens": counted * hit},
    }
    tokens = body["max_tokens"]
    if body.get("ignore_eos") and "stops early" in faults:
        tokens -= 1
    usage["completion_tokens"] = tokens
    if "sends no usage" in faults:
        usage = {}
    choice: dict[str, Any] = {"index": 0, "finish_reason": "length"}
    text = _text(server, body, prompt, tokens)
    if chat:
        choice["message"] = {"role": "assistant", "content": text}
        if "thinks" in faults:
            choice["message"]["reasoning"] = "hm"
        _in_form(body, choice, faults)
        if body.get("logprobs") and "forgets logprobs" not in faults:
            choice["logprobs"] = {"content": [{"token": "x", "logprob": -0.5}] * tokens}
    else:
        choice["text"] = text
        if body.get("echo"):
            scored = [-1.0 if word in "The capital of France is Paris" else -9.0 for word in prompt.split()]
            asked = [None, *scored] if "ignores echo" not in faults else []
            choice["logprobs"] = {"token_logprobs": [*asked, *[-2.0] * tokens]}
    return 200, {"choices": [choice], "usage": usage}


def _in_form(body: dict[str, Any], choice: dict[str, Any], faults: frozenset[str]) -> None:
    if "response_format" in body:
        value = {"vehicle": "bicycle", "wheels": 3 if "answers another schema" in faults else 2, "has_engine": False}
        choice |= {"finish_reason": "stop"}
        choice["message"]["content"] = json.dumps(value) if "ignores schemas" not in faults else "A bicycle has two."
    if "tools" in body and "answers in words" not in faults:
        call = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
        choice |= {"finish_reason": "tool_calls"}
        choice["message"] |= {"content": None, "tool_calls": [call]}


def _text(server: Obliging, body: dict[str, Any], prompt: str, tokens: int) -> str:
    faults = server.faults
    temperature = body.get("temperature", 0.8)
    key = prompt
    if temperature > 0:
        number = body.get("seed", next(server.numbers))
        key += str(next(server.numbers) if "ignores the seed" in faults else number)
    if "penalizes repetition" in faults and body.get("repetition_penalty", 1.1) != 1:
        key += "penalty"
    if "is never the same" in faults:
        key += str(next(server.numbers))
    draws = hashlib.sha256(key.encode()).digest() * (1 + tokens // 32)
    return " ".join(f"w{draw}" for draw in draws[:tokens])
