"""Files that the tools themselves wrote (tests/data/others), and what may be wrong with such files."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.betray import Sign, betray, trace_of_import
from lab.conditions import Condition
from lab.errors import EvidenceError, ImportRefused
from lab.evidence import EvidenceStore
from lab.imports import KINDS, all_imported, import_files, read_imported
from lab.imports.ceilings import totals_of
from lab.imports.reading import PROMPT_NAME, prompt_name, recognize
from lab.imports.record import ImportedRecord
from lab.metrics.sums import add_up
from lab.publish.imported import publish_imports
from lab.report.imported import build_imported
from tests.conftest import CHECKOUT
from tests.imports.others_files import SECONDS, atlas_record, places, write

OTHERS = CHECKOUT / "tests" / "data" / "others"
FILES = {
    "vllm-bench": OTHERS / "vllm-bench-0.32.0.json",
    "aiperf": OTHERS / "aiperf-0.13.0",
    "guidellm": OTHERS / "guidellm-0.8.1.json",
    "lm-eval": OTHERS / "lm-eval-0.4.13",
}
"""One of each tool that was run."""


def one(store: EvidenceStore, kind: str, path: Path, **how: Any) -> ImportedRecord:
    return import_files(store, kind, [path], **how)[0].record


def changed(folder: Path, kind: str, change: Callable[[Any], Any]) -> Path:
    """A copy of a tool's file, or of its folder, in which `change` has changed the document."""
    source = FILES[kind]
    folder.mkdir(exist_ok=True)
    if source.is_dir():
        target = shutil.copytree(source, folder / source.name)
        (main,) = target.glob("profile_export_aiperf.json" if kind == "aiperf" else "results_*.json")
    else:
        main = target = Path(shutil.copy(source, folder))
    document = json.loads(main.read_text(encoding="utf-8"))
    write(main.parent, main.name, change(document) or document)
    return target


# what they say


@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_each_tool_becomes_a_sealed_record_that_says_where_it_is_from(
    store: EvidenceStore, kind: str
) -> None:
    kept = import_files(store, kind, [FILES[kind]], licence="CC0-1.0")
    again = import_files(store, kind, [FILES[kind]], licence="CC0-1.0")
    for found in kept:
        record = found.record
        assert found.new and store.verify(record.run_id) == ()
        assert read_imported(store, record.run_id) == record
        assert (record.source.tool, record.source.republish, record.source.licence_from) == (kind, "yes", "declared")
        assert record.engine.name is None  # each of them drives any server
        assert record.run_id not in store.run_ids()
    assert [found.new for found in again] == [False] * len(kept)


def test_aiperf_gives_the_lab_only_what_the_lab_defines_alike(store: EvidenceStore) -> None:
    record = one(store, "aiperf", FILES["aiperf"])
    ours = {metric.name for metric in record.metrics if metric.differs is None}
    assert ours == {"chunk_gap_s", "request_rps_whole"}  # its tokens are of its own tokenizer
    assert record.metric("aiperf:time_to_first_token", "mean") == pytest.approx(0.0577532995)  # seconds
    assert all(metric.name.startswith("aiperf:") for metric in record.metrics if metric.differs)


def test_aiperf_counts_only_what_the_server_counted(store: EvidenceStore) -> None:
    new, old = one(store, "aiperf", FILES["aiperf"]), one(store, "aiperf", OTHERS / "aiperf-0.5.0")
    assert (new.counts.input_tokens, new.counts.output_tokens) == (40, 64)  # 8 requests of 5 and 8
    assert new.metric("aiperf:output_sequence_length", "mean") == 8.75  # as another model's tokenizer counts them
    assert (old.counts.input_tokens, old.counts.output_tokens) == (None, None)
    assert {row.completion_tokens for row in old.requests} == {None}


def test_both_layouts_of_aiperf_say_the_same_of_the_load(store: EvidenceStore) -> None:
    new, old = one(store, "aiperf", FILES["aiperf"]), one(store, "aiperf", OTHERS / "aiperf-0.5.0")
    assert new.load == old.load
    said = new.load.model_dump(exclude_none=True)
    assert said == {
        "endpoint": "chat", "arrival": "closed", "concurrency": 2, "requests": 8, "output_tokens": 8,
        "exact_output": True, "warmup_requests": 2, "repeats": 2, "seed": 42,
    }  # fmt: skip
    assert (new.source.tool_version, old.source.tool_version) == ("0.13.0", "0.5.0")


