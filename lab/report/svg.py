"""SVG made fit to stand inside a page: no metadata, no remote name, unique ids, colours of the page."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

INK = "#010203"
"""Drawn in this colour, it becomes the colour of the text around the chart, light or dark."""

_XLINK = "{http://www.w3.org/1999/xlink}href"
_DROPPED = ("metadata", "style", "title", "desc", "script")
_KEPT_BY_PAGE = re.compile(r"\s*font-family:[^;]*;?")
_FONT = re.compile(r"font:\s*(?:[a-z0-9]+\s+)*?([\d.]+px)\s+[^;]*")


def inline(svg: str, name: str, title: str, description: str, watermark: str) -> str:
    """The drawing as an element of an HTML page.

    Args:
        svg: what Altair or matplotlib wrote.
        name: unique on the page; every id begins with it.
        title: what the drawing shows; read aloud.
        description: how it is to be read; read aloud.
        watermark: written across the drawing; empty for none.
    """
    root = ET.fromstring(svg)  # noqa: S314 - drawn by this process a moment ago
    for parent in root.iter():
        for child in list(parent):
            if _local(child.tag) in _DROPPED:
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = dict(filter(None, (_attribute(key, value, name) for key, value in element.items())))
    width, height = _size(root)
    root.attrib = {
        "viewBox": f"0 0 {width:g} {height:g}",
        "role": "img",
        "aria-labelledby": f"{name}-title {name}-desc",
        "style": "stroke-linejoin:round",
    }
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(tag, {"id": f"{name}-{tag}"})
        element.text = text
        root.insert(place, element)
    if watermark:
        root.insert(2, _watermark(watermark, width, height))
    return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _attribute(key: str, value: str, name: str) -> tuple[str, str] | None:
    key = "href" if key == _XLINK else _local(key)
    if key.startswith("aria-") or key in ("role", "class", "font-family"):
        return None
    if key == "id":
        value = f"{name}-{value}"
    elif key == "href":
        if not value.startswith("#"):
            return None
        value = f"#{name}-{value[1:]}"
    elif key == "style":
        value = _KEPT_BY_PAGE.sub("", _FONT.sub(r"font-size:\1", value))
    value = re.sub(r"url\(#", f"url(#{name}-", value)
    return key, re.sub(INK, "currentColor", value, flags=re.IGNORECASE)


def _watermark(text: str, width: float, height: float) -> ET.Element:
    # Sized so that the words fill about four fifths of the diagonal box, whatever their length.
    size = min(height / 4, 1.45 * width / max(len(text), 1))
    element = ET.Element(
        "text",
        {
            "x": f"{width / 2:g}",
            "y": f"{height / 2:g}",
            "text-anchor": "middle",
            "dominant-baseline": "middle",
            "font-size": f"{size:.1f}",
            "font-weight": "700",
            "letter-spacing": "1",
            "fill": "currentColor",
            "opacity": "0.11",
            "transform": f"rotate(-16 {width / 2:g} {height / 2:g})",
        },
    )
    element.text = text
    return element


def _size(root: ET.Element) -> tuple[float, float]:
    _, _, width, height = (float(part) for part in root.get("viewBox", "0 0 100 100").split())
    return width, height


def _local(name: str) -> str:
    return name.rpartition("}")[2] if isinstance(name, str) else ""
