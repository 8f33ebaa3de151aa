"""A bundle stuffed with secrets, and a leaky template: one file for each channel by which a page can give one away.

Print the tally: python -m tests.publish.canaries
"""

from __future__ import annotations

import base64
import bz2
import gzip
import html
import io
import json
import lzma
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from lab.environment import Gpu, capture
from lab.evidence import EvidenceStore, LaunchRecord
from lab.plan import load_plan
from lab.publish.gate import Known, inspect, private_facts
from lab.quality.replies import QualityItem
from lab.records import Capabilities, Outcome, RequestRecord
from tests.conftest import CHECKOUT, SMALL_PLAN

SECRETS = {
    "host": "gpu07-yamanashi",
    "user": "hanakoy",
    "home": "/home/hanakoy",
    "folder": "/nfs/teams/aurora/lab",
    "address": "203.0.113.77",
    "mac": "0a:1b:2c:3d:4e:5f",
    "uuid": "GPU-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
    "container": "3f9c1e7a5b2d4c6f8e0a1b3c5d7f9e2a4b6c8d0e1f3a5b7c9d1e3f5a7b9c1d3e",
    "model path": "/nfs/teams/aurora/weights/kitsune-internal.gguf",
    "engine": "llm-gw.aurora.internal",
    "answer": "The quarterly forecast of the Aurora programme assumes that the Kofu plant opens in spring, not before.",
    "error": "upstream connect error: tenant aurora-prod has no quota left on shard seven",
    "log path": "/nfs/teams/aurora/venvs/engine/lib/loader.py",
    "name": "Hanako Yamada-Ōtsuki",
}
"""What the bundle knows."""


def bundle(store: EvidenceStore, params: Path) -> str:
    """One bundle whose every private part holds one of `SECRETS`."""
    for piece in ("models", "engines", "workloads", "quality"):
        (params / piece).symlink_to(CHECKOUT / "params" / piece)
    (params / "small.yaml").write_text(SMALL_PLAN, encoding="utf-8")
    spec = load_plan(params / "small.yaml").runs[0].spec
    run_id = store.create(spec, plan="small", plan_digest="p-1", match_id="m-1", varied=())
    gpu = Gpu(name="NVIDIA H200", uuid=SECRETS["uuid"], driver="580.1", memory_mib=143771)
    machine = capture().model_copy(
        update={
            "hostname": SECRETS["host"], "user": SECRETS["user"], "home": SECRETS["home"], "cwd": SECRETS["folder"],
            "addresses": (SECRETS["address"], SECRETS["mac"]), "gpus": (gpu,),
            "cgroup": f"0::/system.slice/docker-{SECRETS['container']}.scope",
        }
    )  # fmt: skip
    store.write(run_id, "environment.json", machine)
    launch = LaunchRecord(
        engine_version="1", command=("engine",), not_expressible=(), capabilities=Capabilities(checks=()),
        argv=("engine", f"--model={SECRETS['model path']}", f"http://{SECRETS['engine']}:8000"),
    )  # fmt: skip
    store.write(run_id, "launch.json", launch)
    request = {"level": 0, "intended_send_s": 0, "send_s": 0, "asked_tokens": 5}
    store.write_requests(
        run_id,
        [
            RequestRecord(**request, index=0, outcome=Outcome.SUCCESS, text=SECRETS["answer"]),
            RequestRecord(**request, index=1, outcome=Outcome.HTTP_ERROR, error=SECRETS["error"]),
        ],
    )
    item = QualityItem(
        run_id=run_id, suite="s", version="1", task="t", item_id="i", text=SECRETS["answer"][::-1], score=1.0,
        outcome=Outcome.SUCCESS,
    )  # fmt: skip
    store.write_samples(run_id, [item])
    store.write(run_id, "engine.log", f"loaded by {SECRETS['log path']}, see /usr/lib/x.so\n".encode())
    return run_id


def page(inner: str) -> bytes:
    """A page that holds `inner`."""
    policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'
    return f"<!doctype html><html><head>{policy}</head><body>{inner}</body></html>".encode()