def test_where_aiperf_takes_the_servers_counts_its_rates_and_token_times_are_the_labs(
    store: EvidenceStore, tmp_path: Path
) -> None:
    def serve(summary: dict[str, Any]) -> None:
        summary["input_config"]["endpoint"]["use_server_token_count"] = True

    record = one(store, "aiperf", changed(tmp_path, "aiperf", serve))
    ours = {metric.name for metric in record.metrics if metric.differs is None}
    assert ours == {"chunk_gap_s", "request_rps_whole", "output_tok_per_s_whole", "tpot_s"}


def test_after_a_failure_a_rate_of_aiperf_is_its_own(store: EvidenceStore, tmp_path: Path) -> None:
    def fail(summary: dict[str, Any]) -> None:
        summary["error_request_count"] = {"unit": "requests", "avg": 2.0}
        summary["completed_request_count"] = {"unit": "requests", "avg": 10.0}
        summary["was_cancelled"] = True

    record = one(store, "aiperf", changed(tmp_path, "aiperf", fail))
    assert (record.counts.requests, record.counts.succeeded, record.counts.failed) == (10, 8, 2)
    assert record.metric("request_rps_whole", None) is None
    assert record.metric("aiperf:request_throughput", None) is not None
    assert record.incomplete == "cancelled"


def test_guidellm_gives_a_record_for_each_benchmark_and_none_of_its_numbers_is_the_labs(store: EvidenceStore) -> None:
    first, second = (kept.record for kept in import_files(store, "guidellm", [FILES["guidellm"]]))
    assert [one.load.concurrency for one in (first, second)] == [1, 2]
    assert [one.source.part for one in (first, second)] == [0, 1]
    assert {metric.differs for metric in first.metrics} & {None} == set()
    assert first.metric("guidellm:time_to_first_token", "p50") == pytest.approx(0.06, abs=0.02)  # seconds
    assert first.metric("guidellm:request_latency", "p50") == pytest.approx(0.2, abs=0.05)  # seconds in the file
    assert first.metric("guidellm:time_to_last_round_trip", "mean") is None  # zeros stand where nothing was measured
    assert (first.counts.input_tokens, first.counts.output_tokens) == (20, 32)
    assert (first.load.temperature, first.load.exact_output, first.load.output_tokens) == (0, True, 8)
    assert first.pacing is not None and first.pacing.tpot_mean_s == pytest.approx(0.02, abs=0.003)


def test_older_reports_of_guidellm_say_the_same_of_the_load(store: EvidenceStore) -> None:
    old, new = (
        one(store, "guidellm", OTHERS / "guidellm-0.5.0.json"),
        import_files(store, "guidellm", [FILES["guidellm"]])[1].record,
    )
    assert (old.source.tool_version, new.source.tool_version) == ("0.5.0", "0.8.1")
    assert old.load == new.load
    assert (old.counts.input_tokens, old.counts.output_tokens) == (20, 32)
    assert {row.prompt for row in old.requests} == {row.prompt for row in new.requests}


def test_lm_eval_gives_scores_with_everything_they_depend_on(store: EvidenceStore) -> None:
    record = one(store, "lm-eval", FILES["lm-eval"])
    (score,) = record.scores
    assert (score.task, score.version, score.metric, score.filter) == ("lab_sums", "1.0.0", "exact_match", "first_int")
    assert (score.value, score.stderr, score.n, score.n_original, score.fewshot) == (0.0, 0.0, 4, 4, 2)
    assert score.higher_is_better is True and score.output_type == "generate_until"
    assert score.samples is not None
    assert (score.samples.rows, score.samples.mean, score.samples.not_extracted) == (4, 0.0, 4)
    path = record.score_path
    assert path is not None
    assert (path.model_class, path.chat_template, path.fewshot_as_multiturn, path.concurrency) == (
        "local-chat-completions", "by-the-server", True, 1,
    )  # fmt: skip
    assert (record.metrics, record.requests) == ((), ())


