"""`lab calibrate`: the instrument against the reference engine, on this machine, as a certificate."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

from lab.endpoint import Endpoint
from lab.engines import adapter_for
from lab.engines.base import Launch
from lab.engines.process import EngineProcess, free_port
from lab.engines.reference import PROGRAM, read_emissions
from lab.environment import capture
from lab.errors import EngineError, ParamsError
from lab.evidence import new_id
from lab.load.arrivals import schedule
from lab.load.driver import LevelJob, LoadJob, Progress, run_load
from lab.load.prompts import PATHS
from lab.metrics.instrument import LIMITS, check_instrument, valid_streams
from lab.records import Certificate, InstrumentLevel
from lab.scratch import scratch
from lab.spec import Rung
from lab.version import __version__

STREAMS = (1, 16, 64, 256, 1024)
"""Rungs of the ladder by default."""
TOKENS = 100
"""Of each answer: at 50 ticks a second a stream runs for two seconds."""
RATE_RPS = 50.0
"""Of the open-loop rung that measures the schedule error."""
RATE_S = 5.0
MODEL = "calibration"
TIMEOUT_S = 60.0


def calibrate(
    streams: tuple[int, ...] = STREAMS,
    workers: int = 1,
    on_progress: Callable[[Rung, Progress], None] = lambda _rung, _progress: None,
) -> Certificate:
    """Drive the reference engine over a ladder of streams and write down how exact the client was.

    Nothing else should run on the machine meanwhile: what disturbs the client is in the certificate.

    Args:
        streams: closed-loop rungs.
        workers: load processes.
        on_progress: told how far each rung is.

    Raises:
        ParamsError: a rung is not a positive number.
        EngineError: no answer of a rung could be matched with what the server says it sent.
    """
    if not streams or min(streams) < 1 or max(streams) > 65_536:
        raise ParamsError(f"streams are numbers from 1 to 65536, got {', '.join(map(str, streams)) or 'none'}")
    port = free_port()
    argv = (
        *PROGRAM, "--port", str(port), "--model", MODEL, "--no-prefix-caching",
        "--max-num-seqs", str(max(4096, *streams)),
    )  # fmt: skip
    with scratch("calibrate") as folder:
        launch = Launch(argv, {}, argv)
        with EngineProcess(adapter_for("reference"), launch, port, folder / "log") as engine:
            engine.wait_ready()
            rungs = [*(Rung(concurrency=count) for count in sorted(set(streams))), Rung(rate_rps=RATE_RPS)]
            levels = tuple(_measure(engine.endpoint, rung, workers, on_progress) for rung in rungs)
    year, week, _ = datetime.now(UTC).isocalendar()
    return Certificate(
        certificate_id=new_id("c"),
        lab_version=__version__,
        week=f"{year}-W{week:02d}",
        machine=capture().machine_class,
        workers=workers,
        limits=LIMITS,
        levels=levels,
        valid_streams=valid_streams(levels),
    )


def _measure(
    endpoint: Endpoint, rung: Rung, workers: int, on_progress: Callable[[Rung, Progress], None]
) -> InstrumentLevel:
    count = rung.concurrency or 0
    requests = max(2, min(4 * count, max(512, count))) if rung.concurrency else int(RATE_RPS * RATE_S)
    offsets = schedule("poisson", rung.rate_rps, requests, None, seed=1) if rung.rate_rps else None
    level = LevelJob(
        concurrency=rung.concurrency,
        bodies=tuple(_body(f"m{i}") for i in range(requests)),
        warmup=tuple(_body(f"w{i}") for i in range(min(4, count or 4))),
        asked_tokens=TOKENS,
        exact=True,
        offsets_s=offsets,
    )
    job = LoadJob(url=endpoint.url + "/v1", path=PATHS["chat"], levels=(level,), timeout_s=TIMEOUT_S, workers=workers)
    result = run_load(job, lambda progress: on_progress(rung, progress))
    (cost,) = result.costs
    checked = check_instrument(
        result.records,
        read_emissions(endpoint),
        rung=rung,
        zero_s=result.zero_s,
        cost=cost,
    )
    if checked is None:
        first = next((record.error for record in result.records if record.error), "no answer could be matched")
        raise EngineError(f"the rung of {rung.concurrency or rung.rate_rps} gave nothing to compare: {first}")
    return checked


def _body(mark: str) -> bytes:
    asked = {
        "model": MODEL,
        "messages": [{"role": "user", "content": f"calibration request {mark}"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": TOKENS,
        "ignore_eos": True,
    }
    return json.dumps(asked).encode()
