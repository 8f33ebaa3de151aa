"""What a page is told from outside, because the evidence of one edition cannot say it: the weeks before.

Whoever builds a page hands in finished words for each language. What is not handed in is said to be missing on the
page; it is never left out silently.
"""

from __future__ import annotations

from lab.report.grid import Table
from lab.spec import Frozen


class Part(Frozen):
    """A part of a page in one language: sentences, then tables."""

    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    """Their ids are unique on the page."""


class Told(Frozen):
    """Everything a page is told, in one language; None: nobody said anything."""

    changes: tuple[str, ...] | None = None
    """What changed since last week, a sentence each."""
    history: Part | None = None
    """Decisions so far, each with the reason for its change."""


UNTOLD = Told()
"""A page that stands by itself."""