def test_nothing_of_a_models_arguments_is_kept_but_names_and_numbers(store: EvidenceStore, tmp_path: Path) -> None:
    def hide(results: dict[str, Any]) -> None:
        results["config"]["model_args"] |= {"base_url": "http://a-host/v1", "tokenizer": "/home/somebody/tokenizer"}

    record = one(store, "lm-eval", changed(tmp_path, "lm-eval", hide))
    assert "a-host" not in record.model_dump_json() and "somebody" not in record.model_dump_json()
    assert record.model.tokenizer == "tokenizer"


@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        ("lm-eval", "config.model_args.auth_token", "hf_abcdefghij"),
        ("lm-eval", "config.model_args.header.Authorization", "Bearer abcdefghij"),
        ("lm-eval", "config.model_args", "model=m,api_key=abcdefghij,timeout=3"),
        ("aiperf", "run_info.cli_command", "aiperf profile --api-key 'abcdefghij' --model m"),
        ("guidellm", "config.spec.backend.api_key", "abcdefghij"),
    ],
)
def test_a_file_that_holds_a_secret_is_not_copied_until_it_is_masked(
    store: EvidenceStore, tmp_path: Path, kind: str, place: str, value: str
) -> None:
    def put(word: str) -> Callable[[dict[str, Any]], None]:
        def change(document: dict[str, Any]) -> None:
            *path, last = place.split(".")
            for key in path:
                document = document.setdefault(key, {})
            document[last] = word

        return change

    hidden = changed(tmp_path / "hidden", kind, put(value))
    with pytest.raises(ImportRefused, match="holds a secret in clear") as refused:
        import_files(store, kind, [hidden])
    assert place in refused.value.what and "abcdefghij" not in str(refused.value)
    assert store.imported_ids() == ()
    masked = changed(tmp_path / "masked", kind, put(value.replace("hf_", "").replace("abcdefghij", "**********")))
    assert import_files(store, kind, [masked])


def test_answers_that_were_scored_blindly_are_counted(store: EvidenceStore, tmp_path: Path) -> None:
    target = changed(tmp_path, "lm-eval", lambda _: None)
    (samples,) = target.glob("samples_*.jsonl")
    rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    rows[0]["resps"] = [[" \n"]]
    rows[1]["resps"] = [[["0.0", "True"]], [["0.0", "False"]]]
    rows[2]["exact_match"] = 1.0
    samples.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (score,) = one(store, "lm-eval", target).scores
    assert score.samples is not None
    assert (score.samples.empty, score.samples.all_zero, score.samples.mean) == (1, 1, 0.25)
    assert score.value == 0.0  # as the file states it


def test_a_score_that_is_no_number_is_missing_and_said_so(store: EvidenceStore, tmp_path: Path) -> None:
    def break_it(results: dict[str, Any]) -> None:
        results["results"]["lab_sums"] |= {"exact_match,first_int": float("nan"), "exact_match_stderr,first_int": "N/A"}

    record = one(store, "lm-eval", changed(tmp_path, "lm-eval", break_it))
    assert record.scores == () and "results.lab_sums.exact_match,first_int" in record.unread


# what they betray


def test_totals_and_rates_of_the_real_files_add_up(store: EvidenceStore) -> None:
    for kind in ("vllm-bench", "aiperf", "guidellm"):
        for kept in import_files(store, kind, [FILES[kind]]):
            found = add_up(totals_of(kept.record))
            assert found, kind
            assert [sum_.name for sum_ in found if not sum_.agrees] == [], kind


