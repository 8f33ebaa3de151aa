"""The load process: closed loop, connections, limits, and its end when the parent goes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lab.load.driver import LevelJob, LoadJob, Progress, run_load
from lab.records import Outcome

ANSWER = (
    b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\ndata: [DONE]\n\n'
)


class Counting(BaseHTTPRequestHandler):
    """Answers at once and notes who was in flight."""

    protocol_version = "HTTP/1.1"
    lock = threading.Lock()
    in_flight = most = connections = 0
    seen: list[str]
    gate: threading.Barrier | None = None
    lies_about_keep_alive = False

    def setup(self) -> None:
        super().setup()
        with self.lock:
            type(self).connections += 1

    def do_POST(self) -> None:
        cls = type(self)
        with self.lock:
            cls.in_flight += 1
            cls.most = max(cls.most, cls.in_flight)
            cls.seen.append(self.headers["X-Request-Id"])
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.gate is not None:
            self.gate.wait(10)
        with self.lock:
            cls.in_flight -= 1
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)
        if self.lies_about_keep_alive:
            self.wfile.flush()
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def counting(gate: threading.Barrier | None = None, lies: bool = False) -> Iterator[tuple[str, type[Counting]]]:
    handler = type("Handler", (Counting,), {"seen": [], "gate": gate, "lies_about_keep_alive": lies})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", handler
    finally:
        server.shutdown()
        server.server_close()


def job(url: str, *levels: LevelJob, timeout_s: float = 20.0) -> LoadJob:
    return LoadJob(url=url, path="/chat/completions", levels=levels, timeout_s=timeout_s)


def test_exactly_the_target_is_in_flight_and_every_request_is_sent_once() -> None:
    # the server answers only when three requests wait at once: fewer in flight would hang, more would show in `most`
    with counting(gate=threading.Barrier(3)) as (url, server):
        result = run_load(job(url, LevelJob(3, (b"{}",) * 9)))
        assert [record.outcome for record in result.records] == [Outcome.SUCCESS] * 9
        assert server.most == 3
        assert sorted(server.seen) == sorted(record.request_id for record in result.records)
        assert len(set(server.seen)) == 9


def test_warm_up_comes_first_and_is_marked() -> None:
    with counting() as (url, server):
        result = run_load(job(url, LevelJob(2, (b"{}",) * 3, warmup=(b"{}",) * 2)))
    assert [record.warmup for record in result.records] == [True, True, False, False, False]
    assert {seen.split("-")[2][0] for seen in server.seen[:2]} == {"w"}
    assert max(r.send_s for r in result.records[:2]) < min(r.send_s for r in result.records[2:])


def test_a_server_that_closes_after_each_stream_costs_no_request() -> None:
    with counting(lies=True) as (url, server):
        result = run_load(job(url, LevelJob(2, (b"{}",) * 12)))
    assert {record.outcome for record in result.records} == {Outcome.SUCCESS}
    assert len(server.seen) == 12


def test_progress_ends_with_everything_done() -> None:
    told: list[Progress] = []
    with counting() as (url, _):
        run_load(job(url, LevelJob(1, (b"{}",) * 2), LevelJob(2, (b"{}",) * 4)), told.append)
    assert (told[-1].level, told[-1].done, told[-1].total, told[-1].tokens) == (1, 4, 4, 4)


def test_nobody_listening_is_a_connection_failure_in_every_record() -> None:
    with counting() as (url, _):
        pass
    result = run_load(job(url, LevelJob(2, (b"{}",) * 4)))
    assert [record.outcome for record in result.records] == [Outcome.CONNECTION] * 4
    assert all(record.error and "connect" in record.error for record in result.records)


def test_the_load_process_imports_nothing_heavy() -> None:
    code = "import sys, json, lab.load.worker; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert loaded.isdisjoint({"pandas", "numpy", "lm_eval", "pydantic", "pyarrow", "rich", "typer", "altair", "scipy"})


def test_the_load_process_ends_when_its_parent_lets_go(tmp_path: object) -> None:
    with counting(gate=threading.Barrier(99)) as (url, _):
        path = f"{tmp_path}/job.json"
        with open(path, "w", encoding="utf-8") as out:
            json.dump(
                {
                    "url": url, "path": "/chat/completions", "headers": [], "timeout_s": 60, "name": "x",
                    "levels": [{"slots": 1, "bodies": [[0, "{}"]], "warmup": [], "offsets": None, "duration_s": None}],
                },
                out,
            )  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "lab.load.worker", path, f"{tmp_path}/spool"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()  # it is ready
        process.stdin.write(b"go 0\n")
        process.stdin.flush()
        process.stdout.readline()  # the load runs
        process.stdin.close()
        assert process.wait(20) == 3
        process.stdout.close()
