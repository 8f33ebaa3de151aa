"""What leaves a bundle: named fields, rounded numbers, and nothing that identifies the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.conditions import Condition
from lab.engines import adapter_for
from lab.engines.base import Place
from lab.errors import EvidenceError, LeakFound
from lab.evidence import EvidenceStore, RunRecord
from lab.plan import RunPlan, load_plan
from lab.publish.edition import newest_runs, publish_report
from lab.publish.evidence import PublicRun
from lab.publish.gate import inspect, private_facts
from lab.publish.identity import Identity, Namer
from lab.publish.paths import path_of
from lab.publish.projection import grade_of, project, rounded
from lab.quality.path import QUANTIZATION_FIELDS, ContrastClass, contrast
from lab.records import MOST_POINTS, QUANTILES, Effective, EvidenceGrade
from lab.run import run_one
from lab.spec import Sampling
from tests.publish.canaries import page


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[EvidenceStore, str]:
    """One run of the small plan, shared by the tests of this file; they only read it."""
    from tests.conftest import CHECKOUT, SMALL_PLAN

    folder = tmp_path_factory.mktemp("plan") / "params"
    folder.mkdir()
    for piece in ("models", "engines", "workloads", "quality"):
        (folder / piece).symlink_to(CHECKOUT / "params" / piece)
    (folder / "small.yaml").write_text(SMALL_PLAN, encoding="utf-8")
    store = EvidenceStore(tmp_path_factory.mktemp("store"))
    return store, run_one(load_plan(folder / "small.yaml").runs[0], store).run_id


def test_a_run_without_a_gpu_is_a_harness_check_with_the_reason(measured: tuple[EvidenceStore, str]) -> None:
    public = project(*measured)
    assert public.grade is EvidenceGrade.HARNESS_CHECK
    assert public.grade_reason in ("no-gpu-seen", "engine-not-seen-on-gpu")
    assert public.quality_reason == "not-applicable-seeded-text"
    assert public.levels[0].outcomes == {"success": 4}
    assert public.instrument[0].requests == 4
    assert public.path is not None
    assert public.path.engine == "reference"
    assert public.path.settings.items() >= {"ttft_s": "0.01", "prefix_caching": "false"}.items()
    assert public.path.sampling_defaults == "request"
    assert public.path.compute_dtype == "own of reference"  # it computes nothing


def test_distributions_and_the_engine_over_time_are_small_rounded_and_relative(
    measured: tuple[EvidenceStore, str],
) -> None:
    public = project(*measured)
    (level,) = public.levels
    for name in ("ttft_s", "tpot_s"):
        grid, summary = level.quantiles[name], level.metrics[name]
        assert len(grid) == len(QUANTILES) and list(grid) == sorted(grid)
        assert (grid[0], grid[QUANTILES.index(0.5)], grid[-1]) == (summary.min, summary.p50, summary.max)
    assert level.began_s == 0.0
    if public.engine_series is not None:
        assert len(public.engine_series.at_s) <= MOST_POINTS
        assert all(at_s == rounded(at_s) and at_s < 600 for at_s in public.engine_series.at_s)


def test_sampling_that_the_engine_decides_is_part_of_the_path(measured: tuple[EvidenceStore, str]) -> None:
    store, run_id = measured
    record = store.read(run_id)
    assert record.launch is not None
    partly = record.launch.model_copy(update={"not_expressible": ("exact_output", "min_p", "top_k")})
    path = path_of(record.model_copy(update={"launch": partly}))
    assert path.sampling_defaults == "engine: min_p, top_k"
    found = contrast(path_of(record), path)
    assert (found.kind, found.differs) == (ContrastClass.ENGINE_PATH, ("sampling_defaults",))
    everything = record.launch.model_copy(update={"not_expressible": tuple(sorted(Sampling.model_fields))})
    assert path_of(record.model_copy(update={"launch": everything})).sampling_defaults


def launched(record: RunRecord, plan: str, template: str | None = "ab" * 32, **shown: str) -> RunRecord:
    """The same run as if the first launch of a plan had been measured; `shown` is what the engine showed."""
    spec = load_plan(Path("params") / f"{plan}.yaml").runs[0].spec
    launch = adapter_for(spec.engine).render(spec, Place(Path("/weights"), 1, Path("/bundle")))
    assert record.launch is not None
    changes = {
        "engine_version": "1.0",
        "settings": launch.settings,
        "effective": tuple(
            Effective(condition=Condition(name), value=value, source="told") for name, value in shown.items()
        ),
        "chat_template_sha256": template,
    }
    return record.model_copy(update={"spec": spec, "launch": record.launch.model_copy(update=changes)})


def test_a_path_holds_what_was_read_back_before_what_was_set(measured: tuple[EvidenceStore, str]) -> None:
    record = measured[0].read(measured[1])
    told = path_of(launched(record, "harness-check-vllm"))
    assert (told.compute_dtype, told.quantization_kv_cache) == ("bfloat16", "BF16")
    assert (told.tensor_parallel, told.speculative_decoding, told.tool_parser) == (1, "off", "none")
    assert (told.chat_template_sha256, told.chat_template_kwargs) == ("ab" * 32, "none")
    assert told.grammar_backend is None  # left to the engine, and not shown
    assert told.settings.keys() & {"tensor_parallel", "speculative", "grammar_backend", "name"} == set()
    seen = path_of(launched(record, "harness-check-vllm", compute_dtype="float32", grammar_backend="xgrammar"))
    assert (seen.compute_dtype, seen.grammar_backend) == ("float32", "xgrammar")


def test_two_engines_are_told_apart_part_by_part(measured: tuple[EvidenceStore, str]) -> None:
    record = measured[0].read(measured[1])
    llama, vllm = (path_of(launched(record, plan)) for plan in ("harness-check", "harness-check-vllm"))
    assert llama.compute_dtype == llama.grammar_backend == llama.tool_parser == "own of llama.cpp"
    assert (llama.tensor_parallel, llama.speculative_decoding) == (1, "off")
    found = contrast(llama, vllm)
    assert (found.kind, found.unrecorded) == (ContrastClass.NOT_ATTRIBUTABLE, ())  # both differ, and all of it is known
    assert {"engine", "weights_sha256", "quantization_kv_cache", "compute_dtype"} <= set(found.differs)
    assert "chat_template_sha256" not in {*found.differs, *found.open}
    alike = llama.model_copy(
        update={name: getattr(vllm, name) for name in QUANTIZATION_FIELDS}
    )  # the same numbers in the same formats
    found = contrast(alike, vllm)
    assert (found.kind, found.unrecorded) == (ContrastClass.ENGINE_PATH, ())
    assert "grammar_backend" in found.open  # shown by one of them, but the engine path differs anyway


def test_an_engine_on_a_host_the_lab_cannot_look_into_is_a_harness_check(measured: tuple[EvidenceStore, str]) -> None:
    record = measured[0].read(measured[1])
    assert record.launch is not None
    elsewhere = record.launch.model_copy(update={"attached_to": "elsewhere"})
    grade, reason = grade_of(record.model_copy(update={"launch": elsewhere}))
    assert (grade, reason) == (EvidenceGrade.HARNESS_CHECK, "attached-elsewhere")


def test_public_evidence_holds_no_fact_of_the_host(measured: tuple[EvidenceStore, str]) -> None:
    store, run_id = measured
    payload = project(store, run_id).model_dump_json(indent=1).encode()
    facts = private_facts(store, [run_id])
    assert {fact.kind for fact in facts} >= {"answer of the model", "path of the launch", "runs folder"}
    assert inspect("evidence.json", payload, facts) == ()
    assert PublicRun.model_validate_json(payload).run_id == run_id


def test_numbers_are_rounded_to_four_digits() -> None:
    assert (rounded(0.123456), rounded(1234.56), rounded(0.0)) == (0.1235, 1235.0, 0.0)


def test_a_damaged_run_cannot_carry_a_report(measured: tuple[EvidenceStore, str], tmp_path: Path) -> None:
    import shutil

    store, run_id = measured
    copy = EvidenceStore(tmp_path / "copy")
    shutil.copytree(store.root, copy.root)
    with (copy.path(run_id) / "requests.parquet").open("ab") as out:
        out.write(b"x")
    with pytest.raises(EvidenceError, match="damaged"):
        project(copy, run_id)
    assert newest_runs(copy) == ()


def test_a_run_that_was_not_measured_cannot_carry_a_report(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path]
) -> None:
    planned = small_plan[0].runs[0]
    run_id = store.create(planned.spec, plan="small", plan_digest="p-1", match_id="m-1", varied=())
    with pytest.raises(EvidenceError, match="is running, not measured"):
        project(store, run_id)


def test_a_page_that_leaks_is_not_written(measured: tuple[EvidenceStore, str], tmp_path: Path) -> None:
    import socket

    store, run_id = measured
    leaky = {"en/index.html": f"<p>measured on {socket.gethostname()}</p><p>{store.root}</p>".encode()}
    with pytest.raises(LeakFound, match="would identify this site"):
        publish_report(store, (run_id,), tmp_path / "report", lambda *_: leaky)
    assert not (tmp_path / "report").exists()
    publish_report(store, (run_id,), tmp_path / "report", lambda runs, _: {"en/index.html": page(runs[0].run_id)})
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == ["en", "evidence"]


def test_nothing_published_of_a_hidden_model_follows_from_its_name(measured: tuple[EvidenceStore, str]) -> None:
    store, run_id = measured
    record = store.read(run_id)
    spec, status = record.spec, record.status
    assert record.environment is not None
    namer = Namer(Identity(models={spec.model.series: "Model K"}, machine="class"), b"0123456789abcdef0123456789abcdef")
    public = project(store, run_id, namer=namer)
    page = public.model_dump_json()
    for secret in (spec.model.series, spec.spec_digest, status.match_id, spec.model.weights_sha256 or spec.spec_digest):
        assert secret not in page
    assert public.model.series == "Model K"
    assert public.pseudonym_key == namer.key_id
    assert public.ceilings is None  # they say how many bytes the weights have, and which machine it was
    assert project(store, run_id, namer=namer) == public
    assert project(store, run_id).spec_digest == spec.spec_digest
