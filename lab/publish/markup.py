"""What a browser would run or fetch when it opens a page."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lab.publish.tags import Tag, tags

LINKS = frozenset(
    "src href action formaction data poster srcset imagesrcset ping background cite manifest longdesc codebase "
    "archive classid profile usemap".split()
)
"""Attributes whose value a browser goes to, at once or on a click."""

FRAMES = frozenset({"a", "area", "iframe", "frame", "object", "embed", "form", "button", "input"})
"""Elements that open what they name as a page of its own, scripts and all."""

DATA = frozenset({"application/json", "application/ld+json", "text/plain"})
"""Values of a script's `type` that are data; whatever else it says, some browser may run it."""

HEAD = frozenset({"html", "head", "meta", "!", "?"})
"""What may stand before the policy of a page; what stands before it is not held by it."""

NO_POLICY = "page without a strict content security policy"

SCRIPTS = Path(__file__).parents[1] / "report" / "templates"
"""Scripts that a page may carry are the files `*.js` here, byte for byte."""

INLINE = frozenset({"img-src", "font-src", "media-src"})
"""Directives that may let in what the page itself holds."""

_REMOTE = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}|(?:https?|wss?|ftp|file|blob|filesystem):", re.I)
_RUN = re.compile(r"(?:^|[;,\s])(?:javascript|vbscript|livescript):", re.I)
_PAGE = re.compile(r"data:(?!image/(?:png|jpeg|gif|webp)[;,])", re.I)
_CSS = re.compile(
    r"url\(\s*[\"']?\s*(?:(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}|(?:https?|ftp|file):)|@import\b|"
    r"(?:image-set|src)\(\s*[\"']\s*(?:https?:)?//",
    re.I,
)
_CSS_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})[ \t\n]?")
_UNSEEN = re.compile(r"[\x00-\x20]")


@cache
def allowed_scripts() -> frozenset[str]:
    """Hashes of the scripts a page may carry, as a content security policy writes them."""
    return frozenset(script_hash(path.read_text(encoding="utf-8")) for path in sorted(SCRIPTS.glob("*.js")))


def script_hash(script: str) -> str:
    """The hash of an inline script, as a content security policy writes it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def active_in(page: str, allowed: frozenset[str] | None = None, *, whole: bool = False) -> Iterator[tuple[str, int]]:
    """Kind and line of everything on a page that a browser would run or fetch.

    Args:
        page: markup as it stands.
        allowed: hashes of scripts that may stand on it, where its own policy names them too; None: those of the
            package.
        whole: a browser opens it as a page of its own, so it needs a policy; otherwise only one with an `html` tag.
    """
    allowed = allowed_scripts() if allowed is None else allowed
    policy, held = None, True
    for tag in tags(page):
        values = tag.attributes
        whole = whole or tag.name == "html"
        if tag.name == "meta" and values.get("http-equiv", "").strip().lower() == "content-security-policy":
            # of several every one holds, so the first that is strict is enough; behind anything else none does
            if held and policy is None and _is_strict(values.get("content", "")):
                policy = values.get("content", "")
            continue
        held = held and tag.name in HEAD
        yield from ((kind, tag.line) for kind in _of_tag(tag, allowed, policy or ""))
    if whole and policy is None:
        yield NO_POLICY, 1


def active_in_style(style: str) -> Iterator[tuple[str, int]]:
    """Kind and line of what a style sheet would fetch."""
    plain = _plain_css(style)
    for match in _CSS.finditer(plain):
        yield "remote address", plain.count("\n", 0, match.start()) + 1


def _of_tag(tag: Tag, allowed: frozenset[str], policy: str) -> Iterator[str]:
    """What one tag runs or fetches."""
    if tag.name in ("!", "?"):
        words = tag.text.lower()
        if "[" in words.removeprefix("[cdata[") or words.startswith("entity"):
            yield "entity of its own"
        if tag.name == "?" and words.startswith("xml-stylesheet"):
            yield "remote address"
        return
    if tag.name == "base" or (tag.name == "meta" and tag.attributes.get("http-equiv", "").strip().lower() == "refresh"):
        yield "remote address"
    for name, value in tag.attributes.items():
        yield from _of_attribute(tag.name, name.rpartition(":")[2], value, allowed)
    if tag.name == "style" and _CSS.search(_plain_css(tag.text)):
        yield "remote address"
    if tag.name == "script" and not _may_run(tag, allowed, policy):
        yield "script"


def _of_attribute(tag: str, name: str, value: str, allowed: frozenset[str]) -> Iterator[str]:
    """What one attribute runs or fetches, read as a browser does: without the space in it."""
    bare = _UNSEEN.sub("", value)
    if re.fullmatch(r"on[a-z]+", name) or _RUN.search(bare) or (tag in FRAMES and _PAGE.match(bare)):
        yield "script"
    elif name == "srcdoc":
        yield from (kind for kind, _ in active_in(value, allowed))
    elif (name in LINKS and any(map(_REMOTE.match, _addresses(name, value, bare)))) or (
        "(" in value and _CSS.search(_plain_css(value))
    ):
        yield "remote address"


def _addresses(name: str, value: str, bare: str) -> Iterator[str]:
    """Every address of an attribute that may hold several."""
    if name in ("srcset", "imagesrcset", "ping", "archive"):
        yield from (_UNSEEN.sub("", one) for one in re.split(r"[,\s]", re.sub(r"data:\S+", "data:", value)))
    yield bare


def _may_run(tag: Tag, allowed: frozenset[str], policy: str) -> bool:
    """Whether a script is only data, or one that the package and the page's own policy both name."""
    if {name.rpartition(":")[2] for name in tag.attributes} & {"src", "href"} or not tag.closed:
        return False  # one that is never closed runs all the same, or the rest of the page is gone
    if tag.attributes.get("type", "").strip().lower() in DATA:
        return True
    named = script_hash(tag.text)
    return named in allowed and f"'{named}'" in policy


def _is_strict(policy: str) -> bool:
    """Whether a policy lets nothing in from elsewhere and no script but those it names by hash."""
    rules: dict[str, list[str]] = {}
    for rule in policy.split(";"):
        if words := rule.split():
            rules.setdefault(words[0].lower(), words[1:])  # a browser takes the first of two
    if rules.pop("default-src", None) != ["'none'"]:
        return False
    if not all(word.startswith("'sha256-") for word in rules.pop("script-src", [])):
        return False
    styles = [word for word in rules.pop("style-src", []) if word != "'unsafe-inline'"]
    if not all(word == "'none'" or word.startswith("'sha256-") for word in styles):
        return False
    rules.pop("sandbox", None)
    return all(
        word == "'none'" or (word == "data:" and name in INLINE) for name, words in rules.items() for word in words
    )


def _plain_css(style: str) -> str:
    """A style with its escapes undone and its comments taken out."""
    style = _CSS_ESCAPE.sub(lambda match: chr(min(int(match.group(1), 16), 0x10FFFF)), style)
    parts = style.split("/*")
    return parts[0] + "".join(part.partition("*/")[2] for part in parts[1:])
