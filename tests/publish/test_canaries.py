"""Secrets in every channel are found, wherever and however they are written; pages that hold none pass."""

from __future__ import annotations

import base64
import gzip
import html
import json
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from lab.publish.gate import Finding, Known, PrivateFact, inspect, look_through
from lab.report.build import build_pages
from tests.conftest import CHECKOUT
from tests.publish import canaries
from tests.publish.canaries import CHANNELS, SECRETS
from tests.report.report_examples import contrasts, open_edition


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    """What the gate knows of the stuffed bundle."""
    return canaries.canary_facts(tmp_path_factory.mktemp("canaries"))


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_leaky_template_is_found_in_every_channel(channel: str, known: Known) -> None:
    name, make = CHANNELS[channel]
    findings = inspect(name, make(), known)
    assert findings
    told = repr(findings)
    assert not [secret for secret in SECRETS.values() if secret in told], "a finding repeats the secret"
    if "archive" not in channel and "unknown" not in channel:
        assert not [finding for finding in findings if finding.kind.startswith("not read")]


@pytest.mark.parametrize(
    ("name", "payload"),
    {
        "page": ("a.html", lambda: canaries.page("<p>x</p>")),
        "notebook": ("a.ipynb", lambda: canaries.notebook()),
        "picture": ("a.png", lambda: canaries.drawn("png")),
        "chart": ("a.svg", lambda: canaries.drawn("svg", Date=None)),
        "PDF of a chart": ("a.pdf", lambda: canaries.drawn("pdf", "one", CreationDate=None)),
        "PDF of a page": ("a.pdf", lambda: canaries.pdf_of("<p>one")),
        "font": ("a.woff2", lambda: canaries.font("x")),
        "ZIP": ("a.zip", lambda: canaries.zipped("x", b"x")),
        "tar": ("a.tar", lambda: canaries.tarred("x", "y")),
        "table": ("a.parquet", lambda: canaries.table(["x"])),
    }.values(),
)
def test_the_same_files_without_a_secret_pass(name: str, payload: Callable[[], bytes], known: Known) -> None:
    assert inspect(name, payload(), known) == ()


def test_the_real_pages_hold_none_of_them(known: Known) -> None:
    for name, page in build_pages(open_edition(), contrasts=contrasts()).items():
        assert inspect(name, page, known) == ()


def _units(text: str) -> list[str]:
    """The numbers that JavaScript writes a text with, four digits each."""
    return text.encode("utf-16-be").hex(" ", 2).split()


# what is written to be seen through: first the value itself is changed, then it is packed, then broken up
SPELLED: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "upper case": str.upper,
    "full width": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "zero-width": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "struck out": "\u0336".join,
    "with zero bytes": "\0".join,
    "tags' characters": lambda text: "".join(chr(0xE0000 + ord(c)) if " " <= c <= "~" else c for c in text),
    "direction marks": lambda text: "\u202e" + text[:3] + "\u200f" + text[3:] + "\u202c",
}
PACKED: dict[str, Callable[[str], str]] = {
    "not at all": str,
    "decimal entities": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "hexadecimal entities": lambda text: "".join(f"&#x{ord(c):X};" for c in text),
    "JSON": lambda text: json.dumps(text),
    "JSON escapes": lambda text: "".join(f"\\u{unit}" for unit in _units(text)),
    "C escapes": lambda text: "".join(f"\\x{ord(c):02x}" if ord(c) < 128 else c for c in text),
    "percent": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "percent where needed": lambda text: quote(text, safe=""),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "URL base64": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "hexadecimal": lambda text: text.encode().hex(),
    "%u": lambda text: "".join(f"%u{unit}" for unit in _units(text)),
    "octal escapes": lambda text: "".join(f"\\{byte:03o}" for byte in text.encode()),
    "quoted-printable": lambda text: "".join(f"={byte:02X}" for byte in text.encode()),
    "pairs of digits": lambda text: text.encode().hex(" "),
    "numbers": lambda text: ", ".join(str(byte) for byte in text.encode()),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "gzip in base64": lambda text: base64.b64encode(gzip.compress(text.encode())).decode(),
    "zlib in hexadecimal": lambda text: zlib.compress(text.encode()).hex(),
    "a PNG in a data URI": lambda text: canaries.uri(canaries.png((b"iTXt", b"x\0\0\0\0\0" + text.encode()))),
    "a ZIP in base64": lambda text: base64.b64encode(canaries.zipped("x.txt", text.encode())).decode(),
    "data URI": lambda text: "data:text/plain;base64," + base64.b64encode(text.encode()).decode(),
    "percent data URI": lambda text: "data:text/plain," + quote(text, safe=""),
}
BROKEN: dict[str, Callable[[str], str]] = {
    "elements": lambda text: f"<b>{html.escape(text[:4])}</b><span class='x'>{html.escape(text[4:])}</span>",
    "lines": lambda text: html.escape(text[:4]) + "\n\t   " + html.escape(text[4:]),
    "a comment": lambda text: html.escape(text[:4]) + "<!-- > -->" + html.escape(text[4:]),
}

