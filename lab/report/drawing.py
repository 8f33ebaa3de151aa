"""SVG by hand: axes, marks and texts placed by numbers, so that a chart is the same bytes on every machine.

Everything that is not an engine is drawn in the colour of the text around it, so that a chart is readable light, dark
and on paper. Texts are measured by a table of widths, never by a font of this machine, and a little too wide.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from lab.report.series import Marker

WIDTH = 380.0
"""Of every chart, so that one scale fits a phone, a column on paper and a screen."""
SIZE = 11.0
"""Of a text, in units of the drawing."""
SMALL = 10.0
BOLD = 1.18 * SIZE
"""As which a bold text of `SIZE` is measured."""
LINE = 14.0
"""From one line of text to the next."""

Anchor = Literal["start", "middle", "end"]

_NARROW = frozenset("iljtfrI.,:;'|!()[]·‐ ")
_BROAD = frozenset("mwMW%@—")


def text_width(text: str, size: float = SIZE) -> float:
    """About how wide a text is; Japanese exactly, Latin letters a little too wide."""

    def one(char: str) -> float:
        if unicodedata.east_asian_width(char) in "WF":
            return 1.0
        if char in _NARROW:
            return 0.36
        return 0.92 if char in _BROAD else 0.7 if char.isupper() else 0.58

    return size * sum(map(one, text))


def wrapped(text: str, width: float, size: float = SIZE) -> list[str]:
    """A text in lines of at most that width; Latin words stay whole, Japanese breaks anywhere but before a mark."""
    lines, line = [], ""
    for piece in _pieces(text):
        if line and text_width(line + piece.rstrip(), size) > width:
            lines.append(line.rstrip())
            line = piece.lstrip()
        else:
            line += piece
    return [*lines, line.rstrip()] if line.strip() else lines or [""]


_NEVER_FIRST = frozenset("、。，．）」』】・：；！？ー々ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ),.;:!?%")


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for char in text:
        wide = unicodedata.east_asian_width(char) in "WF"
        glued = bool(pieces) and char in _NEVER_FIRST
        grows = bool(pieces) and not wide and not pieces[-1].endswith(" ")
        grows = grows and unicodedata.east_asian_width(pieces[-1][-1]) not in "WF"
        if glued or grows or (char == " " and pieces):
            pieces[-1] += char
        else:
            pieces.append(char)
    return pieces


def shortened(text: str, width: float, size: float = SIZE) -> str:
    """A text that fits, its end replaced by dots where it does not."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


class Scale:
    """Values to places along one axis, linear from zero or logarithmic.

    Args:
        low: the smallest value of a logarithmic axis; a linear one begins at it too.
        high: the largest value.
        start: place of `low`.
        end: place of `high`.
        log: whether every factor takes the same room.
    """

    def __init__(self, low: float, high: float, start: float, end: float, *, log: bool = False) -> None:
        self.low, self.log = low, log
        self.high = high if high > low else low + (abs(low) or 1.0)
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        """Where a value lies; one outside the axis lies at its end."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self._start + share * (self._end - self._start)

    def ticks(self, most: int = 5) -> tuple[float, ...]:
        """Round values inside the axis, evenly spread."""
        if self.log:
            found = [
                step * 10.0**power
                for power in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
                for step in (1, 2, 5)
                if self.low * 0.999 <= step * 10.0**power <= self.high * 1.001
            ]
            decades = [value for value in found if math.isclose(math.log10(value), round(math.log10(value)))]
            return tuple(
                found if len(found) <= most + 2 else decades if len(decades) > 1 else found[:: len(found) // 3]
            )
        span = self.high - self.low
        rough = span / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return tuple(round(place * step, 12) for place in range(first, math.floor(self.high / step + 1e-9) + 1))


def nice_high(high: float) -> float:
    """The end of an axis from zero that leaves a little room above the largest value."""
    if high <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(high))
    return next(
        factor * power for factor in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12) if factor * power >= high * 1.02
    )


def tick_text(value: float) -> str:
    """A tick's number, thousands apart, with no more digits than it needs."""
    return (f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}").replace("-", "−")


