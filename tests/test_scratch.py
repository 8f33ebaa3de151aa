"""What a dead process left is swept; what a living one holds, and what is not the lab's, is let be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.errors import EvidenceError
from lab.scratch import exchange, scratch, sweep, write_atomically


def killed_in(place: Path, code: str) -> None:
    """Run code in a process that is then killed with signal 9."""
    whole = f"import os\nfrom pathlib import Path\nfrom lab.scratch import *\nplace = Path({str(place)!r})\n{code}\n"
    done = subprocess.run([sys.executable, "-c", whole + "os.kill(os.getpid(), 9)"], check=False)
    assert done.returncode == -9


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def test_a_folder_goes_when_its_block_ends(tmp_path: Path) -> None:
    with scratch("run", tmp_path) as folder:
        (folder / "file").write_text("x")
        assert names(tmp_path) == [folder.name]
    assert names(tmp_path) == []


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_holds_is_not(tmp_path: Path) -> None:
    killed_in(tmp_path, "own = scratch('run', place)\n(own.__enter__() / 'file').write_text('x')")
    assert len(names(tmp_path)) == 1
    with scratch("load", tmp_path) as ours:
        assert names(tmp_path) == [ours.name]
        sweep(tmp_path)
        assert names(tmp_path) == [ours.name]


def test_what_is_not_the_labs_is_let_be(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "lab-run.aaaaaaaa").symlink_to(outside)
    for name in ("lab-run-aaaaaaaa", "lab-run.aaaaaaaa.old", "tmp.aaaaaaaa"):
        (tmp_path / name).mkdir()
    before = names(tmp_path)
    sweep(tmp_path)
    assert names(tmp_path) == before


def test_half_a_file_that_a_killed_process_left_goes_with_the_next_one(tmp_path: Path) -> None:
    half = "h, t = tempfile.mkstemp(dir=place, prefix='.status.json.', suffix='.tmp')\nos.write(h, b'half')"
    killed_in(tmp_path, f"import tempfile\n{half}")
    write_atomically(tmp_path / "other.json", b"{}")
    assert len(names(tmp_path)) == 2  # another file's half is not touched
    write_atomically(tmp_path / "status.json", b"{}")
    assert names(tmp_path) == ["other.json", "status.json"]


def test_a_place_that_cannot_be_written_is_a_sentence_with_a_next_step(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(EvidenceError, match="cannot be written") as refused, scratch("run", file / "below"):
        pass
    assert "a folder that exists and can be written" in str(refused.value.next_step)


def test_two_folders_change_places_in_one_step(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not exchange(tmp_path / "old", tmp_path / "new"):
        pytest.skip("this system cannot exchange two names in one step")
    assert (os.listdir(tmp_path / "old"), os.listdir(tmp_path / "new")) == (["new"], ["old"])
