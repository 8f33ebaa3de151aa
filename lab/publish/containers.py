"""Files made of parts: archives, compressed data, pictures, fonts, documents, tables.

Of a picture, a font or a table only the parts that hold text are given; what only draws is left out.
"""

from __future__ import annotations

import bz2
import io
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


class Unreadable(Exception):
    """A file that says what it is and cannot be opened as that."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a file."""

    label: str
    payload: bytes


def take_apart(payload: bytes, limit: int) -> list[Part] | None:
    """The parts of a file; None for one that is not made of parts.

    Args:
        payload: the file.
        limit: most bytes its parts may have together.

    Raises:
        Unreadable: it is damaged, encrypted, or larger than the limit.
    """
    found = _kind_of(payload)
    if found is None:
        return None
    label, opened = found
    parts, size = [], 0
    try:
        for part in opened(payload, limit):
            size += len(part.payload)
            if size > limit:
                raise Unreadable(f"{label}: too large to be read")
            parts.append(part)
    except Unreadable:
        raise
    except Exception as problem:  # a parser meets bytes it was never written for: whatever it says, nothing was read
        if label == "zlib":  # two bytes are a weak sign
            return None
        raise Unreadable(f"{label} that cannot be read ({type(problem).__name__})") from None
    return parts


def _kind_of(payload: bytes) -> tuple[str, Callable[[bytes, int], Iterator[Part]]] | None:
    """What a file is by its first bytes, and how it is opened."""
    for begins, label, opened in _KINDS:
        if payload.startswith(begins):
            return label, opened
    if payload[257:262] == b"ustar":
        return "tar", _tar
    if len(payload) > 2 and payload[0] == 0x78 and payload[1] in (1, 0x5E, 0x9C, 0xDA):
        return "zlib", _zlib
    return ("film", _closed) if payload[4:8] == b"ftyp" else None


def strings_of(payload: bytes) -> tuple[str, list[str]]:
    """Text inside bytes of an unknown kind: runs of printable characters, and the bytes read as UTF-16."""
    runs = [run.decode("utf-8", "ignore") for run in re.findall(rb"[\x20-\x7e\x80-\xff\t]{4,}", payload)]
    runs += [run.decode("utf-16-le") for run in re.findall(rb"(?:[\x20-\x7e]\x00){4,}", payload)]
    runs += [run.decode("utf-16-be") for run in re.findall(rb"(?:\x00[\x20-\x7e]){4,}", payload)]
    return "\n".join(runs), [payload.decode(kind, "ignore") for kind in ("utf-16-le", "utf-16-be")]


def _zip(payload: bytes, limit: int) -> Iterator[Part]:
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        names = [info.filename for info in archive.infolist()]
        notes = [archive.comment, *(info.comment + info.extra for info in archive.infolist())]
        yield Part("ZIP names", "\n".join(names).encode())
        yield from (Part("ZIP note", note) for note in notes if note)
        for info in archive.infolist():
            if info.flag_bits & 1:
                raise Unreadable("an encrypted ZIP member")
            if info.file_size > limit:
                raise Unreadable("ZIP: too large to be read")
            yield Part(f"ZIP member {info.header_offset}", archive.read(info))


def _tar(payload: bytes, limit: int) -> Iterator[Part]:
    with tarfile.open(fileobj=io.BytesIO(payload)) as archive:
        for member in archive:
            owner = f"{member.name}\n{member.linkname}\n{member.uname}\n{member.gname}\n{member.pax_headers}"
            yield Part("tar entry", owner.encode("utf-8", "replace"))
            if member.size > limit:
                raise Unreadable("tar: too large to be read")
            inner = archive.extractfile(member) if member.isfile() else None
            if inner is not None:
                yield Part(f"tar member {member.offset}", inner.read())


def _closed(payload: bytes, limit: int) -> Iterator[Part]:
    raise Unreadable("a kind of file that is not read")


def _gzip(payload: bytes, limit: int) -> Iterator[Part]:
    name = re.match(rb"\x1f\x8b.(.).{6}", payload, re.DOTALL)
    if name and name.group(1)[0] & 0x18:  # the name of the file, or a comment
        yield Part("gzip header", payload[10:522].partition(b"\x00")[0])
    yield Part("gzip", _inflated(payload, limit, 47))


def _zlib(payload: bytes, limit: int) -> Iterator[Part]:
    yield Part("zlib", _inflated(payload, limit, 15))


def _bz2(payload: bytes, limit: int) -> Iterator[Part]:
    yield Part("bzip2", bz2.BZ2Decompressor().decompress(payload, limit + 1))


def _xz(payload: bytes, limit: int) -> Iterator[Part]:
    yield Part("xz", lzma.LZMADecompressor().decompress(payload, limit + 1))


def _inflated(payload: bytes, limit: int, window: int) -> bytes:
    whole = b""
    while payload:
        stream = zlib.decompressobj(window)
        whole += stream.decompress(payload, limit + 1 - len(whole))
        if len(whole) > limit:
            raise Unreadable("too large to be read")
        payload = stream.unused_data.lstrip(b"\x00") if window == 47 else b""
        if payload and not payload.startswith(b"\x1f\x8b"):
            return whole + b"\n" + payload  # something was put behind the end
    return whole


