"""The path through the decision as a drawing: one box a question, its answer beside it, and where it ends.

The table below it holds the same steps with their evidence; the drawing has no number that the table has not.
"""

from __future__ import annotations

from lab.explain.path import Path, Step
from lab.report.drawing import BOLD, LINE, SIZE, SMALL, Drawing, wrapped
from lab.report.messages import Messages
from lab.report.path import end_text, engine_name, threshold_text, value_text

LEFT, SPAN = 12.0, 300.0
"""Where the boxes stand, and how wide they are; the answers stand right of the line below each."""
OPEN = ("undecided", "not-measured")


def path_drawing(path: Path, place: int, t: Messages) -> str:
    """The steps from the first question to the end, gates as cut boxes; an open one is dashed."""
    drawing, y = Drawing(0), 8.0
    middle = LEFT + SPAN / 2
    for number, step in enumerate(path.steps, 1):
        y = _question(drawing, y, number, step, t)
        if step.ahead:
            break
        y = _answer(drawing, y, middle, step, t)
    y = _end(drawing, y, middle, path, t)
    drawing.height = y + 8
    caption = t("path-drawing", workload=path.workload)
    mark = t("grade-synthetic") if path.generated else ""
    return drawing.finish(f"path-drawing-{place}", caption, t("path-drawing-desc", n=len(path.steps)), mark)


def _question(drawing: Drawing, y: float, number: int, step: Step, t: Messages) -> float:
    question = step.asked.question.text(t.lang)
    if step.part == "gate":
        question = t("question-of", engine=engine_name(step.engine, t), question=question)
    lines = wrapped(t("path-drawing-question", n=number, question=question), SPAN - 24, BOLD)
    said = t(f"source-{step.asked.source}")
    if step.asked.threshold is not None:
        said = t("path-drawing-asked", asked=threshold_text(step.asked, t), source=said)
    notes = wrapped(said, SPAN - 24, SMALL)
    tall = 12 + LINE * len(lines) + 13 * len(notes)
    dash = "5 3" if step.answer in OPEN else ""
    gate = step.part == "gate"
    drawing.box(LEFT, y, SPAN, tall, fill="currentColor", opacity=0.04 if gate else 0.09, stroke="currentColor",
                stroke_width=1.0, dash=dash, round=2 if gate else 9)  # fmt: skip
    if gate:
        drawing.line([(LEFT + 4, y + 3), (LEFT + 4, y + tall - 3)], width=2.5)
    at = y + 6
    for line in lines:
        at += LINE
        drawing.text(LEFT + 13, at - 2, line, bold=True)
    for note in notes:
        at += 13
        drawing.text(LEFT + 13, at - 2, note, size=SMALL, soft=True)
    return y + tall


def _answer(drawing: Drawing, y: float, x: float, step: Step, t: Messages) -> float:
    """The line to the next box, with the answer and its number beside it."""
    words = t(f"reply-{step.answer}")
    if step.asked.threshold is not None and step.answer in ("yes", "no", "undecided"):
        words = t("path-drawing-answer", answer=words, value=value_text(step.asked, step.evidence, t))
    if step.closed is not None:
        words = t("path-drawing-closed", answer=words, reason=step.closed.text(t.lang))
    elif step.turned:
        words = t("path-drawing-turned", answer=words)
    elif step.either:
        words = t("path-drawing-either", answer=words)
    lines = wrapped(words, drawing.width - x - 18)
    tall = max(26.0, 10 + LINE * len(lines))
    _arrow(drawing, x, y, y + tall, open=step.answer in OPEN)
    for place, line in enumerate(lines, 1):
        drawing.text(x + 10, y + 2 + LINE * place, line)
    return y + tall


def _arrow(drawing: Drawing, x: float, top: float, bottom: float, *, open: bool = False) -> None:
    drawing.line([(x, top), (x, bottom - 1)], width=1.4, dash="4 3" if open else "")
    drawing.line([(x - 4, bottom - 6), (x, bottom - 1), (x + 4, bottom - 6)], width=1.4)


def _end(drawing: Drawing, y: float, x: float, path: Path, t: Messages) -> float:
    """Where it leads; for a path that stops, where each answer would lead, side by side."""
    stopped = next((step for step in path.steps if step.ahead), None)
    if stopped is None:
        return _box(drawing, y, LEFT, SPAN, end_text(path.end, t), bold=True)
    wide = (drawing.width - 2 * LEFT + 10) / len(stopped.ahead) - 10
    labels = [wrapped(t(f"path-drawing-{one.branch}"), wide / 2 - 12) for one in stopped.ahead]
    tall = max(26.0, 10 + LINE * max(map(len, labels)))
    bottom = y
    for place, (ahead, lines) in enumerate(zip(stopped.ahead, labels, strict=True)):
        left = LEFT + place * (wide + 10)
        middle = min(left + wide / 2, LEFT + SPAN - 14)
        _arrow(drawing, middle, y, y + tall, open=True)
        for row, line in enumerate(lines, 1):
            drawing.text(middle + 10, y + 2 + LINE * row, line)
        bottom = max(bottom, _box(drawing, y + tall, left, wide, end_text(ahead.leads_to, t), bold=False))
    return bottom


def _box(drawing: Drawing, y: float, left: float, wide: float, text: str, *, bold: bool) -> float:
    size = SIZE + bold
    lines = wrapped(text, wide - 22, BOLD if bold else SIZE)
    tall = 12 + (LINE + 1) * len(lines)
    drawing.box(left, y, wide, tall, stroke="currentColor", stroke_width=2.2 if bold else 1.0,
                dash="" if bold else "5 3", round=tall / 2 if len(lines) == 1 else 12)  # fmt: skip
    for place, line in enumerate(lines, 1):
        at = y + 2 + (LINE + 1) * place
        drawing.text(left + wide / 2, at, line, anchor="middle", bold=bold, size=size)
    return y + tall
