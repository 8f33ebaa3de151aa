"""What a browser would run or fetch when it opens a page."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

LINKS = frozenset(
    "src href action formaction data poster srcset imagesrcset ping background cite manifest longdesc codebase "
    "archive classid profile usemap xlink:href".split()
)
"""Attributes whose value a browser goes to, at once or on a click."""

FRAMES = frozenset({"a", "area", "iframe", "frame", "object", "embed", "form", "button", "input"})
"""Elements that open what they name as a page of its own, scripts and all."""

CODE = frozenset({"", "text/javascript", "application/javascript", "module", "importmap", "speculationrules"})
"""Values of a script's `type` that are not data."""

SCRIPTS = Path(__file__).parents[1] / "report" / "templates"
"""Scripts that a page may carry are the files `*.js` here, byte for byte."""

_REMOTE = re.compile(
    r"^[\s\x00-\x20]*(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}|^[\s\x00-\x20]*(?:https?|wss?|ftp|file|blob):", re.I
)
_RUN = re.compile(r"^(?:javascript|vbscript):", re.I)
_PAGE = re.compile(r"^data:(?:text/html|application/xhtml|text/xml|image/svg)", re.I)
_CSS = re.compile(r"url\(\s*[\"']?\s*(?:[a-z][a-z0-9+.-]*:)?//|@import\b|image-set\(\s*[\"']\s*(?:https?:)?//", re.I)


@cache
def allowed_scripts() -> frozenset[str]:
    """Hashes of the scripts a page may carry, as a content security policy writes them."""
    return frozenset(script_hash(path.read_text(encoding="utf-8")) for path in sorted(SCRIPTS.glob("*.js")))


def script_hash(script: str) -> str:
    """The hash of an inline script, as a content security policy writes it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def active_in(page: str, allowed: frozenset[str] | None = None) -> Iterator[tuple[str, int]]:
    """Kind and line of everything on a page that a browser would run or fetch.

    Args:
        page: markup as it stands.
        allowed: hashes of scripts that may stand on it, where its own policy names them too; None: those of the
            package.
    """
    parser = _Reader(allowed_scripts() if allowed is None else allowed)
    parser.feed(page)
    parser.close()
    yield from parser.found
    if parser.whole and not _strict(parser.policy):
        yield "page without a strict content security policy", 1


def _strict(policy: str) -> bool:
    """Whether a policy allows nothing by default and no script but those it names by hash."""
    rules = {words[0]: words[1:] for rule in policy.lower().split(";") if (words := rule.split())}
    scripts = rules.get("script-src", [])
    return rules.get("default-src") == ["'none'"] and all(word.startswith("'sha256-") for word in scripts)


class _Reader(HTMLParser):
    """Reads tags and attributes as a browser does, entities in attributes undone."""

    def __init__(self, allowed: frozenset[str]) -> None:
        super().__init__()
        self.allowed = allowed
        self.found: list[tuple[str, int]] = []
        self.policy = ""
        self.whole = False
        """Whether it is a document, not a piece of one."""
        self.script: list[str] | None = None
        self.style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.whole = self.whole or tag == "html"
        if tag == "meta" and values.get("http-equiv", "").lower() == "content-security-policy":
            self.policy = values.get("content", "")
        elif tag == "base" or (tag == "meta" and values.get("http-equiv", "").lower() == "refresh"):
            self._note("remote address")
        for name, value in values.items():
            bare = re.sub(r"[\s\x00-\x20]", "", value)
            if re.fullmatch(r"on[a-z]+", name) or _RUN.match(bare) or (tag in FRAMES and _PAGE.match(bare)):
                self._note("script")
            elif name == "srcdoc":
                self.found += [(kind, self.getpos()[0]) for kind, _ in active_in(value, self.allowed)]
            elif (name in LINKS and any(map(_REMOTE.match, value.split(",")))) or (
                name in ("style", "fill", "filter", "mask", "clip-path") and _CSS.search(value)
            ):
                self._note("remote address")
        if tag == "script" and values.get("type", "").strip().lower() in CODE:
            if "src" in values or "href" in values or "xlink:href" in values:
                self._note("script")
            self.script = []
        self.style = tag == "style"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag == "script":
            self.handle_endtag(tag)

    def handle_data(self, data: str) -> None:
        if self.script is not None:
            self.script.append(data)
        elif self.style and _CSS.search(data):
            self._note("remote address")

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self.script is not None:
            named = script_hash("".join(self.script))
            if named not in self.allowed or f"'{named}'" not in self.policy:
                self._note("script")
            self.script = None
        self.style = self.style and tag != "style"

    def close(self) -> None:
        super().close()
        if self.script is not None:  # never closed: a browser runs it all the same, or the rest of the page is gone
            self._note("script")

    def _note(self, kind: str) -> None:
        self.found.append((kind, self.getpos()[0]))
