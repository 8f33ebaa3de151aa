"""The project keeps its own promises: one list of packages, a complete door, thin notebooks."""

from __future__ import annotations

import json
import tomllib

import yaml

import lab
from tests.conftest import CHECKOUT

CLIENT_PACKAGES = {"jupyterlab", "papermill", "pandas", "matplotlib", "altair", "lm-eval", "nbconvert"}
CLIENT_FOLDERS = {"notebooks", "lab", "params", "reports", "environment.yml", "tests", "README.md"}


def project() -> dict:
    return tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_environment_yml_installs_this_project_with_everything_it_asks_for() -> None:
    environment = yaml.safe_load((CHECKOUT / "environment.yml").read_text(encoding="utf-8"))
    plain = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert environment["name"] == project()["name"]
    assert f"python{project()['requires-python']}" in {entry.partition(",")[0] for entry in plain}
    assert "--editable .[test]" in pip
    assert "--constraint constraints.txt" in pip
    assert "test" in project()["optional-dependencies"]
    # nothing is listed twice: the project's own list is the only one
    assert len(pip) == 2


def test_every_package_of_the_client_is_asked_for_and_every_asked_package_is_pinned() -> None:
    def name(requirement: str) -> str:
        for sign in "[=><; ":
            requirement = requirement.partition(sign)[0]
        return requirement.lower().replace("_", "-").replace(".", "-")

    asked = {name(entry) for entry in project()["dependencies"]}
    pinned = {
        name(line) for line in (CHECKOUT / "constraints.txt").read_text(encoding="utf-8").splitlines() if line[0] != "#"
    }
    assert asked >= CLIENT_PACKAGES
    assert asked | {name(entry) for entry in project()["optional-dependencies"]["test"]} <= pinned


def test_the_clients_top_level_is_there() -> None:
    assert {path.name for path in CHECKOUT.iterdir()} >= CLIENT_FOLDERS


def test_the_door_is_complete_and_every_name_opens() -> None:
    assert sorted(lab.__all__) == lab.__all__
    assert set(lab.__all__) == set(lab._HOMES)
    for name in lab.__all__:
        assert getattr(lab, name) is not None


def test_notebooks_are_thin_and_end_with_what_they_do_not_show() -> None:
    for path in sorted((CHECKOUT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        assert sum("parameters" in cell["metadata"].get("tags", []) for cell in cells) == 1
        assert prose[0].startswith("# ")
        assert "**Question:**" in prose[0]
        assert prose[-1].startswith("## What this does not show")
        assert not any(line.startswith(("def ", "class ")) for cell in code for line in cell.splitlines())