def test_one_prompt_has_one_name_in_the_files_of_two_tools(store: EvidenceStore) -> None:
    body = {"messages": [{"role": "user", "content": "What is 4 + 5?"}]}
    parts = {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is 4 + 5?"}], "name": ""}]}
    assert prompt_name(body) == prompt_name(parts) is not None
    assert prompt_name({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}) is None
    records = one(store, "aiperf", FILES["aiperf"]), one(store, "guidellm", FILES["guidellm"])
    names = [{row.prompt for row in record.requests if not row.warmup} for record in records]
    assert names[0] == names[1] and len(names[0]) == 4


def test_warm_up_and_repeats_are_seen_in_the_rows(store: EvidenceStore) -> None:
    trace = trace_of_import(one(store, "aiperf", FILES["aiperf"]))
    signs = {found.sign for found in betray([trace])}
    assert {Sign.WARMED_BY_WARMUP, Sign.SENT_AGAIN} <= signs
    assert Sign.CHUNKS not in signs  # one token a chunk, by the server's count


def test_several_tokens_a_chunk_are_seen_in_the_rows(store: EvidenceStore, tmp_path: Path) -> None:
    def halve(report: dict[str, Any]) -> None:
        for request in report["benchmarks"][0]["requests"]["successful"]:
            request["info"]["timings"]["token_iterations"] = 4  # of 8 tokens

    trace = trace_of_import(one(store, "guidellm", changed(tmp_path, "guidellm", halve)))
    assert Sign.CHUNKS in {found.sign for found in betray([trace])}


def test_scores_are_never_compared_while_their_path_is_not_recorded(store: EvidenceStore, tmp_path: Path) -> None:
    def other(results: dict[str, Any]) -> None:
        results["n-shot"]["lab_sums"] = 5

    first = trace_of_import(one(store, "lm-eval", FILES["lm-eval"]))
    second = trace_of_import(one(store, "lm-eval", changed(tmp_path, "lm-eval", other)))
    found = {one.sign: one for one in betray([first, second])}
    assert found[Sign.SCORE_PATH].refuses
    missing = found[Sign.SCORE_PATH].values[0]
    assert missing is not None and missing["missing"].split()[:2] == ["engine", "engine_version"]
    assert "chat_template" in missing["missing"]  # a server applied it, and nobody saw it
    assert found[Sign.OTHER_TASKS].refuses
    timed = trace_of_import(one(store, "aiperf", FILES["aiperf"]))
    assert Sign.SCORE_PATH in {one.sign for one in betray([first, timed])}
    assert Sign.SCORE_PATH not in {one.sign for one in betray([timed, timed])}


def test_a_score_whose_path_is_recorded_whole_is_not_refused_for_it(store: EvidenceStore) -> None:
    trace = trace_of_import(one(store, "lm-eval", FILES["lm-eval"]))
    facts = trace.facts | {"model.revision": "abc", "quantization": "BF16", "chat_template": "d1"}
    named = {Condition.KV_CACHE_DTYPE: "BF16"}
    whole = trace.model_copy(update={"engine": "Q", "version": "1.0", "facts": facts, "named": named})
    assert Sign.SCORE_PATH not in {one.sign for one in betray([whole, whole])}
    assert Sign.SCORE_PATH in {one.sign for one in betray([whole, trace])}


# units


def microseconds(summary: dict[str, Any]) -> None:
    summary["request_latency"]["unit"] = "us"


def no_unit(summary: dict[str, Any]) -> None:
    del summary["time_to_first_token"]["unit"]


def in_seconds(report: dict[str, Any]) -> None:
    for benchmark in report["benchmarks"]:
        spread = benchmark["metrics"]["time_to_first_token_ms"]["successful"]
        spread |= {key: value * 1000 for key, value in spread.items() if isinstance(value, float)}


def latency_in_ms(report: dict[str, Any]) -> None:
    for benchmark in report["benchmarks"]:
        benchmark["metrics"]["request_latency"]["successful"]["mean"] *= 1000


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("aiperf", microseconds, "mean latency is 0.000197738 s, that of its rows 0.197738 s"),
        ("aiperf", no_unit, "the unit of time_to_first_token is 'None'"),
        ("guidellm", in_seconds, "the first token comes after"),
        ("guidellm", latency_in_ms, "units of the file contradict each other"),
    ],
)
def test_units_that_contradict_each_other_are_asked_for(
    store: EvidenceStore, tmp_path: Path, kind: str, change: Callable[[Any], None], said: str
) -> None:
    path = changed(tmp_path, kind, change)
    with pytest.raises(ImportRefused, match=said) as refused:
        import_files(store, kind, [path])
    assert refused.value.next_step is not None and "--unit" in refused.value.next_step
    assert all_imported(store) == ()
    assert one(store, kind, path, unit="ms").source.units == "declared"


