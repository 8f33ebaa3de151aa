"""`lab hypotheses` in a terminal: the claims, what public evidence says of them, and the plan that tests one."""

from __future__ import annotations

from pathlib import Path

from lab.explain.hypotheses import read_hypotheses
from lab.report.messages import message
from tests.conftest import CHECKOUT
from tests.test_cli import lab

EVIDENCE = CHECKOUT / "reports" / "sample" / "evidence"


def flat(text: str) -> str:
    """The words of a table, wherever its lines broke."""
    cells = [line.split("│") for line in text.splitlines() if "│" in line]
    return " ".join(" ".join(row[place].strip() for row in cells if place < len(row)) for place in range(1, 7))


def test_claims_are_listed_in_both_languages() -> None:
    for lang in ("en", "ja"):
        done = lab("hypotheses", "--lang", lang)
        assert done.returncode == 0, done.stderr
        shown = flat(done.stdout).replace(" ", "")
        for claim in read_hypotheses():
            assert message(lang, f"claim-{claim.name}").replace(" ", "") in shown


def test_a_harness_check_gives_observations_and_never_a_verdict() -> None:
    done = lab("hypotheses", "--evidence", str(EVIDENCE))
    assert done.returncode == 0, done.stderr
    shown = flat(done.stdout)
    assert "observation, no verdict" in shown
    assert "no interval: one launch each" in shown
    assert "not measured here" in shown
    assert "holds here" not in shown and "does not hold" not in shown


def test_a_plan_is_written_for_the_users_own_model(tmp_path: Path) -> None:
    path = tmp_path / "claim.yaml"
    words = ("--model", "smollm2-135m-instruct-q4_1", "--engine", "llama.cpp", "--out", str(path))
    done = lab("hypotheses", "--plan", "prefix-sharing", *words)
    assert done.returncode == 0, done.stderr
    assert "prefix_caching: true" in path.read_text()
    done = lab("plan", str(path))
    assert done.returncode == 2
    assert "does preparation time" in done.stderr
    done = lab("hypotheses", "--plan", "prefix-sharing")
    assert (done.returncode, "needs --model" in done.stderr) == (2, True)
