"""Two suites are the same exactly when they ask the same and score the same."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.quality import identity, load_suite, run_suite
from lab.quality.lmeval import ItemTask
from lab.records import Capabilities, Check

from .fake_engine import CharTokenizer, completion, serve
from .small_suite import SAMPLING, Write

CHOICES = [{"id": "a", "question": "1>", "choices": ["x", "y"], "accept": ["y"]}]
MIXED: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "sums": (
        {
            "metric": "exact_match",
            "max_tokens": 16,
            "stop": ["\n"],
            "extract": "([0-9]+)",
            "examples": [{"question": "9 + 0?", "answer": "9"}],
        },
        [{"id": "one", "question": "1 + 1?", "accept": ["2"]}, {"id": "two", "question": "2 + 2?", "accept": ["4"]}],
    ),
    "goes-on": (
        {"output": "completion", "metric": "exact_match", "max_tokens": 4},
        [{"id": "a", "question": "a, ", "accept": ["b"]}],
    ),
    "letters": ({"output": "choice", "metric": "acc"}, CHOICES),
    "texts": ({"output": "perplexity", "metric": "bits_per_byte"}, [{"id": "a", "question": "abc"}]),
}


def digest_of(folder: Path) -> str:
    return load_suite(folder).ref().sha256


@pytest.fixture
def mixed(write_suite: Write) -> Path:
    return write_suite("mixed", more=MIXED)


def test_folder_comments_layout_and_description_do_not_count(mixed: Path, tmp_path: Path) -> None:
    before, copy = digest_of(mixed), tmp_path / "elsewhere" / "renamed"
    shutil.copytree(mixed, copy)
    settings = yaml.safe_load((copy / "suite.yaml").read_text()) | {"about": "Said otherwise."}
    (copy / "suite.yaml").write_text("# a comment\n" + yaml.safe_dump(settings, default_flow_style=True))
    assert digest_of(copy) == before


@pytest.mark.parametrize(
    ("task", "change"),
    [
        ("sums", {"extract": "([0-9]+)$"}),
        ("sums", {"extract": None}),
        ("sums", {"stop": ["\n\n"]}),
        ("sums", {"stop": []}),
        ("sums", {"max_tokens": 17}),
        ("sums", {"metric": "number_match"}),
        ("sums", {"examples": []}),
        ("sums", {"examples": [{"question": "9 + 0?", "answer": "nine"}]}),
        ("sums", {"output": "completion"}),
        ("letters", {"metric": "acc_norm"}),
        ("letters", {"target_delimiter": ""}),
        ("letters", {"examples": [{"question": "a", "answer": "b"}], "fewshot_delimiter": "\n"}),
    ],
    ids=lambda part: part if isinstance(part, str) else next(iter(part)),
)
def test_every_setting_counts(mixed: Path, task: str, change: dict[str, Any]) -> None:
    before, path = digest_of(mixed), mixed / "suite.yaml"
    whole = yaml.safe_load(path.read_text())
    (settings,) = [one for one in whole["tasks"] if one["task"] == task]
    settings.update(change)
    path.write_text(yaml.safe_dump(whole))
    assert digest_of(mixed) != before


@pytest.mark.parametrize(("old", "new"), [('"2"', '"3"'), ('"one"', '"uno"'), ("1 + 1?", "1+1?")])
def test_one_edit_of_the_data_counts(mixed: Path, old: str, new: str) -> None:
    before, path = digest_of(mixed), mixed / "sums.jsonl"
    path.write_text(path.read_text().replace(old, new))
    assert digest_of(mixed) != before


def test_order_of_the_items_counts(mixed: Path) -> None:
    before, path = digest_of(mixed), mixed / "sums.jsonl"
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    assert digest_of(mixed) != before


def test_version_counts(mixed: Path) -> None:
    before, path = digest_of(mixed), mixed / "suite.yaml"
    path.write_text(path.read_text().replace("1.0.0", "1.0.1"))
    assert digest_of(mixed) != before


@pytest.mark.parametrize("library", identity.LIBRARIES)
def test_versions_of_libraries_that_score_count(mixed: Path, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, real = digest_of(mixed), importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0" if name == library else real(name))
    assert digest_of(mixed) != before


@pytest.mark.parametrize("name", identity.SOURCE_FILES)
def test_source_that_asks_or_scores_counts(
    mixed: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For instance the regular expression that finds numbers in `scoring.py`."""
    before, code = digest_of(mixed), tmp_path / "code"
    shutil.copytree(Path(identity.__file__).parent, code)
    (code / name).write_text((code / name).read_text() + "# edited\n")
    monkeypatch.setattr(identity, "__file__", str(code / "identity.py"))
    assert digest_of(mixed) != before


def test_source_that_scores_leans_on_no_other_that_does_not_count() -> None:
    folder = Path(identity.__file__).parent
    used = {
        name
        for file in identity.SOURCE_FILES
        for name in re.findall(
            r"^ *(?:from lab\.quality\.|from lab\.quality import )(\w+)", (folder / file).read_text(), re.M
        )
    }
    assert {f"{name}.py" for name in used} - set(identity.SOURCE_FILES) == {"identity.py", "quiet.py", "suite.py"}


def test_what_lm_eval_makes_of_a_task_counts(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another default of lm-eval under the same version, for instance."""
    before, real = digest_of(mixed), ItemTask.dump_config
    monkeypatch.setattr(ItemTask, "dump_config", lambda task: real(task) | {"repeats": 2})
    assert digest_of(mixed) != before


def test_digest_covers_the_very_bodies_that_are_sent(mixed: Path) -> None:
    """Model, sampling and token ids apart, which belong to the run."""
    suite = load_suite(mixed)
    pinned = [body for task in suite.tasks for _, _, body in identity.pinned(suite, task)["requests"]]
    with serve(lambda x: x.send(completion("2"))) as engine:
        run_suite(
            suite,
            base_url=engine.base_url,
            model="m",
            sampling=SAMPLING,
            context_limit=512,
            run_id="r-abcdefgh23",
            capabilities=Capabilities(checks=(Check(name="echo", result="pass", detail=""),)),
            tokenizer=CharTokenizer(),
        )
    sent = [{key: value for key, value in x.asked.items() if key not in {"model", *SAMPLING}} for x in engine.seen]
    for body in sent:
        if "echo" in body:
            body["prompt"] = "".join(map(chr, body["prompt"][0])).removeprefix("\x01")
    for body in pinned:
        if "echo" in body:
            body["prompt"] = "".join(body["prompt"])
    assert sorted(map(json.dumps, sent)) == sorted(map(json.dumps, pinned))
    assert len(sent) == 6