def notebook(**changes: object) -> bytes:
    """An executed notebook of one cell."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["1\n"]}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **changes}).encode()


def output(**fields: object) -> bytes:
    """An executed notebook whose one cell has one output."""
    return notebook(cells=[{"cell_type": "code", "metadata": {}, "source": [], "outputs": [fields]}])


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    """A picture of one pixel with further chunks."""
    begin = (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    whole = (begin, *chunks, (b"IDAT", zlib.compress(b"\0\0")), (b"IEND", b""))
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in whole
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def drawn(form: str, text: str = "", **metadata: str) -> bytes:
    """A real chart of matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure, out = Figure(figsize=(1, 1)), io.BytesIO()
    figure.text(0.1, 0.5, text)
    with matplotlib.rc_context({"pdf.fonttype": 42, "svg.fonttype": "none"}):
        figure.savefig(out, format=form, metadata=metadata)
    return out.getvalue()


def pdf_of(markup: str) -> bytes:
    """A real PDF of WeasyPrint: its text is glyph numbers."""
    from weasyprint import HTML

    return bytes(HTML(string=markup).write_pdf())


def font(name: str) -> bytes:
    """A WOFF2 font of one glyph with a name."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.ttLib.tables._g_l_y_f import Glyph

    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef"])
    builder.setupCharacterMap({})
    builder.setupGlyf({".notdef": Glyph()})
    builder.setupHorizontalMetrics({".notdef": (500, 0)})
    builder.setupHorizontalHeader()
    builder.setupNameTable({"familyName": "x", "designer": name})
    builder.setupOS2()
    builder.setupPost()
    builder.font.flavor = "woff2"
    out = io.BytesIO()
    builder.font.save(out)
    return out.getvalue()


def zipped(name: str, payload: bytes, note: bytes = b"") -> bytes:
    """A ZIP with one member."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, payload)
        archive.comment = note
    return out.getvalue()


