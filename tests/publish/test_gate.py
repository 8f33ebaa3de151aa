"""Nothing identifying gets out, whichever way it is written; ordinary pages pass."""

from __future__ import annotations

import base64
import html
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from lab.engines.attached import SHOWN
from lab.errors import EvidenceError, LeakFound
from lab.evidence import EvidenceStore, LaunchRecord
from lab.plan import RunPlan
from lab.publish.gate import PrivateFact, inspect, private_facts, release
from lab.publish.markup import NO_POLICY, active_in, script_hash
from lab.publish.private import _own_name, _traffic_facts
from lab.records import Capabilities
from tests.publish.canaries import page as page_of

HOST = PrivateFact(kind="host name", value="gpu-box-山田")
FACTS = [
    HOST,
    PrivateFact(kind="user name", value="yamada"),
    PrivateFact(kind="model path", value="/srv/weights/secret.gguf"),
]

WRITTEN = {
    "as it is": "<p>gpu-box-山田</p>",
    "upper case": "<p>GPU-BOX-山田</p>",
    "full width": "<p>ｇｐｕ-ｂｏｘ-山田</p>",
    "zero-width characters inside": "<p>gpu\u200b-box-\u200d山田</p>",
    "entities": f"<p>{''.join(f'&#{ord(c)};' for c in HOST.value)}</p>",
    "named and numeric entities": f"<p>{html.escape(HOST.value).replace('-', '&#45;')}</p>",
    "JSON escapes": json.dumps({"host": HOST.value}),
    "percent escapes": f'<a id="{quote(HOST.value)}">x</a>',
    "a data URI": f'<img src="data:image/svg+xml;base64,{base64.b64encode(HOST.value.encode()).decode()}">',
    "broken over lines": "<p>gpu-box\n   -山田</p>",
}


@pytest.mark.parametrize("page", WRITTEN.values(), ids=WRITTEN)
def test_a_private_value_is_found_however_it_is_written(page: str) -> None:
    findings = inspect("en/index.html", page.encode(), FACTS)
    assert findings
    assert all(finding.kind.startswith("host name") for finding in findings)
    assert HOST.value not in repr(findings)


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("<p>/home/yamato/models</p>", "path of a home folder"),
        ("<p>File /tmp/ipykernel_24755/1.py</p>", "name of a kernel process"),
        ("<p>&lt;module at 0x7f3a5c1b2d90&gt;</p>", "address of an object"),
        ("<p>http at 192.168.1.20</p>", "private network address"),
        ("<p>02:fc:00:00:00:01</p>", "hardware address"),
        ("<p>sk-abcdefghijklmnop1234</p>", "key or token"),
        ("<p>GPU-1b2c3d4e-0000-1111-2222-333344445555</p>", "device id"),
        ('<img src="https://cdn.example.org/x.png">', "remote address"),
        ("<style>@import 'x.css'</style>", "remote address"),
        ("<script>1</script>", "script"),
    ],
)  # fmt: skip
def test_patterns_that_never_belong_on_a_page(page: str, kind: str) -> None:
    assert kind in {finding.kind for finding in inspect("x.html", page.encode(), [])}


def test_a_file_name_is_read_too() -> None:
    assert inspect("evidence/yamada.json", b"{}", FACTS)[0].line == 0


@pytest.mark.parametrize(
    "page",
    [
        "<p>http://127.0.0.1:8000, digest b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53</p>",
        '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
        "<p>version 2026.10.11549, python 3.11.7, yamadas and a gpu-boxing-day</p>",
        '<a href="../ja/index.html">日本語</a><a href="#run-r-aaaaaaaaaa">r-aaaaaaaaaa</a>',
    ],
)
def test_ordinary_pages_do_not_alarm_it(page: str) -> None:
    assert inspect("en/index.html", page.encode(), FACTS) == ()


def test_a_leak_stops_everything_and_names_place_and_kind_without_the_value(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    with pytest.raises(LeakFound, match=r"en/index\.html, line 2: user name") as refusal:
        release({"en/index.html": b"ok\n<p>yamada</p>", "evidence/r-aaaaaaaaaa.json": b"{}"}, folder, FACTS)
    assert "yamada" not in refusal.value.what
    assert list(tmp_path.iterdir()) == []


def test_a_report_replaces_a_report_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    release({"en/index.html": page_of("1"), "evidence/r-aaaaaaaaaa.json": b"{}"}, folder, FACTS)
    release({"ja/index.html": page_of("2"), "evidence/contrasts.json": b"[]"}, folder, FACTS)
    release({"ja/index.html": page_of("2"), "evidence/r-bbbbbbbbbb.json": b"{}"}, folder, FACTS)
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert files == ["evidence/r-bbbbbbbbbb.json", "ja/index.html"]
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_folder_that_is_no_report_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "photo.jpg").write_bytes(b"years of evidence")
    with pytest.raises(EvidenceError, match="not a report"):
        release({"en/index.html": page_of("1")}, tmp_path, [])
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["evidence", "photo.jpg", "thesis.tex"]


