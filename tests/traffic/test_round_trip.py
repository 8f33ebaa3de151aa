"""Traffic → shape → a load that a real server receives → the shape of what it received: the two agree."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import yaml
from typer.testing import CliRunner

import lab.cli as lab_cli
from lab.errors import LabError
from lab.evidence import EvidenceStore
from lab.plan import load_plan
from lab.records import Outcome
from lab.run import run_one
from lab.traffic.reading import measure
from tests.conftest import SMALL_PLAN
from tests.test_cli import lab, reference
from tests.traffic.logs import MOONCAKE, busy_log, words, written


@contextmanager
def recording() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that answers as many tokens as it is asked for, and the log it keeps as a gateway would."""
    log: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._json({"data": [{"id": "m"}]})

        def do_POST(self) -> None:
            at_s = time.time()
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/tokenize":
                tokens = [crc32(word.encode()) for word in body["prompt"].split()] if "prompt" in body else None
                self._json({"tokens": tokens, "count": len(tokens or ())})
                return
            n = body["max_tokens"]
            usage = {"prompt_tokens": 0, "completion_tokens": n}
            if "-m" in self.headers["X-Request-Id"]:  # measured, not warm-up
                log.append({"timestamp": at_s, "body": body, "response": {"usage": usage}})
            said = {"delta": {"content": "a " * n}}, {"delta": {}, "finish_reason": "length"}
            chunks = [*({"choices": [choice]} for choice in said), {"choices": [], "usage": usage}]
            payload = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
            self._send(payload.encode(), "text/event-stream")

        def _json(self, data: Any) -> None:
            self._send(json.dumps(data).encode(), "application/json")

        def _send(self, payload: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", log
    finally:
        server.shutdown()
        server.server_close()


def faster(workload: Path, rate_rps: float) -> None:
    """The same workload at another rate: a test has no hour."""
    data = yaml.safe_load(workload.read_text(encoding="utf-8"))
    workload.write_text(yaml.safe_dump(data | {"rate_rps": [rate_rps]}), encoding="utf-8")


def test_what_a_server_receives_has_the_shape_of_the_traffic(tmp_path: Path) -> None:
    log, workload = written(tmp_path, busy_log(200)), tmp_path / "mine.yaml"
    before = measure(log, encode_all=words).shape
    with recording() as (url, received):
        done = lab("traffic", str(log), "--tokenizer", url, "--workload", str(workload))
        assert done.returncode == 0, done.stderr
        faster(workload, 200.0)
        done = lab("bench", url, "--model", "m", "--workload", str(workload), "--json", str(tmp_path / "out.json"))
        assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out.json").read_bytes())
    assert (result["outcomes"], result["prompts_inexact"]) == ({"success": 200}, 0)
    after = measure(written(tmp_path, received, "received.jsonl"), encode_all=words).shape
    # Every request was drawn and every word is one token: lengths are the same, not nearly the same. Shared prefixes
    # may gain a word where two prompts part and go on with the same one by chance (1 in 250), or lose some where two
    # requests overtake each other under way: half a point holds both.
    assert after.input is not None and before.input is not None
    assert after.input.model_dump(exclude={"mean"}) == before.input.model_dump(exclude={"mean"})
    same = ("n", "least", "p10", "p25", "p50", "p75", "p90", "p99", "most")
    assert [getattr(after.output_lengths[0], one) for one in same] == [
        getattr(before.output_lengths[0], one) for one in same
    ]
    assert after.prefixes is not None and before.prefixes is not None
    assert after.prefixes.share == pytest.approx(before.prefixes.share, abs=0.005)
    assert after.requests == before.requests == 200


def test_a_trace_is_replayed_with_its_lengths_and_blocks(tmp_path: Path) -> None:
    lines = [one | {"timestamp": lap * 10_000 + one["timestamp"], "input_length": one["input_length"] // 8,
                    "output_length": one["output_length"] // 8, "hash_ids": [id + lap * 100 * bool(id) for id in
                                                                             one["hash_ids"]]}
             for lap in range(8) for one in MOONCAKE]  # fmt: skip
    log, workload = written(tmp_path, lines), tmp_path / "kimi.yaml"
    done = lab("traffic", str(log), "--block-size", "64", "--workload", str(workload))
    assert done.returncode == 0, done.stderr
    before = measure(log, block_tokens=64).shape
    faster(workload, 100.0)
    with recording() as (url, received):
        done = lab("bench", url, "--model", "m", "--workload", str(workload))
        assert done.returncode == 0, done.stderr
    after = measure(written(tmp_path, received, "received.jsonl"), encode_all=words).shape
    assert before.prefixes is not None and after.prefixes is not None and before.input is not None
    assert after.input is not None and after.input.histogram == before.input.histogram
    assert after.prefixes.share == pytest.approx(before.prefixes.share, abs=0.005)


