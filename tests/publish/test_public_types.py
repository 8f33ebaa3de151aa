"""Nothing of any length or content has a place in public evidence; no number has more digits than it can bear."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from lab.publish.archive import Edition, EditionManifest
from lab.publish.evidence import PublicContrast, PublicRun
from lab.publish.imported import PublicImported
from lab.publish.projection import _summary
from lab.records import Summary
from tests.conftest import CHECKOUT


def unbounded(schema: dict[str, Any], known: dict[str, Any], path: str, seen: frozenset[str]) -> Iterator[str]:
    """Every string of a schema, keys too, that may hold anything or grow without end."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            yield from unbounded(known[name], known, path, seen | {name})
        return
    if schema.get("type") == "string" and not ("enum" in schema or "const" in schema):
        pattern = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "x", schema.get("pattern", "*"))
        if "maxLength" not in schema and (re.search(r"[*+]|,\}", pattern) or not re.fullmatch(r"\^.*\$", pattern)):
            yield path
    if schema.get("type") == "object" and schema.get("additionalProperties") and "propertyNames" not in schema:
        yield f"{path}.<keys>"
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for part in schema.get(word, ()):
            yield from unbounded(part, known, path, seen)
    for word in ("items", "additionalProperties", "propertyNames"):
        if isinstance(schema.get(word), dict):
            yield from unbounded(schema[word], known, f"{path}.<{word}>", seen)
    for pattern, part in schema.get("patternProperties", {}).items():
        yield from unbounded({"type": "string", "pattern": pattern}, known, f"{path}.<keys>", seen)
        yield from unbounded(part, known, f"{path}.<values>", seen)
    for name, part in schema.get("properties", {}).items():
        yield from unbounded(part, known, f"{path}.{name}", seen)


@pytest.mark.parametrize("public", [PublicRun, PublicContrast, Edition, EditionManifest, PublicImported])
def test_every_public_string_is_an_enumeration_a_pattern_or_bounded(public: type[BaseModel]) -> None:
    schema = public.model_json_schema()
    assert list(unbounded(schema, schema.get("$defs", {}), public.__name__, frozenset())) == []


def test_the_walk_would_see_an_unbounded_string() -> None:
    from lab.spec import Frozen

    class Inner(Frozen):
        said: str

    class Outer(Frozen):
        inner: tuple[Inner, ...] | None
        counts: dict[str, int]

    schema = Outer.model_json_schema()
    found = set(unbounded(schema, schema["$defs"], "Outer", frozenset()))
    assert found == {"Outer.inner.<items>.said", "Outer.counts.<keys>"}


def test_a_summary_keeps_the_digits_its_spread_supports() -> None:
    # (1.2 − 1.0) / 1.2816 = 0.156; 1.96 × 0.156 / √100 = 0.0306: the second digit of that is the third place
    wide = Summary(n=100, mean=1.04321, p50=1.0, p90=1.2, p99=1.31234, min=0.91239, max=1.41239)
    assert _summary(wide) == Summary(n=100, mean=1.043, p50=1.0, p90=1.2, p99=1.312, min=0.912, max=1.412)
    few = Summary(n=4, mean=1.04321, p50=1.0, p90=1.2, p99=1.31234, min=0.91239, max=1.41239)
    assert _summary(few) == Summary(n=4, mean=1.04, p50=1.0, p90=1.2, p99=1.31, min=0.91, max=1.41)
    same = Summary(n=9, mean=32.0, p50=32.0, p90=32.0, p99=32.0, min=32.0, max=32.0)
    assert _summary(same) == same


WRITERS = frozenset("write_bytes write_text write_atomically mkdtemp copyfile copytree".split())
ALLOWED = {
    "publish/gate.py": "the gate itself",
    "publish/weekly.py": "puts what `release` let through in its place",
    "report/apart.py": "a temporary folder that is read back and goes through the gate",
}


def test_no_page_is_written_around_the_gate() -> None:
    writing = set()
    for floor in ("publish", "report"):
        for path in sorted((CHECKOUT / "lab" / floor).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                    modes = [one.value for one in node.args[:2] if isinstance(one, ast.Constant)]
                    if name in WRITERS or (name == "open" and any(re.fullmatch("[wax][bt+]*", str(m)) for m in modes)):
                        writing.add(f"{floor}/{path.name}")
    assert writing <= ALLOWED.keys()
    assert "publish/gate.py" in writing
