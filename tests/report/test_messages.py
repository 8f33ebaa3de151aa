"""Both catalogues say the same things, all of them are used, and Japanese is Japanese."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from fluent.syntax import ast, parse

import lab.report
from lab.betray import FIELDS, FURTHER_FIELDS, HOST_FACTS, Limit, Sign
from lab.checks import CheckName, Consequence
from lab.conditions import Condition
from lab.errors import ParamsError
from lab.explain.claims import Why, WhyNot
from lab.explain.counted import WhyNot as Unanswered
from lab.explain.decision import Branch
from lab.explain.decision import Question as Asked
from lab.explain.facts import Overruled
from lab.explain.flips import Flip
from lab.explain.hypotheses import Hypothesis, Judged, read_hypotheses
from lab.explain.path import Answer, End
from lab.imports import aiperf, guidellm, inference_atlas, vllm_bench
from lab.imports.ceilings import Gap, ImportedCeilings
from lab.imports.record import Counts, ImportedRecord, Republish, ScorePath
from lab.limits import Above, RunCeilings, Sum
from lab.match import Kind, Result, Topic
from lab.publish.changes import How as ChangedHow
from lab.publish.decisions import Change
from lab.publish.evidence import PublicPreparation, PublicRun
from lab.quality.coverage import NoVerdict
from lab.quality.paired import NonInferiority
from lab.quality.path import ContrastClass
from lab.records import Concern, ConcernCode, EvidenceGrade, How, Lack, Lane, Outcome, Structured, Unscored
from lab.report.build import LIMITS, SECTIONS, TERMS
from lab.report.checklist import Question
from lab.report.engine_cards import PARTS
from lab.report.grid import Standing
from lab.report.imported import NOT_USES, USES
from lab.report.imported_scores import SCORE_TITLES
from lab.report.messages import LANGS, engine_message, message, messages, slug, source
from lab.report.path import Next
from lab.report.preparation_chart import PARTS as PREPARATION_PARTS
from lab.report.words import ranking_words
from lab.roster import ROSTER
from lab.rules import RULES, Role
from lab.spec import Table, Workload
from lab.traffic.files import Fault
from lab.traffic.requests import Kind as TrafficKind
from lab.traffic.requests import Refusal
from lab.traffic.shape import Lengths, Prefixes
from lab.traffic.shape import Why as NotMeasured

HOUSE = Path(lab.report.__file__).parent
JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
NAMES = (
    "harness-check", "real-gpu", "imported", "synthetic", "run_id", "spec_digest", "match_id", "prefill",
    "decode", "batching", "SLO", "goodput", "goodput_rps",
    "tok/s", "req/s", "ms", "TTFT", "ttft_s", "TPOT", "tpot_s", "p50", "p99",
)  # fmt: skip
"""Terms of the field that are written the same in Japanese."""

FACTS = {
    "engine_version", "cache_state", "machine", "grade", "certificate", "lab_version", "state", "exact_output",
}  # fmt: skip
"""What a mismatch may be about beside the spec, its conditions and the checks."""


def catalogue(lang: str) -> dict[str, str]:
    """Every message of a language, by key, placeables left out."""
    found: dict[str, str] = {}
    for entry in parse(source(lang)).body:
        assert not isinstance(entry, ast.Junk), entry.content
        if isinstance(entry, ast.Message):
            assert entry.id.name not in found, entry.id.name
            assert entry.value is not None
            found[entry.id.name] = "".join(e.value for e in entry.value.elements if isinstance(e, ast.TextElement))
    return found


def choices(model: Any, field: str) -> list[str]:
    """The strings a literal field may hold."""
    flat = get_args(model.model_fields[field].annotation)
    return [one for part in flat for one in (get_args(part) or (part,)) if isinstance(one, str)]


def families() -> set[str]:
    """Keys that code puts together from a name."""
    keys = {f"engine-{slug(e.key)}-{part}" for e in ROSTER if e.seat == "on"
            for part in ("traits", "fits", "mind", "place", "needs")}  # fmt: skip
    keys |= {
        f"engine-{slug(e.key)}-{part}" for e in ROSTER if e.seat in ("off", "gateway") for part in ("reason", "fact")
    }
    keys |= {f"engine-{slug(e.key)}-card-{part}" for e in ROSTER if e.seat == "on" for part in PARTS}
    keys |= {f"engine-card-{part}" for part in PARTS}
    keys |= {f"engine-card-gap-{gap}" for gap in ("beside", "load", "preparation", "quality", "spread")}
    keys |= {f"standing-{one}" for one in get_args(Standing)} | set(SECTIONS)
    keys |= {"engine-atlas-later", "engine-trtllm-later"}
    keys |= {f"grade-{grade.value}" for grade in EvidenceGrade}
    keys |= {f"banner-{grade.value}" for grade in EvidenceGrade if grade is not EvidenceGrade.REAL_GPU}
    keys |= {f"grade-reason-{reason}" for reason in choices(PublicRun, "grade_reason")}
    keys |= {f"quality-{reason}" for reason in choices(PublicRun, "quality_reason")}
    keys |= {f"cache-{state}" for state in choices(PublicPreparation, "cache_state")}
    keys |= {f"outcome-{outcome.value}" for outcome in Outcome} | {f"unscored-{one.value}" for one in Unscored}
    keys |= {f"question-{question}" for question in get_args(Question)} | {f"answer-{a}" for a in ("yes", "no", "open")}
    keys |= {f"table-{table}" for table in get_args(Table)}
    keys |= {f"pattern-{pattern}{end}" for pattern in ("serve", "build-serve") for end in ("", "-looks")}
    keys |= {f"metric-{metric}-any" for metric in ("output-tok-per-s", "ttft", "tpot-p50", "goodput", "ceiling")}
    keys |= {f"term-{term}{end}" for term in TERMS for end in ("", "-text")}
    keys |= {f"limit-{limit}" for limit in LIMITS}
    charts = ("throughput", "preparation", "ttft", "tpot", "engine", "quality")
    keys |= {f"chart-{chart}{end}" for chart in charts for end in ("", "-desc")}
    keys |= {f"chart-{metric}-x" for metric in ("ttft", "tpot")} | {f"part-{part}" for part in PREPARATION_PARTS}
    keys |= {f"path-drawing-{branch}" for branch in get_args(Branch)}
    keys |= {f"concern-{code.value}" for code in ConcernCode if not Concern(code=code).invalidates}
    keys |= {f"structured-{one.value}" for one in Structured}
    keys |= {f"content-{content}" for content in choices(Workload, "content")}
    keys |= {f"contrast-class-{kind.value}" for kind in ContrastClass} | {f"lane-{lane.value}" for lane in Lane}
    keys |= {f"contrast-reads-{kind.value}" for kind in ContrastClass if kind is not ContrastClass.NOT_ATTRIBUTABLE}
    keys |= {f"contrast-verdict-{one.value}" for one in NonInferiority}
    keys |= {f"contrast-no-{one.value}" for one in NoVerdict if one is not NoVerdict.NO_ITEM}
    keys |= {f"no-ceiling-{reason}" for reason in ("not-recorded", *choices(RunCeilings, "reason"))}
    keys |= {f"no-kv-{reason}" for reason in choices(RunCeilings, "no_kv")}
    keys |= {f"above-{reason}" for reason in get_args(Above)} | {f"lack-{lack.value}" for lack in Lack}
    keys |= {f"tier-{tier}" for tier in choices(PublicPreparation, "cache_tier")}
    keys |= {f"support-{found}" for found in ("not-asked", *choices(PublicRun, "support"))}
    keys |= {f"isolation-{said}" for said in ("not-declared", *choices(PublicRun, "isolation"))}
    keys |= {f"condition-{condition.value}" for condition in Condition} | {f"how-{how.value}" for how in How}
    keys |= {f"probe-{name.value}" for name in CheckName} | {f"probe-result-{one}" for one in get_args(Result)}
    keys |= {f"consequence-{consequence.value}" for consequence in Consequence}
    keys |= {f"mismatch-{kind.value}" for kind in Kind} | {f"topic-{topic.value}" for topic in Topic}
    keys |= {f"sign-{sign.value}" for sign in Sign} | {"sign-not-recorded-anywhere"}
    keys |= {f"sign-{sign.value}-value" for sign in Sign if sign not in (Sign.DIFFERS, Sign.NOT_RECORDED)}
    keys |= {f"unknown-{limit.value}" for limit in Limit} | {
        f"unknown-{limit}-value" for limit in ("rows", "unnamed", "notes")
    }
    keys |= {f"host-{name.removeprefix('machine.')}" for name in HOST_FACTS}
    keys |= {f"betray-fix-{topic.value}" for topic in Topic}
    keys |= {f"betray-{slug(field)}" for field in (*(field for _, field, _ in FIELDS), *FURTHER_FIELDS)}
    keys |= {f"imported-may-{use}" for use in USES} | {f"imported-not-{use}" for use in NOT_USES}
    keys |= {f"gap-{gap}" for gap in get_args(Gap)} | {f"sum-{name}" for name in choices(Sum, "name")}
    keys |= {f"imported-machine-from-{one}" for one in choices(ImportedCeilings, "machine_from")}
    keys |= {f"imported-shape-from-{one}" for one in choices(ImportedCeilings, "shape_from")}
    keys |= {f"count-{name}" for name in Counts.model_fields} | {f"licence-{one}" for one in get_args(Republish)}
    keys |= {f"differs-{slug(name)}" for name in differing()}
    keys |= {f"why-{why}" for why in get_args(Why)} | {f"why-not-{why}" for why in get_args(WhyNot)}
    keys |= {f"reply-{answer}" for answer in get_args(Answer)} | {f"path-ahead-{one}" for one in get_args(Branch)}
    keys |= {f"source-{source}" for source in choices(Asked, "source")} | {
        f"path-{part}" for part in ("gate", "column")
    }
    keys |= {f"desk-role-{role.value}" for role in Role}
    claims = read_hypotheses()
    keys |= {f"claim-{one.name}" for one in claims} | {f"claim-{one.name}-where" for one in claims if one.varies}
    keys |= {f"hypothesis-verdict-{one}" for one in choices(Judged, "verdict")}
    keys |= {f"hypothesis-lacks-{one}" for one in choices(Judged, "lacks")}
    keys |= {f"hypothesis-untestable-{one}" for one in choices(Hypothesis, "untestable")}
    keys |= {f"hypothesis-metric-{one}" for one in choices(Hypothesis, "metric")}
    keys |= {f"hypotheses-{one}" for one in ("claim", "condition", "varied", "metric", "measured", "verdict")}
    keys |= {f"end-{kind}" for kind in choices(End, "kind")} | {f"path-{kind}" for kind in choices(End, "kind")}
    keys |= {f"traffic-kind-{kind}" for kind in get_args(TrafficKind)}
    keys |= {f"traffic-bad-{why}" for why in (*get_args(Fault), *get_args(Refusal))}
    keys |= {f"traffic-by-{one}" for one in choices(Lengths, "counted_by")}
    keys |= {f"traffic-prefix-{level}" for level in choices(Prefixes, "level")}
    keys |= {f"traffic-why-{why}" for why in (*get_args(Unanswered), *get_args(NotMeasured))}
    keys |= {f"traffic-{what}-alone" for what in ("input", "output")}
    keys |= {f"path-{what}-{source}" for what in ("overruled", "answered") for source in choices(Overruled, "source")}
    keys |= {f"next-{kind}" for kind in get_args(Next)} | {f"flip-{what}" for what in choices(Flip, "what")}
    keys |= {f"score-{title}" for title in SCORE_TITLES}
    keys |= {f"score-{what}" for what in ("empty", "not-extracted", "all-zero")}
    keys |= {f"asked-template-{who}" for who in choices(ScorePath, "chat_template")}
    keys |= {f"asked-{what}-{said}" for what in ("system", "turns") for said in ("yes", "no", "unknown")}
    keys |= {f"incomplete-{why}" for why in choices(ImportedRecord, "incomplete")}
    keys |= {f"history-{kind}" for kind in choices(Change, "kind")}
    keys |= {f"beside-{how}" for how in get_args(ChangedHow)}
    named = {path.partition(".")[0] for path, rule in RULES.items() if rule.role is not Role.IGNORED} | FACTS
    keys |= {f"field-{field}" for field in named - set(Condition) - {"engine"}}
    return keys


def differing() -> dict[str, str]:
    """Every metric of another tool whose definition is not the lab's, and how it differs."""
    found: dict[str, str] = {}
    for tool, named in (("vllm-bench", vllm_bench.RATES), ("inference-atlas", inference_atlas.RATES)):
        found |= {f"{tool}:{key}": differs for key, (_, _, differs) in named.items() if differs is not None}
    found |= {f"vllm-bench:{key}": differs for key, differs in vllm_bench.TIMES.items()}
    found |= {f"inference-atlas:{key.removesuffix('_ms')}": one for key, one in inference_atlas.TIMES.items()}
    for tool, said in (("aiperf", aiperf.SAID), ("guidellm", guidellm.SAID)):
        for key, ways in said.items():
            name = f"{tool}:{key.removesuffix('_ms')}"
            found |= {name if n == 1 else f"{name}-{n}": way for n, way in enumerate(ways, 1)}
    return found | {f"inference-atlas:{key}": differs for key, (_, differs) in inference_atlas.DERIVED.items()}


