"""Each probe against a server that does it right, and against one that does it wrong in exactly that way."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.checks import CHECKS, CheckName
from lab.conditions import Condition
from lab.endpoint import Endpoint
from lab.engines.reference import Reference
from lab.errors import EndpointError, EngineDied
from lab.plan import RunPlan
from lab.preflight import PROBES, probe
from lab.preflight.asking import Engine, Seen
from lab.preflight.cache import judge_times
from lab.preflight.lengths import CONVERSATIONS, PROMPT_SET, TEXTS
from lab.records import Effective
from lab.spec import RunSpec
from tests.load.raw_server import RawServer
from tests.preflight.obliging import LIMIT, ObligingAdapter, obliging

ADAPTER = ObligingAdapter()


@pytest.fixture
def spec(small_plan: tuple[RunPlan, Path]) -> RunSpec:
    """Context limit 1024, prefix caching off."""
    return small_plan[0].runs[0].spec


def profile(spec: RunSpec, **changes: Any) -> RunSpec:
    return spec.model_copy(update={"profile": spec.profile.model_copy(update=changes)})


def look(name: str, spec: RunSpec, *faults: str, effective: tuple[Effective, ...] = ()) -> Seen:
    """One check against a server with these faults."""
    with obliging(*faults) as server:
        return PROBES[CheckName(name)](Engine(ADAPTER, server.endpoint, spec, effective))


def test_every_check_has_a_probe_and_every_probe_a_rule() -> None:
    assert [rule.name for rule in CHECKS] == list(CheckName) == list(PROBES)


def test_a_server_that_does_everything_passes_every_check_that_can_be_made(spec: RunSpec) -> None:
    with obliging() as server:
        seen = probe(ADAPTER, server.endpoint, spec)
        assert server.resets == 1
    results = {check.name: check.result for check in seen.checks}
    assert list(results) == list(CheckName)
    not_exposed = {name for name, result in results.items() if result == "not-exposed"}
    # nothing was read back, nothing was asked, no tokenizer was given
    assert not_exposed == {"kv-capacity", "thinking", "local-tokenizer"}
    assert set(results.values()) == {"pass", "not-exposed"}, seen
    assert seen.can("echo") and not seen.can("thinking") and not seen.can("never-heard-of")
    assert seen.checks[-1].detail.endswith("the cache was emptied")
    assert (len(server.asked) <= 50, sum(server.asked) <= 500) == (True, True), server.asked


WRONG = [
    (
        "prompt-tokens",
        "doubles BOS",
        "fail",
        "its own tokenizer counts 7 tokens for the first conversation, its usage 8",
    ),
    ("prompt-tokens", "doubles BOS in its template", "fail", "begin with token 1 twice"),
    ("prompt-tokens", "sends no usage", "not-exposed", "no usage"),
    ("exact-length", "stops early", "fail", "asked for 3 tokens: 2"),
    ("exact-length", "never ends", "fail", "streamed"),
    ("stream-dialect", "never ends", "fail", "no finish_reason, no [DONE]"),
    ("context-limit", "cuts long prompts", "fail", "was cut to 1023 without a word"),
    ("context-limit", "states another limit", "fail", "asked for 1024; /v1/models says 2048"),
    ("neutral-sampling", "penalizes repetition", "fail", "the server adds something of its own"),
    ("neutral-sampling", "is never the same", "not-exposed", "its own greedy answers differ"),
    ("seed", "ignores the seed", "fail", "one seed twice gives two texts"),
    ("repeat", "is never the same", "fail", "3 text(s) alone, 5 with"),
    ("echo", "ignores echo", "fail", "echo ignored with max_tokens 0"),
    ("echo", "needs max_tokens 1", "pass", "max_tokens 1: a logprob for every prompt token"),
    ("logprobs", "forgets logprobs", "fail", "answered without them"),
    ("json-schema", "refuses schemas", "fail", "refused, HTTP 400: not supported here"),
    ("json-schema", "ignores schemas", "fail", "not in JSON"),
    ("json-schema", "answers another schema", "fail", "another schema: 3 is not one of"),
    ("tool-call", "refuses tools", "not-exposed", "tool_choice required: HTTP 400"),
    ("tool-call", "answers in words", "fail", "tool_choice required: no call"),
    ("unknown-field", "refuses unknown fields", "pass", "refused, HTTP 400: extra fields"),
    ("prefix-cache", "caches", "fail", "asked for off, a hit"),
]


@pytest.mark.parametrize(("name", "fault", "result", "words"), WRONG, ids=[f"{n}: {f}" for n, f, _, _ in WRONG])
def test_a_fault_is_seen_by_its_check(spec: RunSpec, name: str, fault: str, result: str, words: str) -> None:
    seen = look(name, spec, fault)
    assert (seen.result, words in seen.detail) == (result, True), seen


def test_prompt_tokens_are_counted_for_a_versioned_set(spec: RunSpec) -> None:
    # the first conversation: BOS, one message, "Preflight one: name three fruits."
    counts = look("prompt-tokens", spec).counts
    assert counts[:2] == (PROMPT_SET, 1 + 1 + 5)
    assert len(counts) == 1 + len(CONVERSATIONS)


def test_a_cache_that_should_be_on_is_seen_by_its_counter(spec: RunSpec) -> None:
    on = profile(spec, prefix_caching=True)
    assert look("prefix-cache", on, "caches").result == "pass"
    assert look("prefix-cache", on).result == "fail"
    undecided = look("prefix-cache", profile(spec, prefix_caching=None), "caches")
    assert (undecided.result, "leaves it to the engine" in undecided.detail) == ("not-exposed", True)


@pytest.mark.parametrize(
    ("expected", "again", "result"),
    [(True, 0.1, "pass"), (False, 0.1, "fail"), (False, 0.95, "pass"), (True, 0.95, "fail"), (True, 0.7, "not-exposed"),
     (False, 0.7, "not-exposed"), (None, 0.1, "not-exposed")],
)  # fmt: skip
def test_times_decide_only_outside_a_wide_band(expected: bool | None, again: float, result: str) -> None:
    # one slow answer in three does not move a median
    seen = judge_times(expected, (1.0, 1.0, 9.0), (again, again, 5.0))
    assert (seen.result, f"{again:.2f}" in seen.detail) == (result, True)


def test_without_a_count_of_cached_tokens_the_probe_goes_by_times(spec: RunSpec) -> None:
    assert "no count of cached tokens" in look("prefix-cache", spec, "hides cached tokens").detail


def test_kv_capacity_is_what_was_read_back_up_to_whole_blocks(spec: RunSpec) -> None:
    asked = profile(spec, kv_cache_tokens=8192)

    def read(value: int) -> Seen:
        found = (Effective(condition=Condition.KV_CACHE_TOKENS, value=value, source="its log"),)
        return look("kv-capacity", asked, effective=found)

    assert (read(8192).result, read(8176).result, read(4096).result) == ("pass", "pass", "fail")
    assert read(4096).counts == (4096,)
    assert look("kv-capacity", asked).result == "not-exposed"


def test_a_context_limit_read_back_has_to_be_the_one_asked(spec: RunSpec) -> None:
    found = (Effective(condition=Condition.CONTEXT_LIMIT, value=LIMIT // 2, source="its log"),)
    seen = look("context-limit", spec, effective=found)
    assert (seen.result, "its log says 512" in seen.detail) == ("fail", True)


def test_thinking_is_asked_only_where_the_plan_speaks_of_it(spec: RunSpec) -> None:
    off = spec.model_copy(update={"chat_template_kwargs": {"enable_thinking": False}})
    assert (look("thinking", off).result, look("thinking", off, "thinks").result) == ("pass", "fail")
    assert look("thinking", spec, "thinks").result == "not-exposed"
    assert "reasoning in reasoning" in look("stream-dialect", spec, "thinks").detail


def test_an_engine_of_seeded_text_is_not_asked_what_its_text_cannot_tell(spec: RunSpec) -> None:
    with obliging() as server:
        seen = probe(Reference(), server.endpoint, spec)
    about_text = {rule.name for rule in CHECKS if rule.about_text}
    assert {check.name for check in seen.checks if "carries no meaning" in check.detail} == about_text
    assert seen.can("exact-length") and not seen.can("json-schema")
    assert len(server.asked) <= 20


def test_a_workload_of_completions_is_probed_by_that_route(spec: RunSpec) -> None:
    plain = spec.model_copy(update={"workload": spec.workload.model_copy(update={"endpoint": "completions"})})
    with obliging("has no chat route") as server:
        seen = {check.name: check for check in probe(ADAPTER, server.endpoint, plain).checks}
    chat_only = {"json-schema", "tool-call", "logprobs"}
    assert {name for name in seen if seen[name].result != "pass"} == chat_only | {
        "kv-capacity",
        "local-tokenizer",
        "thinking",
    }
    # BOS, and the words of the first conversation: no template
    assert seen["prompt-tokens"].counts[1] == 1 + 5


NONSENSE = [
    b"",
    b"<h1>Sign in</h1>",
    b"[]",
    b"null",
    b'{"choices": [1], "data": [1], "tokens": 3}',
    b'{"choices": [{"message": "x", "delta": "y", "text": 7, "logprobs": [1]}], "usage": 3, "data": {"id": 1}}',
    b'{"choices": [{"message": {"content": [1], "tool_calls": [{"function": [1]}]}, "logprobs": {"content": [1],'
    b' "token_logprobs": ["x"]}}], "usage": {"prompt_tokens": "7", "completion_tokens": true}, "tokens": ["a"]}',
    b'data: {"choices": [{"delta": "y"}, 3]}\n\ndata: [DONE]\n\n',
    b'{"choices":' + b"[" * 100_000,
]


@pytest.mark.parametrize("body", NONSENSE, ids=lambda body: body[:40].decode() or "nothing")
def test_no_answer_whatever_makes_a_probe_raise_or_a_capability_pass(spec: RunSpec, body: bytes) -> None:
    with Nonsense(body) as server:
        seen = probe(ADAPTER, Endpoint(f"http://127.0.0.1:{server.port}"), spec)
    assert [check.name for check in seen.checks] == list(CheckName)
    passed = {check.name for check in seen.checks if check.result == "pass"}
    # an answer with a choice in it is an answer to a request with an unknown field
    assert passed <= {"unknown-field"}, seen


class Nonsense(RawServer):
    """Answers everything with one body and HTTP 200."""

    timeout_s = 10.0

    def __init__(self, body: bytes) -> None:
        self._answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body)
        super().__init__()

    def serve(self, connection: socket.socket) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            received += connection.recv(65536)
        headers, _, rest = received.partition(b"\r\n\r\n")
        sizes = [line for line in headers.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        missing = (int(sizes[0].split(b":")[1]) if sizes else 0) - len(rest)
        while missing > 0:
            missing -= len(connection.recv(65536))
        connection.sendall(self._answer)


def gone() -> Endpoint:
    """Where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return Endpoint(f"http://127.0.0.1:{free.getsockname()[1]}")