class Drawing:
    """The parts of one chart, in the order in which they are painted.

    Args:
        height: of the whole chart; can be set again before it is finished.
        width: of the whole chart.
    """

    def __init__(self, height: float, width: float = WIDTH) -> None:
        self.width, self.height = width, height
        self._parts: list[str] = []
        self._patterns: dict[str, str] = {}

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: Anchor = "start",
        size: float = SIZE,
        bold: bool = False,
        soft: bool = False,
    ) -> None:
        """A line of text on the base line `y`; `soft` is less dark."""
        more = f' text-anchor="{anchor}"' if anchor != "start" else ""
        more += ' font-weight="600"' if bold else ""
        more += ' opacity="0.8"' if soft else ""
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" fill="currentColor"{more}>{escape(text)}</text>'
        )

    def line(
        self,
        points: Sequence[tuple[float, float]],
        *,
        colour: str = "currentColor",
        width: float = 1.0,
        dash: str = "",
        opacity: float = 1.0,
    ) -> None:
        """A line through points."""
        way = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        more = f' stroke-dasharray="{dash}"' if dash else ""
        more += f' opacity="{opacity:g}"' if opacity < 1 else ""
        self._parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="{_n(width)}"{more}/>')

    def area(self, points: Sequence[tuple[float, float]], *, colour: str, opacity: float) -> None:
        """A filled shape."""
        way = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self._parts.append(f'<polygon points="{way}" fill="{colour}" fill-opacity="{opacity:g}"/>')

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = "none",
        opacity: float = 1.0,
        stroke: str = "",
        stroke_width: float = 0.8,
        dash: str = "",
        round: float = 0.0,
    ) -> None:
        """A rectangle."""
        more = f' stroke="{stroke}" stroke-width="{_n(stroke_width)}"' if stroke else ""
        more += f' stroke-dasharray="{dash}"' if dash else ""
        more += f' rx="{_n(round)}"' if round else ""
        more += f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
        self._parts.append(f"<rect {place} fill={quoteattr(fill)}{more}/>")

    def pattern(self, name: str, inside: str) -> str:
        """A fill of repeated strokes, 6 by 6; returns what `fill` is set to."""
        self._patterns[name] = inside
        return f"url(#{name})"

    def marker(
        self, shape: Marker, x: float, y: float, colour: str, *, radius: float = 4.0, hollow: bool = False
    ) -> None:
        """One mark of an engine; a hollow one is filled with the page."""
        r = radius
        points = " ".join(f"{_n(x + r * dx)},{_n(y + r * dy)}" for dx, dy in _SHAPES[shape])
        fill = 'fill="var(--paper, #fff)"' if hollow else f'fill="{colour}"'
        look = f'{fill} stroke="{colour}" stroke-width="1.5"'
        if shape == "circle":
            self._parts.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(r)}" {look}/>')
        else:
            self._parts.append(f'<polygon points="{points}" {look}/>')

    def finish(self, name: str, title: str, description: str, watermark: str) -> str:
        """The drawing as an element of an HTML page.

        Args:
            name: unique on the page; every id begins with it.
            title: what it shows; read aloud.
            description: how it is to be read; read aloud.
            watermark: written across it; empty for none.
        """
        head = (
            f'<svg viewBox="0 0 {_n(self.width)} {_n(self.height)}" role="img" '
            f'aria-labelledby="{name}-title {name}-desc" stroke-linejoin="round">'
            f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
        )
        patterns = "".join(
            f'<pattern id="{name}-{own}" width="6" height="6" patternUnits="userSpaceOnUse">{inside}</pattern>'
            for own, inside in self._patterns.items()
        )
        defs = f"<defs>{patterns}</defs>" if patterns else ""
        body = "".join(self._parts)
        for own in self._patterns:
            body = body.replace(f"url(#{own})", f"url(#{name}-{own})")
        return head + defs + (self._watermark(watermark) if watermark else "") + body + "</svg>"

    def _watermark(self, text: str) -> str:
        # sized so that the words fill about four fifths of the diagonal box, whatever their length
        size = min(self.height / 4, 1.45 * self.width / max(len(text), 1))
        x, y = self.width / 2, self.height / 2
        return (
            f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="middle" dominant-baseline="middle" font-size="{size:.1f}" '
            f'font-weight="700" letter-spacing="1" fill="currentColor" opacity="0.11" '
            f'transform="rotate(-16 {_n(x)} {_n(y)})">{escape(text)}</text>'
        )


_SHAPES: dict[Marker, tuple[tuple[float, float], ...]] = {
    "circle": (),
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle": ((0, -1.1), (1.1, 0.85), (-1.1, 0.85)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    "cross": (
        (-0.4, -1.15), (0.4, -1.15), (0.4, -0.4), (1.15, -0.4), (1.15, 0.4), (0.4, 0.4),
        (0.4, 1.15), (-0.4, 1.15), (-0.4, 0.4), (-1.15, 0.4), (-1.15, -0.4), (-0.4, -0.4),
    ),
}  # fmt: skip
"""Corners of each mark around its middle; all look about as large."""


def corners(shape: Marker) -> tuple[tuple[float, float], ...]:
    """The corners of a mark around its middle, for whoever draws with paths; a circle has two dozen."""
    turn = math.tau / 24
    return _SHAPES[shape] or tuple((math.cos(place * turn), math.sin(place * turn)) for place in range(24))


def _n(value: float) -> str:
    """A place with one decimal, as short as it can be written."""
    return f"{value:.1f}".removesuffix(".0").replace("-0.0", "0") if value else "0"