def tarred(name: str, owner: str) -> bytes:
    """A tar of one empty file, with its owner."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.uname = owner
        archive.addfile(info)
    return out.getvalue()


def table(column: list[str], **metadata: str) -> bytes:
    """A parquet file."""
    out = io.BytesIO()
    pq.write_table(pa.table({"x": column}).replace_schema_metadata(metadata), out, compression="zstd")
    return out.getvalue()


def uri(payload: bytes, media: str = "image/png") -> str:
    """A data URI."""
    return f"data:{media};base64,{base64.b64encode(payload).decode()}"


S = SECRETS
SVG = f"<svg><desc>{SECRETS['host']}</desc></svg>"
Make = Callable[[], bytes]
CHANNELS: dict[str, tuple[str, Make]] = {
    # notebook JSON
    "papermill path": ("a.ipynb", lambda: notebook(metadata={"papermill": {"input_path": S["folder"] + "/n.ipynb"}})),
    "papermill parameter": (
        "a.ipynb",
        lambda: notebook(metadata={"papermill": {"parameters": {"m": S["model path"]}}}),
    ),
    "papermill time": ("a.ipynb", lambda: notebook(metadata={"papermill": {"start": "2026-11-29T20:50:33.1"}})),
    "kernel name": ("a.ipynb", lambda: notebook(metadata={"kernelspec": {"display_name": f"{S['user']}-gpu-env"}})),
    "cell source": (
        "a.ipynb",
        lambda: notebook(cells=[{"cell_type": "code", "source": ["x = '/nfs/teams/", "aurora/lab'"]}]),
    ),
    "widget state": ("a.ipynb", lambda: notebook(metadata={"widgets": {"state": {"value": S["host"]}}})),
    "attachment": (
        "a.ipynb",
        lambda: notebook(
            cells=[
                {
                    "attachments": {
                        "a": {"image/png": base64.b64encode(png((b"tEXt", b"Author\0" + S["user"].encode()))).decode()}
                    }
                }
            ]
        ),
    ),
    # outputs
    "traceback": (
        "a.ipynb",
        lambda: output(output_type="error", traceback=["\x1b[0;31mFile\x1b[0m " + S["home"] + "/lab/x.py:1"]),
    ),
    "text of an exception": (
        "a.ipynb",
        lambda: output(output_type="error", evalue=f"No such file: '{S['model path']}'"),
    ),
    "warning with a process id": ("a.html", lambda: page("<pre>/tmp/ipykernel_24755/423178520.py:1: Warning</pre>")),
    "repr of a module": ("a.html", lambda: page(html.escape(f"<module 'lab' from '{S['folder']}/x.py'>"))),
    "address of an object": ("a.html", lambda: page("&lt;object at 0x7f3a5c1b2d90&gt;")),
    "stderr": ("a.ipynb", lambda: output(output_type="stream", name="stderr", text=["INFO ", S["host"], ": up"])),
    # pages
    "title": ("a.html", lambda: page(f"<title>{S['host']}</title>")),
    "comment": ("a.html", lambda: page(f"<!-- built by {S['user']} -->")),
    "alternative text": ("a.html", lambda: page(f'<img alt="{S["host"]}" src="data:,">')),
    "hidden element": ("a.html", lambda: page(f"<div hidden>{S['address']}</div>")),
    "entities": ("a.html", lambda: page("".join(f"&#x{ord(c):x};" for c in S["host"]))),
    "doubled entities": ("a.html", lambda: page(html.escape("".join(f"&#{ord(c)};" for c in S["host"])))),
    "elements": ("a.html", lambda: page(f"<b>{S['host'][:5]}</b><i>{S['host'][5:]}</i>")),
    "lines": ("a.html", lambda: page(f"{S['host'][:5]}\n    {S['host'][5:]}")),
    "soft hyphens": ("a.html", lambda: page("&shy;".join(S["host"]))),
    "other dashes": ("a.html", lambda: page(S["host"].replace("-", "\u2011"))),
    "full width": ("a.html", lambda: page("".join(chr(ord(c) + 0xFEE0) for c in S["host"]))),
    "link target": ("a.html", lambda: page(f'<a href="#{quote(S["home"], safe="")}">x</a>')),
    "link to a private host": ("a.html", lambda: page(f'<a href="//{S["engine"]}/x">x</a>')),
    "style sheet": (
        "a.html",
        lambda: page("<style>a{content:'" + "".join(f"\\{ord(c):x} " for c in S["host"]) + "'}</style>"),
    ),
    "source map": (
        "a.css",
        lambda: (
            b"/*# sourceMappingURL="
            + uri(json.dumps({"sources": [S["folder"]]}).encode(), "application/json").encode()
            + b" */"
        ),
    ),
    "remote picture": ("a.html", lambda: page('<img src="https://cdn.example.org/x.png">')),
    "remote style": ("a.html", lambda: page("<style>@import 'https://cdn.example.org/x.css'</style>")),
    "remote script": ("a.html", lambda: page('<script src="https://cdn.example.org/x.js"></script>')),
    "script": ("a.html", lambda: page("<script>fetch('/x')</script>")),
    "handler": ("a.html", lambda: page('<p onclick="x()">x</p>')),
    "page without a policy": ("a.html", lambda: b"<!doctype html><html><p>x</p></html>"),
    # charts
    "unused column of a chart": (
        "a.html",
        lambda: page('<script type="application/json">' + json.dumps({"author": S["name"]}) + "</script>"),
    ),
    "escaped JSON": ("a.json", lambda: ('{"host": "' + "".join(f"\\u{ord(c):04x}" for c in S["host"]) + '"}').encode()),
    "label of a mark": (
        "a.svg",
        lambda: f'<svg xmlns="http://www.w3.org/2000/svg"><path aria-label="{S["host"]}"/></svg>'.encode(),
    ),
    "SVG in a data URI": (
        "a.html",
        lambda: page(f'<img src="{uri(SVG.encode(), "image/svg+xml")}">'),
    ),
    "SVG in a percent data URI": (
        "a.html",
        lambda: page(f'<img src="data:image/svg+xml,{quote(SVG)}">'),
    ),
    "date of a chart": ("a.svg", lambda: drawn("svg", Date="2026-11-29T20:50:33.123456")),
    "creator of a chart": ("a.svg", lambda: drawn("svg", Date=None, Creator=S["name"])),
    "text of a picture": ("a.png", lambda: drawn("png", Author=S["user"])),
    "packed text of a picture": ("a.png", lambda: png((b"zTXt", b"Comment\0\0" + zlib.compress(S["home"].encode())))),
    "international text of a picture": (
        "a.png",
        lambda: png((b"iTXt", b"Author\0\1\0\0\0" + zlib.compress(S["name"].encode()))),
    ),
    "Exif of a picture": ("a.png", lambda: png((b"eXIf", b"II*\0" + S["host"].encode("utf-16-le")))),
    "behind the end of a picture": ("a.png", lambda: png() + S["host"].encode()),
    "comment of a JPEG": (
        "a.jpg",
        lambda: (
            b"\xff\xd8\xff\xfe" + struct.pack(">H", 2 + len(S["host"])) + S["host"].encode() + b"\xff\xda\0\2\xff\xd9"
        ),
    ),
    "PDF metadata": ("a.pdf", lambda: drawn("pdf", CreationDate=None, Author=S["name"])),
    "date of a PDF": ("a.pdf", lambda: drawn("pdf")),
    "text of a PDF": ("a.pdf", lambda: pdf_of(f"<p>on {S['host']}")),
    "chart in PDF": ("a.pdf", lambda: drawn("pdf", S["host"], CreationDate=None)),
    "font": ("a.html", lambda: page(f"<style>@font-face{{src:url({uri(font(S['user']), 'font/woff2')})}}</style>")),
    # files
    "name of a file": (f"report-{S['host']}.html", lambda: b"<p>x"),
    "name in a ZIP": ("a.zip", lambda: zipped(f"{S['user']}/x", b"x")),
    "member of a ZIP": ("a.zip", lambda: zipped("x.txt", S["host"].encode())),
    "comment of a ZIP": ("a.zip", lambda: zipped("x", b"x", S["host"].encode())),
    "spreadsheet": (
        "a.xlsx",
        lambda: zipped("xl/sharedStrings.xml", f"<sst><t>{S['host'][:4]}</t><t>{S['host'][4:]}</t></sst>".encode()),
    ),
    "author of a spreadsheet": (
        "a.xlsx",
        lambda: zipped("docProps/core.xml", f"<creator>{S['name']}</creator>".encode()),
    ),
    "name in gzip": (
        "a.gz",
        lambda: b"\x1f\x8b\x08\x08\0\0\0\0\0\3" + S["host"].encode() + b"\0" + gzip.compress(b"x")[10:],
    ),
    "gzip": ("a.gz", lambda: gzip.compress(S["host"].encode())),
    "gzip in base64": ("a.html", lambda: page(base64.b64encode(gzip.compress(S["host"].encode())).decode())),
    "zlib": ("a.bin", lambda: zlib.compress(S["host"].encode() * 3)),
    "bzip2": ("a.bz2", lambda: bz2.compress(S["host"].encode())),
    "xz": ("a.xz", lambda: lzma.compress(S["host"].encode())),
    "owner in a tar": ("a.tar", lambda: tarred("x", S["user"])),
    "ZIP in a ZIP": ("a.zip", lambda: zipped("x", zipped("y", S["host"].encode()))),
    "encrypted or unknown archive": ("a.7z", lambda: b"7z\xbc\xaf\x27\x1c" + b"\0" * 40),
    "damaged archive": ("a.zip", lambda: zipped("x", S["host"].encode())[:40]),
    "feed": ("a.xml", lambda: f"<feed><author><name>{S['name']}</name></author></feed>".encode()),
    "UTF-16": ("a.txt", lambda: S["host"].encode("utf-16")),
    "unknown binary": ("a.bin", lambda: b"\0\1\2\3" + S["host"].encode() + b"\0\xff\xfe"),
    "parquet metadata": ("a.parquet", lambda: table(["x"], made_by=S["user"])),
    "parquet column": ("a.parquet", lambda: table([S["host"]])),
    "base64": ("a.json", lambda: json.dumps({"x": base64.b64encode(S["home"].encode()).decode()}).encode()),
    "hexadecimal": ("a.json", lambda: json.dumps({"x": S["home"].encode().hex()}).encode()),
    # results of other tools
    "lm-eval model path": ("a.json", lambda: json.dumps({"model_name": S["model path"]}).encode()),
    "lm-eval base URL": (
        "a.json",
        lambda: json.dumps({"model_args": f"base_url=http://{S['engine']}:8000/v1"}).encode(),
    ),
    "lm-eval sample": ("a.jsonl", lambda: json.dumps({"resps": [[S["answer"][::-1]]]}).encode()),
    "answer of the model": ("a.html", lambda: page(html.escape(S["answer"]))),
    "part of an answer": ("a.html", lambda: page(S["answer"][3:-3].replace(" ", "\n"))),
    "words of an error": ("a.html", lambda: page(S["error"])),
    "path in the engine's log": ("a.txt", lambda: S["log path"].encode()),
    "bench model id": ("a.json", lambda: json.dumps({"model_id": S["model path"]}).encode()),
    "API key": ("a.json", lambda: json.dumps({"model_args": "api_key=sk-abcdefghijkl0123456789"}).encode()),
    "nvidia-smi uuid": ("a.txt", lambda: f"GPU 0: NVIDIA H200 (UUID: {S['uuid']})".encode()),
    "nvidia-smi serial": ("a.txt", lambda: b"Serial Number : 1652823054567"),
    "nvidia-smi bus": ("a.txt", lambda: b"Bus Id : 00000000:1B:00.0"),
    "container id": ("a.txt", lambda: S["container"].encode()),
    "container host": ("a.txt", lambda: f"Host: {S['container'][:12]}".encode()),
    "bridge address": ("a.txt", lambda: b"http://172.17.0.2:8000"),
    "hardware address": ("a.txt", lambda: S["mac"].upper().encode()),
    "moment": ("a.json", lambda: b'{"date": "2026-11-29 20:50:33"}'),
    "e-mail": ("a.txt", lambda: b"by hanako@aurora-programme.jp"),
    # other spellings of what is known
    **{
        f"network address {form}": ("a.html", lambda text=text: page(text))
        for form, text in {
            "as a number": "http://3405803853/",
            "in hexadecimal": "0xcb.0x00.0x71.0x4d",
            "in octal": "0313.0.0161.0115",
            "in a name": "ip-203-0-113-77",
            "with brackets": "203[.]0[.]113[.]77",
            "reversed": "77.113.0.203.in-addr.arpa",
            "in IPv6": "::ffff:cb00:714d",
            "filled with zeros": "203.000.113.077",
        }.items()
    },
    **{
        f"hardware address {form}": ("a.html", lambda text=text: page(text))
        for form, text in {
            "without marks": "0A1B2C3D4E5F",
            "of a switch": "0a1b.2c3d.4e5f",
            "with spaces": "0a 1b 2c 3d 4e 5f",
            "without zeros": "a:1b:2c:3d:4e:5f",
            "as a number": "11111822610015",
            "in IPv6": "fe80::81b:2cff:fe3d:4e5f",
        }.items()
    },
    **{
        f"GPU {form}": ("a.html", lambda text=text: page(text))
        for form, text in {
            "without marks": "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "beginning": "GPU-0f1e2d3c",
            "in braces": "{0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0}",
            "in base64": "Dx4tPEtaaXiHlqW0w9Lh8A==",
        }.items()
    },
    **{
        f"host {form}": ("a.html", lambda text=text: page(text))
        for form, text in {
            "without its dash": "gpu07yamanashi",
            "with another mark": "gpu07_yamanashi",
            "in Cyrillic": "gpu07-y\u0430manashi",
            "with accents": "gpu07-y\u00e1man\u00e4shi",
            "struck out": "\u0336".join(S["host"]),
            "backwards": S["host"][::-1],
            "in tags' characters": "".join(chr(0xE0000 + ord(c)) for c in S["host"]),
            "as colours": "\x1b[31m".join(S["host"]),
            "rubbed out": "x\x08".join(S["host"]),
            "with zero bytes": "\0".join(S["host"]),
            "in base32": base64.b32encode(S["host"].encode()).decode(),
            "in UTF-7": S["host"].replace("-", "+AC0-"),
            "in quoted-printable": "".join(f"={ord(c):02X}" for c in S["host"]),
            "in %u": "".join(f"%u{ord(c):04x}" for c in S["host"]),
            "in octal escapes": "".join(f"\\{ord(c):03o}" for c in S["host"]),
            "in pairs of digits": S["host"].encode().hex(" "),
            "as numbers": ", ".join(str(ord(c)) for c in S["host"]),
            "in binary": " ".join(f"{ord(c):08b}" for c in S["host"]),
            "in base64 of UTF-16": base64.b64encode(S["host"].encode("utf-16-le")).decode(),
            "in base64 of zlib": base64.b64encode(zlib.compress(S["host"].encode() * 3)).decode(),
            "in base64 over elements": "<b>Z3B1MDct</b><b>eWFtYW5hc2hp</b>",
            "in base64 with spaces": " ".join("Z3B1MDcteWFtYW5hc2hp"),
            "in a sum of strings": "<pre>'gpu07' + '-yamanashi'</pre>",
            "around a hidden word": "gpu07<i hidden>no</i>-yamanashi",
            "over attributes": "<i data-a='gpu07' data-b='-yamanashi'>",
            "in CSS strings": "<style>a::before{content:'gpu07' '-yamanashi'}</style>",
            "in CDATA": "<svg><desc><![CDATA[gpu07]]><![CDATA[-yamanashi]]></desc></svg>",
        }.items()
    },
    "domain of the engine": ("a.html", lambda: page("on aurora.internal")),
    "host of the engine alone": ("a.html", lambda: page("on llm-gw")),
    "name of the weights": ("a.html", lambda: page("kitsune-internal")),
    "path with other slashes": ("a.html", lambda: page(S["model path"].replace("/", "\\"))),
    "path from elsewhere": ("a.html", lambda: page("teams/aurora/weights/kitsune-internal.gguf")),
    "words of the answer between others": ("a.html", lambda: page("said: " + S["answer"][20:70] + " and more")),
    "hyphenated answer": (
        "a.html",
        lambda: page(S["answer"].replace("programme", "pro-\ngramme").replace("forecast", "fore-\ncast")),
    ),
    # further packings
    "old UTF-16": ("a.txt", lambda: f"on {S['host']}".encode("utf-16-be")),
    "UTF-32": ("a.txt", lambda: f"on {S['host']}".encode("utf-32-le")),
    "Shift JIS": ("a.txt", lambda: f"山梨 {S['host']} にて".encode("cp932")),
    "second stream of bzip2": ("a.bz2", lambda: bz2.compress(b"x") + bz2.compress(S["host"].encode())),
    "second stream of xz": ("a.xz", lambda: lzma.compress(b"x") + lzma.compress(S["host"].encode())),
    "behind zlib": ("a.bin", lambda: zlib.compress(b"x" * 50) + S["host"].encode()),
    "zstd": ("a.zst", lambda: pa.compress(S["host"].encode() * 9, codec="zstd", asbytes=True)),
    "lz4": ("a.lz4", lambda: pa.compress(S["host"].encode() * 9, codec="lz4", asbytes=True)),
    "ZIP behind a page": ("a.html", lambda: page("x") + zipped("x", S["host"].encode() * 5)),
    "behind a ZIP": ("a.zip", lambda: zipped("x", b"x") + S["host"].encode()),
    "behind a tar": ("a.tar", lambda: tarred("x", "y") + S["host"].encode()),
    "GIF comment in pieces": ("a.gif", lambda: b"GIF89a\1\0\1\0\0\0\0!\xfe\x05gpu07\x0a-yamanashi\0;"),
    "WebP": (
        "a.webp",
        lambda: b"RIFF" + struct.pack("<I", 28) + b"WEBPXMP " + struct.pack("<I", 15) + S["host"].encode() + b"\0",
    ),
    "behind the scans of a JPEG": (
        "a.jpg",
        lambda: b"\xff\xd8\xff\xda\0\2\xff\xfe" + struct.pack(">H", 17) + S["host"].encode() + b"\xff\xd9",
    ),
    "profile of a picture": ("a.png", lambda: png((b"iCCP", b"x\0\0" + zlib.compress(S["host"].encode())))),
    "list in a parquet": ("a.parquet", lambda: table(["gpu07", "-yamanashi"])),
    **{
        f"PDF {form}": ("a.pdf", lambda body=body: b"%PDF-1.7\n1 0 obj\n" + body + b"\nendobj\n%%EOF")
        for form, body in {
            "in ASCII85": b"<</Filter/ASCII85Decode>>\nstream\n"
            + base64.a85encode(b"BT (gpu07-yamanashi) Tj ET")
            + b"~>\nendstream",
            "in hexadecimal": b"<</Filter/AHx>>\nstream\n"
            + b"BT (gpu07-yamanashi) Tj ET".hex().encode()
            + b">\nendstream",
            "in run lengths": b"<</Filter/RL>>\nstream\n\x0egpu07-yamanashi\x80\nendstream",
            "with a predictor": b"<</Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 15>>>>\nstream\n"
            + zlib.compress(b"\x00gpu07-yamanashi")
            + b"\nendstream",
            "in a name": b"<</gpu07#2Dyamanashi 1>>",
            "over lines": b"<</Author(gpu07\\\n-yamanashi)>>",
            "with a script": b"<</S/JavaScript/JS(app.alert\\(1\\))>>",
            "with a link": b"<</S/URI/URI(http://x.example)>>",
        }.items()
    },
    "encrypted archive of a PDF": ("a.pdf", lambda: b"%PDF-1.7\n1 0 obj\n<</#45ncrypt<</Filter/Standard>>>>\nendobj\n"),
    "name of a folder": (f"{S['host']}/a.html", lambda: b"x"),
    "name over folders": ("gpu07/-yamanashi.html", lambda: b"x"),
    "name in base64": (base64.urlsafe_b64encode(S["host"].encode()).decode() + ".html", lambda: b"x"),
    # keys of services
    **{
        f"key of {service}": ("a.txt", lambda key=key: f"uses {key} now".encode())
        for service, key in {
            "Anthropic": "sk-ant-api03-" + "a1" * 20,
            "Hugging Face": "hf_" + "a1B2" * 8,
            "GitHub": "ghp_" + "a1B2" * 9,
            "GitLab": "glpat-" + "a1B2" * 5,
            "AWS": "AKIA" + "A1B2" * 4,
            "Google": "AIza" + "a1B2" * 8 + "abc",
            "Slack": "xoxb-1234567890-" + "a1B2" * 6,
            "Stripe": "sk_live_" + "a1B2" * 6,
            "NVIDIA": "nvapi-" + "a1B2" * 8,
            "SendGrid": "SG." + "a1B2" * 5 + "." + "a1B2" * 10,
            "Databricks": "dapi" + "a1" * 16,
            "Groq": "gsk_" + "a1B2" * 8,
            "Telegram": "123456789:AA" + "a1B2" * 8 + "a",
            "Vault": "hvs." + "a1B2" * 6,
            "a database": "postgres://u:pw123@db/x",
            "a header": "Authorization: Basic dXNlcjpwYXNz",
            "an age file": "AGE-SECRET-KEY-1QQQ",
            "Azure": "AccountKey=" + "a1B2" * 8,
        }.items()
    },
}
"""Channel to the file that leaks through it. The kernel's name, the trace and the rest follow the facts in order."""


def canary_facts(folder: Path) -> Known:
    """What the gate knows of the stuffed bundle."""
    store = EvidenceStore(folder / "runs")
    (folder / "params").mkdir()
    run_id = bundle(store, folder / "params")
    return Known(private_facts(store, [run_id], [("name of a person", SECRETS["name"])]))


def main() -> None:
    """Print which channel is found as what."""
    with tempfile.TemporaryDirectory() as folder:
        known = canary_facts(Path(folder))
        found = {name: inspect(file, make(), known) for name, (file, make) in CHANNELS.items()}
    for name, findings in found.items():
        kinds = ", ".join(dict.fromkeys(finding.kind for finding in findings))
        print(f"{'found ' if findings else 'MISSED'} {name}: {kinds}")
    print(f"{sum(map(bool, found.values()))} of {len(found)} canaries found")


if __name__ == "__main__":
    main()
