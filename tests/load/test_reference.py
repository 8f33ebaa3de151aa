"""The reference engine says what its arithmetic says, and writes down truthfully when it did.

Wall-clock assertions are orderings and lower bounds only: the machines that run this are shared.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from lab.load.reference_model import (
    WORDS,
    Behaviour,
    PrefixCache,
    compose,
    first_tick,
    split_words,
    token_times,
)

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
PATIENCE_S = 30.0


@dataclass
class Engine:
    """A running reference engine."""

    port: int
    process: subprocess.Popen[str]

    def ask(self, path: str, data: Any = None, method: str | None = None, **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        body = data if data is None or isinstance(data, (bytes, str)) else json.dumps(data)
        method = method or ("GET" if data is None else "POST")
        connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        response = connection.getresponse()
        reply = Reply(response.status, dict(response.getheaders()), response.read())
        connection.close()
        return reply

    def metric(self, name: str) -> float:
        found = re.search(rf"^reference:{name}{{.*}} (\S+)$", self.ask("/metrics").body.decode(), re.M)
        assert found is not None
        return float(found[1])

    def emitted(self, request_id: str) -> dict[str, Any]:
        told = self.ask(f"/emitted?request_id={request_id}").json()
        assert isinstance(told, dict)
        return told


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def chunks(self) -> list[dict[str, Any]]:
        """Chunks of a stream without its `[DONE]`, which has to be there."""
        events = [line.removeprefix("data: ") for line in self.body.decode().split("\n\n") if line]
        assert events.pop() == "[DONE]"
        return [json.loads(event) for event in events]


@contextmanager
def running(*flags: str) -> Iterator[Engine]:
    """A reference engine on a free port."""
    command = [sys.executable, "-m", "lab.load.reference", "--port", "0", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.fullmatch(r"reference engine listening on http://127.0.0.1:(\d+) \(model .*\)\n", line)
            assert found is not None, line
            yield Engine(int(found[1]), process)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with running(
        "--ttft-s",
        "0.01",
        "--tick-s",
        "0.004",
        "--prefill-s-per-token",
        "0.0005",
        "--max-body-bytes",
        "100000",
        "--context-limit",
        "600",
    ) as it:
        yield it


def chat(content: str, tokens: int = 4, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": content}]
    return {"model": "reference", "messages": messages, "max_tokens": tokens, "ignore_eos": True, **more}


def stream(content: str, tokens: int = 4, **more: Any) -> dict[str, Any]:
    return chat(content, tokens, stream=True, stream_options={"include_usage": True}, **more)


def connected(engine: Engine) -> socket.socket:
    return socket.create_connection(("127.0.0.1", engine.port), timeout=PATIENCE_S)


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)


# --- arithmetic -------------------------------------------------------------------------------------------


def test_tokens_come_on_the_ticks_after_the_prompt_is_read() -> None:
    behaviour = Behaviour(ttft_s=0.05, tick_s=0.02, prefill_s_per_token=0.0001)
    assert token_times(0.0, 3, behaviour) == pytest.approx((0.06, 0.08, 0.10))
    assert token_times(0.01, 2, behaviour) == pytest.approx((0.06, 0.08))  # ready on the tick itself
    assert token_times(0.0, 2, behaviour, uncached_tokens=101) == pytest.approx((0.08, 0.10))
    assert token_times(7.0, 2, behaviour, origin_s=6.99) == pytest.approx((7.05, 7.07))


def test_several_tokens_a_chunk_share_a_tick() -> None:
    behaviour = Behaviour(ttft_s=0, tick_s=1, tokens_per_chunk=2)
    assert token_times(0.0, 5, behaviour) == (0, 0, 1, 1, 2)


def test_a_moment_on_the_grid_is_its_own_tick() -> None:
    for tick in range(10_000):
        assert first_tick(tick * 0.02, 0.02) == tick
        assert first_tick(tick * 0.02 + 1e-6, 0.02) == tick + 1


def test_an_answer_is_decided_by_prompt_and_seed() -> None:
    assert len(set(WORDS)) == len(WORDS) == 128
    one = compose("a prompt", 50, ignore_eos=True)
    assert one == compose("a prompt", 50, ignore_eos=True)
    assert one.text.startswith(compose("a prompt", 20, ignore_eos=True).text)
    assert one.text not in (
        compose("a prompt", 50, "1", ignore_eos=True).text,
        compose("another", 50, ignore_eos=True).text,
    )
    assert (len(one.text.split()), one.finish_reason) == (50, "length")


def test_an_answer_may_end_by_itself_but_not_before_min_tokens() -> None:
    lengths = {len(compose(f"p{i}", 10_000).pieces) for i in range(200)}
    assert min(lengths) >= 1 and max(lengths) <= 512 and len(lengths) > 100
    answer = next(a for i in range(200) if len((a := compose(f"p{i}", 100)).pieces) < 50)
    assert answer.finish_reason == "stop"
    assert all(len(compose(f"p{i}", 600, min_tokens=600).pieces) == 600 for i in range(20))


def test_a_stop_string_ends_the_text_before_it_and_counts_the_tokens_it_swallowed() -> None:
    whole = compose("p", 20, ignore_eos=True)
    words = whole.text.split()
    first = words.index(words[5])
    cut = compose("p", 20, ignore_eos=True, stop=["never said", f"{words[first]} {words[first + 1]}"])
    assert cut.text == "".join(" " + word for word in words[:first])[1:] + (" " if first else "")
    assert (len(cut.pieces), cut.finish_reason) == (first + 2, "stop")


def test_the_prefix_cache_finds_the_longest_common_prefix_of_all_prompts() -> None:
    draw = random.Random(1)
    cache, seen = PrefixCache(10_000), [[""]]
    for _ in range(300):
        prompt = [draw.choice("ab") for _ in range(draw.randint(1, 12))]
        expected = max(sum(prompt[: n + 1] == other[: n + 1] for n in range(len(prompt))) for other in seen)
        assert cache.take(prompt) == expected
        seen.append(prompt)
    cache.clear()
    assert cache.take(seen[-1]) == 0


def test_the_prefix_cache_is_bounded_and_forgets_the_oldest_prompt_first() -> None:
    cache = PrefixCache(8)
    assert [cache.take(words.split()) for words in ("a b c d", "e f g h", "i j k l")] == [0, 0, 0]
    assert cache.take(["e", "f", "x", "y"]) == 2
    assert cache.take(["a", "b", "c", "d"]) == 0
    assert cache.take([str(i) for i in range(9)]) == 0
    assert cache.take([str(i) for i in range(9)]) == 0


def test_punctuation_sticks_to_its_word() -> None:
    assert split_words(["Stop, look.\n", "  listen "]) == ["Stop,", "look.", "listen"]


# --- on the wire ------------------------------------------------------------------------------------------


def test_a_chat_stream_has_the_layout_of_real_engines(engine: Engine) -> None:
    reply = engine.ask(CHAT, stream("hello sea", 3), x_request_id="layout")
    assert (reply.status, reply.headers["x-request-id"]) == (200, "layout")
    assert reply.headers["content-type"].startswith("text/event-stream")
    role, *content, finish, usage = reply.chunks()
    assert role["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert all(set(chunk["choices"][0]["delta"]) == {"content"} for chunk in content) and len(content) == 3
    assert (finish["choices"][0]["delta"], finish["choices"][0]["finish_reason"]) == ({}, "length")
    assert usage["choices"] == []
    assert usage["usage"] == {
        "prompt_tokens": 2,
        "completion_tokens": 3,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert len({chunk["id"] for chunk in (role, *content, finish, usage)}) == 1
    assert {role["object"], usage["object"]} == {"chat.completion.chunk"}


def test_usage_comes_only_when_it_was_asked_for(engine: Engine) -> None:
    chunks = engine.ask(CHAT, chat("no usage", stream=True)).chunks()
    assert all(chunk["choices"] and "usage" not in chunk for chunk in chunks)


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_the_whole_answer_is_the_stream_put_together(engine: Engine, path: str) -> None:
    body = stream("put together", 30) | {"prompt": "put together"}
    chunks = engine.ask(path, body).chunks()
    said = [c["choices"][0] for c in chunks if c["choices"]]
    text = "".join(c["delta"].get("content", "") if path == CHAT else c["text"] for c in said)
    whole = engine.ask(path, body | {"stream": False}).json()
    choice = whole["choices"][0]
    assert (choice["message"]["content"] if path == CHAT else choice["text"]) == text
    assert choice["finish_reason"] == said[-1]["finish_reason"] == "length"
    assert whole["usage"]["completion_tokens"] == len(text.split()) == 30
    assert whole["object"] == ("chat.completion" if path == CHAT else "text_completion")


def test_load_does_not_change_an_answer(engine: Engine) -> None:
    body = {"prompt": "same", "max_tokens": 40, "ignore_eos": True}
    alone = engine.ask(TEXT, body).json()["choices"]
    with ThreadPoolExecutor(16) as pool:
        many = list(pool.map(lambda _: engine.ask(TEXT, body), range(32)))
    assert all(reply.json()["choices"] == alone for reply in many)


def test_a_list_of_token_ids_is_as_many_tokens(engine: Engine) -> None:
    usage = engine.ask(TEXT, {"prompt": [5, 6, 7], "max_tokens": 2, "ignore_eos": True}).json()["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (3, 2)


def test_what_was_emitted_is_never_early_and_never_after_it_arrived(engine: Engine) -> None:
    with connected(engine) as sock:
        body = json.dumps(stream("when exactly", 20)).encode()
        sent_s = time.perf_counter()
        sock.sendall(
            b"POST %b HTTP/1.1\r\nhost: x\r\nx-request-id: when\r\ncontent-length: %d\r\n\r\n%b"
            % (CHAT.encode(), len(body), body)
        )
        received, arrivals = b"", []
        while not received.endswith(b"[DONE]\n\n\r\n0\r\n\r\n"):
            packet = sock.recv(65536)
            now = time.perf_counter()
            received += packet
            arrivals += [now] * packet.count(b"data: ")
    told = engine.emitted("when")
    assert told["chunk_kind"] == ["role"] + ["content"] * 20 + ["finish", "usage", "done"]
    assert len(arrivals) == len(told["chunk_s"])
    assert all(emitted <= arrived for emitted, arrived in zip(told["chunk_s"], arrivals, strict=True))
    assert sent_s <= told["received_s"] == told["admitted_s"]
    assert min(told["token_late_s"]) >= 0
    assert told["saturation"] == pytest.approx(max(told["token_late_s"]) / 0.004, abs=1e-6)
    late = [at - due for at, due in zip(told["chunk_s"][1:21], told["token_due_s"], strict=True)]
    assert late == pytest.approx(told["token_late_s"], abs=1e-8)
    ready_s = told["received_s"] + 0.01 + 2 * 0.0005
    assert -1e-8 <= told["token_due_s"][0] - ready_s < 0.004 + 1e-8
    steps = [b - a for a, b in pairwise(told["token_due_s"])]
    assert steps == pytest.approx([0.004] * 19, abs=1e-9)


def test_all_streams_share_one_grid_of_ticks(engine: Engine) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: engine.ask(CHAT, stream(f"grid {i}"), x_request_id=f"grid{i}"), range(8)))
    firsts = [engine.emitted(f"grid{i}")["token_due_s"][0] for i in range(8)]
    ticks = [(first - firsts[0]) / 0.004 for first in firsts]
    assert ticks == pytest.approx([round(tick) for tick in ticks], abs=1e-4)


def test_all_emissions_are_json_lines_and_can_be_forgotten(engine: Engine) -> None:
    engine.ask("/emitted", method="DELETE")
    for i in range(40):
        engine.ask(CHAT, stream(f"line {i}", 1), x_request_id=f"line{i}")
    lines = [json.loads(line) for line in engine.ask("/emitted").body.splitlines()]
    assert [line["request_id"] for line in lines] == [f"line{i}" for i in range(40)]
    assert engine.ask("/emitted", method="DELETE").json() == {"forgotten": 40}
    assert engine.ask("/emitted").body == b""
    assert engine.ask("/emitted?request_id=line1").status == 404


def test_a_request_without_an_id_gets_one(engine: Engine) -> None:
    reply = engine.ask(CHAT, chat("anonymous"))
    told = engine.emitted(reply.headers["x-request-id"])
    assert (told["chunk_kind"], told["state"], len(told["token_due_s"])) == (["body"], "done", 4)


def test_a_shared_prefix_is_cached_and_shortens_the_prefill(engine: Engine) -> None:
    engine.ask("/reset_prefix_cache", method="POST", data="")
    prefix = " ".join(f"w{i}" for i in range(100))
    cached = {}
    for name, prompt in (("cold", f"{prefix} a b"), ("warm", f"{prefix} c d"), ("full", f"{prefix} a b")):
        usage = engine.ask(CHAT, chat(prompt), x_request_id=name).json()["usage"]
        cached[name] = usage["prompt_tokens_details"]["cached_tokens"]
        assert engine.emitted(name)["cached_tokens"] == cached[name]
    assert cached == {"cold": 0, "warm": 100, "full": 102}
    waits = {name: (told := engine.emitted(name))["token_due_s"][0] - told["received_s"] for name in cached}
    assert waits["cold"] >= 0.01 + 102 * 0.0005 > 0.01 + 2 * 0.0005 + 0.004 > waits["warm"] >= 0.01


def test_without_prefix_caching_nothing_is_cached() -> None:
    with running("--no-prefix-caching", "--ttft-s", "0", "--tick-s", "0.001") as engine:
        for _ in range(2):
            usage = engine.ask(CHAT, chat("the same words")).json()["usage"]
            assert usage["prompt_tokens_details"]["cached_tokens"] == 0
        assert engine.metric("prefix_cache_queries_total") == 0


def test_a_full_engine_queues_in_order_of_arrival() -> None:
    with running("--max-num-seqs", "1", "--ttft-s", "0.03", "--tick-s", "0.01") as engine:
        sockets = []
        for i in range(3):
            sock = connected(engine)
            body = json.dumps(stream(f"queue {i}", 10)).encode()
            sock.sendall(
                b"POST %b HTTP/1.1\r\nx-request-id: q%d\r\ncontent-length: %d\r\n\r\n%b"
                % (CHAT.encode(), i, len(body), body)
            )
            sockets.append(sock)
            eventually(lambda i=i: engine.ask(f"/emitted?request_id=q{i}").status == 200)  # type: ignore[misc]
        eventually(lambda: engine.emitted("q2")["state"] == "done")
        told = [engine.emitted(f"q{i}") for i in range(3)]
        for sock in sockets:
            sock.close()
        for earlier, later in pairwise(told):
            free_s = max(later["received_s"], earlier["token_due_s"][-1])
            assert later["admitted_s"] == pytest.approx(free_s, abs=1e-9)
            assert later["token_due_s"][0] >= later["admitted_s"] + 0.03


def test_a_client_that_leaves_frees_its_slot() -> None:
    with running("--max-num-seqs", "1", "--ttft-s", "0.02", "--tick-s", "0.002") as engine:
        sockets = []
        for i in range(3):
            sock = connected(engine)
            body = json.dumps(stream(f"leave {i}", 8000)).encode()
            sock.sendall(
                b"POST %b HTTP/1.1\r\nx-request-id: gone%d\r\ncontent-length: %d\r\n\r\n%b"
                % (CHAT.encode(), i, len(body), body)
            )
            sockets.append(sock)
            eventually(lambda i=i: engine.ask(f"/emitted?request_id=gone{i}").status == 200)  # type: ignore[misc]
        assert engine.metric("num_requests_waiting") == 2
        sockets[1].close()  # while it waits
        eventually(lambda: engine.metric("num_requests_waiting") == 1)
        while b'"content":"' not in sockets[0].recv(65536):
            pass
        sockets[0].close()  # while it streams
        eventually(lambda: engine.emitted("gone2")["state"] == "running")
        sockets[2].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        sockets[2].close()  # with a reset
        eventually(lambda: engine.metric("num_requests_running") == 0)
        assert engine.metric("requests_cancelled_total") == 3
        assert {engine.emitted(f"gone{i}")["state"] for i in range(3)} == {"cancelled"}
        assert engine.ask(CHAT, chat("still here")).status == 200


def test_several_tokens_a_chunk() -> None:
    with running("--tokens-per-chunk", "4", "--ttft-s", "0", "--tick-s", "0.002") as engine:
        *content, _, usage = engine.ask(TEXT, stream("x", 10) | {"prompt": "x"}, x_request_id="four").chunks()
        assert [len(chunk["choices"][0]["text"].split()) for chunk in content] == [4, 4, 2]
        assert usage["usage"]["completion_tokens"] == 10
        told = engine.emitted("four")
        assert told["chunk_kind"] == ["content"] * 3 + ["finish", "usage", "done"]
        due = told["token_due_s"]
        assert len(due) == len(told["token_late_s"]) == 10 and due[0] == due[3] < due[4] == due[7] < due[8]


def test_only_the_last_requests_are_remembered() -> None:
    with running("--remembered-requests", "3", "--ttft-s", "0", "--tick-s", "0.001") as engine:
        for i in range(5):
            engine.ask(CHAT, chat("x"), x_request_id=str(i))
        lines = [json.loads(line)["request_id"] for line in engine.ask("/emitted").body.splitlines()]
        assert lines == ["2", "3", "4"]


BAD = [
    ("not json", "POST", CHAT, b"{", 400, "not JSON"),
    ("not an object", "POST", CHAT, b"[]", 400, "JSON object"),
    ("unknown model", "POST", CHAT, chat("x") | {"model": "gpt"}, 404, "does not exist"),
    ("too long", "POST", CHAT, chat("x", 600), 400, "maximum context length is 600"),
    ("no messages", "POST", CHAT, {}, 400, "messages"),
    ("zero tokens", "POST", CHAT, chat("x", 0), 400, "max_tokens"),
    ("tokens in words", "POST", CHAT, chat("x") | {"max_tokens": "ten"}, 400, "whole number"),
    ("schema", "POST", CHAT, chat("x", response_format={"type": "json_schema"}), 400, "response_format"),
    ("tools", "POST", CHAT, chat("x", tools=[{}]), 400, "tools"),
    ("two answers", "POST", CHAT, chat("x", n=2), 400, "one answer"),
    ("two prompts", "POST", TEXT, {"prompt": ["a", "b"]}, 400, "prompt"),
    ("stop is a number", "POST", TEXT, {"prompt": "a", "stop": 3}, 400, "stop"),
    ("wrong method", "GET", CHAT, None, 405, "POST"),
    ("wrong path", "GET", "/v2", None, 404, "/v2"),
    ("too large", "POST", CHAT, b" " * 100_001, 413, "100000"),
]


@pytest.mark.parametrize("bad", BAD, ids=[bad[0] for bad in BAD])
def test_bad_requests_get_an_openai_error(engine: Engine, bad: tuple[str, str, str, Any, int, str]) -> None:
    _, method, path, data, status, words = bad
    reply = engine.ask(path, data, method=method)
    assert reply.status == status
    error = reply.json()["error"]
    assert words in error["message"] and set(error) == {"message", "type", "param", "code"}


def test_sampling_values_are_accepted(engine: Engine) -> None:
    more = {
        "temperature": 0,
        "top_p": 1,
        "top_k": 0,
        "min_p": 0,
        "seed": 1,
        "presence_penalty": 0.0,
        "response_format": {"type": "text"},
        "stop": ["zzz"],
        "max_completion_tokens": 3,
    }
    assert engine.ask(CHAT, chat("sampling", 500, **more)).json()["usage"]["completion_tokens"] == 3


def test_the_small_routes(engine: Engine) -> None:
    card = engine.ask("/v1/models").json()["data"][0]
    assert (card["id"], card["max_model_len"]) == ("reference", 600)
    assert engine.ask("/health").status == 200 and "version" in engine.ask("/version").json()
    for field in ("prompt", "content"):
        answer = engine.ask("/tokenize", {field: "one two two"}).json()
        assert answer["count"] == 3 and answer["tokens"][1] == answer["tokens"][2] != answer["tokens"][0]
    before = engine.metric("generation_tokens_total"), engine.metric("prompt_tokens_total")
    engine.ask(CHAT, chat("a b c", 7))
    after = engine.metric("generation_tokens_total"), engine.metric("prompt_tokens_total")
    assert (after[0] - before[0], after[1] - before[1]) == (7, 3)


# --- HTTP itself ------------------------------------------------------------------------------------------


def exchange(engine: Engine, data: bytes) -> bytes:
    """Send raw bytes; what came back until the server closed."""
    with connected(engine) as sock:
        sock.sendall(data)
        return b"".join(iter(lambda: sock.recv(65536), b""))


def test_pipelined_requests_are_answered_in_order(engine: Engine) -> None:
    body = json.dumps(stream("pipeline", 3)).encode()
    streamed = b"POST %b HTTP/1.1\r\ncontent-length: %d\r\n\r\n%b" % (CHAT.encode(), len(body), body)
    last = b"GET /health HTTP/1.1\r\nconnection: close\r\n\r\n"
    received = exchange(engine, streamed + b"GET /v1/models HTTP/1.1\r\n\r\n" * 60 + streamed + last)
    assert received.count(b"HTTP/1.1 200 OK") == 63
    assert received.index(b"[DONE]") < received.index(b'"max_model_len"') < received.rindex(b"[DONE]")
    assert received.endswith(b'{"status":"ok"}')


def test_an_expected_continue_is_sent(engine: Engine) -> None:
    head = b"POST /tokenize HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 16\r\n\r\n"
    with connected(engine) as sock:
        sock.sendall(head)
        assert sock.recv(100).startswith(b"HTTP/1.1 100 ")
        sock.sendall(b'{"prompt":"a b"}')
        assert b'"count":2' in sock.recv(1000)


def test_http_1_0_gets_whole_answers_only(engine: Engine) -> None:
    assert exchange(engine, b"GET /health HTTP/1.0\r\n\r\n").endswith(b'{"status":"ok"}')
    body = json.dumps(stream("old")).encode()
    head = b"POST %b HTTP/1.0\r\ncontent-length: %d\r\n\r\n" % (CHAT.encode(), len(body))
    assert exchange(engine, head + body).startswith(b"HTTP/1.1 505 ")


@pytest.mark.parametrize(
    ("data", "status"),
    [(b"\x16\x03\x01 this is TLS", 400), (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 30_000 + b"\r\n", 431)],
)
def test_what_is_no_request_is_refused_and_the_server_lives(engine: Engine, data: bytes, status: int) -> None:
    assert exchange(engine, data).startswith(b"HTTP/1.1 %d " % status)
    assert engine.ask("/health").status == 200


def test_a_reader_that_pauses_misses_nothing() -> None:
    with running("--ttft-s", "0", "--tick-s", "0.001", "--tokens-per-chunk", "100") as engine:
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(PATIENCE_S)
            sock.connect(("127.0.0.1", engine.port))
            body = json.dumps(stream("slow", 8000)).encode()
            request = b"POST %b HTTP/1.1\r\nx-request-id: slow%d\r\ncontent-length: %d\r\n\r\n%b"
            for i in range(20):
                sock.sendall(request % (CHAT.encode(), i, len(body), body))
            eventually(lambda: engine.metric("generation_tokens_total") > 8000)
            received = b""
            while received.count(b"[DONE]") < 20:
                packet = sock.recv(65536)
                assert packet
                received += packet
        text = b"".join(re.findall(rb'"delta":\{"content":"([^"]*)"', received))
        assert len(text.decode().split(" ")) >= 20 * 7999


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_quietly_even_in_the_middle_of_a_stream(number: signal.Signals) -> None:
    body = json.dumps(stream("cut", 5000)).encode()
    with running() as engine, connected(engine) as sock:
        sock.sendall(b"POST %b HTTP/1.1\r\ncontent-length: %d\r\n\r\n%b" % (CHAT.encode(), len(body), body))
        sock.recv(100)
        engine.process.send_signal(number)
        output, errors = engine.process.communicate(timeout=PATIENCE_S)
        assert (engine.process.returncode, output, errors) == (0, "", "")


def test_a_port_in_use_gets_a_sentence(engine: Engine) -> None:
    command = [sys.executable, "-m", "lab.load.reference", "--port", str(engine.port)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 2 and ended.stderr.count("\n") == 1
    assert f"port {engine.port}" in ended.stderr and "--port" in ended.stderr


@pytest.mark.parametrize("flag", ["--tick-s=0", "--ttft-s=-1", "--max-num-seqs=0", "--port=x"])
def test_impossible_flags_are_refused(flag: str) -> None:
    command = [sys.executable, "-m", "lab.load.reference", flag]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 2 and flag.partition("=")[0] in ended.stderr
