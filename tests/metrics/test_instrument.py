"""The instrument's own error, from numbers a reader can subtract."""

from __future__ import annotations

import pytest

from lab.metrics.instrument import Emission, check_instrument
from lab.records import ChunkKind, Outcome, RequestRecord

KINDS = (ChunkKind.ROLE, ChunkKind.CONTENT, ChunkKind.CONTENT)


def test_error_and_lag_are_differences_on_one_clock() -> None:
    # the server sent chunks at 100.1, 100.1, 100.2 and had read the request at 100.0: true TTFT 0.1
    emission = Emission(received_s=100.0, chunk_s=(100.1, 100.1, 100.2), chunk_kind=KINDS)
    # the client's clock counts from 99.9: sent at 0.099, saw chunks at 0.202, 0.202, 0.304: measured TTFT 0.103
    seen = RequestRecord(
        level=0, index=0, request_id="a", intended_send_s=0.099, send_s=0.099, end_s=0.4, status=200,
        chunk_s=(0.202, 0.202, 0.304), chunk_kind=KINDS, completion_tokens=2, asked_tokens=2, outcome=Outcome.SUCCESS,
    )  # fmt: skip
    check = check_instrument([seen], {"a": emission}, concurrency=1, zero_s=99.9, cpu_s=0.003)
    assert check is not None
    assert check.ttft_true_s == pytest.approx(0.1)
    assert check.ttft_error_s == pytest.approx(0.003)
    assert check.chunk_lag_p50_s == pytest.approx(0.002)
    assert (check.chunks, check.client_cpu_s_per_chunk) == (3, 0.001)


def test_what_cannot_be_matched_chunk_by_chunk_is_not_judged() -> None:
    emission = Emission(received_s=0.0, chunk_s=(0.1,), chunk_kind=(ChunkKind.CONTENT,))
    seen = RequestRecord(
        level=0, index=0, request_id="a", intended_send_s=0, send_s=0, chunk_s=(0.1, 0.2), chunk_kind=KINDS[:2],
        asked_tokens=2, outcome=Outcome.SUCCESS,
    )  # fmt: skip
    assert check_instrument([seen], {"a": emission}, concurrency=1, zero_s=0, cpu_s=None) is None