def _png(payload: bytes, limit: int) -> Iterator[Part]:
    at = 8
    while at + 8 <= len(payload):
        (size,) = struct.unpack(">I", payload[at : at + 4])
        kind, data = payload[at + 4 : at + 8], payload[at + 8 : at + 8 + size]
        at += 12 + size
        if kind == b"tEXt":
            yield Part("PNG text", data.replace(b"\x00", b"\n"))
        elif kind == b"zTXt":
            key, _, packed = data.partition(b"\x00")
            yield Part("PNG text", key + b"\n" + _inflated(packed[1:], limit, 15))
        elif kind == b"iTXt":
            key, _, rest = data.partition(b"\x00")
            language, _, after = rest[2:].partition(b"\x00")
            title, _, text = after.partition(b"\x00")
            yield Part(
                "PNG text",
                b"\n".join((key, language, title, _inflated(text, limit, 15) if rest[:1] == b"\x01" else text)),
            )
        elif kind == b"iCCP":
            yield Part("PNG profile", data.partition(b"\x00")[0])
        elif kind not in (b"IHDR", b"PLTE", b"IDAT", b"IEND"):
            yield Part(f"PNG {kind.decode('latin-1')}", data)
        if kind == b"IEND":
            break
    if payload[at:]:
        yield Part("behind the PNG", payload[at:])


def _jpeg(payload: bytes, limit: int) -> Iterator[Part]:
    at = 2
    while at + 4 <= len(payload) and payload[at] == 0xFF and payload[at + 1] != 0xDA:
        (size,) = struct.unpack(">H", payload[at + 2 : at + 4])
        if payload[at + 1] == 0xFE or 0xE0 <= payload[at + 1] <= 0xEF:
            yield Part("JPEG segment", payload[at + 4 : at + 2 + size])
        at += 2 + size
    end = payload.rfind(b"\xff\xd9")
    if end >= 0 and payload[end + 2 :]:
        yield Part("behind the JPEG", payload[end + 2 :])


def _font(payload: bytes, limit: int) -> Iterator[Part]:
    from fontTools.ttLib import TTFont

    with TTFont(io.BytesIO(payload), lazy=True) as font:
        if "name" in font:
            yield Part("font name", "\n".join(record.toUnicode() for record in font["name"].names).encode())
        for tag in ("meta", "SVG ", "DSIG"):
            if tag in font:
                yield Part(f"font {tag.strip()}", font.reader[tag])
        if "CFF " in font:
            cff = font["CFF "].cff
            words = [*cff.fontNames, *(str(value) for value in cff[0].rawDict.values() if isinstance(value, str))]
            yield Part("font CFF", "\n".join(words).encode())
        extra: Any = getattr(font, "flavorData", None)
        for part in (getattr(extra, "metaData", None), getattr(extra, "privData", None)):
            if part:
                yield Part("font metadata", part)


def _parquet(payload: bytes, limit: int) -> Iterator[Part]:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(io.BytesIO(payload))
    notes = [file.metadata.created_by or "", str(file.schema_arrow)]
    notes += [value.decode("utf-8", "replace") for pair in (file.metadata.metadata or {}).items() for value in pair]
    yield Part("parquet metadata", "\n".join(notes).encode())
    yield Part("parquet columns", _rows(file.read()))


def _arrow(payload: bytes, limit: int) -> Iterator[Part]:
    import pyarrow as pa

    table = pa.ipc.open_file(payload).read_all()
    yield Part("Arrow metadata", str(table.schema).encode())
    yield Part("Arrow columns", _rows(table))


def _rows(table: Any) -> bytes:
    """Every column that is not a number, one value a line."""
    import pyarrow as pa

    numbers = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)
    columns = [column for column in table.columns if not any(test(column.type) for test in numbers)]
    return "\n".join(str(value) for column in columns for value in column.to_pylist() if value is not None).encode()


def _pdf(payload: bytes, limit: int) -> Iterator[Part]:
    """Every stream inflated, every string decoded, and the text of pages through the fonts' own tables."""
    if re.search(rb"/Encrypt\s+\d+\s+\d+\s+R", payload):
        raise Unreadable("an encrypted PDF")
    streams = []
    for found in re.finditer(rb"(?<!end)stream\r?\n", payload):
        end = payload.find(b"endstream", found.end())
        head = payload[max(0, found.start() - 600) : found.start()].rpartition(b" obj")[2]
        body = payload[found.end() : end if end >= 0 else len(payload)]
        if b"FlateDecode" in head:
            # zlib stops where the data end; what a PDF writer put behind them is white space
            body = zlib.decompressobj().decompress(body, limit)
        streams.append((head, body))
    texts = [body for head, body in streams if b"/Subtype/Image" not in head.replace(b" ", b"")]
    yield from (Part("PDF stream", body) for _, body in streams if not _is_drawing(body))
    outside = re.sub(rb"(?<!end)stream\r?\n.*?endstream", b"stream", payload, flags=re.DOTALL)
    yield Part("PDF objects", _ascii(outside).removeprefix(b"%PDF-"))
    words = [word for body in (outside, *texts) for word in _pdf_strings(body)]
    yield Part("PDF strings", "\n".join(filter(None, map(_pdf_text, words))).encode("utf-8", "replace"))
    pages = [list(_pdf_strings(body)) for body in texts if b"Tj" in body or b"TJ" in body]
    tables = [table for table in map(_to_unicode, texts) if table]
    shown = ["".join(map(_pdf_text, page)) for page in pages]
    shown += ["".join(_through(table, word) for word in page) for table in tables for page in pages]
    yield Part("PDF pages", "\n".join(shown).encode("utf-8", "replace"))


