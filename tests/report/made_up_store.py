"""A store of made-up runs as large as wanted: engines P, Q, R, S, week after week, and the editions published so far.

Every bundle has the files and the sizes of a real run of the workload `chat`, about 1.6 MB. Numbers come from formulas
and a seed, so every run is of grade `synthetic`. Bundles of one engine share the bytes of their load, as many as
`VARIANTS` launches of it: what a publisher reads of old runs is their digests.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lab.environment import Environment, Gpu
from lab.evidence import REQUESTS_SCHEMA, EvidenceStore, Isolation, LaunchRecord, LoadFacts, Manifest, Status
from lab.publish.cells import CellState, ChosenMatch, PublicCell, PublicMatch
from lab.publish.evidence import PublicRun
from lab.publish.projection import project
from lab.publish.schedule import PublishFile
from lab.publish.weekly import Pages, publish_chosen
from lab.quality.replies import QualityItem
from lab.records import (
    Capabilities,
    Certificate,
    Check,
    Effective,
    Event,
    EvidenceGrade,
    How,
    LaunchSetting,
    Phase,
    Preparation,
    QualityResult,
    RunState,
)
from lab.spec import LaunchProfile, RunSpec, match_id
from lab.version import __version__
from tests.report.report_examples import certificate, run_id, sha

ENGINES = ("P", "Q", "R", "S")
LAUNCHES = 3
"""Fresh launches of each engine in a week: what a published cell needs."""
A_WEEK = LAUNCHES * len(ENGINES)
VARIANTS = 3
LAST = datetime(2026, 9, 29, 9, 0, tzinfo=UTC)
"""Tuesday of 2026-W40, the newest week."""
WEEK = "2026-W40"

RUNGS = (1, 4, 16, 64)
REQUESTS, TOKENS, INPUT = 256, 128, 512
NAMES = {
    "running": "made_up:requests_running",
    "waiting": "made_up:requests_waiting",
    "kv_use": "made_up:kv_cache_use",
    "prefix_hits": "made_up:prefix_hits_total",
    "prefix_queries": "made_up:prefix_queries_total",
}
OTHERS = 120
"""Further series on a metrics page, mostly buckets of histograms."""
SUITE: dict[str, tuple[str, int, float]] = {
    "arithmetic": ("number_match", 60, 0.8),
    "facts": ("exact_match", 60, 0.65),
    "json-schema": ("schema_valid", 30, 0.9),
}
"""Task to its metric, its items and about its score."""
WORDS = (
    "harbour ledger morning station copper weather garden letter window bridge orchard signal meadow engine-room "
    "teacher village lantern journey captain mountain library evening silver thunder market picture painter island"
).split()


class Made(NamedTuple):
    """A store, the match all its runs belong to, and the runs of each week, oldest first."""

    store: EvidenceStore
    match_id: str
    weeks: tuple[tuple[str, tuple[str, ...]], ...]


def spec_of(engine: str) -> RunSpec:
    """What one engine is asked: the workload `chat` in four rungs."""
    return RunSpec.model_validate(
        {
            "table": "comparison",
            "model": {
                "series": "Made-Up-8B", "revision": "v1", "weights_format": "safetensors",
                "weights_sha256": sha("weights"), "tokenizer": "folder", "chat_template": "in-weights",
            },
            "quantization": {"weights": "BF16", "activations": "BF16", "kv_cache": "BF16"},
            "context_limit": 4096,
            "engine": engine,
            "profile": LaunchProfile(name="equal", prefix_caching=True, max_num_seqs=64),
            "workload": {
                "name": "chat", "endpoint": "chat", "input_tokens": INPUT, "output_tokens": TOKENS,
                "exact_output": True,
                "concurrency": RUNGS, "requests_per_level": REQUESTS, "warmup_requests": 8, "timeout_s": 120, "seed": 1,
                "slo": {"ttft_s": 1.0, "tpot_s": 0.05},
            },
            "sampling": {
                "temperature": 0, "top_p": 1, "top_k": 0, "min_p": 0, "presence_penalty": 0, "frequency_penalty": 0,
                "repetition_penalty": 1, "seed": 1,
            },
            "quality": {"name": "smoke-mini", "version": "1.0.0", "sha256": sha("suite")},
            "preparation_counts": True,
            "cache_tier": "disk-cold",
            "isolation": "exclusive",
        }
    )  # fmt: skip


def make_store(folder: Path, runs: int) -> Made:
    """A store of so many runs; the newest week is whole where there are enough, the oldest one takes what is left."""
    store = EvidenceStore(folder)
    folder.mkdir(parents=True)
    specs = {engine: spec_of(engine) for engine in ENGINES}
    match = match_id(tuple(specs.values()))
    shared = {
        (engine, launch): _shared_files(engine, place, launch)
        for place, engine in enumerate(ENGINES)
        for launch in range(VARIANTS)
    }
    weeks: list[tuple[str, tuple[str, ...]]] = []
    left = runs
    for back in itertools.count():
        began = LAST - timedelta(weeks=back)
        year, number, _ = began.isocalendar()
        made = []
        for place, (engine, launch) in enumerate(itertools.product(ENGINES, range(LAUNCHES))):
            if place == left:
                break
            own = run_id(f"{engine}{launch}{back}")
            made.append(own)
            at = began + timedelta(minutes=10 * place)
            _write_bundle(folder / own, own, specs[engine], match, at, launch, shared[engine, launch % VARIANTS])
        weeks.append((f"{year}-W{number:02d}", tuple(made)))
        left -= len(made)
        if not left:
            return Made(store, match, tuple(reversed(weeks)))
    raise AssertionError  # count() never ends


def publish_file(match: str) -> str:
    """A `publish.yaml` that takes this match, by its name alone: no plan of the lab has engines P to S."""
    return f"time_zone: UTC\ncut_off: {{weekday: friday, time: '18:00'}}\nmatches: [{{match_id: {match}}}]\n"


def publish_history(made: Made, reports: Path, page: bytes) -> None:
    """Editions of every week but the newest, as they would stand there: evidence of their runs, pages of usual size.

    Args:
        made: the store.
        reports: where they go.
        page: stands for each page of a match; the pages around it are the real ones.
    """
    from lab.report.weekly import archive_pages, front_pages

    found = PublishFile.model_validate(
        {
            "time_zone": "UTC",
            "cut_off": {"weekday": "friday", "time": "18:00"},
            "matches": [{"match_id": made.match_id}],
        }
    )
    templates: dict[tuple[str, int], PublicRun] = {}
    newest = made.weeks[-1][1]
    for own in newest:
        public = project(made.store, own)
        templates[public.engine, sum(key[0] == public.engine for key in templates)] = public
    last = len(made.weeks) - 2
    for place, (week, ids) in enumerate(made.weeks[:-1]):
        public_runs = []
        for number, own in enumerate(ids):
            engine, launch = ENGINES[number // LAUNCHES], number % LAUNCHES
            changes = {"run_id": own, "week": week, "manifest_sha256": sha(own)}
            public_runs.append(templates[engine, launch].model_copy(update=changes))
        pages = Pages(
            match=lambda *_: {f"{lang}/index.html": page for lang in ("en", "ja")},
            front=front_pages,
            archive=archive_pages if place == last else lambda *_: {},
        )
        publish_chosen(_chosen(made.match_id, public_runs), found, week, reports, pages)


def _chosen(match: str, runs: list[PublicRun]) -> tuple[ChosenMatch, ...]:
    by_spec: dict[str, list[PublicRun]] = {}
    for run in runs:
        by_spec.setdefault(run.spec_digest, []).append(run)
    whole = {spec: launches for spec, launches in by_spec.items() if len(launches) == LAUNCHES}
    cells = tuple(
        PublicCell(
            engine=launches[0].engine, profile=launches[0].profile, spec_digest=spec, state=CellState.PUBLISHED,
            launches=len(launches), grade=EvidenceGrade.SYNTHETIC, run_ids=tuple(run.run_id for run in launches),
        )
        for spec, launches in whole.items()
    )  # fmt: skip
    public = PublicMatch(match_id=match, plan=None, table="comparison", cells=cells)
    return (ChosenMatch(match=public, runs=tuple(run for launches in whole.values() for run in launches)),)


def _write_bundle(
    folder: Path, own: str, spec: RunSpec, match: str, at: datetime, launch: int, shared: dict[str, bytes]
) -> None:
    status = Status(
        run_id=own, state=RunState.MEASURED, step="done", pid=4242, pid_started=1.0, started_at=at,
        ended_at=at + timedelta(minutes=8), plan="made-up", plan_digest="p-0123456789ab", match_id=match,
        varied=("engine",), repeat=launch, lab_version=__version__,
    )  # fmt: skip
    own_samples = shared["samples.jsonl"].replace(b"r-aaaaaaaaaa", own.encode())
    files = {
        **shared,
        "samples.jsonl": own_samples,
        "spec.json": spec.model_dump_json(indent=1).encode() + b"\n",
        "status.json": status.model_dump_json(indent=1).encode() + b"\n",
    }
    digests = {name: hashlib.sha256(payload).hexdigest() for name, payload in sorted(files.items())}
    manifest = Manifest(run_id=own, lab_version=__version__, files=digests)
    folder.mkdir()
    for name, payload in {**files, "manifest.json": manifest.model_dump_json(indent=1).encode()}.items():
        (folder / name).write_bytes(payload)


def _shared_files(engine: str, place: int, launch: int) -> dict[str, bytes]:
    """What the launches of one engine have in common over the weeks; times are those of its formulas."""
    random = np.random.default_rng([place, launch])
    slow = 1.0 + 0.12 * place + 0.01 * float(random.normal())
    requests, begins = _requests(random, slow)
    machine = Environment(
        hostname="made-up-host-01", user="made-up-user", home="/home/made-up-user", cwd="/home/made-up-user/lab",
        addresses=("198.51.100.7",), system="Linux", release="6.1", machine="x86_64", distribution="Made-Up 1",
        cpu_model="Made-Up CPU", cpu_cores=64, memory_bytes=512 * 2**30, python="3.11.7", packages={},
        gpus=(Gpu(name="Made-Up GPU", uuid=f"GPU-{sha('gpu')[:8]}-0000", driver="1.0", memory_mib=141_000),),
        gpu_reason=None, load_average=0.1, cgroup="0::/",
    )  # fmt: skip
    weights = "/srv/made-up-weights/made-up-8b"
    launch_record = LaunchRecord(
        engine_version="1.0.0",
        command=("engine", "--model", "<model>", "--port", "<port>"),
        argv=("/opt/made-up-venv/bin/engine", "--model", weights, "--port", "40123"),
        not_expressible=(),
        capabilities=Capabilities(
            checks=(
                Check(name="prompt-tokens", result="pass", detail="as counted", counts=(1, 38, 31)),
                Check(name="json-schema", result="pass", detail="valid"),
                Check(name="prefix-cache", result="pass", detail="second prompt was quicker"),
            )
        ),
        settings=(LaunchSetting.model_validate({"condition": "prefix_caching", "wanted": True, "how": How.SET}),),
        effective=tuple(
            Effective.model_validate({"condition": name, "value": value, "source": "its own page"})
            for name, value in {"kv_cache_dtype": "BF16", "context_limit": 4096, "prefix_caching": True}.items()
        ),
    )
    startup_s, build_s = 40.0 * slow, 900.0 if engine == "R" else None
    events = [
        ("launch", 0.0),
        ("ready", startup_s),
        ("first_request_sent", startup_s + 1),
        ("first_token", startup_s + 2),
    ]
    if build_s is not None:
        events = [("build_start", -build_s), ("build_end", 0.0), *events]
    preparation = Preparation(
        events=tuple(Event.model_validate({"name": name, "at_s": at_s}) for name, at_s in events),
        build_s=build_s, startup_s=startup_s, first_request_s=1.0, cache_tier="disk-cold", cache_state="disk-cold",
        cache_reason="the page cache was dropped",
        phases=(
            Phase(name="load_model", seconds=0.4 * startup_s, source="log"),
            Phase(name="compile", seconds=0.3 * startup_s, source="log"),
            Phase(name="capture_graphs", seconds=0.15 * startup_s, source="log"),
        ),
    )  # fmt: skip
    samples, quality = _answers(random, engine, place)
    log = "".join(f"INFO [{n:05d}] loaded shard {n} of /srv/made-up-weights/part-{n}.bin\n" for n in range(1200))
    load = LoadFacts(zero_s=0.0, complete=True, costs=(), metrics_reason=None, metric_names=NAMES)
    own = certificate(machine={**certificate()["machine"], "accelerator": "Made-Up GPU", "cpu_cores": 64})
    models: dict[str, Any] = {
        "environment.json": machine, "launch.json": launch_record, "preparation.json": preparation, "load.json": load,
        "quality.json": quality, "isolation.json": Isolation(other_cores_before=0.1, other_cores_after=0.1),
        "certificate.json": Certificate.model_validate(own),
    }  # fmt: skip
    return {
        **{name: model.model_dump_json(indent=1).encode() + b"\n" for name, model in models.items()},
        "requests.parquet": requests,
        "server_metrics.parquet": _server_metrics(random, begins),
        "host.parquet": _host(begins[-1]),
        "samples.jsonl": samples,
        "engine.log": log.encode(),
        "notebook.ipynb": json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode(),
    }


def _requests(random: np.random.Generator, slow: float) -> tuple[bytes, tuple[float, ...]]:
    """requests.parquet of a closed loop in which every stream sends its next request when the last one has ended."""
    rows: dict[str, list[Any]] = {name: [] for name in REQUESTS_SCHEMA.names}
    begins = [0.0]
    kinds = ["role", *["content"] * TOKENS, "finish", "usage"]
    for level, streams in enumerate(RUNGS):
        free = [begins[-1]] * streams
        for index in range(REQUESTS):
            stream = int(np.argmin(free))
            sent = free[stream]
            ttft = 0.045 * slow * (1 + streams / 24) * float(random.lognormal(0, 0.25))
            gaps = 0.009 * slow * (1 + streams / 50) * random.lognormal(0, 0.15, TOKENS - 1)
            tokens = sent + ttft + np.concatenate(([0.0], np.cumsum(gaps)))
            chunks = np.concatenate(([sent + 0.8 * ttft], tokens, [tokens[-1] + 1e-4, tokens[-1] + 2e-4])).round(6)
            free[stream] = end = float(chunks[-1]) + 1e-4
            words = random.integers(0, len(WORDS), 90)
            row = (
                level, index, f"{level}-{index}", None, False, sent, sent, float(chunks[0]), end, 200, chunks, kinds,
                INPUT + 12, 0, TOKENS, TOKENS, "length", "success", None, " ".join(WORDS[word] for word in words),
            )  # fmt: skip
            for name, value in zip(rows, row, strict=True):
                rows[name].append(value)
        begins.append(max(free) + 1.0)
    return _parquet(pa.table(rows, schema=REQUESTS_SCHEMA)), tuple(begins)


def _server_metrics(random: np.random.Generator, begins: tuple[float, ...]) -> bytes:
    """A page of metrics once a second: what the lab reads, and everything else such a page holds."""
    at_s, name, value = [], [], []
    seconds = np.arange(0.0, begins[-1], 1.0)
    names = [*NAMES.values(), *(f'made_up:latency_bucket{{le="{n}"}}' for n in range(OTHERS))]
    for second in seconds:
        load = RUNGS[sum(begin <= second for begin in begins[:-1]) - 1]
        kv = 0.01 * load + 0.002 * float(random.random())
        values = [load, max(0, load - 48), kv, 400.0 * second, 900.0 * second, *[second * 7.0] * OTHERS]
        at_s += [float(second)] * len(names)
        name += names
        value += values
    return _parquet(pa.table({"at_s": at_s, "name": name, "value": pa.array(value, pa.float64())}))


def _host(end_s: float) -> bytes:
    at_s = np.arange(0.0, end_s, 1.0)
    steady = {"engine_cores": 3.5, "engine_rss_mib": 8000.0, "other_cores": 0.1}
    return _parquet(pa.table({"at_s": at_s, **{key: np.full(len(at_s), number) for key, number in steady.items()}}))


def _answers(random: np.random.Generator, engine: str, place: int) -> tuple[bytes, QualityResult]:
    lines, tasks = [], []
    for task, (metric, n, about) in SUITE.items():
        scores = (random.random(n) < about - 0.02 * place).astype(float)
        for item, score in enumerate(scores):
            text = " ".join(WORDS[word] for word in random.integers(0, len(WORDS), 12))
            lines.append(
                QualityItem(
                    run_id="r-aaaaaaaaaa", suite="smoke-mini", version="1.0.0", task=task, item_id=f"i{item}",
                    text=text, score=float(score), outcome="success", prompt_tokens=60,
                ).model_dump_json()
            )  # fmt: skip
        tasks.append(
            {
                "task": task, "metric": metric, "n": n, "unscored": {}, "score": scores.mean(), "lane": "chat",
                "stderr": float(scores.std(ddof=1) / np.sqrt(n)), "answered_score": scores.mean(),
            }
        )  # fmt: skip
    result = {
        "suite": "smoke-mini", "version": "1.0.0", "suite_sha256": sha("suite"), "lm_eval_version": "0.4.13",
        "tasks": tasks, "seconds": 60.0,
    }  # fmt: skip
    return "".join(line + "\n" for line in lines).encode(), QualityResult.model_validate(result)


def _parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()