def code() -> str:
    """Everything that may name a key."""
    desk = (HOUSE.parent / "desk").glob("*.py")
    paths = [*HOUSE.glob("*.py"), *HOUSE.glob("templates/*.j2"), HOUSE.parent / "showing_imported.py", *desk]
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(paths))


def test_both_languages_have_the_same_keys_and_arguments() -> None:
    def arguments(lang: str) -> dict[str, set[str]]:
        text = re.split(r"\n(?=[a-z])", source(lang))
        return {part.split(" =")[0]: set(re.findall(r"\$(\w+)", part)) for part in text if " =" in part}

    assert catalogue("en").keys() == catalogue("ja").keys()
    assert arguments("en") == arguments("ja")


def test_every_key_that_is_used_is_defined() -> None:
    called = set(re.findall(r"\bt\(\s*[\"']([a-z][\w-]*)[\"']\s*[,)]", code()))
    assert len(called) > 100
    assert called - catalogue("en").keys() == set()
    assert families() - catalogue("en").keys() == set()


def test_every_key_that_is_defined_is_used() -> None:
    literals = set(re.findall(r"[\"']([a-z][\w-]*)[\"']", code()))
    later = {"engine-unlisted-question"}
    assert catalogue("en").keys() - literals - families() - later == set()


def test_definitions_of_other_tools_are_said_as_their_importer_says_them() -> None:
    found = catalogue("en")
    for name, differs in differing().items():
        assert found[f"differs-{slug(name)}"] == differs


def test_japanese_messages_are_japanese() -> None:
    for key, text in catalogue("ja").items():
        for name in sorted(NAMES, key=len, reverse=True):
            text = text.replace(name, "")
        assert JAPANESE.search(text) or not re.search(r"[A-Za-z]", text), key


def test_english_messages_hold_no_japanese() -> None:
    assert [key for key, text in catalogue("en").items() if JAPANESE.search(text)] == []


@pytest.mark.parametrize("lang", LANGS)
def test_no_message_ranks(lang: str) -> None:
    assert {key: found for key, text in catalogue(lang).items() if (found := ranking_words(text))} == {}


def test_a_missing_key_or_argument_is_an_error() -> None:
    with pytest.raises(KeyError, match="no-such-key"):
        message("en", "no-such-key")
    with pytest.raises(KeyError, match="needs"):
        message("en", "needs")
    with pytest.raises(ParamsError, match="'fr'"):
        messages("fr")


def test_engines_of_the_roster_have_their_words() -> None:
    assert engine_message("ja", "llama.cpp", "reason").startswith("端末寄り・軽量系統")
    assert "同じ列に載せる試合か" in message("ja", "engine-unlisted-question")
