"""The benchmark beside other clients: the truth is the server's, the error is what a client adds to it."""

from __future__ import annotations

from pathlib import Path

from lab.records import ChunkKind, Emission
from tests.load.peers import CLIENTS, Row, Said, _last, _true_tpot_s, _true_ttft_s, measure, table


def test_the_truth_begins_when_the_server_has_read_and_ends_when_it_sends_the_first_token() -> None:
    """Read at 10.0; a role at 10.1, tokens at 10.2, 10.3 and 10.4: 0.2 s to the first, 0.1 s for each further one."""
    kinds = (ChunkKind.ROLE, ChunkKind.CONTENT, ChunkKind.CONTENT, ChunkKind.CONTENT)
    sent = Emission(received_s=10.0, chunk_s=(10.1, 10.2, 10.3, 10.4), chunk_kind=kinds)
    assert round(_true_ttft_s(sent), 9) == 0.2
    assert round(_true_tpot_s(sent), 9) == 0.1


def test_requests_a_client_sent_to_try_the_server_are_not_the_measured_ones() -> None:
    sent = [Emission(received_s=at, chunk_s=(), chunk_kind=()) for at in (3.0, 1.0, 2.0)]
    assert [one.received_s for one in _last(sent, 2)] == [2.0, 3.0]


def test_the_ratio_is_the_error_over_the_error_of_the_lab() -> None:
    """Truth 50 ms: the lab reports 51, the other client 60, which is ten times as far off."""
    rows = [
        Row(client, 8, Said(reported, 0.02, 64), 0.05, 0.02, 1.0, 0.1)
        for client, reported in (("lab", 0.051), ("P", 0.060))
    ]
    own, other = table(rows).splitlines()[1:]
    assert "+1.0 ms" in own and own.split("ms")[3].split()[0] == "1.0"
    assert "+10.0 ms" in other and other.split("ms")[3].split()[0] == "10.0"


def test_the_lab_is_driven_as_a_client_among_clients(tmp_path: Path) -> None:
    row = measure(CLIENTS[0], 2, tmp_path)
    assert row.said.requests == 8
    assert row.ttft_error_s > 0
