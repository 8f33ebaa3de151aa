"""Files made of parts: archives, compressed data, pictures, fonts, documents, tables.

Of a picture, a font or a table only the parts that hold text are given; what only draws is left out.
"""

from __future__ import annotations

import base64
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

MOST_STREAMS = 1_000
"""Most streams of compressed data that stand one after the other."""

MOST_MEMORY = 256 * 1024 * 1024
"""Most memory that one stream may ask for before it gives its first byte."""


class Unreadable(Exception):
    """A file that says what it is and cannot be opened as that."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a file.

    Attributes:
        label: what it is called in a finding; never words out of the file.
        payload: its bytes.
        whole: it is a file of its own, so that not being able to read it is a finding.
        kind: `page` where a browser would read it as one.
    """

    label: str
    payload: bytes
    whole: bool = False
    kind: str = ""


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
        if label != "ZIP" and payload.rfind(b"PK\x05\x06") > 0 and zipfile.is_zipfile(io.BytesIO(payload)):
            parts += _zip(payload, limit - size)
    except Unreadable:
        if label == "zlib" and size <= limit:  # two bytes are a weak sign
            return None
        raise
    except Exception as problem:  # a parser meets bytes it was never written for: whatever it says, nothing was read
        if label == "zlib":
            return None
        raise Unreadable(f"{label} that cannot be read ({type(problem).__name__})") from None
    return parts


def says_what_it_is(payload: bytes) -> bool:
    """Whether bytes begin as a file that is made of parts."""
    return _kind_of(payload) is not None


def _kind_of(payload: bytes) -> tuple[str, Callable[[bytes, int], Iterator[Part]]] | None:
    """What a file is by its first bytes, and how it is opened."""
    for begins, label, opened in _KINDS:
        if payload.startswith(begins):
            return label, opened
    if payload.startswith(b"\x00\x01\x00\x00") and _is_truetype(payload):
        return "font", _font
    if payload[257:262] == b"ustar":
        return "tar", _tar
    if len(payload) > 8 and payload[0] == 0x78 and payload[1] in (1, 0x5E, 0x9C, 0xDA):
        return "zlib", _zlib
    if payload.startswith(b"RIFF") and payload[8:12] == b"WEBP":
        return "WebP", _webp
    if b"%PDF-" in payload[:1024]:
        return "PDF", _pdf
    if payload.rfind(b"PK\x05\x06") > 0 and zipfile.is_zipfile(io.BytesIO(payload)):
        return "ZIP", _zip  # behind something else; that is read as the part before it
    return ("film", _closed) if payload[4:8] == b"ftyp" else None


def _is_truetype(payload: bytes) -> bool:
    """Whether the number of tables and what follows from it agree; four bytes of zeros and ones are a weak sign."""
    tables, search = struct.unpack(">HH", payload[4:8]) if len(payload) > 12 else (0, 0)
    return bool(0 < tables < 256 and search == 16 << (int(tables).bit_length() - 1))


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
        yield Part("ZIP names", "\n".join(names).encode("utf-8", "replace"))
        yield from (Part("ZIP note", note) for note in notes if note)
        first = min((info.header_offset for info in archive.infolist()), default=archive.start_dir)
        end = payload.rfind(b"PK\x05\x06") + 22 + len(archive.comment)
        yield from (Part("around the ZIP", rest, whole=True) for rest in (payload[:first], payload[end:]) if rest)
        for info in archive.infolist():
            if info.flag_bits & 1:
                raise Unreadable("an encrypted ZIP member")
            if info.file_size > limit:
                raise Unreadable("ZIP: too large to be read")
            yield Part(f"ZIP member {info.header_offset}", archive.read(info), whole=not info.is_dir())


def _tar(payload: bytes, limit: int) -> Iterator[Part]:
    with tarfile.open(fileobj=io.BytesIO(payload)) as archive:
        for member in archive:
            owner = f"{member.name}\n{member.linkname}\n{member.uname}\n{member.gname}\n{member.pax_headers}"
            yield Part("tar entry", owner.encode("utf-8", "replace"))
            if member.size > limit:
                raise Unreadable("tar: too large to be read")
            inner = archive.extractfile(member) if member.isfile() else None
            if inner is not None:
                yield Part(f"tar member {member.offset}", inner.read(), whole=True)
        rest = payload[archive.offset :].strip(b"\x00")
        if rest:
            yield Part("behind the tar", rest, whole=True)


