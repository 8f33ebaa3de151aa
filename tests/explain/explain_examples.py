"""A small tree over the stand-ins P, Q and R, facts of a team, and runs whose numbers a reader checks in the head."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from lab.explain.decision import Decision, read_decision
from lab.explain.facts import TeamFacts, read_facts
from lab.explain.flips import Explanation, explain
from lab.publish.evidence import PublicContrast, PublicRun
from tests.report.report_examples import beside, level, pair, quality_path, run

DECISION = """
name: small-choice
about: {en: "The decision goes through the workload.", ja: "決定木は workload の形を通ります。"}
review_days: 90
nodes:
  one-vendor:
    question: {en: "Is the fleet of one vendor?", ja: "艦隊は 1 社の GPU か"}
    source: declared
    fact: one_vendor
    says:
      then: {en: "the fleet is of one vendor", ja: "艦隊は 1 社の GPU です"}
      otherwise: {en: "hardware is mixed", ja: "ハードウェアは混在しています"}
    then: build-pays
    otherwise: prefix-heavy
  build-pays:
    question: {en: "When does the build pay for itself?", ja: "ビルドの元はいつ取れるか"}
    source: lab
    metric: break_even_h
    engine: R
    against: P
    at_most: 24
    unit: h
    says:
      then: {en: "the build pays for itself after {value}", ja: "ビルドの元が取れるまでの時間は {value} です"}
      otherwise: {en: "the build pays for itself after {value}", ja: "ビルドの元が取れるまでの時間は {value} です"}
    then: R
    otherwise: prefix-heavy
    not_applicable: gain
  gain:
    question: {en: "How much more does R put out?", ja: "R の出力はどれだけ多いか"}
    source: lab
    metric: throughput_gain
    engine: R
    against: P
    at_least: 5
    unit: "%"
    says:
      then: {en: "output is {value} against P", ja: "出力は P に対して {value} です"}
      otherwise: {en: "output is {value} against P", ja: "出力は P に対して {value} です"}
    then: R
    otherwise: prefix-heavy
  prefix-heavy:
    question: {en: "How much of the input is shared prefix?", ja: "入力のどれだけが共有プレフィックスか"}
    source: traffic
    fact: shared_prefix_share
    at_least: 50
    unit: "%"
    says:
      then: &said
        en: "{value} of the input tokens are shared prefixes"
        ja: "入力トークンの {value} が共有プレフィックスです"
      otherwise: *said
    then: Q
    otherwise: P
gates:
  licence:
    kind: licence
    question: {en: "Does the licence allow this use?", ja: "ライセンスはこの用途を認めているか"}
    source: declared
    fact: licence_allows
    closed: {en: "its licence does not allow this use", ja: "ライセンスがこの用途を認めていません"}
  tools:
    kind: api
    needed_if: needs_tool_calls
    question: {en: "Does it return tool calls?", ja: "ツール呼び出しを返すか"}
    source: lab
    metric: tool-call
    closed: {en: "it returns no tool calls", ja: "ツール呼び出しを返しません"}
  preparation:
    kind: preparation
    question: {en: "How long does preparation take?", ja: "準備にどれだけかかるか"}
    source: lab
    metric: preparation_s
    at_most: 14400
    unit: s
    closed: {en: "preparation takes too long", ja: "準備に時間がかかりすぎます"}
  quality:
    kind: quality
    question: {en: "How much quality is lost?", ja: "品質はどれだけ下がるか"}
    source: lab
    metric: quality_loss
    against: P
    at_most: 1
    unit: points
    closed: {en: "quality falls too far", ja: "品質が下がりすぎます"}
leaves:
  P: {engine: P, gates: &gates [licence, tools, preparation, quality]}
  Q: {engine: Q, gates: *gates}
  R: {engine: R, gates: *gates}
columns:
  spark:
    engine: S
    question: {en: "Is there a GB10?", ja: "GB10 があるか"}
    source: declared
    fact: gb10