LETTERS = some.sampled_from("abcdefghijkmnpqrstuvwxyz23456789")
IDENTIFIER = some.builds(
    lambda head, mark, tail: head + mark + tail,
    some.text(LETTERS, min_size=4, max_size=10),
    some.sampled_from("-._"),
    some.text(some.one_of(LETTERS, some.sampled_from("山梨工場花子")), min_size=4, max_size=12),
)
PROSE = (CHECKOUT / "README.md").read_text(encoding="utf-8").splitlines()[:30]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    value=IDENTIFIER,
    spelled=some.sampled_from(sorted(SPELLED)),
    packed=some.lists(some.sampled_from(sorted(PACKED)), max_size=3),
    broken=some.one_of(some.none(), some.sampled_from(sorted(BROKEN))),
    line=some.integers(0, len(PROSE) - 1),
)
def test_a_planted_identifier_is_found_wherever_and_however_it_is_written(
    value: str, spelled: str, packed: list[str], broken: str | None, line: int
) -> None:
    written = SPELLED[spelled](value)
    for name in packed:
        written = PACKED[name](written)
    if broken is not None and not packed:
        written = BROKEN[broken](written)
    lines = [html.escape(one) for one in PROSE]
    lines[line] += f" {written} "
    findings = inspect("en/index.html", "\n".join(lines).encode(), [PrivateFact(kind="canary", value=value)])
    assert [finding for finding in findings if finding.kind.startswith("canary")]
    assert value not in repr(findings)


ORDINARY = """
SHA-256 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53, spec s-0123456789abcdef, run r-a2b3c4d5e6.
vLLM 0.11.2, TensorRT 10.3.0.26, TensorRT-LLM 1.2.0rc4, driver 580.65.06, CUDA 12.9, Python 3.11.7, cuDNN 9.1.0.70.
Ask http://127.0.0.1:8000/v1/chat/completions or http://localhost:8000/health; bind to 0.0.0.0; see [::1]:8000.
The week 2026-W48 ended on 2026-11-29; 20 of 2048 tokens; 50 % of 10.5 s; ratio 1:2:3; 12:30 in the afternoon.
Set max_tokens=4096, token counts: 123456, secret sauce, the password of the day, key=value, api key: none.
threading.local() and a local.internal idea; user@host style; name@sha256:b179c9523d0e; vega@6.4; @media print.
A path like src/lab/report.py, text/html, and/or, ../ja/index.html, /v1/models, and 5/6 of it. &lt;script&gt; is text.
共有プレフィックスが 71 % を占め、モデルは毎月入れ替わります。山田さんの、ではなく、一般の文章です。
"""


def test_digests_versions_loopback_and_ordinary_prose_do_not_alarm_it(known: Known) -> None:
    assert inspect("ordinary.txt", ORDINARY.encode(), known) == ()
    assert inspect("ordinary.html", canaries.page(f"<p>{ORDINARY}</p>"), known) == ()


def test_what_the_project_publishes_itself_does_not_alarm_it(known: Known) -> None:
    facts = [PrivateFact(kind=kind, value=value) for kind, value in SECRETS.items()]
    paths = [CHECKOUT / name for name in ("README.md", "CHANGELOG.md", "reports/sample", "lab/report/messages")]
    looked = look_through(paths, facts)
    assert looked.findings == ()
    assert looked.files >= 8


def test_the_licences_of_this_system_do_not_alarm_it(known: Known) -> None:
    folder = Path("/usr/share/common-licenses")
    texts = [path for path in sorted(folder.glob("*")) if path.is_file() and not path.is_symlink()]
    kinds = [finding for path in texts for finding in inspect(path.name, path.read_bytes(), known)]
    # the addresses of their authors are in them, and are addresses
    assert {finding.kind for finding in kinds} <= {"e-mail address"}


def test_a_file_that_names_itself_after_a_secret_is_not_named(tmp_path: Path) -> None:
    (tmp_path / "of-gpu07-yamanashi.html").write_bytes(b"<p>/home/hanakoy/x</p>")
    looked = look_through([tmp_path], [PrivateFact(kind="host name", value="gpu07-yamanashi")])
    assert {finding.kind for finding in looked.findings} == {"host name", "path of a home folder"}
    assert "yamanashi" not in "".join(map(Finding.__str__, looked.findings))


def test_a_link_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "x.html").symlink_to("/home/hanakoy/x.html")
    kinds = {finding.kind for finding in look_through([tmp_path], []).findings}
    assert kinds == {"a link, which may lead anywhere", "path of a home folder"}


@pytest.mark.parametrize(
    "unit",
    ["<", "<!--", "<a ", '<a b="', "<?", "<b style='display:none'", "<style>", "&#", "\\", "data:;base64,", "sk-", "a.",
     "a@", "'\t", "=41", "begin 644 x\n", "stream\n", "(", "[", "\x1b]", "key=", "1, ", "AAAAAAAAAAAAAAAA\n"],
)  # fmt: skip
def test_the_time_a_page_takes_grows_with_the_page_and_no_faster(unit: str) -> None:
    """Ten times the page takes at most thirty times as long: a hundred times would be the square."""

    def took_s(size: int) -> float:
        began = time.process_time()
        inspect("a.html", (unit * (size // len(unit))).encode(), [PrivateFact(kind="canary", value="gpu07-yamanashi")])
        return time.process_time() - began

    took_s(2_000)
    assert took_s(60_000) < 30 * max(took_s(6_000), 0.05)


def test_what_is_too_large_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.publish.readings.MOST_BYTES", 1_000_000)
    assert inspect("a.html", b"a " * 600_000, [])[0].kind == "not read: packed too deep, or too large to be read"


def test_a_bomb_is_a_finding_and_not_a_full_memory() -> None:
    import bz2

    bomb = canaries.zipped("x", canaries.zipped("y", b"a" * 50_000_000))
    nested = bz2.compress(bz2.compress(bytes(400_000_000)))
    assert inspect("x.zip", bomb, []) == ()
    assert [finding.kind for finding in inspect("x.bz2", nested, [])] == ["not read: bzip2: too large to be read"]
