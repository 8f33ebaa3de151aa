"""What the page says of runs that may not stand side by side: no number beside another, and the reason."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from lab.match import Kind, Mismatch, Topic, refusals
from lab.publish.evidence import PublicRun
from lab.report.build import build_pages
from lab.report.messages import LANGS, messages
from lab.report.reasons import mismatch_text, reasons_of
from tests.report.report_examples import run, workload

SAME = {"profile": {"name": "same", "prefix_caching": False}, "varied": ["engine"]}
SETTINGS = [
    {"condition": "kv_cache_dtype", "wanted": "F16", "how": "set"},
    {"condition": "chunked_prefill", "wanted": None, "how": "imposed"},
    {"condition": "telemetry", "wanted": False, "how": "left"},
]
EFFECTIVE = [{"condition": "kv_cache_dtype", "value": "F16"}, {"condition": "max_num_seqs", "value": 4}]
CHECKS = [
    {"name": "prompt-tokens", "result": "pass", "counts": [1, 38, 31]},
    {"name": "tool-call", "result": "not-exposed"},
]
KNOWN: dict[str, Any] = {"settings": SETTINGS, "effective": EFFECTIVE, "checks": CHECKS}


def one(engine: str, launch: str = "1", **changes: Any) -> PublicRun:
    plain = run(engine, "base", launch)
    return PublicRun.model_validate({**plain.model_dump(mode="json"), **SAME, **KNOWN, **changes})


def failed(name: str) -> list[dict[str, Any]]:
    return [{"name": name, "result": "fail"}]


def rows(runs: tuple[PublicRun, ...], table: str, lang: str = "en") -> list[str]:
    """The rows of one table as text, heading first."""
    html = build_pages(runs, (lang,))[f"{lang}/index.html"].decode()
    found = re.search(rf'<table id="{table}".*?</table>', html, re.DOTALL)
    assert found is not None, table
    plain = (re.sub(r"<[^>]+>", " ", row) for row in re.findall(r"<tr.*?</tr>", found.group(), re.DOTALL))
    return [" ".join(unescape(row).split()) for row in plain]


def footnotes(runs: tuple[PublicRun, ...], table: str) -> list[str]:
    """What stands under one table, the first with the number 1."""
    html = build_pages(runs, ("en",))["en/index.html"].decode()
    found = re.search(rf'<ol class="footnotes" id="{table}-footnotes".*?</ol>', html, re.DOTALL)
    assert found is not None, table
    return [unescape(note) for note in re.findall(r"<li>(.*?)</li>", found.group())]


def test_a_run_with_a_reason_of_its_own_is_beside_nothing_and_the_others_stay() -> None:
    good, again, bad = one("P"), one("P", "2"), one("P", "3", checks=failed("prefix-cache"))
    found = reasons_of((good, again, bad))
    assert refusals(found[good.run_id]) == refusals(found[again.run_id]) == ()
    (reason,) = refusals(found[bad.run_id])
    assert (reason.field, reason.kind) == ("prefix-cache", Kind.CHECK_FAILED)
    table = rows((good, again, bad), "pipeline-table")
    said = {name: next(row for row in table if name in row) for name in (good.run_id, bad.run_id)}
    assert said[good.run_id].endswith("comparable footnotes 1")
    assert footnotes((good, again, bad), "pipeline-table") == [
        "chunked prefill: the engine does this whatever is asked"
    ]
    assert "not comparable prefix cache as asked: preflight saw this fail" in said[bad.run_id]
    beside = {run_id: [row for row in rows((good, again, bad), "throughput-table") if run_id in row] for run_id in said}
    assert all("not comparable" in row for row in beside[bad.run_id])
    assert not any("not comparable" in row for row in beside[good.run_id])


def test_a_column_of_the_comparison_that_does_not_match_shows_its_reason_instead_of_numbers() -> None:
    column = one("vllm", table="comparison", levels=[], preparation=None, quality=None, quality_reason="not-measured")
    short = column.model_copy(update={"checks": PublicRun.model_validate(
        {**column.model_dump(mode="json"), "checks": failed("context-limit")}).checks})  # fmt: skip
    assert "not comparable context limit holds: preflight saw this fail" in rows((short,), "comparison-table")[1]
    table = rows((column,), "comparison-table")
    assert "not comparable" not in " ".join(table)
    assert table[0].startswith("Metric vLLM footnotes 1 TensorRT-LLM SGLang")
    assert footnotes((column,), "comparison-table") == ["chunked prefill: the engine does this whatever is asked"]


def test_engines_whose_prompts_differ_in_length_are_both_without_numbers() -> None:
    bare = {"table": "comparison", "levels": [], "preparation": None, "quality": None, "quality_reason": "not-measured"}
    other = one("sglang", checks=[{"name": "prompt-tokens", "result": "pass", "counts": [1, 39, 32]}], **bare)
    text = rows((one("vllm", **bare), other), "comparison-table")[1]
    assert text.count("prompt tokens of fixed conversations: counted differently (1 38 31 / 1 39 32)") == 2


def test_matches_of_the_pipeline_check_are_not_compared_with_each_other() -> None:
    elsewhere = one("P", "2", match_id="m-" + "0" * 12, context_limit=1024)
    assert not any(map(refusals, reasons_of((one("P"), elsewhere)).values()))
    same = one("P", "2", context_limit=1024)
    assert all(map(refusals, reasons_of((one("P"), same)).values()))


@pytest.mark.parametrize("lang", LANGS)
def test_a_workload_without_its_capability_is_not_supported_and_has_no_number(lang: str) -> None:
    schemas = workload(
        name="structured-output", content="structured-output", source_sha256="0" * 64, input_tokens=None,
        shared_prefix_tokens=0, exact_output=False,
    )  # fmt: skip
    refused, t = one("P", workload=schemas, levels=[], checks=failed("json-schema")), messages(lang)
    (row,) = rows((refused,), "throughput-table", lang)[1:]
    assert row.endswith(t("workload-not-supported", what=t("probe-json-schema")))
    measured = one("P", workload=schemas, checks=[{"name": "json-schema", "result": "pass"}])
    assert len(rows((measured,), "throughput-table", lang)[1:]) == 2


@pytest.mark.parametrize("lang", LANGS)
def test_a_card_holds_conditions_and_checks(lang: str) -> None:
    plain, t = one("P"), messages(lang)
    conditions = rows((plain,), f"conditions-{plain.run_id}", lang)
    assert conditions[1:] == [
        f"{t('condition-kv_cache_dtype')} F16 F16 {t('how-set')}",
        f"{t('condition-chunked_prefill')} {t('left-to-engine')} {t('not-exposed')} {t('how-imposed')}",
        f"{t('condition-telemetry')} false {t('not-exposed')} {t('how-left')}",
    ]
    checks = rows((plain,), f"checks-{plain.run_id}", lang)
    assert checks[1:] == [
        f"{t('probe-prompt-tokens')} {t('probe-result-pass')} 1 38 31 {t('consequence-equality')}",
        f"{t('probe-tool-call')} {t('probe-result-not-exposed')} — {t('consequence-capability')}",
    ]


def test_older_evidence_has_no_empty_tables() -> None:
    html = build_pages((run(),), ("en",))["en/index.html"].decode()
    assert 'id="conditions-' not in html and 'id="checks-' not in html


@pytest.mark.parametrize("lang", LANGS)
def test_every_kind_of_reason_is_a_line_in_both_languages(lang: str) -> None:
    for kind in Kind:
        fields = {"topic": Topic.MODEL, "kind": kind, "refuses": True, "run_ids": ()}
        bare = mismatch_text(Mismatch(field="model.revision", values=(), **fields), messages(lang))
        both = mismatch_text(Mismatch(field="model.revision", values=("v1", None), **fields), messages(lang))
        assert "v1 / " in both and "revision" in bare and both.startswith(bare)


@pytest.mark.parametrize("lang", LANGS)
def test_what_the_loads_betray_is_a_reason_with_numbers_in_both_languages(lang: str) -> None:
    from tests.publish.test_beside import COUNTED

    p, q = one("P", counted=COUNTED), one("P", "2", counted=COUNTED | {"input_tokens": 1100})
    reasons = reasons_of((p, q))
    assert all(map(refusals, reasons.values()))
    (refused,) = refusals(reasons[p.run_id])
    text = mismatch_text(refused, messages(lang))
    between = ": " if lang == "en" else "："
    assert re.search(f"{p.run_id}{between}[^r]*1,000", text) and re.search(f"{q.run_id}{between}[^r]*1,100", text)
    html = unescape(build_pages((p, q), (lang,))[f"{lang}/index.html"].decode())
    assert "100 ms" in html and "length 10" in html  # on the evidence card
    assert any(mismatch_text(one, messages(lang)) in html for one in refusals(reasons_of((q, p))[p.run_id]))


def test_a_footnote_of_the_loads_refuses_nothing() -> None:
    from tests.publish.test_beside import COUNTED

    reasons = reasons_of((one("P", counted=COUNTED), one("P", "2", counted=COUNTED | {"gap_p50_s": 0.001})))
    assert not any(map(refusals, reasons.values()))
    assert any("most chunks come at once" in mismatch_text(found, messages("en")) for found in reasons[one("P").run_id])