"""

FACTS = """
by: platform team
day: 2026-12-01
workloads:
  agent-tools:
    load: {concurrency: 64}
    facts:
      one_vendor: false
      shared_prefix_share:
        {value: 71, low: 66, high: 75, unit: "%", requests: 120000, by: traffic team, day: 2026-11-20}
      needs_tool_calls: false
      gb10: false
    engines:
      P: {licence_allows: true}
      Q: {licence_allows: true}
      R: {licence_allows: true}
"""

SETTINGS = [{"condition": "kv_cache_dtype", "wanted": "F16", "how": "set"}]
EFFECTIVE = [
    {"condition": "kv_cache_dtype", "value": "F16"},
    *({"condition": name, "value": 4096} for name in ("context_limit", "kv_cache_tokens", "max_batched_tokens")),
    {"condition": "max_num_seqs", "value": 4},
    *({"condition": name, "value": False} for name in ("prefix_caching", "chunked_prefill")),
]
CHECKS = [
    {"name": "prompt-tokens", "result": "pass", "counts": [1, 38, 31]},
    {"name": "tool-call", "result": "pass"},
]


def one(engine: str, launch: int, rate: float, build_s: float | None = None, **changes: Any) -> PublicRun:
    """One launch: 10 s from launch to first token, and so many tokens a second at 64 in flight."""
    plain = run(engine, "same", str(launch)).model_dump(mode="json")
    return PublicRun.model_validate(
        {
            **plain,
            "profile": {"name": "same", "prefix_caching": False},
            "varied": ["engine"],
            "settings": SETTINGS,
            "effective": EFFECTIVE,
            "checks": CHECKS,
            "preparation": {"build_s": build_s, "startup_s": 9, "first_request_s": 1, "cache_state": "warm"},
            "levels": [level(64, rate)],
            **changes,
        }
    )


def launches(engine: str, *rates: float, build_s: float | None = None, **changes: Any) -> tuple[PublicRun, ...]:
    """Fresh launches of one engine."""
    return tuple(one(engine, number, rate, build_s, **changes) for number, rate in enumerate(rates))


def runs(**changes: Any) -> tuple[PublicRun, ...]:
    """P puts out 100 tok/s, Q 112, R 110 after a build of one hour: R gains 10 %, so it breaks even after 10 h."""
    return (
        *launches("P", 100, 100, 100, **changes),
        *launches("Q", 111, 112, 113, **changes),
        *launches("R", 110, 110, 110, build_s=3600, **changes),
    )


def contrasts(given: Sequence[PublicRun], down: int = 1, up: int = 1, n: int = 3000) -> tuple[PublicContrast, ...]:
    """Q and R against P: so many of `n` items fell and so many rose."""
    first = {name: next(one for one in given if one.engine == name) for name in ("P", "Q", "R")}
    path = quality_path()
    return tuple(
        beside(first["P"], first[name], path, quality_path(engine=name), pair("facts", n, down, up))
        for name in ("Q", "R")
    )


def decision(tmp_path: Path, change: Any = None) -> Decision:
    """The small tree, after `change` has edited it as plain data."""
    data = yaml.safe_load(DECISION)
    if change is not None:
        change(data)
    file = tmp_path / "decision.yaml"
    file.write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return read_decision(file)


def facts(tmp_path: Path, rules: Decision, change: Any = None) -> TeamFacts:
    """The facts of the team, after `change` has edited the workload's block."""
    data = yaml.safe_load(FACTS)
    if change is not None:
        change(data["workloads"]["agent-tools"])
    file = tmp_path / "facts.yaml"
    file.write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return read_facts(file, rules)


def explained(
    tmp_path: Path,
    rules: Any = None,
    stated: Any = None,
    given: Sequence[PublicRun] | None = None,
    compared: Sequence[PublicContrast] | None = None,
) -> Explanation:
    """The one path of the example, after edits of the tree, the facts or the evidence."""
    tree = decision(tmp_path, rules)
    evidence = runs() if given is None else given
    known = contrasts(evidence) if compared is None else compared
    (found,) = explain(tree, facts(tmp_path, tree, stated), evidence, known)
    return found
