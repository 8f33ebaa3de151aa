"""Shows what importing a large file costs: writes one of the asked size, imports it, prints time and peak memory.

    python tools/large_import.py KIND [--mib 1024] [--limit-mib 512] [--keep FOLDER]

The file is made of one request that is written again and again, as KIND writes it. Exits 1 when the import fails, or
takes more memory than the limit. Not a test: it needs as much disk as two such files, and minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOKENS = 400
ANSWER = "many words of an answer " * 100
GAPS = [0.0201] * (TOKENS - 1)


def vllm_bench(folder: Path, size: int) -> Path:
    """One JSON document with lists of one entry a request."""
    row = {
        "input_lens": 100, "output_lens": TOKENS, "ttfts": 0.1, "itls": GAPS, "generated_texts": ANSWER, "errors": "",
    }  # fmt: skip
    n = size // len(json.dumps(row))
    path = folder / "result.json"
    head = {
        "date": "20260101-000000", "backend": "openai-chat", "model_id": "m", "num_prompts": n, "request_rate": "inf",
        "max_concurrency": 8, "duration": n * 8.1 / 8, "completed": n, "total_input_tokens": 100 * n,
        "total_output_tokens": TOKENS * n, "request_throughput": 8 / 8.1, "output_throughput": TOKENS * 8 / 8.1,
        "median_ttft_ms": 100.0, "median_tpot_ms": 20.1,
    }  # fmt: skip
    with path.open("w", encoding="utf-8") as out:
        out.write(json.dumps(head)[:-1])
        for key, value in row.items():
            entry = json.dumps(value)
            out.write(f', "{key}": [{entry}')
            for _ in range(n - 1):
                out.write(f", {entry}")
            out.write("]")
        out.write("}")
    return path


def guidellm(folder: Path, size: int) -> Path:
    """One report with one benchmark, whose requests hold prompt and answer."""
    body = {"body": {"model": "m", "max_tokens": TOKENS, "messages": [{"role": "user", "content": ANSWER}]}}
    row = {
        "request_id": "r", "request_args": json.dumps(body), "output": ANSWER, "request_latency": 8.1,
        "prompt_tokens": 100, "output_tokens": TOKENS, "time_to_first_token_ms": 100.0,
        "info": {"timings": {"first_token_iteration": 1.0, "last_token_iteration": 9.0, "token_iterations": TOKENS}},
    }  # fmt: skip
    entry = json.dumps(row)
    n = size // len(entry)
    spread = {"mean": 8.1, "median": 8.1, "min": 8.1, "max": 8.1, "std_dev": 0.0, "count": n, "total_sum": 8.1 * n}
    metrics = {
        "request_totals": {"successful": n, "errored": 0, "incomplete": 0, "total": n},
        "request_latency": {"successful": spread},
    }
    path = folder / "report.json"
    with path.open("w", encoding="utf-8") as out:
        out.write('{"metadata": {"guidellm_version": "0"}, "benchmarks": [{"metrics": ' + json.dumps(metrics))
        out.write(f', "duration": {n * 8.1}, "requests": {{"successful": [{entry}')
        for _ in range(n - 1):
            out.write(f", {entry}")
        out.write("]}}]}")
    return path


def aiperf(folder: Path, size: int) -> Path:
    """A small summary, and rows of the asked size."""
    gaps = [20.1] * (TOKENS - 1)
    row = {
        "metadata": {"conversation_id": "s", "turn_index": 0, "benchmark_phase": "profiling"},
        "metrics": {
            "time_to_first_token": {"value": 100.0, "unit": "ms"},
            "request_latency": {"value": 8100.0, "unit": "ms"},
            "usage_completion_tokens": {"value": TOKENS, "unit": "tokens"},
            "inter_chunk_latency": {"value": gaps, "unit": "ms"},
        },
    }
    line = json.dumps(row) + "\n"
    n = size // len(line)
    summary: dict[str, Any] = {
        "aiperf_version": "0", "input_config": {}, "request_throughput": {"unit": "requests/sec", "avg": 1.0},
        "request_latency": {"unit": "ms", "avg": 8100.0}, "request_count": {"unit": "requests", "avg": n},
    }  # fmt: skip
    (folder / "profile_export_aiperf.json").write_text(json.dumps(summary), encoding="utf-8")
    with (folder / "profile_export.jsonl").open("w", encoding="utf-8") as out:
        for _ in range(n):
            out.write(line)
    return folder


def lm_eval(folder: Path, size: int) -> Path:
    """Small results, and samples of the asked size."""
    row = {
        "doc_id": 0, "doc": {"question": ANSWER}, "target": "a", "arguments": {"gen_args_0": {"arg_0": ANSWER}},
        "resps": [[ANSWER]], "filtered_resps": ["[invalid]"], "filter": "none", "metrics": ["acc"], "acc": 0.0,
    }  # fmt: skip
    line = json.dumps(row) + "\n"
    n = size // len(line)
    results = {
        "results": {"t": {"acc,none": 0.0, "acc_stderr,none": 0.0}}, "configs": {}, "versions": {"t": 1},
        "n-samples": {"t": {"original": n, "effective": n}}, "config": {"model": "local-completions"},
    }  # fmt: skip
    (folder / "results_x.json").write_text(json.dumps(results), encoding="utf-8")
    with (folder / "samples_t_x.jsonl").open("w", encoding="utf-8") as out:
        for _ in range(n):
            out.write(line)
    return folder


MAKERS = {"vllm-bench": vllm_bench, "guidellm": guidellm, "aiperf": aiperf, "lm-eval": lm_eval}


def sizes(path: Path) -> Iterator[int]:
    """Bytes of each file at a path."""
    yield from (one.stat().st_size for one in ([path] if path.is_file() else path.iterdir()) if one.is_file())


def main() -> int:
    """Make the file, import it in a process of its own, and say what that process took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=tuple(MAKERS))
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--limit-mib", type=int, default=512)
    parser.add_argument("--keep", type=Path, help="folder to leave the file and the store in")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        source = folder / "source"
        source.mkdir(parents=True)
        path = MAKERS[arguments.kind](source, arguments.mib * 2**20)
        begin = time.monotonic()
        command = [sys.executable, "-m", "lab.cli", "import", arguments.kind, str(path)]
        process = subprocess.Popen([*command, "--runs-dir", str(folder / "runs")])
        _, status, usage = os.wait4(process.pid, 0)
        peak_mib = usage.ru_maxrss / 1024  # Linux counts it in KiB
        print(
            f"{arguments.kind}: {sum(sizes(path)) / 2**20:,.0f} MiB imported in {time.monotonic() - begin:.0f} s, "
            f"peak memory {peak_mib:,.0f} MiB (limit {arguments.limit_mib})"
        )
        return 1 if status or peak_mib > arguments.limit_mib else 0


if __name__ == "__main__":
    raise SystemExit(main())
