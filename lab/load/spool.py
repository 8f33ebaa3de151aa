"""Raw exchanges on disk: what the load process saw, before anybody has read it.

The load process writes each exchange when it ends, so its memory does not grow with the run, and reads
nothing. Standard library only. Layout of a frame: two unsigned 32-bit lengths (header, body), a JSON
header, the arrivals as float64, the cumulative packet ends as uint32, the body.
"""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import BinaryIO

_LENGTHS = struct.Struct("<II")


@dataclass(slots=True)
class Exchange:
    """One request and what came back, as bytes with their arrivals.

    Times are `time.perf_counter()` seconds. `failure` is None when the response was complete, else
    `connection`, `timeout`, `cancelled`, `malformed` or `cut` (the body ended before its end).
    """

    level: int
    index: int
    warmup: bool
    intended_s: float
    send_s: float = 0.0
    first_byte_s: float | None = None
    end_s: float | None = None
    status: int | None = None
    content_type: str = ""
    content_encoding: str = ""
    failure: str | None = None
    detail: str = ""
    arrivals: list[float] = field(default_factory=list)
    packets: list[bytes] = field(default_factory=list)


def write_exchange(out: BinaryIO, exchange: Exchange) -> None:
    """Append one exchange to an open spool."""
    header = json.dumps(
        {
            "level": exchange.level,
            "index": exchange.index,
            "warmup": exchange.warmup,
            "intended_s": exchange.intended_s,
            "send_s": exchange.send_s,
            "first_byte_s": exchange.first_byte_s,
            "end_s": exchange.end_s,
            "status": exchange.status,
            "content_type": exchange.content_type,
            "content_encoding": exchange.content_encoding,
            "failure": exchange.failure,
            "detail": exchange.detail,
            "packets": len(exchange.packets),
        }
    ).encode()
    body = b"".join(exchange.packets)
    out.write(_LENGTHS.pack(len(header), len(body)))
    out.write(header)
    out.write(array("d", exchange.arrivals).tobytes())
    out.write(array("I", accumulate(map(len, exchange.packets))).tobytes())
    out.write(body)


def read_exchanges(path: Path) -> Iterator[Exchange]:
    """Exchanges of a spool in the order in which they ended; a torn last frame is left out."""
    with path.open("rb") as spool:
        while len(lengths := spool.read(_LENGTHS.size)) == _LENGTHS.size:
            header_length, body_length = _LENGTHS.unpack(lengths)
            header = spool.read(header_length)
            if len(header) < header_length:
                return
            fields = json.loads(header)
            count = fields.pop("packets")
            arrivals, ends = array("d"), array("I")
            arrivals.frombytes(spool.read(count * arrivals.itemsize))
            ends.frombytes(spool.read(count * ends.itemsize))
            body = spool.read(body_length)
            if len(body) < body_length:
                return
            packets = [body[start:end] for start, end in pairwise((0, *ends))]
            yield Exchange(**fields, arrivals=list(arrivals), packets=packets)
