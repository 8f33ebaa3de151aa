"""Files of other tools become records: what is the lab's by definition, what keeps its name, what is not guessed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from lab.betray import betray, trace_of_import
from lab.conditions import Condition
from lab.errors import EvidenceError, ImportRefused
from lab.evidence import EvidenceStore
from lab.imports import all_imported, import_files, read_imported
from lab.imports.arguments import notes_of, settings_of, speculation_of, thinking_of
from lab.imports.licence import may_republish
from lab.imports.reading import recognize
from lab.imports.record import ImportedRecord
from tests.imports.others_files import SECONDS, atlas_record, detailed, milliseconds, places, row, write

TIMES = ("ttft", "tpot", "e2el")


def bench(store: EvidenceStore, folder: Path, content: Any, **how: Any) -> ImportedRecord:
    (kept,) = import_files(store, "vllm-bench", [write(folder, "result.json", content)], **how)
    return kept.record


def atlas(store: EvidenceStore, folder: Path, **changes: Any) -> ImportedRecord:
    (kept,) = import_files(store, "inference-atlas", [write(folder, "record.json", atlas_record(**changes))])
    return kept.record


def test_seconds_and_milliseconds_give_the_same_numbers(store: EvidenceStore, tmp_path: Path) -> None:
    one, other = bench(store, tmp_path, SECONDS), bench(store, tmp_path, milliseconds())
    assert (one.source.units, other.source.units) == ("checked", "in-the-names")
    for record in (one, other):
        assert record.metric("vllm-bench:ttft", "p50") == pytest.approx(0.1)
        assert record.metric("vllm-bench:e2el", "p50") == pytest.approx(1.0)
        assert record.metric("output_tok_per_s_whole", None) == 20.0


def test_only_a_metric_of_the_labs_definition_takes_its_name(store: EvidenceStore, tmp_path: Path) -> None:
    record = bench(store, tmp_path, milliseconds())
    ours = {metric.name for metric in record.metrics if metric.differs is None}
    assert ours == {"output_tok_per_s_whole", "request_rps_whole"}
    assert all(metric.name.startswith("vllm-bench:") for metric in record.metrics if metric.differs)


def test_what_the_file_does_not_say_stays_open(store: EvidenceStore, tmp_path: Path) -> None:
    record = bench(store, tmp_path, SECONDS)
    assert record.engine.name is None  # the tool drives any server
    assert record.load.exact_output is None and record.load.temperature is None
    assert record.model.revision is None and record.speculation is None and record.thinking is None
    assert record.counts.failed is None  # 10 of 10 is not the same as "0 failed"
    assert record.requests == ()


def test_a_failed_row_has_no_times_and_no_tokens(store: EvidenceStore, tmp_path: Path) -> None:
    rows = bench(store, tmp_path, detailed()).requests
    assert [one.succeeded for one in rows] == [True] * 9 + [False]
    assert rows[0].ttft_s == 0.1 and rows[0].e2e_s == pytest.approx(1.0) and rows[0].completion_tokens == 10
    later = bench(store, tmp_path, detailed() | {"latencies": [1.25] * 9 + [0.0]}).requests
    assert (later[0].e2e_s, later[9].e2e_s) == (1.25, None)  # newer versions state it
    assert rows[9].ttft_s is None and rows[9].completion_tokens is None  # the tool writes 0 for both


def test_the_answers_of_a_detailed_file_are_kept_in_the_file_alone(store: EvidenceStore, tmp_path: Path) -> None:
    record = bench(store, tmp_path, detailed())
    assert "words" not in record.model_dump_json()
    assert "words" in (store.path(record.run_id) / "source.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (SECONDS | {"median_ttft_ms": 100.0}, "with and without '_ms'"),
        (SECONDS | {"median_itl_ms": 100.0}, "two units"),
        (milliseconds() | {f"{key}_ms": SECONDS[key] for key in SECONDS if key[-4:] in TIMES}, "can only be seconds"),
        (milliseconds() | {"median_e2el_ms": 1.0}, "fits neither"),
        ({key: value for key, value in SECONDS.items() if "e2el" not in key and "tpot" not in key}, "both seconds and"),
        (detailed() | {"median_ttft_ms": 0.1}, "can only be seconds"),
    ],
)
def test_a_unit_that_is_open_or_contradicted_is_asked_for(
    store: EvidenceStore, tmp_path: Path, content: dict[str, Any], said: str
) -> None:
    with pytest.raises(ImportRefused, match=said) as refused:
        bench(store, tmp_path, content)
    assert refused.value.next_step is not None and "--unit" in refused.value.next_step
    assert all_imported(store) == ()
    assert bench(store, tmp_path, content, unit="s").source.units == "declared"


def test_two_results_in_one_file_are_two_records(store: EvidenceStore, tmp_path: Path) -> None:
    path = write(tmp_path, "both.jsonl", json.dumps(SECONDS) + "\n" + json.dumps(SECONDS | {"max_concurrency": 3}))
    kept = import_files(store, "vllm-bench", [path])
    assert [(one.record.source.part, one.record.load.concurrency) for one in kept] == [(0, 2), (1, 3)]


def test_a_record_comes_back_as_it_was_written_and_is_sealed(store: EvidenceStore, tmp_path: Path) -> None:
    for record in (bench(store, tmp_path, detailed()), atlas(store, tmp_path)):
        assert read_imported(store, record.run_id) == record
        assert store.verify(record.run_id) == ()
    (store.path(record.run_id) / "source.json").write_text("{}", encoding="utf-8")
    (changed,) = store.verify(record.run_id)
    assert changed.startswith("source.json: ")


def test_the_same_file_is_imported_once_and_again_when_told_otherwise(store: EvidenceStore, tmp_path: Path) -> None:
    path = write(tmp_path, "result.json", SECONDS)
    first, second, third = (
        import_files(store, "vllm-bench", [path], licence=licence)[0] for licence in (None, None, "MIT")
    )
    assert (first.new, second.new, third.new) == (True, False, True)
    assert first.record == second.record


def test_an_imported_record_is_no_run(store: EvidenceStore, tmp_path: Path) -> None:
    run_id = bench(store, tmp_path, SECONDS).run_id
    assert store.run_ids() == () and store.imported_ids() == (run_id,)
    for read in (store.spec, store.status, store.read):
        with pytest.raises(EvidenceError, match="was imported"):
            read(run_id)


def test_a_record_of_a_site_says_what_it_says(store: EvidenceStore, tmp_path: Path) -> None:
    record = atlas(
        store,
        tmp_path,
        raw={
            "harness": "atlas-bench",
            "harness_version": "0.1.0",
            "payload": {
                "iterations": [
                    {"output_tok_s": 19.0, "duration_s": 5.2, "ttft_ms": {"mean": 200.0}},
                    {"output_tok_s": 20.0, "duration_s": 5.0, "ttft_ms": {"mean": 100.0}},
                ],
                "requests": [row("a", warmup=True, ttft_ms=300.0), row("a")],
            },
        },
    )
    assert (record.engine.name, record.engine.version, record.load.concurrency) == ("P", "1.0", 2)
    assert record.chosen_iteration == 1  # the numbers of the record are those of the second
    assert record.metric("inference-atlas:ttft", "mean") == 0.1  # seconds
    assert [one.warmup for one in record.requests] == [True, False]
    assert record.named(Condition.COMPUTE_DTYPE) is None  # "auto" names nothing
    assert not any(metric.name == "inference-atlas:vram_peak_gb" for metric in record.metrics)  # null is no 0


def test_arguments_are_read_under_the_names_of_their_engine() -> None:
    found = {one.condition: one.value for one in settings_of("vllm", {"max-model-len": 4096, "enforce-eager": True})}
    assert found == {Condition.CONTEXT_LIMIT: 4096, Condition.CUDA_GRAPHS: False}
    (chunks,) = settings_of("sglang", {"chunked-prefill-size": -1})
    assert (chunks.condition, chunks.value) == (Condition.CHUNKED_PREFILL, False)
    (unknown,) = settings_of("P", {"max-model-len": 4096})
    assert unknown.condition is None  # nobody knows what P means by it


def test_drafting_ahead_is_read_from_the_arguments_and_never_from_a_default() -> None:
    assert speculation_of("vllm", {}) is None
    drafts = speculation_of("vllm", {"speculative-config": {"method": "MTP", "num_speculative_tokens": 3}})
    assert drafts is not None and (drafts.method, drafts.tokens) == ("mtp", 3)
    other = speculation_of("sglang", {"speculative-algorithm": "EAGLE", "speculative-num-draft-tokens": 4})
    assert other is not None and (other.method, other.tokens) == ("eagle", 4)
    off = speculation_of("atlas", {"speculative": False})
    assert off is not None and off.method == "off"
    assert speculation_of("P", {"speculative": True}) is None


def test_notes_are_read_for_the_kv_format_and_for_thinking() -> None:
    note = "KV cache dtype is not set (auto); resolved float8_e4m3fn; 2,048 KV tokens."
    assert {one.condition: one.value for one in notes_of([note, "nothing"])} == {
        Condition.KV_CACHE_DTYPE: "float8_e4m3fn",
        Condition.KV_CACHE_TOKENS: 2048,
    }
    assert thinking_of({}, ["Speed rows force thinking off per request"]) is False
    assert thinking_of({}, ["thinking is wonderful"]) is None


@pytest.mark.parametrize(
    ("licence", "follows"),
    [
        ("CC BY 4.0", "yes"), ("CC-BY-SA-4.0", "yes"), ("Apache-2.0", "yes"), ("CC0-1.0", "yes"),
        ("CC BY-NC 4.0", "no"), ("CC-BY-ND-4.0", "no"), ("all rights reserved", "no"),
        (None, "not-stated"), (" ", "not-stated"),
    ],
)  # fmt: skip
def test_only_a_licence_that_is_known_to_allow_it_lets_numbers_be_shown(licence: str | None, follows: str) -> None:
    assert may_republish(licence, "Somebody") == follows


def test_a_licence_that_asks_for_a_credit_waits_for_one() -> None:
    assert may_republish("CC BY 4.0", None) == "needs-credit"
    assert may_republish("CC0-1.0", None) == "yes"


def test_a_licence_in_the_file_goes_before_a_declared_one(store: EvidenceStore, tmp_path: Path) -> None:
    source = bench(store, tmp_path, SECONDS | {"license": "CC-BY-NC-4.0"}, licence="MIT").source
    assert (source.licence, source.licence_from, source.republish) == ("CC-BY-NC-4.0", "file", "no")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (json.dumps(SECONDS)[:-10], "cut off"),
        ("not json", "is not JSON"),
        ("", "is empty"),
        ("[1, 2]", "got int"),
        ({"results": {}, "configs": {}, "versions": {}}, "looks like a file of lm-eval"),
        (atlas_record(), "looks like a file of inference-atlas"),
        ({"benchmarks": [], "args": {}}, "looks like a file of guidellm"),
        (SECONDS | {"total_output_tokens_retokenized": 3}, "SGLang"),
        ({"a": 1}, "it has the keys a"),
        (SECONDS | {"duration": "long"}, "'duration' has to be a finite number"),
        (SECONDS | {"completed": 1.5}, "'completed' has to be a count"),
        (detailed() | {"itls": [[0.1]]}, "differ in length"),
        (json.dumps(SECONDS).replace("5.0", "NaN"), "NaN stands where a number should"),
        (json.dumps(SECONDS).replace("5.0", "1e999"), "finite"),
    ],
)
def test_bad_files_are_refused_with_a_reason_and_nothing_is_kept(
    store: EvidenceStore, tmp_path: Path, content: Any, said: str
) -> None:
    good = write(tmp_path, "good.json", SECONDS)
    with pytest.raises(ImportRefused, match=said):
        import_files(store, "vllm-bench", [good, write(tmp_path, "bad.json", content)])
    assert store.imported_ids() == ()


def test_a_folder_is_searched_and_an_empty_one_is_named(store: EvidenceStore, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match=r"holds no \.json"):
        import_files(store, "vllm-bench", [tmp_path])
    write(tmp_path, "a.json", SECONDS)
    write(tmp_path, "b.json", milliseconds())
    assert len(import_files(store, "vllm-bench", [tmp_path])) == 2
    with pytest.raises(ImportRefused, match="does not exist"):
        import_files(store, "vllm-bench", [tmp_path / "nowhere.json"])


def test_other_schemas_and_kinds_of_a_record_are_refused(store: EvidenceStore, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="schema_version 2"):
        atlas(store, tmp_path, schema_version=2)
    with pytest.raises(ImportRefused, match="kind 'eval'"):
        atlas(store, tmp_path, kind="eval")


def test_every_kind_that_is_read_is_recognized() -> None:
    assert (recognize(SECONDS), recognize(atlas_record()), recognize({})) == ("vllm-bench", "inference-atlas", None)


def test_whatever_stands_in_a_file_is_kept_or_refused_and_never_a_crash(tmp_path: Path) -> None:
    odd = (None, True, -1, 0, 1.5, 10**30, "words", "", [], {}, [None], {"a": 1}, [[1]], [{}])
    full = atlas_record(
        raw={"harness": "h", "payload": {"iterations": [{"ttft_ms": {"mean": 1.0}}], "requests": [row("a")]}}
    )
    refused = 0
    for kind, whole in (("vllm-bench", detailed()), ("inference-atlas", full)):
        draw = random.Random(kind)
        for number in range(150):
            broken = json.loads(json.dumps(whole))
            holder, key = draw.choice(list(places(broken)))
            holder[key] = draw.choice(odd)
            store = EvidenceStore(tmp_path / kind / str(number))
            try:
                (kept,) = import_files(store, kind, [write(tmp_path, "broken.json", broken)])
            except ImportRefused:
                refused += 1
                assert store.imported_ids() == ()
            else:
                betray([trace_of_import(kept.record)])
    assert 50 < refused < 250