def test_where_an_attached_engine_runs_is_private(store: EvidenceStore, small_plan: tuple[RunPlan, Path]) -> None:
    facts = attached_facts(store, small_plan[0], "https://gpu07.lab.example.org:8443/team-a/llm")
    for page in ("<p>on gpu07.lab.example.org</p>", "see https://gpu07.lab.example.org:8443/team-a/llm/v1"):
        assert "host of the engine" in {finding.kind for finding in inspect("en/index.html", page.encode(), facts)}


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000"])
def test_the_loopback_interface_is_nobodys(store: EvidenceStore, small_plan: tuple[RunPlan, Path], url: str) -> None:
    facts = attached_facts(store, small_plan[0], url)
    assert inspect("en/index.html", f"<p>ask {url}/v1</p>".encode(), facts) == ()


def test_a_service_called_as_its_engine_does_not_stop_every_page(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path]
) -> None:
    facts = attached_facts(store, small_plan[0], "http://vllm:8000")
    assert inspect("en/index.html", b"<p>the column of vLLM</p>", facts) == ()
    assert inspect("en/index.html", b"<p>http://vllm:8000</p>", facts)


def attached_facts(store: EvidenceStore, plan: RunPlan, url: str) -> frozenset[PrivateFact]:
    """What the gate knows of a run that was attached to `url`."""
    spec = plan.runs[0].spec
    run_id = store.create(spec, plan="small", plan_digest="p-1", match_id="m-1", varied=())
    launch = LaunchRecord(
        engine_version=None,
        command=SHOWN,
        argv=(url, spec.model.series),
        not_expressible=(),
        capabilities=Capabilities(checks=()),
        attached_to="elsewhere",
    )
    store.write(run_id, "launch.json", launch)
    return private_facts(store, [run_id])


SCRIPT = "document.title = 'counted';"


def scripted(policy: str) -> str:
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return f"<!doctype html><html><head>{head}</head><body><script>{SCRIPT}</script></body></html>"


def test_a_script_passes_when_the_package_and_the_policy_of_its_page_both_name_it() -> None:
    named = script_hash(SCRIPT)
    strict = f"default-src 'none'; script-src '{named}'"
    assert list(active_in(scripted(strict), frozenset({named}))) == []
    assert [kind for kind, _ in active_in(scripted(strict), frozenset())] == ["script"]
    assert [kind for kind, _ in active_in(scripted("default-src 'none'"), frozenset({named}))] == ["script"]
    loose = {
        kind for kind, _ in active_in(scripted("default-src 'none'; script-src 'unsafe-inline'"), frozenset({named}))
    }
    assert loose == {"script", "page without a strict content security policy"}


@pytest.mark.parametrize(
    "markup",
    [
        '<a href="&#104;ttps://x.example/">x</a>',
        '<a href="java&#10;script:x()">x</a>',
        '<svg><a xlink:href="//x.example"/></svg>',
        '<img srcset="a.png 1x, https://x.example/b.png 2x">',
        '<meta http-equiv="refresh" content="0;url=x">',
        '<base href="x/">',
        "<iframe srcdoc=\"<img src='//x.example'>\"></iframe>",
        '<object data="data:text/html,x"></object>',
        "<p style=\"background:url('//x.example/x')\">",
        "<svg onload=x()>",
        "<!--><script>1</script>-->",
        "<!-- x --!><script>1</script>-->",
        "<![CDATA[ > <script>1</script> ]]>",
        "<title><!--</title><script>1</script>-->",
        "<svg><style><script>1</script></style></svg>",
        '<script type="text/ecmascript">1</script>',
        "<svg:script>1</svg:script>",
        "<svg><animate values='x;javascript:x()'/></svg>",
        '<img src="ht&#9;tps://x.example">',
        '<img src="/\\x.example">',
        "<style>@\\69mport '//x.example'</style>",
        "<p style='background:u\\72l(//x.example)'>",
        "<path stroke='url(//x.example#a)'>",
        '<iframe src="data:application/xml,x"></iframe>',
        '<?xml-stylesheet href="x"?>',
        '<img srcset="a 1x,https://x.example 2x">',
        "<script>1",
    ],
)
def test_what_a_browser_would_run_or_fetch_is_found_as_a_browser_reads_it(markup: str) -> None:
    assert {kind for kind, _ in active_in(markup)} & {"script", "remote address"}


@pytest.mark.parametrize(
    "policy",
    [
        "default-src *; default-src 'none'",
        "default-src 'none'; connect-src *",
        "default-src 'none'; img-src https:",
        "default-src 'none'; script-src-elem 'unsafe-inline'",
        "default-src 'none'; script-src data:",
        "default-src 'none'; frame-src data:",
        "default-src 'none'; style-src https://x.example",
        "",
    ],
)
def test_a_policy_that_lets_anything_in_is_none(policy: str) -> None:
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    assert [kind for kind, _ in active_in(f"<html><head>{head}</head>")] == [NO_POLICY]


