"""Server-sent events out of a finished stream, by the WHATWG rules, on bytes.

The parser runs after the stream ended. It gets the body as it arrived, packet by packet, and gives each
event the arrival of the packet that completed its last field: what a reader could have known, and when.
Lines end at LF, CR or CRLF and nowhere else (never at U+2028); an event that no blank line has closed
when the stream ends is dropped.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One dispatched event."""

    data: str
    """The data lines joined with LF; invalid UTF-8 reads as U+FFFD."""
    name: str
    """The event field, `message` when there was none."""
    at_s: float
    """Arrival of the packet that completed the last field of the event."""


def parse(packets: Sequence[bytes], arrivals: Sequence[float]) -> list[Event]:
    """Events of a whole body.

    Args:
        packets: the decoded body in the pieces in which it arrived.
        arrivals: when each piece arrived, seconds, same length as `packets`, not decreasing.

    Returns:
        The dispatched events in order. Keep-alive comments and events without data give none.
    """
    body = b"".join(packets)
    ends = list(accumulate(map(len, packets)))
    position = len(_BOM) if body.startswith(_BOM) else 0
    events: list[Event] = []
    data: list[bytes] = []
    name = b""
    last_field = 0
    for match in _LINE_END.finditer(body, position):
        line = body[position : match.start()]
        line_end, position = match.start(), match.end()
        if not line:
            if data:
                # bisect_right finds the packet that holds the byte before `last_field`
                at_s = arrivals[min(bisect_right(ends, last_field - 1), len(arrivals) - 1)]
                events.append(
                    Event(
                        data=b"\n".join(data).decode("utf-8", "replace"),
                        name=name.decode("utf-8", "replace") or "message",
                        at_s=at_s,
                    )
                )
            data, name = [], b""
            continue
        field, _, value = line.partition(b":")
        if value.startswith(b" "):
            value = value[1:]
        if field == b"data":
            data.append(value)
            last_field = line_end
        elif field == b"event":
            name = value
            last_field = line_end
    return events
