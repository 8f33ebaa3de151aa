"""What the bundles and this machine know and no page may say."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lab.environment import Environment, capture
from lab.errors import EvidenceError, ParamsError
from lab.evidence import EvidenceStore
from lab.params import PARAMS_FOLDER, read_mapping
from lab.publish.escapes import bare, folded
from lab.publish.identity import open_namer, read_key
from lab.roster import find
from lab.spec import Frozen

SHORTEST = 4
"""Values shorter than this cannot be told from ordinary text."""

SHORTEST_TEXT = 24
"""The same for what a model or a person wrote, space not counted."""

WINDOW = 32
"""Of a longer text this many letters and digits are looked for at a time, beginning at every eighth of them: whatever
is a quarter longer is found."""

MOST_OF_A_TEXT = 20_000
"""How much of one answer is looked for, characters."""

MOST_OF_A_LOG = 4 * 1024 * 1024
"""How much of an engine's log is searched for paths and addresses, bytes."""

MOST_OF_TRAFFIC = 64 * 1024 * 1024
"""A larger file of conversations is not taken for what must not get out, bytes."""

COMMON = frozenset(
    "root user admin ubuntu debian runner localhost home work unknown none null true false default main master "
    "engine engines gateway model models server inference proxy maintainers".split()
)
"""Names so common that they identify nobody, and that style sheets and prose use."""

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE|_DSN$|_AUTH$", re.IGNORECASE)
PERSON_NAME = re.compile(
    r"^(?:USER|LOGNAME|USERNAME|SUDO_USER|HOSTNAME|HOST|MAIL|EMAIL|GIT_(?:AUTHOR|COMMITTER)_\w+|SSH_\w+|SLURM_\w+|"
    r"PBS_\w+|JUPYTERHUB_\w+|KUBERNETES_\w+|\w+_HOST|\w+_URL|\w+_PROXY)$",
    re.IGNORECASE,
)
"""Variables whose value says who or where."""

SYSTEM = re.compile(r"^/(?:usr|bin|sbin|lib\w*|etc|dev|proc|sys|run|snap|nix/store)?(?:/|$)|^/tmp/?$|^/(?:var|opt)/?$")
"""Paths that every machine has."""

TEXTS = frozenset({"answer of the model", "text of a prompt", "words of an error"})
"""Kinds that are long texts: any longer part of one is found."""

_PATH = re.compile(r"(?<![\w.:/])/(?:[\w.@+-]+/)+[\w.@+-]+")
_OWNER = re.compile(r"^/(?:home|Users)/([^/]+)")
_OF_MODEL = re.compile(r"model|^-m$|^serve$|lora|adapter|template|engine[_-]dir|weights")
_USUAL = re.compile(
    r"(?:model|tokenizer|config|chat[_-]?template|engine|weights|adapter|ggml|pytorch|consolidated|default|main|latest|"
    r"snapshots?|hf|gguf)(?:[._-]|$)|[0-9a-f]{40}$",
    re.IGNORECASE,
)
"""Names that files of weights have everywhere."""
_SHARED_DOMAIN = re.compile(r"(?:^|\.)(?:amazonaws\.com|compute\.internal|googleapis\.com|azure\.com|cluster\.local|"
                            r"example\.(?:com|net|org)|c[om]+\.[a-z]{2}|[a-z]{2,3}\.[a-z]{2})$")  # fmt: skip
"""Domains that many share; none of them tells whose host it is."""
_IPV4 = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")


class PrivateFact(Frozen):
    """One value that must not get out."""

    kind: str
    value: str

    @property
    def is_text(self) -> bool:
        """True for what somebody wrote, as against a name or a number."""
        return self.kind in TEXTS


def private_facts(
    store: EvidenceStore, run_ids: Iterable[str], more: Iterable[tuple[str, str]] = ()
) -> frozenset[PrivateFact]:
    """What the bundles and this machine know and no page may say.

    Args:
        store: where the private bundles are.
        run_ids: which of them; a damaged one gives what can be read of it.
        more: kind and value of what is known otherwise, for instance internal names of models.
    """
    found = {
        ("runs folder", str(store.root.resolve())),
        *_machine_facts(capture()),
        *_person_facts(),
        *_key_facts(),
        *_traffic_facts(),
        *more,
    }
    found |= set(_environment_facts(os.environ)) | set(open_namer().internal_names())
    for run_id in run_ids:
        for read in (_of_environment, _of_launch, _of_answers, _of_log, _of_notebook):
            with contextlib.suppress(EvidenceError, OSError, ValueError):
                found |= set(read(store, run_id))
    return frozenset(PrivateFact(kind=kind, value=value) for kind, value in found if _tells(kind, value))