def _closed(payload: bytes, limit: int) -> Iterator[Part]:
    raise Unreadable("a kind of file that is not read")


def _gzip(payload: bytes, limit: int) -> Iterator[Part]:
    name = re.match(rb"\x1f\x8b.(.).{6}", payload, re.DOTALL)
    if name and name.group(1)[0] & 0x18:  # the name of the file, or a comment
        yield Part("gzip header", payload[10:522].partition(b"\x00")[0])
    yield from _unpacked("gzip", payload, limit, b"\x1f\x8b", lambda: zlib.decompressobj(47))


def _zlib(payload: bytes, limit: int) -> Iterator[Part]:
    yield from _unpacked("zlib", payload, limit, None, lambda: zlib.decompressobj(15))


def _bz2(payload: bytes, limit: int) -> Iterator[Part]:
    yield from _unpacked("bzip2", payload, limit, b"BZh", bz2.BZ2Decompressor)


def _xz(payload: bytes, limit: int) -> Iterator[Part]:
    yield from _unpacked("xz", payload, limit, b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(memlimit=MOST_MEMORY))


def _zstd(payload: bytes, limit: int) -> Iterator[Part]:
    yield _streamed("zstd", payload, limit)


def _lz4(payload: bytes, limit: int) -> Iterator[Part]:
    yield _streamed("lz4", payload, limit)


def _streamed(codec: str, payload: bytes, limit: int) -> Part:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(payload), codec) as stream:
        whole = stream.read(limit + 1)
    return Part(codec, whole, whole=True)


def _unpacked(label: str, payload: bytes, limit: int, again: bytes | None, fresh: Callable[[], Any]) -> Iterator[Part]:
    """Every stream of compressed data, one after the other, and what was put behind them.

    Args:
        label: what it is called.
        payload: one stream or several.
        limit: most bytes they may have together.
        again: how a further stream begins; None: there is none.
        fresh: makes what unpacks one stream.
    """
    whole = b""
    for _ in range(MOST_STREAMS):
        if not payload:
            break
        stream = fresh()
        whole += stream.decompress(payload, limit + 1 - len(whole))
        if len(whole) > limit:
            raise Unreadable(f"{label}: too large to be read")
        if not stream.eof:
            raise Unreadable(f"{label} that ends too early")
        payload = stream.unused_data.strip(b"\x00")
        if payload and (again is None or not payload.startswith(again)):
            yield Part(f"behind the {label}", payload, whole=True)
            payload = b""
    if payload:
        raise Unreadable(f"{label}: too large to be read")
    yield Part(label, whole, whole=True)


def _inflated(payload: bytes, limit: int) -> bytes:
    """One piece of a file that zlib packed."""
    whole = zlib.decompressobj().decompress(payload, limit + 1)
    if len(whole) > limit:
        raise Unreadable("too large to be read")
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
            yield Part("PNG text", key + b"\n" + _inflated(packed[1:], limit))
        elif kind == b"iTXt":
            key, _, rest = data.partition(b"\x00")
            language, _, after = rest[2:].partition(b"\x00")
            title, _, text = after.partition(b"\x00")
            yield Part(
                "PNG text",
                b"\n".join((key, language, title, _inflated(text, limit) if rest[:1] == b"\x01" else text)),
            )
        elif kind == b"iCCP":
            name, _, packed = data.partition(b"\x00")
            yield Part("PNG profile", name + b"\n" + _inflated(packed[1:], limit))
        elif kind not in (b"IHDR", b"IDAT", b"IEND"):
            yield Part("PNG chunk", kind + b"\n" + data)
            yield Part("PNG chunk", data)
        if kind == b"IEND":
            break
    if payload[at:]:
        yield Part("behind the PNG", payload[at:], whole=True)


def _jpeg(payload: bytes, limit: int) -> Iterator[Part]:
    at = 2
    while at + 4 <= len(payload) and payload[at] == 0xFF and payload[at + 1] != 0xDA:
        if payload[at + 1] == 0xFF:  # filling
            at += 1
            continue
        (size,) = struct.unpack(">H", payload[at + 2 : at + 4])
        yield Part("JPEG segment", payload[at + 4 : at + 2 + size])
        at += 2 + size
    end = payload.find(b"\xff\xd9", at)
    if end < 0:
        raise Unreadable("JPEG that ends too early")
    if payload[end + 2 :]:
        yield Part("behind the JPEG", payload[end + 2 :], whole=True)


