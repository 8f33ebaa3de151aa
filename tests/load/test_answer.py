"""One exchange, judged: arithmetic a reader can do in the head."""

from __future__ import annotations

import json
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lab.load.answer import read_answer
from lab.load.spool import Exchange, read_exchanges, write_exchange
from lab.records import ChunkKind, Outcome, RequestRecord


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return (
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode() + b"\n\n"
    )


USAGE = (
    b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, '
    b'"prompt_tokens_details": {"cached_tokens": 4}}}\n\n'
)
STREAM = [
    (0.05, chunk({"role": "assistant", "content": ""})),
    (0.1, chunk({"content": "one"})),
    (0.2, chunk({"content": " two"})),
    (0.3, chunk({"content": " three"}, "length")),
    (0.31, USAGE),
    (0.32, b"data: [DONE]\n\n"),
]


def exchange(packets: list[tuple[float, bytes]], **facts: Any) -> Exchange:
    return Exchange(
        0, 0, False, intended_s=0.0, send_s=0.0, status=200, content_type="text/event-stream",
        arrivals=[at for at, _ in packets], packets=[data for _, data in packets], end_s=packets[-1][0], **facts,
    )  # fmt: skip


def read(packets: list[tuple[float, bytes]], asked: int = 3, exact: bool = True, **facts: Any) -> RequestRecord:
    return read_answer(exchange(packets, **facts), asked_tokens=asked, exact=exact)


def test_a_complete_stream_is_a_success_with_every_arrival() -> None:
    record = read(STREAM)
    assert record.outcome is Outcome.SUCCESS
    assert record.token_s == (0.1, 0.2, 0.3)
    assert record.chunk_kind == (
        ChunkKind.ROLE, ChunkKind.CONTENT, ChunkKind.CONTENT, ChunkKind.CONTENT, ChunkKind.USAGE
    )  # fmt: skip
    assert (record.prompt_tokens, record.cached_tokens, record.completion_tokens) == (7, 4, 3)
    assert (record.text, record.finish_reason) == ("one two three", "length")


def test_the_length_that_was_asked_for_decides_where_it_was_asked_exactly() -> None:
    assert read(STREAM, asked=4).outcome is Outcome.SHORT
    assert read(STREAM, asked=2).outcome is Outcome.OVERLONG
    assert read(STREAM, asked=4, exact=False).outcome is Outcome.SUCCESS


def test_a_connection_that_breaks_after_the_terminal_event_has_lost_nothing() -> None:
    assert read(STREAM, failure="cut").outcome is Outcome.SUCCESS
    assert read(STREAM[:3], failure="cut").outcome is Outcome.TRUNCATED
    assert read(STREAM[:3], failure="connection").outcome is Outcome.CONNECTION


def test_every_time_is_counted_from_zero_s() -> None:
    record = read_answer(exchange(STREAM), asked_tokens=3, exact=True, zero_s=-1.0)
    assert (record.send_s, record.token_s[0]) == (1.0, 1.1)


def test_a_body_that_unpacks_without_end_is_malformed(monkeypatch: Any) -> None:
    import gzip

    monkeypatch.setattr("lab.load.answer.MOST_DECODED_BYTES", 1000)
    packed = gzip.compress(b"data: " + b"a" * 100_000)
    assert read([(0.1, packed)], content_encoding="gzip").outcome is Outcome.MALFORMED


@settings(max_examples=200)
@given(st.data())
def test_splitting_and_gluing_the_bytes_gives_the_same_record_apart_from_times(data: st.DataObject) -> None:
    body = b"".join(packet for _, packet in STREAM)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=30)))
    pieces = [body[a:b] for a, b in pairwise([0, *cuts, len(body)])]
    record = read([(float(i), piece) for i, piece in enumerate(pieces)])
    assert record.model_copy(update={"chunk_s": (), "chunk_kind": (), "end_s": None}) == read(STREAM).model_copy(
        update={"chunk_s": (), "chunk_kind": (), "end_s": None}
    )
    assert record.chunk_kind == read(STREAM).chunk_kind
    assert list(record.chunk_s) == sorted(record.chunk_s)


def test_a_spool_gives_back_what_was_written_and_leaves_out_a_torn_frame(tmp_path: Path) -> None:
    out = BytesIO()
    first = exchange(STREAM)
    write_exchange(out, first)
    write_exchange(out, exchange([(0.5, b"data: x")]))
    path = tmp_path / "spool"
    path.write_bytes(out.getvalue()[:-3])
    assert list(read_exchanges(path)) == [first]
