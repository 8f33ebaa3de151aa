"""A console that shows text and obeys nobody but the lab: what an engine or a model wrote cannot steer a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_OBEYED = {
    code: None
    for low, high in (
        (0x00, 0x09),  # controls up to the tab
        (0x0B, 0x20),  # behind the line feed: carriage return, escape and the rest
        (0x7F, 0xA0),  # delete, and the controls of Latin-1
        (0x200B, 0x2010),  # zero-width characters and marks of direction
        (0x2028, 0x202F),  # other line ends, and what turns the direction of a line
        (0x2060, 0x2070),
        (0xFEFF, 0xFF00),
    )
    for code in range(low, high)
}
"""Characters a terminal or a reader's eye obeys, to nothing."""


def plain(text: str) -> str:
    """Text without what steers a terminal; line ends and tabs stay."""
    return text.translate(_OBEYED)


class PlainConsole(Console):
    """A console whose text is only text; its own colours and cursor movements are not text and stay."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is printed, piece by piece, each without control characters."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style, None)
