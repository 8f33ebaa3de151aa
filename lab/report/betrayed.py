"""What records betray, in the words of one language: a title, the order of fixing, one line for each record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from lab.betray import Finding, Sign, Unknown
from lab.conditions import Condition
from lab.match import Topic
from lab.records import RunId
from lab.report.messages import Messages, slug


def letters(run_ids: Sequence[RunId]) -> dict[RunId, str]:
    """A letter for each record, A first; beyond Z its number."""
    return {run: ascii_uppercase[i] if i < len(ascii_uppercase) else str(i + 1) for i, run in enumerate(run_ids)}


def headline(found: Sequence[Finding], t: Messages) -> str:
    """Whether they may stand side by side, and how much stands against it."""
    refused = [one for one in found if one.refuses]
    if not refused:
        return t("betray-none-head")
    return t("betray-head", reasons=len(refused), topics=len({one.topic for one in refused}))


def finding_lines(found: Sequence[Finding], t: Messages) -> Iterator[str]:
    """Every finding as indented lines: topics in the order of fixing, each with what to do first, then footnotes."""
    refused = [one for one in found if one.refuses]
    topics = [topic for topic in Topic if any(one.topic is topic for one in refused)]
    for number, topic in enumerate(topics, 1):
        yield f"{number}. {t(f'topic-{topic.value}')}"
        yield f"   {t('betray-fix', what=t(f'betray-fix-{topic.value}'))}"
        yield from _of_topic([one for one in refused if one.topic is topic], t)
    notes = [one for one in found if not one.refuses]
    if notes:
        yield t("betray-footnotes")
        yield from _of_topic(notes, t)


def unknown_lines(found: Sequence[Unknown], names: Sequence[str], t: Messages) -> Iterator[str]:
    """What cannot be known, as indented lines under a heading; nothing where nothing is open."""
    if not found:
        return
    yield t("betray-unknown")
    for what, values in unknown_words(found, names, t):
        yield f"   - {what}"
        yield from (f"       {line}" for line in values)


def unknown_words(found: Sequence[Unknown], names: Sequence[str], t: Messages) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What cannot be known, each with what every record lacks."""
    for one in found:
        values = (
            f"{name}  {t(f'unknown-{one.limit.value}-value', **value)}"
            for name, value in zip(names, one.values, strict=False)
            if value is not None
        )
        yield t(f"unknown-{one.limit.value}"), tuple(values)


def title(found: Finding, t: Messages) -> str:
    """What is found, without the values."""
    if found.field is None:
        return t(f"sign-{found.sign.value}")
    return t(f"sign-{found.sign.value}", what=field_name(found.field, t))


def value_lines(found: Finding, t: Messages) -> Iterator[str]:
    """One line for each record, under its letter."""
    for name, words in zip(letters(found.run_ids).values(), value_words(found, t), strict=True):
        yield f"{name}  {words}"


def value_words(found: Finding, t: Messages) -> tuple[str, ...]:
    """What each record says of it."""
    nothing = t("value-not-recorded")

    def said(value: dict[str, str] | None) -> str:
        if value is None:
            return nothing
        if "value" in value:
            return value["value"]
        known = {key: nothing if word == "—" else word for key, word in value.items()}
        if found.sign is Sign.HOSTS:
            words = (t(f"host-{key}", value=word) for key, word in known.items())
            return t("sign-hosts-value", hosts=t("list-separator").join(words))
        if found.sign is Sign.SCORE_PATH:
            missing = t("support-separator").join(field_name(field, t) for field in value["missing"].split())
            return t("sign-score-path-value", scores=value["scores"], missing=missing or "—")
        # the KV format has two values, also where it is not recorded everywhere
        sign = Sign.KV_NAMED_OR_RESOLVED if found.sign is Sign.NOT_RECORDED else found.sign
        return t(f"sign-{sign.value}-value", **known)

    return tuple(map(said, found.values))


def field_name(field: str, t: Messages) -> str:
    """A field in words."""
    return t(f"condition-{field}") if field in set(Condition) else t(f"betray-{slug(field)}")


def grouped(found: Sequence[Finding], t: Messages) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Findings of one topic, each with a line for every record; what no record says at all is one entry."""
    nowhere = [one for one in found if one.sign is Sign.NOT_RECORDED and not any(one.values)]
    for one in found:
        if one not in nowhere:
            yield title(one, t), tuple(value_lines(one, t))
    if nowhere:
        names = t("support-separator").join(field_name(one.field, t) for one in nowhere if one.field is not None)
        yield t("sign-not-recorded-anywhere", fields=names), ()


def _of_topic(found: Sequence[Finding], t: Messages) -> Iterator[str]:
    for what, values in grouped(found, t):
        yield f"   - {what}"
        yield from (f"       {line}" for line in values)