def test_a_server_that_is_not_there_makes_no_probe_raise_and_none_pass(spec: RunSpec) -> None:
    seen = probe(ADAPTER, gone(), spec)
    assert {check.result for check in seen.checks} == {"fail", "not-exposed"}
    assert "connection refused" in seen.checks[0].detail


def test_an_engine_that_has_died_is_noticed_at_the_first_question(spec: RunSpec) -> None:
    def alive() -> None:
        raise EngineDied("it ended")

    asked: list[str] = []
    with pytest.raises(EngineDied):
        probe(ADAPTER, gone(), spec, alive=alive, say=asked.append)
    assert asked == ["models"]


def test_nothing_is_asked_after_the_time_is_over(spec: RunSpec) -> None:
    engine = Engine(ADAPTER, gone(), spec).until(0.0)
    with pytest.raises(EndpointError, match="time for this check was over"):
        engine.ask(engine.user("too late"), 1)


def test_the_engines_tokenizer_is_held_against_the_one_in_the_models_files(spec: RunSpec) -> None:
    with obliging() as server:
        counts = [ADAPTER.count_tokens(server.endpoint, text) or 0 for text in TEXTS]
        known = dict(zip(TEXTS, counts, strict=True))

        def seen(tokenizer: Callable[[str], int] | None) -> Seen:
            return PROBES[CheckName.LOCAL_TOKENIZER](Engine(ADAPTER, server.endpoint, spec, (), tokenizer))

        assert (seen(known.__getitem__).result, seen(known.__getitem__).counts) == ("pass", tuple(counts))
        other = seen(lambda text: known[text] + ("½" in text))  # one text a token longer
        assert other.result == "fail"
        assert f"{counts[2]} there, {counts[2] + 1} here" in other.detail
        assert seen(None).result == "not-exposed"