@pytest.mark.parametrize("kind", ["inference-atlas", "lm-eval"])
def test_a_unit_is_declared_only_where_one_can_be_open(store: EvidenceStore, kind: str) -> None:
    with pytest.raises(ImportRefused, match="leaves no unit open; --unit is for vllm-bench, aiperf, guidellm"):
        import_files(store, kind, [OTHERS], unit="s")


# what is not there, and what is something else


def test_a_folder_without_the_needed_part_says_which_it_is(store: EvidenceStore, tmp_path: Path) -> None:
    rows_only = tmp_path / "rows"
    rows_only.mkdir()
    shutil.copy(FILES["aiperf"] / "profile_export.jsonl", rows_only)
    with pytest.raises(ImportRefused, match=r"profile_export_aiperf\.json is missing; it holds profile_export\.jsonl"):
        import_files(store, "aiperf", [rows_only])
    samples_only = tmp_path / "samples"
    samples_only.mkdir()
    shutil.copy(next(FILES["lm-eval"].glob("samples_*")), samples_only)
    with pytest.raises(ImportRefused, match=r"has no results_\*\.json.*it holds 1 file\(s\) of samples"):
        import_files(store, "lm-eval", [samples_only])


@pytest.mark.parametrize("kind", ["aiperf", "lm-eval"])
def test_the_folder_around_a_run_names_the_run_in_it(store: EvidenceStore, tmp_path: Path, kind: str) -> None:
    shutil.copytree(FILES[kind], tmp_path / "outer" / "inner")
    with pytest.raises(ImportRefused) as refused:
        import_files(store, kind, [tmp_path / "outer"])
    assert refused.value.next_step is not None and refused.value.next_step.endswith("inner")


def test_a_summary_without_its_rows_is_imported_and_a_results_file_without_samples(store: EvidenceStore) -> None:
    summary = one(store, "aiperf", FILES["aiperf"] / "profile_export_aiperf.json")
    assert (summary.requests, summary.pacing, summary.source.also) == ((), None, ())
    (score,) = one(store, "lm-eval", next(FILES["lm-eval"].glob("results_*"))).scores
    assert score.samples is None


def test_every_file_of_a_run_is_kept_with_its_digest(store: EvidenceStore) -> None:
    record = one(store, "aiperf", FILES["aiperf"])
    assert [also.file for also in record.source.also] == ["inputs.json", "profile_export.jsonl"]
    folder = store.path(record.run_id)
    assert (folder / "source-2.jsonl").read_bytes() == (FILES["aiperf"] / "profile_export.jsonl").read_bytes()
    (folder / "source-2.jsonl").write_text("", encoding="utf-8")
    assert store.verify(record.run_id) != ()


def test_other_rows_make_another_record(store: EvidenceStore, tmp_path: Path) -> None:
    one(store, "aiperf", FILES["aiperf"])
    target = changed(tmp_path, "aiperf", lambda _: None)
    shutil.copy(FILES["aiperf"] / "profile_export_aiperf.json", target)  # the same summary
    rows = target / "profile_export.jsonl"
    rows.write_text("".join(rows.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    (kept,) = import_files(store, "aiperf", [target])
    assert kept.new


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_tool_is_named_whichever_was_expected(
    store: EvidenceStore, tmp_path: Path, kind: str
) -> None:
    documents: dict[str, Any] = {
        "vllm-bench": SECONDS,
        "inference-atlas": atlas_record(),
        "aiperf": json.loads((FILES["aiperf"] / "profile_export_aiperf.json").read_text(encoding="utf-8")),
        "guidellm": json.loads(FILES["guidellm"].read_text(encoding="utf-8")),
        "lm-eval": json.loads(next(FILES["lm-eval"].glob("results_*")).read_text(encoding="utf-8")),
    }
    for other, document in documents.items():
        path = write(tmp_path, "result.json", document)
        assert recognize(document) == other
        if other != kind:
            with pytest.raises(ImportRefused, match=f"no result of {kind}: it looks like a file of {other}") as refused:
                import_files(store, kind, [path])
            assert refused.value.next_step is not None and f"lab import {other}" in refused.value.next_step


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (b"\x1f\x8b\x08rest", "compressed with gzip"),
        (b"PAR1rest", "lab export --as parquet"),
        (b"level,index,outcome,intended_send_s\n0,0,success,0\n", "lab export --as csv"),
        (b"<!DOCTYPE html><html>", "a page of HTML"),
        (b'{"version": "0.2.1", "run": {}, "results": {}}', "an llm-d benchmark report"),
        (b'{"metadata": {}, "metrics": {}}\n', "the rows of aiperf"),
        (b'{"doc_id": 0, "doc": {}, "target": "", "resps": []}\n', "the samples of lm-eval"),
    ],
)
def test_what_is_no_result_at_all_is_named(store: EvidenceStore, tmp_path: Path, payload: bytes, said: str) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(payload)
    with pytest.raises(ImportRefused, match=said):
        import_files(store, "guidellm", [path])


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_cut_off_is_refused_and_nothing_is_kept(store: EvidenceStore, tmp_path: Path, kind: str) -> None:
    target = changed(tmp_path, kind, lambda _: None)
    files = [target] if target.is_file() else sorted(target.iterdir())
    for file in files:
        whole = file.read_bytes()
        file.write_bytes(whole.rstrip()[:-20])
        with pytest.raises(ImportRefused, match="cut off"):
            import_files(store, kind, [target])
        file.write_bytes(whole)
    assert store.imported_ids() == ()
    assert import_files(store, kind, [target])