@pytest.mark.parametrize(
    "place", ["<body>{}", "<style>p{{}}</style>{}", "<!--{}-->", "<template>{}</template>", "<title>{}</title>"]
)
def test_a_policy_counts_only_where_a_browser_reads_it(place: str) -> None:
    head = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'">"""
    assert NO_POLICY in {kind for kind, _ in active_in(f"<html><head>{place.format(head)}")}


def test_the_name_of_the_folder_is_looked_at_too(tmp_path: Path) -> None:
    with pytest.raises(LeakFound, match=r"\(the folder\), file name: user name") as refusal:
        release({"en/index.html": page_of("x")}, tmp_path / "of-yamada", FACTS)
    assert "yamada" not in refusal.value.what


def test_the_key_of_the_pseudonyms_is_private(
    store: EvidenceStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("c2VjcmV0LWtleS1vZi1vdXJz")
    (tmp_path / "key").chmod(0o600)
    monkeypatch.setenv("LAB_PSEUDONYM_KEY", str(tmp_path / "key"))
    found = inspect("x.txt", b"made with c2VjcmV0LWtleS1vZi1vdXJz", private_facts(store, []))
    assert "key of the pseudonyms" in {finding.kind for finding in found}


def test_the_teams_own_conversations_are_known_where_a_workload_names_them(tmp_path: Path) -> None:
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads" / "ours.yaml").write_text("{content: own-traffic, source: ours.jsonl}")
    said = "What does the plant in Kofu cost us each quarter?"
    (tmp_path / "workloads" / "ours.jsonl").write_text(json.dumps({"messages": [{"role": "user", "content": said}]}))
    assert ("text of a prompt", said) in set(_traffic_facts(tmp_path))


def test_a_page_without_any_policy_is_not_released(tmp_path: Path) -> None:
    with pytest.raises(LeakFound, match=NO_POLICY):
        release({"en/index.html": b"<p>only a piece of a page"}, tmp_path / "report", [])


def test_lab_gate_says_where_and_what_and_ends_with_two(tmp_path: Path) -> None:
    from tests.test_cli import lab

    (tmp_path / "out").mkdir()
    page = tmp_path / "out" / "index.html"
    page.write_text("<p>ordinary</p>")
    store = ("--runs-dir", str(tmp_path / "runs"))
    clean = lab("gate", str(tmp_path / "out"), *store)
    assert clean.returncode == 0
    assert "nothing identifying was found" in clean.stdout
    assert "times plain reading" in clean.stdout
    page.write_text("<p>ordinary</p>\n<p>/home/yamada/x</p>\n<p>What does the plant in Kofu cost us each quarter?</p>")
    traffic = tmp_path / "traffic.jsonl"
    traffic.write_text(
        '{"messages": [{"role": "user", "content": "What does the plant in Kofu cost us each quarter?"}]}'
    )
    found = lab("gate", str(tmp_path / "out"), "--private", str(traffic), *store)
    assert found.returncode == 2
    assert "index.html, line 2: path of a home folder" in found.stdout
    assert "text of a prompt" in found.stdout
    assert "yamada" not in found.stdout + found.stderr
    assert "Kofu" not in found.stdout + found.stderr
    assert lab("gate", str(tmp_path / "nothing"), *store).returncode == 2


def test_what_the_environment_says_of_people_and_places_is_known(
    store: EvidenceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "fuji-cluster")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy7.aurora.example:3128")
    monkeypatch.setenv("WEIGHTS", "/nfs/aurora/weights")
    monkeypatch.setenv("HF_TOKEN", "not-of-a-known-form")
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    facts = private_facts(store, [])
    for leak in ("fuji-cluster", "proxy7.aurora.example", "/nfs/aurora/weights/x", "not-of-a-known-form"):
        assert inspect("x.txt", leak.encode(), facts), leak
    assert inspect("x.txt", b"en_US.UTF-8", facts) == ()


def test_a_file_of_the_cache_is_named_by_a_digest_that_pages_show() -> None:
    """What a digest names is no secret; a name that somebody gave the file is."""
    digest = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert not list(_own_name(f"/cache/models/{digest}.gguf", "Made-Up", "v1", digest))
    assert not list(_own_name(f"/cache/models/{digest}-hf", "Made-Up", "v1", digest))
    assert [value for _, value in _own_name("/cache/kitsune-internal.gguf", "Made-Up", "v1", digest)] == [
        "kitsune-internal.gguf",
        "kitsune-internal",
    ]
    assert list(_own_name(f"/cache/models/{digest}.gguf", "Model A", "withheld", ""))  # of a hidden model
