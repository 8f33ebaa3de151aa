"""Pages built from pinned, made-up evidence, kept as the text a reader meets.

`python -m tests.report.golden` compares, `python -m tests.report.golden --update` writes them anew. Styles, drawings
and the typeface are left out, so that a difference reads like a difference of the page.
"""

from __future__ import annotations

import difflib
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from lab.publish.evidence import PublicRun
from lab.report.build import build_pages
from lab.report.messages import LANGS
from lab.report.told import Part, Told
from tests.report.report_examples import certificate, level, run, workload

FOLDER = Path(__file__).parent / "golden"

BUILT = {"build_s": 2460.0, "startup_s": 30.0, "first_request_s": 0.4, "cache_state": "disk-cold"}
SERVED = {
    "build_s": None, "startup_s": 60.0, "first_request_s": 0.4, "cache_state": "disk-cold", "fetch_s": 20.0,
    "phases": [
        {"name": "load_weights", "seconds": 25.0, "source": "log"},
        {"name": "compile", "seconds": 10.0, "source": "log"},
        {"name": "warm_up", "seconds": 5.0, "source": "log"},
    ],
}  # fmt: skip
FULL = {
    "at_s": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "running": [1, 1, 1, 4, 4, 4], "waiting": [0, 0, 0, 0, 2, 1],
    "kv_use": [0.1, 0.1, 0.1, 0.4, 0.5, 0.4],
}  # fmt: skip
"""How full P was: one request in work, then four."""


SHOWN: dict[str, Any] = {
    "kv_cache_dtype": "F16", "context_limit": 4096, "kv_cache_tokens": 65536, "max_num_seqs": 4,
    "max_batched_tokens": 2048, "prefix_caching": True, "chunked_prefill": True,
}  # fmt: skip
"""What every engine here shows of its settings."""
SAME: dict[str, Any] = {
    "table": "comparison",
    "varied": ["engine"],
    "workload": workload(concurrency=[1, 4]),
    "certificate": certificate(),
    "effective": [{"condition": name, "value": value} for name, value in SHOWN.items()],
}
SCHEMAS = workload(
    name="structured-output", content="structured-output", source_sha256="0" * 64, input_tokens=None,
    shared_prefix_tokens=0, exact_output=False,
)  # fmt: skip


def four() -> tuple[PublicRun, ...]:
    """P and Q stand side by side and Q is built first; R breaks a condition, S lacks what its workload needs."""
    imposed = [{"condition": "chunked_prefill", "wanted": None, "how": "imposed"}]
    kept: list[dict[str, Any]] = [{"condition": "kv_cache_dtype", "wanted": "F16", "how": "set"}]
    counted = [{"name": "prompt-tokens", "result": "pass", "counts": [1, 38, 31]}]
    cold = [*counted, {"name": "prefix-cache", "result": "fail"}]
    found = []
    for launch, more in (("1", 0.0), ("2", 1.0)):
        p = [level(1, 100 + more, began_s=0.0), level(4, 1000 + more, 0.4, began_s=3.0)]
        q = [level(1, 110 + more, began_s=0.0), level(4, 1200 + more, 0.3, began_s=3.0)]
        found += [
            run(
                "P",
                "base",
                launch,
                levels=p,
                preparation=SERVED,
                settings=kept,
                checks=counted,
                engine_series=FULL,
                **SAME,
            ),
            run(
                "Q",
                "base",
                launch,
                levels=q,
                preparation=BUILT,
                settings=kept + imposed,
                checks=counted,
                engine_series={**FULL, "kv_use": None},
                **SAME,
            ),
            run("R", "base", launch, levels=p, preparation=SERVED, settings=kept, checks=cold, **SAME),
        ]
    unable = {**SAME, "workload": SCHEMAS, "settings": kept, "checks": [{"name": "json-schema", "result": "fail"}]}
    return (*found, run("S", "base", levels=[], preparation=None, **unable))


TOLD = {
    "en": Told(changes=("One run of P was added.",), history=Part(lines=("2026-W48: no decision.",))),
    "ja": Told(changes=("P の実行を 1 件追加しました。",), history=Part(lines=("2026-W48：決定なし。",))),
}
"""What a page is told from outside, in a few made-up words."""


def golden_page(lang: str) -> bytes:
    """The page that is kept, in one language."""
    return build_pages(four(), (lang,), told=TOLD)[f"{lang}/index.html"]


class Reading(HTMLParser):
    """A page as lines: a heading, a paragraph, a row of a table or a term each."""

    BLOCKS = ("h1", "h2", "h3", "p", "li", "tr", "dt", "dd", "caption", "figcaption", "summary", "nav", "section")
    MARKS = {"h1": "# ", "h2": "## ", "h3": "### ", "li": "- ", "dd": "  ", "caption": "[table] "}
    SILENT = ("style", "svg", "title")

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._words: list[str] = []
        self._silent = 0
        self._mark = ""
        self.feed(page.decode())
        self._end()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in self.SILENT
        if tag in self.BLOCKS:
            self._end()
            self._mark = self.MARKS.get(tag, "")
        if tag in ("td", "th") and self._words:
            self._words.append("|")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in self.SILENT
        if tag in self.BLOCKS:
            self._end()

    def handle_data(self, data: str) -> None:
        if not self._silent and data.strip():
            self._words.append(" ".join(data.split()))

    def _end(self) -> None:
        if self._words:
            self.lines.append(self._mark + " ".join(self._words))
        self._words, self._mark = [], ""


def readings() -> dict[Path, str]:
    """Every golden file and what it should hold."""
    return {FOLDER / f"four.{lang}.txt": "\n".join(Reading(golden_page(lang)).lines) + "\n" for lang in LANGS}


def difference(path: Path, text: str) -> str:
    """What changed, line by line; empty when nothing did."""
    kept = path.read_text(encoding="utf-8") if path.is_file() else ""
    lines = difflib.unified_diff(kept.splitlines(), text.splitlines(), f"kept {path.name}", "built now", "", "", 0, "")
    return "\n".join(lines)


def main(update: bool) -> int:
    """Print every difference; write the new text when asked."""
    changed, built = 0, readings()
    for path, text in built.items():
        if found := difference(path, text):
            changed += 1
            print(found)
            if update:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
    print(f"{changed} of {len(built)} golden pages {'written' if update else 'differ'}")
    return 1 if changed and not update else 0


if __name__ == "__main__":
    sys.exit(main("--update" in sys.argv[1:]))