def _gif(payload: bytes, limit: int) -> Iterator[Part]:
    """Comments, texts and what applications wrote; their pieces put together."""
    for found in re.finditer(rb"!([\x01\xfe\xff])", payload):
        at, words = found.end(), b""
        while at < len(payload) and (size := payload[at]):
            words += payload[at + 1 : at + 1 + size] + (b"" if found.group(1) == b"\xfe" else b"\n")
            at += 1 + size
        yield Part("GIF text", words)
    yield Part("behind the GIF", payload.rpartition(b";")[2], whole=True)


def _webp(payload: bytes, limit: int) -> Iterator[Part]:
    at, end = 12, 8 + int.from_bytes(payload[4:8], "little")
    while at + 8 <= end:
        size = int.from_bytes(payload[at + 4 : at + 8], "little")
        if payload[at : at + 4] not in (b"VP8 ", b"VP8L", b"ALPH"):
            yield Part("WebP chunk", payload[at + 8 : at + 8 + size])
        at += 8 + size + size % 2
    if payload[end:]:
        yield Part("behind the WebP", payload[end:], whole=True)


def _font(payload: bytes, limit: int) -> Iterator[Part]:
    from fontTools.ttLib import TTFont

    with TTFont(io.BytesIO(payload), lazy=True) as font:
        if "name" in font:
            yield Part("font name", "\n".join(record.toUnicode() for record in font["name"].names).encode())
        for tag in map(str, font.reader.keys()):
            if tag.strip() not in _DRAWN:
                yield Part("font table", font.reader[tag])
        yield Part("font tables", "\n".join(font.reader.keys()).encode("utf-8", "replace"))
        if "post" in font and font["post"].formatType == 2:
            yield Part("font glyphs", "\n".join(font.getGlyphOrder()).encode("utf-8", "replace"))
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
    rows = [file.metadata.row_group(number).total_byte_size for number in range(file.metadata.num_row_groups)]
    if sum(rows) > limit:
        raise Unreadable("parquet: too large to be read")
    notes = [file.metadata.created_by or "", *_notes(file.metadata.metadata), *_schema(file.schema_arrow)]
    yield Part("parquet metadata", "\n".join(notes).encode())
    yield Part("parquet columns", _rows(file.read(), limit))


def _arrow(payload: bytes, limit: int) -> Iterator[Part]:
    import pyarrow as pa

    with pa.ipc.open_file(payload) as file:
        yield Part("Arrow metadata", "\n".join((*_schema(file.schema), *_notes(file.metadata))).encode())
        for number in range(file.num_record_batches):
            batch = file.get_batch(number)
            if batch.nbytes > limit:
                raise Unreadable("Arrow: too large to be read")
            yield Part("Arrow columns", _rows(pa.Table.from_batches([batch]), limit))


def _schema(schema: Any) -> list[str]:
    """Names of columns, and what is noted beside them."""
    return [
        *_notes(schema.metadata),
        *(word for field in schema for word in (field.name, str(field.type), *_notes(field.metadata))),
    ]


def _notes(notes: Any) -> list[str]:
    """Keys and values."""
    return [word.decode("utf-8", "replace") for pair in (notes or {}).items() for word in pair]


def _rows(table: Any, limit: int) -> bytes:
    """Every column that is no float, one value a line; lists of words also put together, bytes as they are."""
    import pyarrow as pa

    if table.nbytes > limit:
        raise Unreadable("a table that is too large to be read")
    columns = [
        column
        for column in table.columns
        if not (pa.types.is_floating(column.type) or pa.types.is_boolean(column.type))
    ]
    lines: list[bytes] = []
    for column in columns:
        between = b" " if pa.types.is_integer(column.type) else b"\n"
        lines.append(between.join(map(_cell, filter(_is_there, column.to_pylist()))))
    return b"\n".join(lines)


def _is_there(value: object) -> bool:
    return value is not None


