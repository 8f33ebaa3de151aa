"""What a cell of a notebook displays: tables and sentences as HTML, and the same as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from typing import Any

from lab.report.grid import Cell, Row, Table
from lab.report.messages import Messages
from lab.report.templating import template

_STYLE = (
    "<style>.lab-sheet table{text-align:left;margin-bottom:.6em}.lab-sheet caption{text-align:left;font-weight:bold}"
    ".lab-sheet th,.lab-sheet td{text-align:left!important;vertical-align:top;white-space:normal}"
    ".lab-sheet code{white-space:normal;overflow-wrap:anywhere}"
    ".lab-sheet .n{text-align:right!important;font-variant-numeric:tabular-nums}"
    ".lab-sheet .badge{border:1px solid;border-radius:.3em;padding:0 .3em}</style>"
)


class Sheet:
    """Something to look at in a notebook.

    Args:
        html: what JupyterLab draws.
        text: the same for a terminal.
    """

    def __init__(self, html: str, text: str) -> None:
        self.html = html
        self.text = text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def sheet(parts: Iterable[Table | str], t: Messages) -> Sheet:
    """Tables and sentences, one under the other; without one it is empty."""
    html, text = [], []
    for part in parts:
        if isinstance(part, str):
            html.append(f"<p>{escape(part)}</p>")
            text.append(part)
        else:
            html.append(str(_macro().table(_without_links(part), t)))
            text.append(_plain(part))
    return Sheet(f'<div class="lab-sheet" lang="{t.lang}">{_STYLE}{"".join(html)}</div>', "\n\n".join(text))


@cache
def _macro() -> Any:
    return template("table.html.j2").module


def _without_links(table: Table) -> Table:
    """The same table; what its links lead to is not in a notebook."""

    def cell(one: Cell) -> Cell:
        lines = (line.model_copy(update={"href": None}) for line in one.lines)
        return one.model_copy(update={"lines": tuple(lines)})

    rows = (row.model_copy(update={"cells": tuple(map(cell, row.cells))}) for row in table.rows)
    return table.model_copy(update={"rows": tuple(rows)})


def _plain(table: Table) -> str:
    lines = [table.caption, " | ".join(column.title for column in table.columns)]
    lines += [_row(row) for row in table.rows]
    return "\n".join([*lines, *([] if table.rows else [table.empty])]).rstrip()


def _row(row: Row) -> str:
    cells: Sequence[str] = [" · ".join(line.text for line in cell.lines) for cell in row.cells]
    return " | ".join(cells)