def test_the_cache_of_an_engine_finds_the_share_that_was_counted(tmp_path: Path) -> None:
    log, workload = written(tmp_path, busy_log(120)), tmp_path / "mine.yaml"
    counted = measure(log, encode_all=words).shape.prefixes
    assert counted is not None
    with reference("--ttft-s", "0.001", "--tick-s", "0.001") as url:
        done = lab("traffic", str(log), "--tokenizer", url, "--workload", str(workload))
        assert done.returncode == 0, done.stderr
        data = yaml.safe_load(workload.read_text(encoding="utf-8"))
        changed = {"rate_rps": [60.0], "warmup_requests": 0, "exact_output": False, "output_tokens": 2}
        workload.write_text(yaml.safe_dump(data | changed), encoding="utf-8")
        done = lab("bench", url, "--model", "reference", "--workload", str(workload))
        assert done.returncode == 0, done.stderr
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            gauges = dict(re.findall(r"(prefix_cache_\w+)_total{.*} (\d+)", answer.read().decode()))
    # The server's cache holds whole prompts, token by token; half a point for words that agree by chance, and for
    # requests that overtake each other.
    assert int(gauges["prefix_cache_queries"]) == counted.total
    assert int(gauges["prefix_cache_hits"]) / counted.total == pytest.approx(counted.share, abs=0.005)


def test_a_workload_file_decides_the_whole_load() -> None:
    arguments = ["bench", "http://127.0.0.1:1", "--model", "m", "--workload", "x.yaml", "--rate", "4", "--warmup", "1"]
    done = CliRunner().invoke(lab_cli.app, arguments)
    assert isinstance(done.exception, LabError) and "leave --rate, --warmup out" in str(done.exception)
    done = CliRunner().invoke(lab_cli.app, arguments[:6])
    assert isinstance(done.exception, LabError) and "x.yaml does not exist" in str(done.exception)


def test_lab_run_drives_the_written_workload(tmp_path: Path, plan_folder: Path, store: EvidenceStore) -> None:
    log = written(tmp_path, busy_log(40))
    workload = plan_folder / "workloads" / "mine.yaml"
    with recording() as (url, _):
        done = lab("traffic", str(log), "--tokenizer", url, "--workload", str(workload), "--requests", "16")
    assert done.returncode == 0, done.stderr
    faster(workload, 50.0)
    plan = plan_folder / "own.yaml"
    plan.write_text(SMALL_PLAN.replace(SMALL_PLAN.splitlines()[2], "workload: mine"), encoding="utf-8")
    record = run_one(load_plan(plan).runs[0], store)
    requests = [one for one in store.requests(record.run_id) if not one.warmup]
    assert [one.outcome for one in requests] == [Outcome.SUCCESS] * 16
    rows = [json.loads(line) for line in workload.with_suffix(".shape.jsonl").read_bytes().splitlines()]
    assert [one.asked_tokens for one in requests] == [one.completion_tokens for one in requests]
    assert [one.completion_tokens for one in requests] == [row["output_tokens"] for row in rows]
    assert record.spec.workload.content == "trace" and record.spec.workload.source_sha256 is not None
