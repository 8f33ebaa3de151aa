"""Two synthetic weeks, a real small store, and everything that must not happen twice, silently or half."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lab.errors import EvidenceDamaged, LeakFound, ParamsError
from lab.evidence import EvidenceStore
from lab.plan import load_plan
from lab.publish.archive import Edition, editions
from lab.publish.cells import CellState, ChosenMatch, LeftOut, PublicCell, PublicMatch
from lab.publish.changes import CellName, EditionName
from lab.publish.evidence import PublicRun
from lab.publish.gate import PrivateFact
from lab.publish.schedule import (
    cut_off,
    due_week,
    read_publish_file,
    wanted_matches,
)
from lab.publish.weekly import Pages, Published, only_one, publish_chosen, publish_week
from lab.report.edition import edition_pages
from lab.report.weekly import archive_pages, front_pages
from lab.report.words import ranking_words
from lab.run import run_one
from tests.conftest import CHECKOUT, SMALL_PLAN
from tests.publish.canaries import page as page_of
from tests.publish.weekly_examples import MATCH, WHY, directly, publish_file
from tests.report.report_examples import level, run

REAL = edition_pages({}, building=directly)
PAGES = Pages(
    match=lambda edition, runs, _: {"en/index.html": page_of(" ".join(one.run_id for one in runs))},
    front=front_pages,
    archive=archive_pages,
)
"""The same with reports of matches that take no second; they have tests of their own."""


def launches(engine: str, week: str, *rates: float) -> tuple[PublicRun, ...]:
    """Fresh launches of one engine at one concurrency, with these outputs a second."""
    return tuple(
        run(engine, "base", f"{week}-{place}", week=week, levels=[level(1, rate)], quality=None,
            quality_reason="not-measured")
        for place, rate in enumerate(rates)
    )  # fmt: skip


def chosen(*columns: tuple[PublicRun, ...], planned: str = "") -> tuple[ChosenMatch, ...]:
    """One match with a published cell for each column, and a planned one."""
    cells = [
        PublicCell(
            engine=runs[0].engine, profile=runs[0].profile, spec_digest=runs[0].spec_digest,
            state=CellState.PUBLISHED, launches=len(runs), grade=runs[0].grade,
            run_ids=tuple(one.run_id for one in runs),
        )
        for runs in columns
    ]  # fmt: skip
    if planned:
        one = run(planned, "base")
        cells.append(
            PublicCell(engine=planned, profile=one.profile, spec_digest=one.spec_digest, state=CellState.MEASURED,
                       launches=1, left_out={LeftOut.WITHDRAWN: 2})
        )  # fmt: skip
    match = PublicMatch(match_id=MATCH, plan=None, table="pipeline-check", cells=tuple(cells))
    return (ChosenMatch(match=match, runs=tuple(one for runs in columns for one in runs)),)


FIRST = (launches("P", "2026-W49", 100.0, 101.0, 102.0), launches("Q", "2026-W49", 50.0, 51.0, 52.0))
SECOND_P = launches("P", "2026-W50", 101.0, 102.0, 103.0)
"""One token a second more, with a spread of one: within noise."""
SECOND_Q = launches("Q", "2026-W50", 60.0, 61.0, 62.0)
"""Ten more, with a spread of one: not noise."""
WITHDRAWN = FIRST[1][0].run_id
KNOWN = {
    WITHDRAWN: CellName(match_id=MATCH, engine="Q", profile="base", spec_digest=FIRST[1][0].spec_digest),
}


def publish(folder: Path, week: str, what: tuple[ChosenMatch, ...], **changes: object) -> Published:
    found = publish_file(**changes)
    known = KNOWN if found.withdrawn else {}
    return publish_chosen(what, found, week, folder, PAGES, known=known)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_a_value_within_noise_is_counted_and_one_beyond_it_is_listed(tmp_path: Path) -> None:
    publish(tmp_path, "2026-W49", chosen(*FIRST))
    news = publish(tmp_path, "2026-W50", chosen(SECOND_P, SECOND_Q)).edition.news
    assert news.since == EditionName(week="2026-W49", revision=1)
    moved = [(one.cell.engine, one.metric, one.before, one.after) for one in news.changed]
    assert moved == [("Q", "output_tok_per_s", 51.0, 61.0)]
    assert news.changed[0].low < 10 < news.changed[0].high
    # nobody measured the quality of either week, and the page says so beside the speed that moved
    assert [(one.cell.engine, one.startup, one.quality) for one in news.beside] == [("Q", "within", "incomparable")]
    # P: output; both: TTFT, TPOT and start-up, which did not move at all
    assert news.within == 1 + 2 * 3
    page = (tmp_path / "2026-W50/r1/en/index.html").read_text(encoding="utf-8")
    assert "scatter since 2026-W49, revision 1: 1." in page and "Values within noise: 7." in page
    assert "start: within noise" in page and "quality: nothing to set against the week before" in page
    assert "+10.0" not in page  # the interval is printed, not a bare difference


def test_a_withdrawn_run_is_shown_with_its_reason_and_its_old_revision_stays(tmp_path: Path) -> None:
    publish(tmp_path, "2026-W49", chosen(*FIRST))
    before = files(tmp_path / "2026-W49" / "r1")
    withdrawn = [{"run_id": WITHDRAWN, "reason": WHY}]
    done = publish(tmp_path, "2026-W50", chosen(SECOND_P, planned="Q"), withdrawn=withdrawn)
    news = done.edition.news
    assert news.withdrawn == (WITHDRAWN,)
    assert [(gone.cell.engine, gone.state) for gone in news.gone] == [("Q", CellState.MEASURED)]
    assert done.stale == (EditionName(week="2026-W49", revision=1),)
    for lang, reason in WHY.items():
        page = (tmp_path / f"2026-W50/r1/{lang}/index.html").read_text(encoding="utf-8")
        assert reason in page and WITHDRAWN in page
        assert WITHDRAWN in (tmp_path / lang / "index.html").read_text(encoding="utf-8")
    corrected = publish(tmp_path, "2026-W49", chosen(FIRST[0], planned="Q"), withdrawn=withdrawn)
    assert (corrected.edition.revision, corrected.stale) == (2, ())
    assert corrected.edition.correction is not None
    assert set(corrected.edition.correction.removed) == {one.run_id for one in FIRST[1]}
    assert files(tmp_path / "2026-W49" / "r1") == before
    pointer = (tmp_path / "2026-W49" / "index.html").read_text(encoding="utf-8")
    assert pointer.index("r2/en/index.html") < pointer.index("r1/en/index.html")
    assert "../2026-W50/r1/ja/index.html" in (tmp_path / "latest" / "index.html").read_text(encoding="utf-8")


def test_the_same_inputs_make_no_new_revision(tmp_path: Path) -> None:
    assert publish(tmp_path, "2026-W49", chosen(*FIRST)).fresh
    written = files(tmp_path)
    assert not publish(tmp_path, "2026-W49", chosen(*FIRST)).fresh
    assert files(tmp_path) == written


def test_the_teams_own_correction_makes_a_revision_with_its_words(tmp_path: Path) -> None:
    publish(tmp_path, "2026-W49", chosen(*FIRST))
    said = {"2026-W49": {"en": "A label was wrong.", "ja": "ラベルに誤りがありました。"}}
    assert publish(tmp_path, "2026-W49", chosen(*FIRST), corrections=said).edition.revision == 2
    assert "A label was wrong." in (tmp_path / "2026-W49/r2/en/index.html").read_text(encoding="utf-8")
    assert not publish(tmp_path, "2026-W49", chosen(*FIRST), corrections=said).fresh


def test_a_week_without_news_says_so_and_so_does_the_first(tmp_path: Path) -> None:
    publish(tmp_path, "2026-W49", chosen(*FIRST))
    assert publish(tmp_path, "2026-W50", chosen(*FIRST)).edition.news.quiet
    said = [(tmp_path / f"{week}/r1/en/index.html").read_text(encoding="utf-8") for week in ("2026-W49", "2026-W50")]
    assert "There is no edition of an earlier week" in said[0]
    assert "No news since 2026-W49, revision 1." in said[1]


def test_an_edition_holds_a_digest_of_each_file_and_its_evidence_gives_the_page_again(tmp_path: Path) -> None:
    import hashlib

    publish(tmp_path, "2026-W49", chosen(*FIRST))
    edition = tmp_path / "2026-W49" / "r1"
    manifest = json.loads((edition / "manifest.json").read_text(encoding="utf-8"))
    there = files(edition)
    del there["manifest.json"]
    assert manifest["files"] == {name: hashlib.sha256(payload).hexdigest() for name, payload in there.items()}
    again = Edition.model_validate_json(there["evidence/edition.json"])
    assert front_pages(again, chosen(*FIRST)[0].runs)["ja/index.html"] == there["ja/index.html"]
    assert f"{MATCH}/evidence/{FIRST[0][0].run_id}.json" in there


def test_nothing_is_built_on_an_edition_that_was_touched(tmp_path: Path) -> None:
    publish(tmp_path, "2026-W49", chosen(*FIRST))
    with (tmp_path / "2026-W49/r1/en/index.html").open("a") as page:
        page.write("<p>one more sentence</p>")
    with pytest.raises(EvidenceDamaged, match=r"en/index\.html"):
        publish(tmp_path, "2026-W50", chosen(SECOND_P))
    assert not (tmp_path / "2026-W50").exists()


def test_a_link_that_was_put_into_an_edition_is_noticed(tmp_path: Path) -> None:
    publish(tmp_path, "2026-W49", chosen(*FIRST))
    (tmp_path / "2026-W49" / "r1" / "more").symlink_to("/etc")
    with pytest.raises(EvidenceDamaged, match="not as it was published: more"):
        publish(tmp_path, "2026-W50", chosen(SECOND_P, SECOND_Q))


def test_a_leak_anywhere_publishes_nothing(tmp_path: Path) -> None:
    publish(tmp_path, "2026-W49", chosen(*FIRST))
    written = files(tmp_path)
    facts = [PrivateFact(kind="host name", value="gpu-box-07")]
    reason = {"en": "gpu-box-07 was busy.", "ja": "取り込み中でした。"}
    found = publish_file(withdrawn=[{"run_id": WITHDRAWN, "reason": reason}])
    with pytest.raises(LeakFound, match="host name"):
        publish_chosen(chosen(SECOND_P), found, "2026-W50", tmp_path, PAGES, facts, known=KNOWN)
    assert files(tmp_path) == written
    assert not (tmp_path / "2026-W50").exists()


def test_an_index_that_lies_there_is_not_published_again_and_one_that_changed_goes_through_the_gate(
    tmp_path: Path,
) -> None:
    def publish_with(old: str, week: str, *facts: PrivateFact) -> Published:
        pages = Pages(match=PAGES.match, front=front_pages, archive=lambda *_: {"2026-W01/index.html": page_of(old)})
        return publish_chosen(chosen(*FIRST), publish_file(), week, tmp_path, pages, facts)

    learned = PrivateFact(kind="host name", value="gpu-box-07")
    publish_with("gpu-box-07", "2026-W49")
    assert publish_with("gpu-box-07", "2026-W50", learned).fresh
    with pytest.raises(LeakFound, match="host name"):
        publish_with("gpu-box-07 again", "2026-W51", learned)
    assert not (tmp_path / "2026-W51").exists()


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    done = publish_chosen(chosen(*FIRST), publish_file(), "2026-W49", folder, PAGES, dry_run=True)
    assert done.fresh and not folder.exists()


def test_a_second_publisher_steps_aside(tmp_path: Path) -> None:
    with only_one(tmp_path) as first, only_one(tmp_path) as second:
        assert (first, second) == (True, False)
    with only_one(tmp_path) as later:
        assert later


def test_an_unknown_withdrawn_run_is_refused_instead_of_passed_over(tmp_path: Path) -> None:
    found = publish_file(withdrawn=[{"run_id": "r-aaaaaaaaaa", "reason": WHY}])
    with pytest.raises(ParamsError, match="neither in the store nor in a published edition"):
        publish_chosen(chosen(*FIRST), found, "2026-W49", tmp_path, PAGES)


def test_pages_around_an_edition_never_rank(tmp_path: Path) -> None:
    publish(tmp_path, "2026-W49", chosen(*FIRST, planned="R"))
    for page in tmp_path.glob("**/index.html"):
        assert ranking_words(page.read_text(encoding="utf-8").partition("</style>")[2]) == (), page


# ---------------------------------------------------------------- when


def test_the_cut_off_is_read_in_its_time_zone() -> None:
    # friday of 2026-W49 is 4 December; 18:00 in Tokyo is 09:00 UTC
    assert cut_off("2026-W49", publish_file()) == datetime(2026, 12, 4, 9, 0, tzinfo=UTC)
    with pytest.raises(ParamsError, match="2026-W54"):
        cut_off("2026-W54", publish_file())


def test_the_week_due_is_the_newest_whose_cut_off_has_passed() -> None:
    moment = datetime(2026, 12, 4, 9, 0, tzinfo=UTC)
    assert due_week(moment, publish_file()) == "2026-W49"
    assert due_week(moment - timedelta(seconds=1), publish_file()) == "2026-W48"


def test_a_publish_file_is_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "publish.yaml"
    good = "time_zone: Asia/Tokyo\ncut_off: {weekday: friday, time: 18:00}\nmatches: [{plan: harness-check}]\n"
    path.write_text(good, encoding="utf-8")
    assert read_publish_file(path).cut_off.time == "18:00"  # YAML reads a bare 18:00 as 1080
    for change, words in (
        (("Asia/Tokyo", "Asia/Tokio"), "did you mean Asia/Tokyo"),
        (("{plan: harness-check}", "{}"), "names nothing"),
        (("friday", "freitag"), "weekday"),
        (("matches:", "identity: {machine: class}\nmatches:"), "one policy for every command"),
    ):
        path.write_text(good.replace(*change), encoding="utf-8")
        with pytest.raises(ParamsError, match=words):
            read_publish_file(path)


def test_the_shipped_publish_file_names_plans_that_can_be_followed() -> None:
    wanted = wanted_matches(read_publish_file())
    assert [(one.plan, one.table, len(one.planned)) for one in wanted] == [("four-columns", "comparison", 4)]


def test_a_match_that_its_plan_does_not_have_is_refused() -> None:
    found = publish_file(matches=[{"plan": "harness-check", "match_id": "m-000000000000"}])
    with pytest.raises(ParamsError, match="has no match m-000000000000; it has: m-"):
        wanted_matches(found)


# ---------------------------------------------------------------- out of a store


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[EvidenceStore, Path]:
    """Three launches of the small plan; tests that change it copy it."""
    folder = tmp_path_factory.mktemp("plan") / "params"
    folder.mkdir()
    for piece in ("models", "engines", "workloads", "quality"):
        (folder / piece).symlink_to(CHECKOUT / "params" / piece)
    (folder / "small.yaml").write_text(SMALL_PLAN, encoding="utf-8")
    store = EvidenceStore(tmp_path_factory.mktemp("store"))
    planned = load_plan(folder / "small.yaml").runs[0]
    for repeat in range(3):
        run_one(planned.model_copy(update={"repeat": repeat}), store)
    return store, folder


def test_three_fresh_launches_are_published_and_fewer_say_what_is_missing(
    measured: tuple[EvidenceStore, Path], tmp_path: Path
) -> None:
    store, params = measured
    late = datetime.now(UTC) + timedelta(days=30)
    first = store.run_ids()[0]
    entry = {"matches": [{"plan": "small"}]}
    found = publish_file(**entry)
    wanted = wanted_matches(found, params)
    week = due_week(late, found)
    done = publish_week(store, found, wanted, week, tmp_path, REAL, late)
    (cell,) = done.edition.matches[0].cells
    assert (cell.state, cell.launches, set(cell.run_ids)) == (CellState.PUBLISHED, 3, set(store.run_ids()))
    report = tmp_path / week / "r1" / wanted[0].match_id
    assert (report / "en" / "index.html").is_file() and len(list((report / "evidence").iterdir())) == 3
    assert not publish_week(store, found, wanted, week, tmp_path, PAGES, late).fresh

    found = publish_file(**entry, withdrawn=[{"run_id": first, "reason": WHY}])
    done = publish_week(store, found, wanted, week, tmp_path, PAGES, late)
    (cell,) = done.edition.matches[0].cells
    assert (done.edition.revision, cell.state, cell.launches) == (2, CellState.MEASURED, 2)
    assert (cell.left_out, cell.run_ids) == ({LeftOut.WITHDRAWN: 1}, ())
    assert not (tmp_path / week / "r2" / wanted[0].match_id).exists()
    assert [one.week for one in editions(tmp_path)] == [week, week]


def test_the_command_says_what_it_did_and_steps_aside_for_another(
    measured: tuple[EvidenceStore, Path], tmp_path: Path
) -> None:
    store, params = measured
    file = params / "publish.yaml"
    file.write_text(
        "time_zone: UTC\ncut_off: {weekday: monday, time: '00:00'}\nmatches: [{plan: small}]\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "lab.cli", "publish", "--params", str(file), "--runs-dir", str(store.root),
               "--out", str(tmp_path / "reports")]  # fmt: skip

    def said() -> str:
        seen = subprocess.run(command, capture_output=True, text=True, cwd=CHECKOUT, check=False)
        assert (seen.returncode, seen.stderr) == (0, "")
        return seen.stdout

    assert "r1: published" in said()
    assert "the same inputs make no new revision" in said()
    command.append("--quiet")
    assert said() == ""
    with only_one(tmp_path / "reports"):
        assert said() == ""
        command.remove("--quiet")
        assert "this one steps aside" in said()
    command += ["--week", "2099-W01"]
    seen = subprocess.run(command, capture_output=True, text=True, cwd=CHECKOUT, check=False)
    assert seen.returncode == 2 and "lies ahead" in seen.stderr


def test_the_handout_of_real_runs_lies_beside_their_evidence(
    measured: tuple[EvidenceStore, Path], tmp_path: Path
) -> None:
    store, _ = measured
    command = [sys.executable, "-m", "lab.cli", "handout", *store.run_ids(), "--runs-dir", str(store.root),
               "--out", str(tmp_path / "handout"), "--lang", "ja"]  # fmt: skip
    seen = subprocess.run(command, capture_output=True, text=True, cwd=CHECKOUT, check=False)
    assert (seen.returncode, seen.stderr) == (0, "")
    page = (tmp_path / "handout" / "ja" / "index.html").read_text(encoding="utf-8")
    for run_id in store.run_ids():
        public = PublicRun.model_validate_json((tmp_path / "handout" / "evidence" / f"{run_id}.json").read_bytes())
        assert f'id="sheet-{run_id}"' in page and public.manifest_sha256 in page


def test_a_withdrawn_run_of_a_later_week_makes_no_revision(
    measured: tuple[EvidenceStore, Path], tmp_path: Path
) -> None:
    store, params = measured
    entry = {"matches": [{"plan": "small"}]}
    wanted, now = wanted_matches(publish_file(**entry), params), datetime.now(UTC)
    assert publish_week(store, publish_file(**entry), wanted, "2026-W01", tmp_path, PAGES, now).fresh
    found = publish_file(**entry, withdrawn=[{"run_id": store.run_ids()[0], "reason": WHY}])
    assert not publish_week(store, found, wanted, "2026-W01", tmp_path, PAGES, now).fresh


def test_a_run_that_ended_after_the_cut_off_waits_for_the_next_week(
    measured: tuple[EvidenceStore, Path], tmp_path: Path
) -> None:
    store, params = measured
    found = publish_file(matches=[{"plan": "small"}])
    wanted = wanted_matches(found, params)
    now = datetime.now(UTC)
    done = publish_week(store, found, wanted, "2026-W01", tmp_path, PAGES, now)
    assert [cell.state for cell in done.edition.matches[0].cells] == [CellState.PLANNED]
    with pytest.raises(ParamsError, match="lies ahead"):
        publish_week(store, found, wanted, due_week(now + timedelta(days=14), found), tmp_path, PAGES, now)