def test_rows_of_something_else_are_refused_with_their_line(store: EvidenceStore, tmp_path: Path) -> None:
    target = changed(tmp_path, "aiperf", lambda _: None)
    with (target / "profile_export.jsonl").open("a", encoding="utf-8") as out:
        out.write('{"a": 1}\n')
    with pytest.raises(ImportRefused, match="line 11 is no line of the rows of aiperf, it has the keys a"):
        import_files(store, "aiperf", [target])


def test_a_licence_that_forbids_it_keeps_a_record_private(store: EvidenceStore, tmp_path: Path) -> None:
    kept = [one(store, kind, FILES[kind], licence="CC BY-NC 4.0", credit="Somebody").run_id for kind in FILES]
    with pytest.raises(EvidenceError, match="none of 4 imported record"):
        publish_imports(store, kept, tmp_path / "out", build_imported)
    assert not (tmp_path / "out").exists()


def test_what_a_licence_allows_is_shown_with_its_scores_and_without_a_file_name(
    store: EvidenceStore, tmp_path: Path
) -> None:
    kept = [one(store, kind, FILES[kind], licence="CC0-1.0").run_id for kind in FILES]
    for page in publish_imports(store, kept, tmp_path / "out", build_imported):
        text = page.read_text(encoding="utf-8")
        assert "lab_sums" in text and "first_int" in text
        assert "profile_export" not in text and "results_2026" not in text and "What is 4" not in text
        assert not PROMPT_NAME.search(text) and "prompt 1 " in text  # a digest would confirm a guess


@pytest.mark.parametrize("kind", ["aiperf", "guidellm", "lm-eval"])
def test_whatever_stands_in_a_file_is_kept_or_refused_and_never_a_crash(tmp_path: Path, kind: str) -> None:
    odd = (None, True, -1, 0, 1.5, 10**400, "words", "", [], {}, [None], {"a": 1}, [[1]], [{}])
    draw, outcomes = random.Random(kind), {"kept": 0, "refused": 0}
    files = [FILES[kind]] if FILES[kind].is_file() else sorted(FILES[kind].iterdir())
    for number in range(50):
        store, folder = EvidenceStore(tmp_path / str(number) / "runs"), tmp_path / str(number) / "run"
        folder.mkdir(parents=True)
        for file in files:
            shutil.copy(file, folder)
        broken = folder / draw.choice(files).name
        lines = [json.loads(one) for one in ([broken.read_text()] if broken.suffix == ".json" else broken.open())]
        holder, key = draw.choice(list(places(draw.choice(lines))))
        holder[key] = draw.choice(odd)
        broken.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        try:
            kept = import_files(store, kind, [folder])
        except ImportRefused:
            outcomes["refused"] += 1
            assert store.imported_ids() == ()
        else:
            outcomes["kept"] += 1
            betray([trace_of_import(one.record) for one in kept])
    assert min(outcomes.values()) > 0, outcomes