def facts_of_files(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """What files of the team hold that must not get out, for instance its own traffic.

    Raises:
        EvidenceError: one cannot be read.
    """
    for path in paths:
        try:
            yield from prompt_facts(path.read_text(encoding="utf-8", errors="replace"))
        except OSError as problem:
            raise EvidenceError(f"{path} cannot be read: {problem.strerror}") from None


def prompt_facts(text: str) -> Iterator[tuple[str, str]]:
    """The lines of a private text, for instance of the team's own traffic, as what must not get out."""
    for line in text.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            todo: list[Any] = [json.loads(line)]
            while todo:
                one = todo.pop()
                if isinstance(one, str):
                    yield "text of a prompt", one
                elif isinstance(one, dict | list):
                    todo.extend(one.values() if isinstance(one, dict) else one)
            continue
        yield "text of a prompt", line


def _tells(kind: str, value: str) -> bool:
    """Whether a value can be looked for without finding ordinary text."""
    plain = folded(value).strip()
    if kind in TEXTS:
        # digits alone are what any model counts
        return len(bare(plain)) >= SHORTEST_TEXT and bool(re.search(r"[^\W\d_]{2}", plain))
    return len(plain) >= SHORTEST and plain not in COMMON and not (plain.isdigit() and len(plain) < 10)


def _of_environment(store: EvidenceStore, run_id: str) -> Iterator[tuple[str, str]]:
    environment = store.environment(run_id)
    if environment is not None:
        yield from _machine_facts(environment)


def _of_launch(store: EvidenceStore, run_id: str) -> Iterator[tuple[str, str]]:
    launch, spec = store.launch(run_id), store.spec(run_id)
    if launch is None:
        return
    series = spec.model.series
    # a cache names a file by its digest, which pages show unless the model is hidden
    shown = "" if open_namer().hides(spec.model) else spec.model.weights_sha256 or ""
    for before, word in zip(("", *launch.argv), launch.argv, strict=False):
        flag, _, value = word.partition("=") if word.startswith("-") else (before, "", word)
        if value.startswith(("http://", "https://")):
            yield from _address_facts(value)
        elif "/" in value and value != series and not SYSTEM.match(value):  # the series is on every page
            yield from (("path of the launch", way) for way in _ways_to(value))
            if _OF_MODEL.search(flag):
                yield from _own_name(value, series, spec.model.revision, shown)
    if spec.served_as and spec.served_as != series:
        yield "name the engine knows the model by", spec.served_as
    for setting in launch.settings:
        for word in (*setting.words, str(setting.wanted or "")):
            yield from (("path of the launch", path) for path in _PATH.findall(word) if not SYSTEM.match(path))


def _ways_to(path: str) -> Iterator[str]:
    """A path, the same from the folder below its first, and the folders it leads through that are this site's own."""
    parts = path.strip("/").split("/")
    yield path
    if path.startswith("/"):
        if len(parts) > 3:
            yield "/".join(parts[1:])
        folders = ("/" + "/".join(parts[:size]) for size in range(2, len(parts)))
        yield from (folder for folder in folders if not SYSTEM.match(folder))


def _own_name(path: str, *public: str) -> Iterator[tuple[str, str]]:
    """The name of a file or folder of weights, with and without its ending; one that follows from what a page says
    anyway, or that half the world uses, tells nothing."""
    name = path.rstrip("/").rpartition("/")[2]
    stem = re.sub(r"\.(?:gguf|safetensors|bin|pt|engine|plan|jinja|json)$", "", name)
    plain = bare(folded(stem))
    said = [bare(folded(one)) for one in public]
    if len(plain) > 5 and not _USUAL.match(stem) and not any(one in plain or plain in one for one in said if one):
        yield from (("name of the weights", one) for one in dict.fromkeys((name, stem)))


def _of_answers(store: EvidenceStore, run_id: str) -> Iterator[tuple[str, str]]:
    """What the model wrote, to the load and to the quality suite, and what servers said of failures."""
    own_traffic = store.spec(run_id).workload.content == "own-traffic"
    for text, error, item in store.words(run_id):
        yield "answer of the model", text[:MOST_OF_A_TEXT]
        yield "words of an error", error or ""
        if item and own_traffic:
            yield "item of the traffic", item
    for answered in store.samples(run_id):
        yield "answer of the model", (answered.text or "")[:MOST_OF_A_TEXT]
        yield "words of an error", answered.error or ""


def _of_log(store: EvidenceStore, run_id: str) -> Iterator[tuple[str, str]]:
    """Paths and addresses that the engine printed."""
    path = store.path(run_id) / "engine.log"
    if not path.exists():
        return
    with path.open("rb") as log:
        text = log.read(MOST_OF_A_LOG).decode("utf-8", "replace")
    yield from (("path in the engine's log", found) for found in _PATH.findall(text) if _is_ours(found))
    yield from (("address in the engine's log", found) for found in _IPV4.findall(text) if _is_host(found))


def _of_notebook(store: EvidenceStore, run_id: str) -> Iterator[tuple[str, str]]:
    """Paths that papermill and tracebacks leave in an executed notebook."""
    path = store.path(run_id) / "notebook.ipynb"
    if path.exists():
        text = path.read_text(encoding="utf-8", errors="replace")[:MOST_OF_A_LOG]
        yield from (("path in the notebook", found) for found in _PATH.findall(text) if _is_ours(found))


def _is_ours(path: str) -> bool:
    """Whether a path of some text is one of this site, not a route, and not one that every machine has."""
    return path.count("/") >= 3 and not SYSTEM.match(path) and not path.startswith("/v1/") and len(path) > 12


def _is_host(address: str) -> bool:
    """Whether four numbers are an address of one host; the first one decides loopback, nobody and multicast."""
    octets = [int(part) for part in address.split(".")]
    return max(octets) < 256 and 10 <= octets[0] < 224 and octets[0] != 127 and octets[1:] != [0, 0, 0]


def _machine_facts(environment: Environment) -> set[tuple[str, str]]:
    host = environment.hostname
    return {
        *(("host name", part) for part in _parts_of_host(host)),
        ("host name", host.partition(".")[0]),
        *(("user name", found) for path in (environment.home, environment.cwd) for found in _OWNER.findall(path)),
        ("user name", environment.user),
        ("home folder", environment.home if environment.home.count("/") > 1 else ""),
        ("working directory", environment.cwd if environment.cwd.count("/") > 1 else ""),
        *(("network address", address) for address in environment.addresses),
        *(("device id", gpu.uuid) for gpu in environment.gpus),
        *(("container id", part) for part in re.findall(r"[0-9a-f]{12,64}", environment.cgroup)),
        *(("container id", part[:12]) for part in re.findall(r"[0-9a-f]{64}", environment.cgroup)),
    }


def _key_facts() -> Iterator[tuple[str, str]]:
    """The key of the pseudonyms, where it lies in a file."""
    with contextlib.suppress(ParamsError):
        if key := read_key():
            yield "key of the pseudonyms", key.decode("latin-1")


def _traffic_facts(folder: Path = PARAMS_FOLDER) -> Iterator[tuple[str, str]]:
    """The team's own conversations, where its plans and workloads say that they lie."""
    for path in (*folder.glob("*.yaml"), *folder.glob("workloads/*.yaml")):
        with contextlib.suppress(ParamsError, OSError):
            todo: list[Any] = [read_mapping(path)]
            while todo:
                one = todo.pop()
                todo += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
                source = one.get("source") if isinstance(one, dict) else None
                if isinstance(source, str) and "own-traffic" in (one.get("content"), one.get("use")):
                    file = path.parent / Path(source).expanduser()
                    if file.is_file() and file.stat().st_size <= MOST_OF_TRAFFIC:
                        yield "path of the traffic", str(file.resolve())
                        yield from prompt_facts(file.read_text(encoding="utf-8", errors="replace"))


def _person_facts() -> Iterator[tuple[str, str]]:
    """Real names: what git signs with, and what the system knows of the user."""
    for key in ("user.name", "user.email"):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run(["git", "config", key], capture_output=True, text=True, timeout=10, check=False)
            yield from _name_facts(done.stdout.strip())
    with contextlib.suppress(ImportError, KeyError, OSError, AttributeError):
        import pwd

        yield from _name_facts(pwd.getpwuid(os.getuid()).pw_gecos.partition(",")[0].strip())


def _name_facts(name: str) -> Iterator[tuple[str, str]]:
    """A person's name in both orders; a single word that may be any word is left out."""
    words = name.split()
    if "@" in name:
        yield "e-mail address of a person", name
    elif len(words) > 1:
        for order in (words, [words[-1], *words[:-1]]):
            yield from (("name of a person", between.join(order)) for between in (" ", ".", "_", "-", ""))
    elif not name.isascii():
        yield "name of a person", name


def _environment_facts(variables: Iterable[tuple[str, str]] | os._Environ[str]) -> Iterator[tuple[str, str]]:
    """Values of the process's variables that are secret, say who or where, or are paths of this site."""
    for name, value in dict(variables).items():
        if SECRET_NAME.search(name):
            yield "secret of the environment", value
        elif PERSON_NAME.match(name):
            yield from _address_facts(value) if "://" in value else [("value of the environment", value)]
        for part in value.split(os.pathsep) if "/" in value and "://" not in value else ():
            if part.startswith("/") and part.count("/") > 1 and not SYSTEM.match(part):
                yield "path of the environment", part.rstrip("/")


def _parts_of_host(host: str) -> Iterator[str]:
    """The name of a host, its first label where that is no ordinary word, and the domain it stands in."""
    yield host
    label, _, domain = host.partition(".")
    if re.fullmatch(r"[\d.]+|[\da-f:]+", host):
        return
    if re.search(r"[\d-]", label) and len(label) > 4 and find(label) is None:
        yield label
    if "." in domain and not _SHARED_DOMAIN.search(domain):
        yield domain


def _address_facts(url: str) -> set[tuple[str, str]]:
    """What a URL tells of where an engine runs. The loopback interface is nobody's, and a service that is called
    as its engine is (docker compose) tells nothing that a page does not say anyway."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return {("address of the engine", url)}
    here = host == "localhost" or host == "::1" or host.startswith("127.")
    facts = set() if here or find(host) else {("host of the engine", part) for part in _parts_of_host(host)}
    if parts.password:
        facts.add(("key or token", parts.password))
    return facts if here and parts.path in ("", "/") else facts | {("address of the engine", url)}
