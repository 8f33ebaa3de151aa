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
from lab.records import Capabilities

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
    release({"en/index.html": b"1", "evidence/r-aaaaaaaaaa.json": b"{}"}, folder, FACTS)
    release({"ja/index.html": b"2", "evidence/contrasts.json": b"[]"}, folder, FACTS)
    release({"ja/index.html": b"2", "evidence/r-bbbbbbbbbb.json": b"{}"}, folder, FACTS)
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert files == ["evidence/r-bbbbbbbbbb.json", "ja/index.html"]
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_folder_that_is_no_report_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "photo.jpg").write_bytes(b"years of evidence")
    with pytest.raises(EvidenceError, match="not a report"):
        release({"en/index.html": b"1"}, tmp_path, [])
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