def _cell(value: object) -> bytes:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").replace("\x00", "").encode()
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "".join(value).encode("utf-8", "replace") + b"\n" + "\n".join(value).encode("utf-8", "replace")
    return str(value).encode("utf-8", "replace")


def _pdf(payload: bytes, limit: int) -> Iterator[Part]:
    """Every stream unpacked, every string decoded, and the text of pages through the fonts' own tables."""
    bodies, between, at = [], [], 0
    while (found := _PDF_STREAM.search(payload, at)) is not None:
        between.append(payload[at : found.end()])
        end = payload.find(b"endstream", found.end())
        at = end if end >= 0 else len(payload)
        bodies.append(
            (payload[max(0, found.start() - 2000) : found.start()].rpartition(b" obj")[2], payload[found.end() : at])
        )
    outside = _PDF_NAME.sub(_from_hex, b"".join((*between, payload[at:])))
    if b"/Encrypt" in outside:
        raise Unreadable("an encrypted PDF")
    streams, left = [], limit
    for raw, packed in bodies:
        head = _PDF_NAME.sub(_from_hex, raw)
        body = _pdf_stream(head, packed, left)
        left -= len(body)
        streams.append((head, body))
    texts = [body for head, body in streams if b"/Subtype/Image" not in head.replace(b" ", b"")]
    for head, body in streams:
        attached = b"/EmbeddedFile" in head
        yield Part("PDF attachment" if attached else "PDF stream", body, whole=attached)
    everything = b"\n".join((outside, *texts))
    if _PDF_ACTS.search(everything):
        yield Part("PDF action", b"<script>", kind="page")
    if re.search(rb"/URI\s*[(<]", everything):
        yield Part("PDF link", b'<a href="//somewhere">', kind="page")
    yield Part("PDF objects", _ascii(outside).replace(b"%PDF-", b""))
    words = [word for body in (outside, *texts) for word in _pdf_strings(body)]
    yield Part("PDF strings", _visible("\n".join(filter(None, map(_pdf_text, words)))))
    pages = [list(_pdf_strings(body)) for body in texts if b"Tj" in body or b"TJ" in body]
    tables = [table for table in map(_to_unicode, texts) if table]
    yield Part("PDF pages", _visible("\n".join("".join(map(_pdf_text, page)) for page in pages)))
    shown = ["".join(_through(table, word) for word in page) for table in tables for page in pages]
    yield Part("PDF pages", _visible("\n".join(shown)))
    yield Part("behind the PDF", payload[payload.rfind(b"%%EOF") + 5 :].strip() if b"%%EOF" in payload else b"")


def _pdf_stream(head: bytes, body: bytes, limit: int) -> bytes:
    """One stream with its filters undone, in their order; pictures stay as they are."""
    named = re.search(rb"/Filter\s*(\[[^\]]*\]|/\w+)", head)
    for name in re.findall(rb"/(\w+)", named.group(1)) if named else ():
        if name in (b"FlateDecode", b"Fl"):
            body = zlib.decompressobj().decompress(body, limit)
            predictor, columns = (re.search(rb"/" + word + rb"\s+(\d+)", head) for word in (b"Predictor", b"Columns"))
            if predictor and int(predictor.group(1)) > 9:
                body = _unpredicted(body, int(columns.group(1)) if columns else 1)
        elif name in (b"ASCIIHexDecode", b"AHx"):
            digits = re.sub(rb"[^0-9a-fA-F]", b"", body.partition(b">")[0])
            body = bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode())
        elif name in (b"ASCII85Decode", b"A85"):
            body = base64.a85decode(body.strip().removeprefix(b"<~").partition(b"~>")[0])
        elif name in (b"RunLengthDecode", b"RL"):
            body = _run_lengths(body, limit)
        elif name not in (b"DCTDecode", b"DCT"):
            raise Unreadable("a PDF whose streams are packed in a way that is not read")
    return body


def _unpredicted(body: bytes, columns: int) -> bytes:
    """Rows of bytes that are written as differences, each with its kind before it (PNG specification, 9.2)."""
    before, out = bytearray(columns), bytearray()
    for at in range(0, len(body), columns + 1):
        kind, row = body[at], bytearray(body[at + 1 : at + 1 + columns])
        for place in range(len(row)):
            left, corner = (row[place - 1], before[place - 1]) if place else (0, 0)
            up = before[place]
            row[place] = (row[place] + _predicted(kind, left, up, corner)) & 255
        out += row
        before[: len(row)] = row
    return bytes(out)


