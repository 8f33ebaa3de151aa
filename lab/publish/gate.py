"""The way out: nothing is written to a report folder that holds something identifying.

What is looked for comes from the private bundles themselves (host and user names, paths, addresses,
device ids, secrets of the environment, answers of the model), and from patterns that never belong on a
page. A page is read decoded: entities, percent and JSON escapes undone, data URIs opened. Findings name the
place and the kind and never print the value.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import html
import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lab.environment import Environment, capture
from lab.errors import EvidenceError, LeakFound
from lab.evidence import EvidenceStore
from lab.roster import find
from lab.spec import Frozen

SHORTEST = 4
"""Values shorter than this cannot be told from ordinary text."""

SHORTEST_ANSWER = 24
"""The same for what a model wrote."""

COMMON = frozenset(
    "root user admin ubuntu debian runner localhost home work unknown "
    "engine engines gateway model server inference proxy".split()
)
"""Names so common that they identify nobody, and that style sheets and prose use."""

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)

PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("path of a home folder", re.compile(r"/(?:home|Users)/[A-Za-z0-9._-]+|(?<![\w.])/root/\w|[A-Za-z]:\\Users\\")),
    ("path of a temporary folder", re.compile(r"(?<![\w.])/(?:tmp|var/folders)/\w")),
    ("name of a kernel process", re.compile(r"ipykernel_\d+")),
    ("address of an object", re.compile(r"\b0x[0-9a-f]{8,16}\b")),
    (
        "private network address",
        re.compile(r"\b(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}\b"),
    ),
    ("hardware address", re.compile(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b")),
    ("key or token", re.compile(r"\b(?:sk-[a-z0-9_-]{16,}|hf_[a-z0-9]{16,}|ghp_[a-z0-9]{20,}|akia[0-9a-z]{16})\b")),
    ("device id", re.compile(r"\bgpu-[0-9a-f]{8}-[0-9a-f]{4}-")),
    (
        "remote address",
        re.compile(
            r"""(?:src|href|action|data)\s*=\s*["']?\s*(?:https?:)?//"""
            r"""|url\(\s*["']?(?:https?:)?//|@import"""
        ),
    ),
    ("script", re.compile(r"<script\b|\bon(?:load|error|click)\s*=|javascript:")),
)
"""What never belongs on a page, looked for in lower case."""

REPORT_FILE = re.compile(r"(?:[a-z]{2}/(?:index\.html|handout\.pdf)|evidence/(?:r-[a-z2-7]{10}|contrasts)\.json)")
"""What a report folder holds; a folder with anything else in it is never replaced."""

_DATA_URI = re.compile(r"data:[a-z0-9.+/-]*;base64,([A-Za-z0-9+/=\s]+)")
_JSON_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))


class PrivateFact(Frozen):
    """One value that must not get out."""

    kind: str
    value: str


class Finding(Frozen):
    """Something that would have got out. The value itself is not repeated."""

    file: str
    line: int
    """Line of the decoded file, from 1; 0 for the file's name."""
    kind: str


def private_facts(store: EvidenceStore, run_ids: Iterable[str]) -> frozenset[PrivateFact]:
    """What the bundles and this machine know and no page may say."""
    found = {("runs folder", str(store.root.resolve())), *_machine_facts(capture())}
    found |= {("secret of the environment", value) for name, value in os.environ.items() if SECRET_NAME.search(name)}
    for run_id in run_ids:
        environment, launch = store.environment(run_id), store.launch(run_id)
        if environment is not None:
            found |= _machine_facts(environment)
        if launch is not None:
            series = store.spec(run_id).model.series
            for word in launch.argv:
                if word.startswith(("http://", "https://")):
                    found |= _address_facts(word)
                elif "/" in word and word != series:  # the series is on every page
                    found.add(("path of the launch", word))
        found |= {("answer of the model", text) for text in _answers(store, run_id) if len(text) >= SHORTEST_ANSWER}
    return frozenset(
        PrivateFact(kind=kind, value=value)
        for kind, value in found
        if len(value.strip()) >= SHORTEST and value.strip().lower() not in COMMON
    )


def inspect(name: str, payload: bytes, facts: Iterable[PrivateFact]) -> tuple[Finding, ...]:
    """Everything identifying in one file that is about to be published, its name included."""
    findings = [Finding(file=name, line=0, kind=kind) for kind in _kinds_in(_folded(name), facts)]
    facts = tuple(facts)
    for text in _readings(payload):
        present = [fact for fact in facts if _folded(fact.value) in text]
        for number, line in enumerate(text.splitlines(), 1):
            findings += [Finding(file=name, line=number, kind=kind) for kind in _kinds_in(line, present)]
        # a value broken over lines shows once the lines are joined
        joined = re.sub(r"\s+", "", text)
        findings += [
            Finding(file=name, line=1, kind=f"{fact.kind}, broken over lines")
            for fact in facts
            if len(squeezed := re.sub(r"\s+", "", _folded(fact.value))) >= 2 * SHORTEST
            and squeezed in joined
            and not any(finding.kind == fact.kind for finding in findings)
        ]
    return tuple(dict.fromkeys(findings))


