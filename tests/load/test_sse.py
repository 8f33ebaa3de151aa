"""Server-sent events by the WHATWG rules, however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lab.load.sse import Event, parse


def datas(body: bytes) -> list[str]:
    return [event.data for event in parse([body], [0.0])]


def test_space_after_the_colon_is_optional_and_only_one_is_taken() -> None:
    assert datas(b"data:a\n\ndata: b\n\ndata:  c\n\n") == ["a", "b", " c"]


def test_lines_end_at_lf_cr_and_crlf_and_nowhere_else() -> None:
    assert datas(b"data: a\n\ndata: b\r\rdata: c\r\n\r\n") == ["a", "b", "c"]
    assert datas("data: a\u2028b\u0085c\x0bd\n\n".encode()) == ["a\u2028b\u0085c\x0bd"]


def test_several_data_lines_are_joined_and_comments_give_nothing() -> None:
    assert datas(b": keep-alive\n\ndata: a\n: between\ndata: b\n\n") == ["a\nb"]


def test_an_event_that_no_blank_line_closed_is_dropped() -> None:
    assert datas(b"data: a\n\ndata: b\n") == ["a"]


def test_a_byte_order_mark_at_the_start_is_dropped() -> None:
    assert datas(b"\xef\xbb\xbfdata: a\n\n") == ["a"]


def test_the_event_field_names_the_event() -> None:
    assert parse([b"event: error\ndata: x\n\ndata: y\n\n"], [1.0]) == [
        Event("x", "error", 1.0),
        Event("y", "message", 1.0),
    ]


def test_an_event_arrives_with_the_packet_that_completed_its_last_field() -> None:
    packets = [b"data: a", b"bc", b"\n", b"\ndata: d\n\n"]
    assert [(e.data, e.at_s) for e in parse(packets, [1.0, 2.0, 3.0, 4.0])] == [("abc", 2.0), ("d", 4.0)]


TEXT = st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=12)


@given(st.lists(TEXT, max_size=8), st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_cuts_between_packets_change_nothing_but_the_arrivals(lines: list[str], end: str, data: st.DataObject) -> None:
    body = "".join(f"data: {line}{end}{end}" for line in lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=10)))
    packets = [body[a:b] for a, b in pairwise([0, *cuts, len(body)])]
    events = parse(packets, [float(i) for i in range(len(packets))])
    assert [event.data for event in events] == lines
    arrivals = [event.at_s for event in events]
    assert arrivals == sorted(arrivals)
