"""The shape of a team's traffic in words, as `lab traffic` prints it: numbers, and why something has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lab.explain.counted import Answers
from lab.report.messages import Messages
from lab.report.numbers import count, percent, significant
from lab.traffic.draw import RUN
from lab.traffic.reading import Measured
from lab.traffic.shape import Lengths, Prefixes, Shape, Use
from lab.traffic.tally import LEAST_BATCHES, LEAST_IN_BATCH

BAR = 40
"""Characters of the longest bar of a histogram."""
LEAST_FOR_INTERVAL = 256
"""Requests from which a share has an interval: the smallest number with enough batches of enough requests."""
assert LEAST_FOR_INTERVAL >= LEAST_BATCHES * LEAST_IN_BATCH


def shape_lines(shape: Shape, t: Messages) -> Iterator[str]:
    """The shape, section by section."""
    yield f"# {t('traffic-title')}"
    yield t(f"traffic-kind-{shape.kind}", requests=count(shape.requests), records=count(shape.records),
            conversations=count(shape.conversations or 0))  # fmt: skip
    yield from _read(shape, t)
    yield ""
    yield f"## {t('traffic-lengths')}"
    yield from _lengths(shape, t)
    yield ""
    yield f"## {t('traffic-prefixes')}"
    yield from _prefixes(shape, t)
    yield ""
    yield f"## {t('traffic-time')}"
    yield from _time(shape, t)
    yield ""
    yield f"## {t('traffic-use')}"
    yield from _use(shape, t)


def answer_lines(found: Answers, t: Messages) -> Iterator[str]:
    """What the traffic answers of the decision, and what it cannot say."""
    yield f"## {t('traffic-answers')}"
    for name, one in found.facts.items():
        if isinstance(one.value, bool):
            value = t("reply-yes" if one.value else "reply-no")
        else:
            assert isinstance(one.value, float) and one.low is not None and one.high is not None
            low, high = significant(one.low), significant(one.high)
            value = t("value-interval", value=f"{significant(one.value)} {one.unit}", low=low, high=high)
        yield "- " + t(
            "traffic-answer", fact=name, value=value, n=count(one.requests or 0), window=_window(one.window_s, t)
        )
    for left in found.open:
        yield "- " + t("traffic-open", fact=left.fact, why=t(f"traffic-why-{left.why}", n=LEAST_FOR_INTERVAL))


def _window(seconds: float | None, t: Messages) -> str:
    return t("traffic-window-none") if seconds is None else span(seconds, t)


def span(seconds: float, t: Messages) -> str:
    """A time in the unit that suits its size."""
    for least, size, key in _SPANS:
        if seconds >= least:
            return t(key, n=_trim(significant(seconds / size)))
    return t("span-s", n=_trim(significant(seconds)))


_SPANS = (
    (172_800, 86_400, "traffic-days"),
    (7_200, 3_600, "span-h"),
    (120, 60, "span-min"),
)
"""From so many seconds on, a time is told in units of so many."""


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _read(shape: Shape, t: Messages) -> Iterator[str]:
    for one in shape.bad:
        lines = t("list-separator").join(map(str, one.lines))
        yield t("traffic-bad", n=count(one.n), why=t(f"traffic-bad-{one.why}"), lines=lines)
    if shape.twice:
        yield t("traffic-twice", n=count(shape.twice))
    if shape.twice_more:
        yield t("traffic-twice-more")
    if shape.answers_last:
        yield t("traffic-answers-last", n=count(shape.answers_last))
    if shape.failed:
        yield t("traffic-failed", n=count(shape.failed))


def _lengths(shape: Shape, t: Messages) -> Iterator[str]:
    for key, found in (("traffic-input", shape.input_lengths), ("traffic-output", shape.output_lengths)):
        for place, one in enumerate(found):
            yield from _length(t(key, by=t(f"traffic-by-{one.counted_by}")), one, t, bars=not place)
        if not found:
            yield t("traffic-not", what=t(f"{key}-alone"), why=t("traffic-why-not-held"))
    if shape.limits is not None:
        yield from _length(t("traffic-limit"), shape.limits, t, bars=False)


def _length(what: str, one: Lengths, t: Messages, *, bars: bool) -> Iterator[str]:
    shown = {name: count(getattr(one, name)) for name in ("least", "p10", "p25", "p50", "p75", "p90", "p99", "most")}
    yield t("traffic-quantiles", what=what, n=count(one.n), mean=significant(one.mean), **shown)
    if not bars:
        return
    longest = max(n for _, _, n in one.histogram)
    for low, high, n in one.histogram:
        bar = "█" * max(1 if n else 0, round(n / longest * BAR))
        yield f"  {f'{low:,}–{high:,}':>19} {n:>10,} {bar}".rstrip()


def _prefixes(shape: Shape, t: Messages) -> Iterator[str]:
    found = shape.prefixes
    if found is None:
        why = "traffic-why-no-blocks" if shape.kind == "mooncake" else "traffic-why-no-prompts"
        yield t("traffic-not", what=t("traffic-prefixes"), why=t(why))
        return
    yield t(f"traffic-prefix-{found.level}", share=percent(found.share), total=count(found.total),
            block=found.block_tokens or 0)  # fmt: skip
    if found.low is not None and found.high is not None:
        key = "traffic-interval-blocks" if found.level == "blocks" else "traffic-interval"
        yield t(key, low=percent(found.low), high=percent(found.high))
    else:
        yield t("traffic-not", what=t("traffic-its-interval"), why=t("traffic-why-few-requests", n=LEAST_FOR_INTERVAL))
    if found.block_open:
        yield t("traffic-block-open", block=found.block_tokens or 0)
    if found.whole:
        yield t("traffic-whole", n=count(found.whole))
    yield from _ago(found, t)
    if found.horizon is not None:
        yield t("traffic-horizon", n=count(found.horizon))
    if shape.cached_share is not None:
        yield t("traffic-cached", share=percent(shape.cached_share))


def _ago(found: Prefixes, t: Messages) -> Iterator[str]:
    parts = []
    for one in found.within:
        if one.seconds is not None:
            when = t("traffic-ago", span=span(one.seconds, t))
        elif one.requests is not None:
            when = t("traffic-ago-requests", n=count(one.requests))
        else:
            when = t("traffic-ago-ever")
        parts.append(t("traffic-ago-share", when=when, share=percent(one.share)))
    yield t("traffic-within", parts=t("list-separator").join(parts))
    if found.window_s is not None and found.window_shares is not None:
        low, middle, high = map(percent, found.window_shares)
        yield t(
            "traffic-windows", span=span(found.window_s, t), n=count(found.windows), low=low, middle=middle, high=high
        )


def _time(shape: Shape, t: Messages) -> Iterator[str]:
    came = shape.arrivals
    if came is None:
        yield t("traffic-not", what=t("traffic-its-arrivals"), why=t(f"traffic-why-{shape.no_arrivals}"))
    else:
        cv = "—" if came.gap_cv is None else significant(came.gap_cv)
        yield t("traffic-arrivals", rate=significant(came.rate_rps), span=span(came.span_s, t), cv=cv)
        if came.peak_to_mean is not None and came.peak_window_s is not None:
            yield t("traffic-peak", span=span(came.peak_window_s, t), ratio=significant(came.peak_to_mean))
        if came.dispersion:
            parts = (
                t("traffic-dispersion-part", span=span(one.window_s, t), index=significant(one.index))
                for one in came.dispersion
            )
            yield t("traffic-dispersion", parts=t("list-separator").join(parts))
        if came.ties:
            yield t("traffic-ties", n=count(came.ties), step=span(came.step_s or 0.0, t))
        if came.more:
            yield t("traffic-moments-more", n=count(came.n))
    if shape.in_flight is None:
        yield t("traffic-not", what=t("traffic-its-in-flight"), why=t(f"traffic-why-{shape.no_in_flight}"))
    else:
        yield t("traffic-in-flight", mean=significant(shape.in_flight.mean), peak=count(shape.in_flight.peak))
        if shape.in_flight.hour_mean is None:
            yield t("traffic-not", what=t("traffic-its-hour"), why=t("traffic-why-no-hour"))
        else:
            low, high = shape.in_flight.low or 0.0, shape.in_flight.high or 0.0
            yield t("traffic-hour", mean=significant(shape.in_flight.hour_mean), low=significant(low),
                    high=significant(high))  # fmt: skip
            if came is not None and came.span_s < 86_400:
                yield t("traffic-hour-only", span=span(came.span_s, t))
    clock = shape.clock
    for n, key in ((clock.missing, "traffic-clock-missing"), (clock.broken, "traffic-clock-broken"),
                   (clock.no_unit, "traffic-clock-no-unit")):  # fmt: skip
        if n:
            yield t(key, n=count(n))
    if clock.back:
        yield t("traffic-clock-back", n=count(clock.back), span=span(clock.back_s, t))


def _use(shape: Shape, t: Messages) -> Iterator[str]:
    if shape.turns is not None:
        turns = shape.turns
        yield t("traffic-turns", share=percent(turns.later / turns.n), p50=turns.p50, p90=turns.p90, most=turns.most)
    use = shape.use
    if use is None:
        yield t("traffic-not", what=t("traffic-use"), why=t("traffic-why-no-bodies"))
        return
    yield t("traffic-structured", schema=_share(use.json_schema, use), json=_share(use.json_object, use),
            other=_share(use.constrained_otherwise, use))  # fmt: skip
    yield t("traffic-tools", offers=_share(use.offers_tools, use), uses=_share(use.uses_tools, use),
            middle=use.tools_p50 or 0)  # fmt: skip
    yield t("traffic-stream", share=_share(use.stream, use), silent=_share(use.n - use.stream_said, use))
    key = "traffic-models-more" if use.models_more else "traffic-models"
    most = percent(use.model_most / use.n)
    yield t(key, n=count(use.models), most=most)
    if use.models > 1:
        yield t("traffic-models-mixed")
    if use.adapter_requests:
        yield t("traffic-adapters", n=count(use.adapters), share=_share(use.adapter_requests, use))
    if use.media:
        yield t("traffic-media", share=_share(use.media, use))
    if use.held:
        yield t("traffic-held", share=_share(use.held, use))
    if use.several_prompts:
        yield t("traffic-several", n=count(use.several_prompts))
    if use.token_ids:
        yield t("traffic-token-ids", n=count(use.token_ids))
    parts = []
    for one in use.settings:
        set_in = _share(one.n, use)
        if one.p10 is None or one.p50 is None or one.p90 is None:
            parts.append(f"{one.name} {set_in}")
        else:
            quantiles = ", ".join(f"{value:g}" for value in (one.p10, one.p50, one.p90))
            parts.append(t("traffic-setting", name=one.name, share=set_in, quantiles=quantiles))
    if parts:
        yield t("traffic-settings", parts=t("list-separator").join(parts))


def _share(n: int, use: Use) -> str:
    return percent(n / use.n)


def written_lines(measured: Measured, workload: Sequence[str], facts: str | None, t: Messages) -> Iterator[str]:
    """What was written, how far it is like the traffic, and the command to run next.

    Args:
        measured: the shape and the rows.
        workload: the workload file and its source; nothing where none was written.
        facts: the facts file; None where none was written.
    """
    if workload:
        path, source = workload
        rows = measured.rows
        share = sum(row.shared_tokens for row in rows) / sum(row.input_tokens for row in rows)
        every = "true" if measured.everything and not measured.no_rows else "false"
        yield ""
        yield t(
            "traffic-written", path=path, shape=source, n=count(len(rows)), every=every, run=RUN, share=percent(share)
        )
        if measured.no_rows:
            yield t("traffic-left-out", n=count(measured.no_rows))
        yield from _not_carried(measured.shape, t)
        yield t("traffic-next", command=f"lab bench URL --model M --workload {path}")
    if facts is not None:
        yield ""
        yield t("traffic-facts-written", path=facts)
        yield t("traffic-next", command=f"lab explain --facts TEAM.yaml --facts {facts}")


def _not_carried(shape: Shape, t: Messages) -> Iterator[str]:
    """What requests use that the workload does not send."""
    use = shape.use
    if use is None:
        return
    constrained = use.json_schema + use.json_object + use.constrained_otherwise
    found = (
        ("traffic-carried-structured", constrained),
        ("traffic-carried-tools", use.offers_tools),
        ("traffic-carried-media", use.media),
        ("traffic-carried-adapters", use.adapter_requests),
        ("traffic-carried-sampling", max((one.n for one in use.settings), default=0)),
    )
    parts = [t(key, share=_share(n, use)) for key, n in found if n]
    if parts:
        yield t("traffic-not-carried", parts=t("list-separator").join(parts))
