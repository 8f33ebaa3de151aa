"""The main job, end to end, as a user starts it: a real model on a real llama.cpp, small numbers, a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from lab.evidence import EvidenceStore
from lab.publish.evidence import PublicContrast, PublicRun
from lab.quality.path import ContrastClass
from lab.records import EvidenceGrade, Outcome
from lab.report.messages import message
from lab.report.words import ranking_words
from tests.browser import BROWSER, check_page, needs_browser
from tests.test_cli import lab


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[EvidenceStore, Path]:
    """`lab run` and `lab report` on the plan of the main job with fewer requests."""
    from tests.conftest import CHECKOUT

    folder = tmp_path_factory.mktemp("plan") / "params"
    folder.mkdir()
    for piece in ("models", "engines", "workloads", "quality"):
        (folder / piece).symlink_to(CHECKOUT / "params" / piece)
    text = (CHECKOUT / "params" / "harness-check.yaml").read_text(encoding="utf-8")
    for name, fewer in (
        ("harness-chat", "concurrency: [1, 2], requests_per_level: 4, output_tokens: 8, warmup_requests: 1"),
        ("known-timing", "concurrency: [8], requests_per_level: 16, output_tokens: 10"),
    ):
        assert f"workload: {name}" in text
        text = text.replace(f"workload: {name}", f"workload: {{use: {name}, {fewer}}}")
    (folder / "harness-check.yaml").write_text(text, encoding="utf-8")
    root = tmp_path_factory.mktemp("job")
    done = lab("run", str(folder / "harness-check.yaml"), "--runs-dir", str(root / "runs"))
    assert done.returncode == 0, done.stderr
    assert "run 3 of 3" in done.stderr
    assert "tok/s so far" in done.stderr
    done = lab("report", "--runs-dir", str(root / "runs"), "--out", str(root / "report"))
    assert done.returncode == 0, done.stderr
    return EvidenceStore(root / "runs"), root / "report"


def test_every_run_is_measured_whole_and_complete(report: tuple[EvidenceStore, Path]) -> None:
    store, _ = report
    records = [store.read(run_id) for run_id in store.run_ids()]
    assert [record.spec.engine for record in records] == ["llama.cpp", "llama.cpp", "reference"]
    for record in records:
        done = lab("verify", record.run_id, "--runs-dir", str(store.root))
        assert done.returncode == 0, done.stderr
        for level in record.levels:
            assert level.outcomes == {Outcome.SUCCESS: level.requests}
            assert level.completion_tokens.min == level.completion_tokens.max == record.spec.workload.output_tokens
    for record in records[:2]:
        # a real model behind the tokenizer of the engine: every prompt has one length
        assert record.levels[0].prompt_tokens.min == record.levels[1].prompt_tokens.max
        assert record.quality is not None
        assert [task.task for task in record.quality.tasks] == ["arithmetic", "facts", "json-schema"]
        assert all(task.scored > 0 for task in record.quality.tasks)
        assert record.ceilings is not None
        assert record.ceilings.reason in (None, "in-cache")  # some processors hold the whole model
        assert record.ceilings.computes_on == "cpu"
        assert record.ceilings.sums is not None
        assert (record.ceilings.sums.output_agrees, record.ceilings.sums.prompt_agrees) == (True, True)
        assert not any(level.implausible for level in record.ceilings.levels)
    assert records[2].instrument[0].requests == 16


def test_prefix_caching_is_what_differs(report: tuple[EvidenceStore, Path]) -> None:
    store, _ = report
    on, off = (store.requests(run_id) for run_id in store.run_ids()[:2])
    assert max(record.cached_tokens or 0 for record in on if not record.warmup) >= 64
    assert {record.cached_tokens for record in off} <= {0, None}


def test_preflight_saw_what_llama_cpp_does(report: tuple[EvidenceStore, Path]) -> None:
    store, _ = report
    on, off = (store.read(run_id) for run_id in store.run_ids()[:2])
    for record in (on, off):
        assert record.launch is not None
        seen = {check.name: check for check in record.launch.capabilities.checks}
        passed = ("models", "tokenize", "prompt-tokens", "exact-length", "stream-dialect", "kv-capacity",
                  "context-limit", "neutral-sampling", "logprobs", "json-schema", "unknown-field",
                  "prefix-cache")  # fmt: skip
        assert {name: seen[name].result for name in passed} == dict.fromkeys(passed, "pass"), seen
        assert (seen["echo"].result, "echo ignored with max_tokens 0" in seen["echo"].detail) == ("fail", True)
        assert "exceeds the available context size" in seen["context-limit"].detail
        assert seen["kv-capacity"].counts == (4096,)  # 4 slots of 1024
        assert seen["thinking"].result == "not-exposed"
    assert on.launch is not None and off.launch is not None
    counts = [launch.capabilities.check("prompt-tokens") for launch in (on.launch, off.launch)]
    assert counts[0] and counts[1] and counts[0].counts == counts[1].counts
    done = lab("match", on.run_id, off.run_id, "--runs-dir", str(store.root))
    assert done.returncode == 0, done.stdout


def test_the_pages_say_what_was_run_and_rank_nothing(report: tuple[EvidenceStore, Path]) -> None:
    store, folder = report
    for lang, missing in (("en", "Not measured here"), ("ja", message("ja", "not-measured"))):
        page = (folder / lang / "index.html").read_text(encoding="utf-8")
        assert f'<html lang="{lang}"' in page
        for run_id in store.run_ids():
            assert run_id in page
        for name in ("vLLM", "TensorRT-LLM", "SGLang", "Atlas", "harness-check", "SmolLM2-135M-Instruct", "smoke-mini"):
            assert name in page
        assert page.count(missing) >= 4
        assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", page)
        assert "<script" not in page
        assert ranking_words(re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)) == ()


def test_every_page_has_a_twin_of_its_numbers(report: tuple[EvidenceStore, Path]) -> None:
    store, folder = report
    twins = sorted((folder / "evidence").glob("r-*.json"))
    assert [twin.stem for twin in twins] == sorted(store.run_ids())
    for twin in twins:
        public = PublicRun.model_validate_json(twin.read_bytes())
        assert public.grade is EvidenceGrade.HARNESS_CHECK
        assert public.levels


def test_answers_of_the_two_launches_stand_side_by_side(report: tuple[EvidenceStore, Path]) -> None:
    store, folder = report
    (beside,) = TypeAdapter(tuple[PublicContrast, ...]).validate_json(
        (folder / "evidence" / "contrasts.json").read_bytes()
    )
    assert (beside.first, beside.second) == store.run_ids()[:2]
    assert beside.first_path != beside.second_path
    assert beside.contrast.kind is ContrastClass.ENGINE_PATH
    assert beside.contrast.differs == ("profile.prefix_caching",)
    assert [(task.task, task.paired.items) for task in beside.tasks] == [
        ("arithmetic", 12),
        ("facts", 10),
        ("json-schema", 6),
    ]
    for lang in ("en", "ja"):
        page = (folder / lang / "index.html").read_text(encoding="utf-8")
        assert page.count("profile.prefix_caching</code>") >= 3


@needs_browser
@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_pages_open_in_a_real_browser(report: tuple[EvidenceStore, Path], lang: str, tmp_path: Path) -> None:
    assert BROWSER is not None
    check_page(report[1] / lang / "index.html", tmp_path)
