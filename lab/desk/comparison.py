"""Runs side by side for an analyst: why they may not stand there, then every value, then the way back to raw records.

Private: it reads bundles. What is refused is not drawn side by side; single runs can be looked at all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from lab.betray import betrayals, trace_of_run
from lab.desk.sheet import Sheet, sheet
from lab.errors import EvidenceError, LabError
from lab.evidence import EvidenceStore, RunRecord
from lab.match import in_order, match, refusals, side_of
from lab.metrics.catalog import PER_LEVEL, PER_REQUEST, Metric, measure_level
from lab.metrics.stats import interval_over_launches
from lab.publish.contrasts import IN_BITS
from lab.publish.edition import newest_runs
from lab.publish.evidence import PublicRun
from lab.publish.identity import open_namer
from lab.publish.projection import grade_of, project
from lab.records import LevelResult, Outcome, RequestRecord, RunState, TaskScore
from lab.report.cells import table
from lab.report.grid import Row, Table, words
from lab.report.loads import Load, load_text
from lab.report.messages import Messages, messages
from lab.report.numbers import significant
from lab.report.reasons import footnote_word, mismatch_text
from lab.report.series import Series, series_label, series_of
from lab.spec import Rung

QUANTILES = ("p50", "p90", "p99")
LATENCIES = ("ttft_s", "tpot_s", "chunk_gap_s", "e2e_latency_s")
"""What is drawn of each request, in milliseconds."""
RATES = ("output_tok_per_s", "request_rps", "goodput_rps")


@dataclass(frozen=True)
class WalkedBack:
    """One number and everything it was made from.

    Attributes:
        sheet: the number, its formula, the file it came from, and that it comes out again.
        records: the requests behind it, raw.
    """

    sheet: Sheet
    records: pd.DataFrame

    def _repr_html_(self) -> str:
        return self.sheet.html + str(self.records.to_html(max_rows=20, index=False))

    def __repr__(self) -> str:
        return f"{self.sheet}\n\n{self.records.head(20).to_string(index=False)}"


def runs_frame(store: EvidenceStore) -> pd.DataFrame:
    """Every run of the store, newest last: what there is to pick from."""
    rows = []
    for run_id in store.run_ids():
        try:
            status, spec = store.status(run_id), store.spec(run_id)
        except EvidenceError as problem:
            rows.append({"run_id": run_id, "state": "damaged", "note": problem.what})
            continue
        damage = store.verify(run_id) if status.ended_at else ()
        rows.append(
            {
                "run_id": run_id,
                "state": "damaged" if damage else status.state.value,
                "match_id": status.match_id,
                "table": spec.table,
                "engine": spec.engine,
                "profile": spec.profile.name,
                "workload": spec.workload.name,
                "model": spec.model.series,
                "plan": status.plan,
                "started": f"{status.started_at:%Y-%m-%d %H:%M}",
                "note": damage[0] if damage else (status.reason or "").partition("\n")[0][:60],
            }
        )
    return pd.DataFrame(rows).fillna("")


def newest_match(store: EvidenceStore) -> tuple[str, ...]:
    """The runs of the match that was measured last; of several in one plan the first with more than one run.

    Raises:
        LabError: nothing was measured.
    """
    found = newest_runs(store)
    if not found:
        raise LabError(f"no measured run in {store.root}", "lab run params/harness-check.yaml")
    groups: dict[str, list[str]] = {}
    for run_id in found:
        groups.setdefault(store.status(run_id).match_id, []).append(run_id)
    return tuple(next((group for group in groups.values() if len(group) > 1), next(iter(groups.values()))))


class Comparison:
    """Runs that an analyst wants to see side by side.

    Args:
        store: where their bundles are.
        run_ids: which; empty: the newest match.
        lang: language of what is shown.
    """

    def __init__(self, store: EvidenceStore, run_ids: Sequence[str] = (), lang: str = "en") -> None:
        self.store = store
        self.t: Messages = messages(lang)
        self.run_ids = tuple(dict.fromkeys(run_ids)) or newest_match(store)
        self.records: dict[str, RunRecord] = {run_id: store.read(run_id) for run_id in self.run_ids}
        graded = [(record, grade_of(record)[0]) for record in self.records.values()]
        betrayed = betrayals([trace_of_run(record, grade) for record, grade in graded])
        self.mismatches = in_order((*match([side_of(record, grade) for record, grade in graded]), *betrayed))

    @property
    def refused(self) -> bool:
        """Whether something stands against setting these runs side by side."""
        return bool(refusals(self.mismatches))

    @property
    def reasons(self) -> Sheet:
        """Every reason in words, in the order in which a meeting should fix them, footnotes, what records betray.

        The reasons are those of `lab match`.
        """
        t, refused = self.t, refusals(self.mismatches)
        topics = len({one.topic for one in refused})
        parts: list[Table | str] = [
            t("betray-head", reasons=len(refused), topics=topics)
            if refused
            else t("desk-comparable", n=len(self.run_ids))
        ]
        if self.mismatches:
            parts.append(self._reasons_table())
        return sheet([*parts, *([t("desk-apart")] if self.refused else [])], t)

    def _reasons_table(self) -> Table:
        t, rows = self.t, []
        for place, one in enumerate(self.mismatches, 1):
            mark = str(place) if one.refuses else footnote_word(t)
            runs = t("desk-all-runs") if one.run_ids == self.run_ids else t("list-separator").join(one.run_ids)
            cells = (mark, t(f"topic-{one.topic.value}"), mismatch_text(one, t), runs)
            rows.append(Row(cells=tuple(map(words, cells))))
        titles = map(t, ("desk-number", "desk-about", "desk-why", "run"))
        return table("reasons", t("desk-reasons"), titles, rows, style="prose")

    @cached_property
    def public(self) -> tuple[PublicRun, ...]:
        """What may be said of the measured ones; only used for names, colours and labels here."""
        measured = (run_id for run_id, one in self.records.items() if one.status.state is RunState.MEASURED)
        namer = open_namer()
        return tuple(project(self.store, run_id, namer=namer) for run_id in measured)

    @cached_property
    def series(self) -> dict[str, Series]:
        """Colour and marker of each launch profile, as every page has them."""
        return series_of(self.public)

    @cached_property
    def names(self) -> dict[str, str]:
        """run_id → engine and launch profile."""
        return {run.run_id: series_label(run) for run in self.public}

    @cached_property
    def values(self) -> pd.DataFrame:
        """One row for each run, load and metric, with the interval over the fresh launches of its spec.

        `low` and `high` are the 95 % interval of `mean`; empty for one launch. A level that must not be read and a
        metric without a value have no row: `missing` says which and why.
        """
        rows = [row for run_id in self.names for row in self._values_of(run_id) if row["value"] is not None]
        frame = pd.DataFrame(rows, columns=_COLUMNS)
        keys = ["spec_digest", "arrival", "load", "metric"]
        for _, group in frame.groupby(keys, dropna=False):
            found = interval_over_launches(list(group["value"]))
            frame.loc[group.index, "mean"] = group["value"].mean()
            frame.loc[group.index, "launches"] = len(group)
            if found is not None:
                frame.loc[group.index, ["low", "high"]] = found
        return frame

    @property
    def table(self) -> pd.DataFrame:
        """The values with a column for each metric: a row for each run and load, as each launch gave it."""
        heads = self.values["metric"] + " (" + self.values["unit"] + ")"
        wide = self.values.assign(head=heads).pivot(
            index=["series", "run_id", "load", "at"], columns="head", values="value"
        )
        return wide[list(dict.fromkeys(heads))].rename_axis(columns=None).map(_short).droplevel("load")

    @property
    def intervals(self) -> pd.DataFrame:
        """Mean and 95 % interval over the fresh launches of one spec; no row where there was one launch."""
        shown = self.values.dropna(subset=["low"])
        columns = ["series", "at", "metric", "unit", "mean", "low", "high", "launches"]
        frame = shown[columns].drop_duplicates().reset_index(drop=True).astype({"launches": int})
        return frame.assign(**{name: frame[name].map(_short) for name in ("mean", "low", "high")})

    @cached_property
    def missing(self) -> pd.DataFrame:
        """What has no value, and why."""
        rows = [row for run_id in self.names for row in self._values_of(run_id) if row["value"] is None]
        columns = ["run_id", "series", "at", "metric", "why"]
        return pd.DataFrame(rows, columns=[*_COLUMNS, "why"])[columns]

    @cached_property
    def requests(self) -> pd.DataFrame:
        """One row for each measured request, warm-up left out; times in milliseconds, None where there is none."""
        rows = []
        for run_id in self.names:
            record = self.records[run_id]
            for one in self.store.requests(run_id):
                if not one.warmup:
                    rows.append(_request_row(run_id, self.names[run_id], self._load(record, one.level), one, self.t))
        return pd.DataFrame(rows)

    @cached_property
    def quality(self) -> pd.DataFrame:
        """One row for each run and task of the suite: score, its standard error, items without a score."""
        rows = [
            {
                "run_id": run_id,
                "series": self.names[run_id],
                "task": task.task,
                "metric": task.metric,
                "score": task.score,
                "low": _end(task, -1.96),
                "high": _end(task, 1.96),
                "items": task.n,
                "unscored": sum(task.unscored.values()),
            }
            for run_id in self.names
            if (result := self.records[run_id].quality) is not None
            for task in result.tasks
        ]
        columns = ["run_id", "series", "task", "metric", "score", "low", "high", "items", "unscored"]
        return pd.DataFrame(rows, columns=columns)

    def walk_back(self, run_id: str, metric: str, level: int = 0) -> WalkedBack:
        """From one number to the raw records it was computed from, and the same number computed from them again.

        Args:
            run_id: one of these runs.
            metric: a metric of the catalogue, for instance `output_tok_per_s` or `ttft_s`.
            level: place of the rung in its ladder, from 0.

        Raises:
            LabError: there is no such run, level or metric here.
        """
        record = self.records.get(run_id)
        if record is None:
            raise LabError(f"{run_id} is not among {', '.join(self.run_ids)}", "name it in run_ids")
        known: dict[str, Metric] = {**{name: one for name, (one, _) in PER_REQUEST.items()}, **PER_LEVEL}
        if metric not in known:
            raise LabError(f"no metric is called '{metric}'; there are: {', '.join(known)}")
        if not 0 <= level < len(record.levels):
            raise LabError(f"{run_id} has the levels 0 to {len(record.levels) - 1}, got {level}")
        rung = record.spec.workload.rungs[level]
        behind = [one for one in self.store.requests(run_id) if one.level == level]
        again = measure_level(behind, rung, record.spec.workload.slo)
        stored, computed = (_said(one, metric, self.t) for one in (record.levels[level], again))
        damage = self.store.verify(run_id)
        one, t = known[metric], self.t
        facts = (
            ("desk-number-at", f"{metric} ({one.unit}), {load_text(self._load(record, level), t)}"),
            ("desk-value", stored),
            ("desk-again", computed),
            ("desk-formula", one.formula),
            ("desk-from", one.source),
            ("desk-differs", one.differs),
            ("desk-records", str(self.store.path(run_id) / "requests.parquet")),
            ("desk-whole", t("desk-whole-yes") if not damage else damage[0]),
        )
        rows = [Row(cells=(words(t(key)), words(value))) for key, value in facts]
        titles = map(t, ("desk-what", "desk-value"))
        shown = sheet((table("walked", t("desk-walk", run=run_id), titles, rows, style="prose"),), t)
        raw = pd.DataFrame([_raw_row(one) for one in behind])
        return WalkedBack(shown, raw)

    def _load(self, record: RunRecord, level: int) -> Load:
        rung, workload = record.spec.workload.rungs[level], record.spec.workload
        return Load(arrival=workload.arrival, value=rung.concurrency if rung.concurrency is not None else rung.rate_rps)

    def _values_of(self, run_id: str) -> list[dict[str, Any]]:
        record, t = self.records[run_id], self.t
        rungs: Sequence[Rung] = record.spec.workload.rungs
        found = []
        for place, level in enumerate(record.levels):
            load = self._load(record, place)
            head = {
                "run_id": run_id,
                "series": self.names[run_id],
                "spec_digest": record.spec.spec_digest,
                "launch": record.status.repeat + 1,
                "level": place,
                "arrival": load.arrival,
                "load": rungs[place].concurrency if rungs[place].concurrency is not None else rungs[place].rate_rps,
                "at": load_text(load, t),
            }
            named = [(name, PER_LEVEL[name].unit, level.scalars.get(name)) for name in RATES]
            named += [
                (f"{name.removesuffix('_s')} {q}", "ms", None if value is None else value * 1000)
                for name in LATENCIES
                for q in QUANTILES
                for value in (getattr(level.metrics[name], q) if name in level.metrics else None,)
            ]
            for name, unit, value in named:
                read = value if level.valid else None
                why = "" if read is not None else _why_none(level, name, record, t)
                found.append({**head, "metric": name, "unit": unit, "value": read, "why": why})
        return found


_COLUMNS = [
    "run_id", "series", "spec_digest", "launch", "level", "arrival", "load", "at", "metric", "unit", "value", "mean",
    "low", "high", "launches",
]  # fmt: skip


def _short(value: float | None) -> str:
    """A number as it is printed everywhere; what is not there is a dash."""
    return "—" if value is None or pd.isna(value) else significant(value, 4)


def _why_none(level: LevelResult, name: str, record: RunRecord, t: Messages) -> str:
    if not level.valid:
        return t("desk-invalid")
    if name == "goodput_rps" and record.spec.workload.slo is None:
        return t("goodput-no-slo")
    summary = level.metrics.get(f"{name.partition(' ')[0]}_s")
    if summary is not None and summary.reason is not None:
        return str(summary.reason)
    return t("missing-steady") if level.steady_s is None else t("missing")


def _end(task: TaskScore, errors: float) -> float | None:
    """An end of the interval over items, so many standard errors away; a share stays between 0 and 1."""
    if task.score is None or task.stderr is None:
        return None
    end = task.score + errors * task.stderr
    return end if task.metric == IN_BITS else min(max(end, 0.0), 1.0)


def _said(level: LevelResult, metric: str, t: Messages) -> str:
    if metric in level.metrics:
        summary = level.metrics[metric]
        if summary.p50 is None:
            return summary.reason or t("missing")
        parts = [f"{q} {significant(getattr(summary, q), 6)}" for q in QUANTILES]
        return f"{', '.join(parts)}, n {summary.n}"
    value = level.scalars.get(metric)
    return t("missing") if value is None else significant(value, 6)


def _request_row(run_id: str, series: str, load: Load, one: RequestRecord, t: Messages) -> dict[str, Any]:
    measured = {
        name.removesuffix("_s"): 1000 * values[0] if (values := PER_REQUEST[name][1](one)) else None
        for name in ("ttft_s", "tpot_s", "e2e_latency_s")
    }
    return {
        "run_id": run_id,
        "series": series,
        "level": one.level,
        "at": load_text(load, t),
        "request": one.index,
        "sent_s": one.send_s,
        **(measured if one.outcome is Outcome.SUCCESS else dict.fromkeys(measured)),
        "prompt_tokens": one.prompt_tokens,
        "cached_tokens": one.cached_tokens,
        "completion_tokens": one.completion_tokens,
        "outcome": one.outcome.value,
    }


def _raw_row(one: RequestRecord) -> dict[str, Any]:
    """A record as it lies in the bundle, without the text of the answer."""
    plain = one.model_dump(mode="json", exclude={"text", "chunk_s", "chunk_kind"})
    return {**plain, "chunks": len(one.chunk_s), "first_token_s": next(iter(one.token_s), None),
            "last_token_s": next(reversed(one.token_s), None)}  # fmt: skip
