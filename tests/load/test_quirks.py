"""Every quirk of a real server ends in the right outcome and never in a wrong number.

All scenarios of `misbehaving.py` are asked once, through the real client in its own process; each test looks
at the record of one. Pauses are checked as lower bounds only: the machines that run this are shared.
"""

from __future__ import annotations

import json
import socket

import pytest

from lab.load.driver import LevelJob, LoadJob, run_load
from lab.records import Outcome, RequestRecord
from tests.load.misbehaving import HOSTILE, KINDS, SCENARIOS, MisbehavingServer, Scenario

TIMEOUT_S = 5.0
TOGETHER = 32


class Seen(dict[str, RequestRecord]):
    """The record of each scenario, and what the server saw."""

    requests: dict[str, int]


@pytest.fixture(scope="module")
def seen() -> Seen:
    """All scenarios, one job for each route and one level for each kind of length."""
    records = Seen()
    with MisbehavingServer() as server:
        for route in sorted({scenario.route for scenario in SCENARIOS}):
            groups = [
                group
                for exact in (True, False)
                if (group := [scenario for scenario in SCENARIOS if (scenario.route, scenario.exact) == (route, exact)])
            ]
            levels = tuple(
                LevelJob(
                    concurrency=min(TOGETHER, len(group)),
                    asked_tokens=4,
                    exact=group[0].exact,
                    bodies=tuple(json.dumps({"scenario": scenario.name}).encode() for scenario in group),
                )
                for group in groups
            )
            url = f"http://127.0.0.1:{server.port}/v1"
            for record in run_load(LoadJob(url=url, path=route, levels=levels, timeout_s=TIMEOUT_S)).records:
                records[groups[record.level][record.index].name] = record
        records.requests = dict(server.asked)
    return records


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
def test_the_record_says_what_happened(seen: Seen, scenario: Scenario) -> None:
    check(seen[scenario.name], scenario)


@pytest.mark.parametrize("scenario", HOSTILE, ids=[scenario.name for scenario in HOSTILE])
def test_a_hostile_answer_costs_its_own_record_only(scenario: Scenario) -> None:
    bodies = tuple(json.dumps({"scenario": name}).encode() for name in ("plain", scenario.name, "plain"))
    level = LevelJob(concurrency=1, bodies=bodies, asked_tokens=4, exact=True)
    with MisbehavingServer() as server:
        url = f"http://127.0.0.1:{server.port}/v1"
        before, record, after = run_load(LoadJob(url=url, path=scenario.route, levels=(level,))).records
    assert before.outcome is after.outcome is Outcome.SUCCESS
    check(record, scenario)


def check(record: RequestRecord, scenario: Scenario) -> None:
    assert (record.outcome, record.error and scenario.error in record.error) == (
        scenario.outcome,
        None if scenario.outcome is Outcome.SUCCESS else True,
    ), record.error
    assert record.status == scenario.status
    assert record.chunk_kind == tuple(KINDS[letter] for letter in scenario.kinds)
    assert record.completion_tokens == scenario.tokens
    assert record.text == scenario.text
    assert record.finish_reason == scenario.finish


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
def test_no_time_is_invented(seen: Seen, scenario: Scenario) -> None:
    record = seen[scenario.name]
    assert record.end_s is not None
    moments = [record.send_s, *([] if record.first_byte_s is None else [record.first_byte_s]), *record.chunk_s]
    assert moments == sorted(moments) and moments[-1] <= record.end_s
    assert (record.first_byte_s is None) <= (record.chunk_s == ())
    if scenario.waits_s:
        assert record.token_s[0] - record.send_s >= scenario.waits_s
    if scenario.outcome is Outcome.TIMEOUT:
        assert record.end_s - record.send_s >= TIMEOUT_S * 0.9


def test_no_request_is_sent_twice(seen: Seen) -> None:
    assert seen.requests == {scenario.name: 1 for scenario in SCENARIOS}


def test_a_buffered_stream_arrives_at_one_moment(seen: Seen) -> None:
    assert len(set(seen["buffering proxy"].token_s)) == 1


def test_a_connection_that_is_refused_is_a_record_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    level = LevelJob(concurrency=2, bodies=(b"{}",) * 4, asked_tokens=4, exact=True)
    job = LoadJob(url=f"http://127.0.0.1:{port}/v1", path="/chat/completions", levels=(level,), timeout_s=TIMEOUT_S)
    assert [record.outcome for record in run_load(job).records] == [Outcome.CONNECTION] * 4