def _is_drawing(body: bytes) -> bool:
    """Page contents and character maps are read as strings; as bytes they say nothing."""
    return b"begincmap" in body or re.search(rb"\bBT\b.*\bET\b", body, re.DOTALL) is not None


def _ascii(payload: bytes) -> bytes:
    return payload.decode("latin-1").encode("ascii", "replace")


def _pdf_strings(body: bytes) -> Iterator[bytes]:
    for match in _PDF_STRING.finditer(body):
        literal, digits = match.group(1), match.group(2)
        if literal is not None:
            yield _PDF_ESCAPE.sub(_pdf_escaped, literal)
        else:
            plain = re.sub(rb"\s", b"", digits)
            yield bytes.fromhex((plain + b"0" * (len(plain) % 2)).decode())


def _pdf_escaped(match: re.Match[bytes]) -> bytes:
    word = match.group(1)
    return bytes([int(word, 8) & 255]) if word.isdigit() else {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(word, word)


def _pdf_text(word: bytes) -> str:
    if word.startswith(b"\xfe\xff"):
        return word[2:].decode("utf-16-be", "replace")
    return word.decode("utf-8", "ignore") if word.startswith(b"\xef\xbb\xbf") else word.decode("latin-1")


def _to_unicode(body: bytes) -> dict[int, str]:
    """Glyph codes of one font to text."""
    if b"begincmap" not in body:
        return {}
    table: dict[int, str] = {}
    for block in re.findall(rb"beginbfchar(.*?)endbfchar", body, re.DOTALL):
        for code, text in re.findall(rb"<([0-9a-fA-F]+)>\s*<([0-9a-fA-F]+)>", block):
            table[int(code, 16)] = bytes.fromhex(text.decode()).decode("utf-16-be", "ignore")
    for block in re.findall(rb"beginbfrange(.*?)endbfrange", body, re.DOTALL):
        for low, high, text in re.findall(rb"<([0-9a-fA-F]+)>\s*<([0-9a-fA-F]+)>\s*<([0-9a-fA-F]{4})>", block):
            first = int(low, 16)
            for code in range(first, min(int(high, 16), first + 0xFFFF) + 1):
                table[code] = chr(int(text, 16) + code - first)
        for low, texts in re.findall(rb"<([0-9a-fA-F]+)>\s*<[0-9a-fA-F]+>\s*\[([^\]]*)\]", block):
            for place, text in enumerate(re.findall(rb"<([0-9a-fA-F]+)>", texts)):
                table[int(low, 16) + place] = bytes.fromhex(text.decode()).decode("utf-16-be", "ignore")
    return table


def _through(table: dict[int, str], word: bytes) -> str:
    codes = [int.from_bytes(word[at : at + 2], "big") for at in range(0, len(word) - 1, 2)]
    return "".join(table.get(code, "") for code in codes)


_PDF_STRING = re.compile(rb"\(((?:\\.|[^\\()]|\((?:\\.|[^\\()])*\))*)\)|<(?!<)([0-9a-fA-F\s]+)>", re.DOTALL)
_PDF_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)

_KINDS: tuple[tuple[bytes, str, Callable[[bytes, int], Iterator[Part]]], ...] = (
    (b"PK\x03\x04", "ZIP", _zip),
    (b"PK\x05\x06", "ZIP", _zip),
    (b"\x1f\x8b", "gzip", _gzip),
    (b"BZh", "bzip2", _bz2),
    (b"\xfd7zXZ\x00", "xz", _xz),
    (b"\x89PNG\r\n\x1a\n", "PNG", _png),
    (b"\xff\xd8\xff", "JPEG", _jpeg),
    (b"%PDF-", "PDF", _pdf),
    (b"wOF2", "font", _font),
    (b"wOFF", "font", _font),
    (b"OTTO", "font", _font),
    (b"\x00\x01\x00\x00", "font", _font),
    (b"PAR1", "parquet", _parquet),
    (b"ARROW1", "Arrow", _arrow),
    (b"7z\xbc\xaf", "7z", _closed),
    (b"Rar!", "RAR", _closed),
    (b"\x28\xb5\x2f\xfd", "zstd", _closed),
)
"""How a file of each kind begins, and how it is opened."""