def release(files: Mapping[str, bytes], folder: Path, facts: Iterable[PrivateFact]) -> None:
    """Write a report folder, whole or not at all, after every file has passed.

    Args:
        files: relative path to bytes; the folder holds exactly these afterwards.
        folder: replaced when it is a report, made when it is not there.
        facts: from `private_facts`.

    Raises:
        LeakFound: at least one finding; nothing was written.
        EvidenceError: the folder holds something that is no report, or cannot be written.
    """
    facts = tuple(facts)
    findings = [finding for name, payload in files.items() for finding in inspect(name, payload, facts)]
    if findings:
        lines = [f"  {f.file}, {f'line {f.line}' if f.line else 'file name'}: {f.kind}" for f in findings[:20]]
        more = f"\n  and {len(findings) - 20} more" if len(findings) > 20 else ""
        raise LeakFound(
            f"{len(findings)} places would identify this site; nothing was written:\n" + "\n".join(lines) + more
        )
    if folder.exists() and not folder.is_dir():
        raise EvidenceError(f"{folder} is a file, not a folder", "name another folder")
    if folder.exists() and not _is_report(folder):
        raise EvidenceError(f"{folder} holds something that is not a report; it was left alone", "name another folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.new-"))
    except OSError as problem:
        raise EvidenceError(f"{folder.parent} cannot be written: {problem.strerror}") from None
    try:
        for name, payload in files.items():
            path = staged / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(payload)
        staged.chmod(0o755)
        _swap(staged, folder)
    except OSError as problem:
        raise EvidenceError(f"{folder} could not be written: {problem.strerror}") from None
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _is_report(folder: Path) -> bool:
    """Whether a folder holds pages and their evidence and nothing else, so that it may be replaced."""
    files = [
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()
    ]
    return all(REPORT_FILE.fullmatch(name) for name in files)


def _swap(staged: Path, folder: Path) -> None:
    if not folder.exists():
        staged.rename(folder)
        return
    old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.old-"))
    folder.rename(old / "report")
    try:
        staged.rename(folder)
    except OSError:
        (old / "report").rename(folder)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _machine_facts(environment: Environment) -> set[tuple[str, str]]:
    facts = {
        ("host name", environment.hostname),
        ("user name", environment.user),
        ("home folder", environment.home if environment.home.count("/") > 1 else ""),
        ("working directory", environment.cwd if environment.cwd.count("/") > 1 else ""),
        *(("network address", address) for address in environment.addresses),
        *(("device id", gpu.uuid) for gpu in environment.gpus),
        *(("container id", part) for part in re.findall(r"[0-9a-f]{12,64}", environment.cgroup)),
    }
    return facts


def _address_facts(url: str) -> set[tuple[str, str]]:
    """What a URL tells of where an engine runs. The loopback interface is nobody's, and a service that is called
    as its engine is (docker compose) tells nothing that a page does not say anyway."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    here = host == "localhost" or host == "::1" or host.startswith("127.")
    facts = set() if here or find(host) else {("host of the engine", host)}
    return facts if here and parts.path in ("", "/") else facts | {("address of the engine", url)}


def _answers(store: EvidenceStore, run_id: str) -> Iterator[str]:
    """What the model wrote, to the load and to the quality suite; digits alone identify nothing."""
    for record in store.requests(run_id):
        yield record.text.strip()[:200]
    for item in store.samples(run_id):
        yield (item.text or "").strip()[:200]


def _readings(payload: bytes) -> list[str]:
    """The text a reader could get out of a file: as it stands, and with each kind of escape undone."""
    text = payload.decode("utf-8", "replace")
    inner = []
    for match in _DATA_URI.finditer(text):
        with contextlib.suppress(binascii.Error, ValueError):
            inner.append(base64.b64decode(match.group(1)).decode("utf-8", "ignore"))
    plain = _DATA_URI.sub("data:", text)
    unescaped = _JSON_ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), html.unescape(plain))
    return list(dict.fromkeys(map(_folded, (plain, unescaped, unquote(unescaped), *inner))))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).translate(_INVISIBLE).lower()


def _kinds_in(line: str, facts: Iterable[PrivateFact]) -> Iterator[str]:
    for fact in facts:
        value = _folded(fact.value)
        start = line.find(value)
        while start >= 0:
            end = start + len(value)
            # a short name inside a longer word is another word
            if not (line[start - 1 : start].isalnum() and value[0].isalnum()) and not (
                line[end : end + 1].isalnum() and value[-1].isalnum()
            ):
                yield fact.kind
                break
            start = line.find(value, start + 1)
    for kind, pattern in PATTERNS:
        if pattern.search(line):
            yield kind