def _predicted(kind: int, left: int, up: int, corner: int) -> int:
    if kind == 4:
        near = left + up - corner
        return min((left, up, corner), key=lambda one: abs(near - one))
    return {1: left, 2: up, 3: (left + up) // 2}.get(kind, 0)


def _run_lengths(body: bytes, limit: int) -> bytes:
    at, out = 0, bytearray()
    while at < len(body) and body[at] != 128 and len(out) <= limit:
        size = body[at]
        out += body[at + 1 : at + 2 + size] if size < 128 else body[at + 1 : at + 2] * (257 - size)
        at += size + 2 if size < 128 else 2
    return bytes(out)


def _ascii(payload: bytes) -> bytes:
    return payload.decode("latin-1").encode("ascii", "replace")


def _visible(text: str) -> bytes:
    """Text without the numbers of glyphs that are no characters."""
    return text.translate(_GLYPHS).encode("utf-8", "replace")


def _pdf_strings(body: bytes) -> Iterator[bytes]:
    for match in _PDF_STRING.finditer(body):
        literal, digits = match.group(1), match.group(2)
        if literal is not None:
            yield _PDF_ESCAPE.sub(_pdf_escaped, literal)
        else:
            plain = re.sub(rb"\s", b"", digits)
            yield bytes.fromhex((plain + b"0" * (len(plain) % 2)).decode())


def _from_hex(match: re.Match[bytes]) -> bytes:
    return bytes.fromhex(match.group(1).decode())


def _pdf_escaped(match: re.Match[bytes]) -> bytes:
    word = match.group(1)
    if word in (b"\n", b"\r\n"):
        return b""  # a line that goes on
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


_DRAWN = frozenset(
    "glyf loca hmtx vmtx hdmx cvt fpgm prep gasp GSUB GPOS GDEF CFF CFF2 cmap kern name post GlyphOrder".split()
)
"""Tables of a font that only draw, or are read apart."""

_PDF_STRING = re.compile(
    rb"\(((?:\\.|[^\\()]++|\((?:\\.|[^\\()]++|\((?:\\.|[^\\()]++)*+\))*+\))*+)\)|<(?!<)([0-9a-fA-F\s]++)>", re.DOTALL
)
_PDF_ESCAPE = re.compile(rb"\\([0-7]{1,3}|\r?\n|.)", re.DOTALL)
_GLYPHS = dict.fromkeys(code for code in range(0x20) if code not in (0x09, 0x0A, 0x0D))
_PDF_STREAM = re.compile(rb"(?<!end)stream(?:\r\n|\n|\r)")
_PDF_NAME = re.compile(rb"(?<=[/\w#])#([0-9a-fA-F]{2})")
_PDF_ACTS = re.compile(
    rb"/(?:JavaScript|JS|Launch|SubmitForm|ImportData|GoToR|GoToE|RichMedia|Rendition)\b|/S\s*/(?:Movie|Sound)\b"
)
"""What a PDF reader would run or fetch."""

_KINDS: tuple[tuple[bytes, str, Callable[[bytes, int], Iterator[Part]]], ...] = (
    (b"PK\x03\x04", "ZIP", _zip),
    (b"PK\x05\x06", "ZIP", _zip),
    (b"\x1f\x8b", "gzip", _gzip),
    (b"BZh", "bzip2", _bz2),
    (b"\xfd7zXZ\x00", "xz", _xz),
    (b"\x89PNG\r\n\x1a\n", "PNG", _png),
    (b"\xff\xd8\xff", "JPEG", _jpeg),
    (b"wOF2", "font", _font),
    (b"wOFF", "font", _font),
    (b"OTTO", "font", _font),
    (b"PAR1", "parquet", _parquet),
    (b"ARROW1", "Arrow", _arrow),
    (b"7z\xbc\xaf", "7z", _closed),
    (b"Rar!", "RAR", _closed),
    (b"\x28\xb5\x2f\xfd", "zstd", _zstd),
    (b"\x04\x22\x4d\x18", "lz4", _lz4),
    (b"GIF8", "GIF", _gif),
)
"""How a file of each kind begins, and how it is opened."""
