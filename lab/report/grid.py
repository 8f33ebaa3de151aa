"""Tables as plain data: what a cell says, apart from how it is drawn."""

from __future__ import annotations

from typing import Literal

from lab.spec import Frozen


class Text(Frozen):
    """One line of a cell."""

    text: str
    href: str | None = None
    """Anchor on this page."""
    style: Literal["plain", "note", "badge", "reply", "code", "missing"] = "plain"
    value: str = ""
    """What the style depends on: the label of a badge, the answer of a reply."""


class Cell(Frozen):
    """A cell, line by line."""

    lines: tuple[Text, ...]
    number: bool = False
    rowspan: int = 1
    colspan: int = 1


class Row(Frozen):
    """A row; its first cell is the heading of the row, unless it carries on the row above."""

    cells: tuple[Cell, ...]
    id: str | None = None
    continued: bool = False
    """True when it carries on the row above and has no heading of its own."""


class Column(Frozen):
    """Heading of a column."""

    title: str
    number: bool = False
    note: str = ""
    """A remark under the heading."""


Standing = Literal["claims", "observations", "both", "generated"]
"""What numbers may carry: a claim, no claim, row by row as each is labelled; or they belong to nobody."""


class Table(Frozen):
    """A table with its caption."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    empty: str = ""
    """What to say when there is no row."""
    style: Literal["rows", "columns", "prose"] = "rows"
    """`columns` for the comparison table, `prose` for tables of words."""
    footnotes: tuple[str, ...] = ()
    """Printed under the table, numbered from 1."""
    standing: Standing | None = None
    """Printed with the caption; None: it holds no number of a run."""


def words(*lines: str) -> Cell:
    """A cell of plain words."""
    return Cell(lines=tuple(Text(text=line) for line in lines))


def number(text: str, note: str | None = None) -> Cell:
    """A cell with a number, and a remark under it where there is one."""
    lines = (Text(text=text),) if note is None else (Text(text=text), Text(text=note, style="note"))
    return Cell(lines=lines, number=True)


def missing(reason: str) -> Cell:
    """A cell without a value: a dash and why."""
    return Cell(lines=(Text(text="—", style="missing"), Text(text=reason, style="note")), number=True)
