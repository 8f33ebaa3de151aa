"""The tags of a page as a browser finds them, in one pass whose time grows with the page and no faster.

Python's own parser hides what a browser would run behind comments that a browser ends earlier, and takes minutes over
a page of open brackets. Where HTML and SVG disagree about what is text, both ways are read: what looks like a tag in
the text of a title, a style or a comment that only one of them sees is given too.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

TEXT_INSIDE = frozenset("script style title textarea xmp iframe noembed noframes noscript".split())
"""Elements whose content HTML takes for text up to their own end tag."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A start tag, a declaration (`!`) or an instruction (`?`).

    Attributes:
        name: in lower case, without the prefix of a namespace.
        attributes: name in lower case to value, entities undone; the first of two counts.
        line: from 1.
        text: what stands between this tag and its end tag, where HTML takes that for text; of a declaration or an
            instruction all its words.
        closed: False where the text has no end.
    """

    name: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    closed: bool = True


def tags(page: str) -> Iterator[Tag]:
    """Every start tag, declaration and instruction of a page."""
    breaks = [match.start() for match in re.finditer("\n", page)]
    at, unended = 0, set[str]()
    while (at := page.find("<", at)) >= 0:
        line = bisect_right(breaks, at) + 1
        if page.startswith("<!--", at):
            at = _behind_comment(page, at + 4)
        elif (opened := _OPEN.match(page, at)) is not None:
            attributes, end = _attributes(page, opened.end())
            if end < 0:
                return  # the page ends inside a tag, which a browser drops
            name = opened.group(1).lower().rpartition(":")[2]
            text, closed, at = "", name not in unended, end
            if name in TEXT_INSIDE and closed:
                ends = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(page, end)
                text, closed = page[end : ends.start() if ends else len(page)], ends is not None
                at = ends.start() if ends else end  # without an end the rest is read as markup all the same
                unended |= set() if ends else {name}
            yield Tag(name, attributes, line, text, closed)
            if text and closed and name != "script":
                yield from (
                    Tag(one.name, one.attributes, line + one.line - 1, one.text, one.closed) for one in tags(text)
                )
        elif page[at + 1 : at + 2] in ("!", "?"):
            end = page.find(">", at)
            end = len(page) if end < 0 else end
            yield Tag(page[at + 1], {}, line, page[at + 2 : end])
            at = end
        else:
            at += 1


def _behind_comment(page: str, at: int) -> int:
    """Where a comment is over: `<!-->` and `<!--->` are empty ones, and `--!>` ends one too."""
    for begin in (">", "->"):
        if page.startswith(begin, at):
            return at + len(begin)
    found = _COMMENT_END.search(page, at)
    return found.end() if found else len(page)


def _attributes(page: str, at: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag and where it is over; -1 where the page ends first."""
    found: dict[str, str] = {}
    while (match := _ATTRIBUTE.match(page, at)) is not None:
        name, at = match.group("name"), match.end()
        if name is None:
            return found, at  # the end of the tag
        value = match.group("double") or match.group("single") or match.group("plain") or ""
        found.setdefault(name.lower(), html.unescape(value))
    return found, -1


_OPEN = re.compile(r"<([A-Za-z][^\s/>]*)")
_COMMENT_END = re.compile(r"--!?>")
_ATTRIBUTE = re.compile(
    r"[\s/]*+(?:>|(?P<name>[^\s/>][^\s/>=]*+)"
    r"(?:\s*+=\s*+(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<plain>[^\s>\"'][^\s>]*+)|(?=>)))?)"
)
