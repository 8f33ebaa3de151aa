"""A launch as a container: the same words, pinned and mounted. Text only: no container is started here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from lab.containers import Container, compose, contain
from lab.engines import ENGINES
from lab.engines.base import Place
from lab.errors import ParamsError
from lab.plan import load_plan
from lab.spec import RunSpec

DIGEST = "0123456789abcdef" * 4


@pytest.fixture
def specs(plan_folder: Path) -> dict[str, RunSpec]:
    return {run.spec.engine: run.spec for run in load_plan(plan_folder / "four-columns.yaml").runs}


def container(spec: RunSpec) -> Container:
    image = f"registry.example/{spec.engine}@sha256:{DIGEST}"
    made, _ = contain(
        ENGINES[spec.engine],
        spec,
        image=image,
        weights=Path("/data/weights"),
        folder=Path("/data/launch"),
        cache=Path("/data/cache"),
    )
    return made


def test_a_container_runs_the_same_words_as_the_lab(specs: dict[str, RunSpec]) -> None:
    for engine, spec in specs.items():
        inside = container(spec)
        place = Place(Path("/model"), ENGINES[engine].default_port, Path("/launch"))
        outside = ENGINES[engine].render(spec, place)
        assert inside.command[1:] == outside.argv[1:]
        assert outside.env.items() <= inside.env.items()
        assert ("/data/weights", "/model", False) in inside.mounts


def test_docker_and_podman_name_image_gpus_and_mounts(specs: dict[str, RunSpec]) -> None:
    argv = container(specs["vllm"]).as_argv()
    assert argv[:6] == ("docker", "run", "--rm", "--gpus", "all", "--ipc")
    assert argv[argv.index("--entrypoint") + 1 :][:4] == (
        "vllm", f"registry.example/vllm@sha256:{DIGEST}", "serve", "/model",
    )  # fmt: skip
    assert "/data/weights:/model:ro" in argv
    assert "VLLM_CACHE_ROOT=/cache/vllm" in argv
    assert container(specs["vllm"]).as_argv("podman")[3:5] == ("--device", "nvidia.com/gpu=all")


def test_a_tag_is_no_pin(specs: dict[str, RunSpec]) -> None:
    for image in ("vllm/vllm-openai:latest", "vllm/vllm-openai", f"vllm@sha256:{DIGEST[:-1]}"):
        with pytest.raises(ParamsError, match="is not pinned"):
            contain(ENGINES["vllm"], specs["vllm"], image=image, weights=Path("/w"), folder=Path("/f"))


def test_a_dollar_sign_stays_one() -> None:
    made = Container("a", f"b@sha256:{DIGEST}", ("run", "$HOME"), {"PRICE": "5$"}, ())
    service = yaml.safe_load(compose((made,)))["services"]["a"]
    assert (service["command"], service["environment"]) == (["$$HOME"], {"PRICE": "5$$"})


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is not installed here")
def test_docker_compose_takes_the_file(specs: dict[str, RunSpec], tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(compose(tuple(map(container, specs.values()))), encoding="utf-8")
    done = subprocess.run(
        ["docker-compose", "-f", str(tmp_path / "compose.yaml"), "config"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(yaml.safe_load(done.stdout)["services"]) == {f"{engine}-equal" for engine in specs}
