"""Memory bandwidth of this machine, measured for real and briefly."""

from __future__ import annotations

from pathlib import Path

from lab.membandwidth import cache_bytes, measure, measure_apart


def cache(root: Path, core: int, index: int, shared: str, size: str) -> None:
    folder = root / f"cpu{core}" / "cache" / f"index{index}"
    folder.mkdir(parents=True)
    (folder / "shared_cpu_list").write_text(f"{shared}\n")
    (folder / "size").write_text(f"{size}\n")


def test_the_last_cache_counts_once_for_the_cores_that_share_it(tmp_path: Path) -> None:
    for core, shared in ((0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")):
        cache(tmp_path, core, 2, str(core), "512K")
        cache(tmp_path, core, 3, shared, "1024K")
    assert cache_bytes(frozenset({0, 1}), tmp_path) == 2**20
    assert cache_bytes(frozenset({1, 2}), tmp_path) == 2 * 2**20
    assert cache_bytes(frozenset({9}), tmp_path) == 0


def test_passes_over_memory_give_a_rate() -> None:
    found = measure(size=2**22, span_s=0.0)
    assert found.gb_s == max(found.read_gb_s, found.copy_gb_s) > 0


def test_a_process_of_its_own_measures_and_leaves_nothing() -> None:
    found = measure_apart()
    assert found is not None
    assert found.threads >= 1
