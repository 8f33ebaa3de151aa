"""The other ways in which one value is written: what no undoing of escapes would bring back to the value itself."""

from __future__ import annotations

import base64
import ipaddress
import re
import uuid
from collections.abc import Iterator

_MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def spellings(value: str) -> Iterator[str]:
    """A value and every other way of writing it that is not found by looking for it without its punctuation.

    Args:
        value: in lower case.
    """
    yield value
    try:
        address = ipaddress.ip_address(value.partition("%")[0])
    except ValueError:
        address = None
    if isinstance(address, ipaddress.IPv4Address):
        yield from _ipv4(address)
    elif address is not None:
        yield from (address.compressed, address.exploded, address.exploded.replace(":", ""), address.reverse_pointer)
    if _MAC.fullmatch(value):
        yield from _mac(bytes.fromhex(value.replace(":", "")))
    for found in _UUID.findall(value):
        one = uuid.UUID(found)
        yield from (str(one), one.hex, found[:8], str(one.int))
        yield from (base64.b64encode(one.bytes).decode().rstrip("=").lower(), one.bytes_le.hex())


def _ipv4(address: ipaddress.IPv4Address) -> Iterator[str]:
    """As a number, in other bases, as part of a name, as an IPv6 address."""
    number, octets = int(address), str(address).split(".")
    high, low = f"{number >> 16:x}", f"{number & 0xFFFF:x}"
    yield from (str(number), f"{number:08x}", f"0x{number:08x}")
    yield from (".".join(f"0x{int(one):{form}}" for one in octets) for form in ("x", "02x"))
    yield from (".".join(f"{zero}{int(one):o}" if int(one) else "0" for one in octets) for zero in ("0", "00"))
    yield ".".join(f"{int(one):04o}" for one in octets)
    yield ".".join(f"{int(one):03d}" for one in octets)
    yield f"{octets[0]}.{octets[1]}.{number & 0xFFFF}"
    yield f"{octets[0]}.{number & 0xFFFFFF}"
    yield from (between.join(octets) for between in ("-", "_", "[.]", "(.)", " dot "))
    yield address.reverse_pointer
    yield from (f"::ffff:{high}:{low}", f"64:ff9b::{high}:{low}")


def _mac(octets: bytes) -> Iterator[str]:
    """Without leading zeros, as a number, and as the second half of an IPv6 address."""
    yield ":".join(f"{one:x}" for one in octets)
    yield from (str(int.from_bytes(octets, "big")), str(int.from_bytes(octets, "little")))
    own = bytes((octets[0] ^ 2, *octets[1:3], 0xFF, 0xFE, *octets[3:]))
    yield from (own.hex(":"), own.hex())
    yield ":".join(f"{int.from_bytes(own[at : at + 2], 'big'):x}" for at in range(0, 8, 2))
