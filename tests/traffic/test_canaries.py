"""Not a word of the traffic gets out: canaries are planted in every place that could carry one, and none is found.

Looked at are every file that `lab traffic` writes, what it prints, and what it says when it fails.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lab.cli as lab_cli
from lab.errors import LabError
from tests.conftest import CHECKOUT

CANARY = "Qzxv7319"
"""Part of every planted word; it spells nothing, and no number of the lab is like it."""


class Planting:
    """Makes canaries, each of its own."""

    def __init__(self) -> None:
        self.planted = 0

    def __call__(self, place: str) -> str:
        self.planted += 1
        return f"{CANARY}{place}{self.planted}"


def body(plant: Planting) -> dict[str, Any]:
    function = {"name": plant("tool"), "description": plant("about"), "parameters": {
        "type": "object", "properties": {plant("key"): {"type": "string", "enum": [plant("enum")]}}}}  # fmt: skip
    schema = {"type": "object", "title": plant("title"), "properties": {plant("key"): {}}, "required": [plant("key")]}
    return {
        "model": plant("model"),
        "user": plant("user"),
        "metadata": {plant("key"): plant("meta")},
        "messages": [
            {"role": "system", "content": f"{plant('word')} be kind", "name": plant("name")},
            {"role": "user", "content": [
                {"type": "text", "text": plant("word")},
                {"type": "image_url", "image_url": {"url": f"https://{plant('host')}.example/x.png"}}]},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": plant("call"), "type": "function",
                 "function": {"name": plant("tool"), "arguments": json.dumps({plant("key"): plant("word")})}}]},
            {"role": "tool", "tool_call_id": plant("call"), "content": plant("result")},
            {"role": plant("role"), "content": plant("word")},
            {"role": "user", "content": plant("word")},
        ],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": plant("tool")}},
        "response_format": {"type": "json_schema", "json_schema": {"name": plant("schema"), "schema": schema}},
        "lora_name": plant("adapter"),
        "stop": [plant("stop")],
        "logit_bias": {plant("token"): 1},
        plant("field"): plant("value"),
    }  # fmt: skip


def record(plant: Planting, number: int) -> dict[str, Any]:
    said = {"content": plant("answer"), "reasoning_content": plant("thought")}
    usage = {"prompt_tokens": 50, "completion_tokens": 5}
    answer = {"id": plant("id"), "model": plant("model"), "usage": usage, "choices": [{"message": said}]}
    return {
        "request_id": plant("id"),
        "timestamp": 1.7e9 + number,
        "duration_ms": 900,
        "status": plant("status"),
        "headers": {"Authorization": f"Bearer {plant('key')}", plant("header"): plant("value")},
        "client_ip": plant("host"),
        "url": f"https://{plant('host')}/v1/chat/completions",
        "request": {"body": body(plant)},
        "response": {"body": json.dumps(answer)},
        "error": plant("error"),
    }


def tokenizer(folder: Path) -> Path:
    """One token a byte, out of a real tokenizer.json."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    path = folder / "tokenizer.json"
    made.save(str(path))
    return path


def lab(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "lab.cli", "traffic", *words], capture_output=True, text=True, cwd=cwd,
                          env={"PYTHONPATH": str(CHECKOUT), "PATH": "/usr/bin:/bin", "NO_COLOR": "1", "HOME": str(cwd)},
                          timeout=120, check=False)  # fmt: skip


def nothing_of_it(said: str, out: Path) -> None:
    assert CANARY.lower() not in said.lower()
    for path in sorted(out.rglob("*")):
        assert CANARY.lower() not in path.name.lower()
        assert CANARY.lower().encode() not in path.read_bytes().lower(), path.name


def lines(records: list[Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


def sharegpt(plant: Planting) -> dict[str, Any]:
    turns = [{"from": who, "value": plant("word")} for who in ("human", "gpt", "human", "gpt", plant("role"))]
    return {"id": plant("id"), "model": plant("model"), "conversations": turns, plant("field"): plant("value")}


def mooncake(plant: Planting, number: int) -> dict[str, Any]:
    return {"timestamp": number * 50, "input_length": 600, "output_length": 9, "hash_ids": [0, number + 1],
            "user": plant("user"), plant("field"): plant("value")}  # fmt: skip


@pytest.fixture(scope="module")
def plant() -> Planting:
    return Planting()


@pytest.mark.parametrize("kind", ["log", "array.gz", "sharegpt", "mooncake"])
def test_no_word_of_the_traffic_is_in_what_is_written_or_printed(tmp_path: Path, plant: Planting, kind: str) -> None:
    records: list[Any] = {
        "sharegpt": [sharegpt(plant) for _ in range(20)],
        "mooncake": [mooncake(plant, i) for i in range(30)],
    }.get(kind, [record(plant, i) for i in range(24)])
    content = json.dumps(records).encode() if kind == "array.gz" else lines(records)
    if kind == "log":  # and what is no request
        content += b"".join((f'{{"{plant("cut")}": "\n').encode() + json.dumps(odd).encode() + b"\n" for odd in (
            plant("word"), [plant("word")], {plant("key"): plant("value")}, {"messages": [plant("word")]},
            {"messages": [{"role": "user", "content": {plant("key"): plant("value")}}]},
            {"timestamp": plant("time"), "body": body(plant)}, {"url": "/embeddings", "input": plant("word")},
        )) + plant("word").encode() + b"\xff\n"  # fmt: skip
    file = tmp_path / f"{plant('file')}.jsonl"
    file.write_bytes(gzip.compress(content) if kind == "array.gz" else content)
    out = tmp_path / "out"
    out.mkdir()
    for lang in ("en", "ja") if kind == "log" else ("en",):
        done = lab(str(file), "--tokenizer", str(tokenizer(tmp_path)), "--workload", str(out / "mine.yaml"),
                   "--facts", str(out / "facts.yaml"), "--json", str(out / "shape.json"), "--lang", lang,
                   cwd=tmp_path)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert {path.name for path in out.iterdir()} == {"mine.yaml", "mine.shape.jsonl", "facts.yaml", "shape.json"}
        nothing_of_it(done.stdout + done.stderr, out)
    assert plant.planted > 100


@pytest.mark.parametrize("case", ["other", "mixed", "nothing", "missing", "cut", "not-as", "characters"])
def test_no_word_of_the_traffic_is_in_what_is_said_when_it_fails(tmp_path: Path, plant: Planting, case: str) -> None:
    content = {
        "other": f"{plant('a')},{plant('b')}\n{plant('c')},{plant('d')}\n".encode(),
        "mixed": lines([record(plant, 0), mooncake(plant, 0), sharegpt(plant)]),
        "nothing": lines([{plant("key"): plant("value")}, {"messages": [plant("word")]}]),
        "cut": gzip.compress(lines([record(plant, i) for i in range(50)]))[:-40],
        "not-as": lines([sharegpt(plant)]),
        "characters": lines([record(plant, i) for i in range(3)]),
    }.get(case)
    file = tmp_path / plant("file")
    if content is not None:
        file.write_bytes(content)
    out = tmp_path / "out"
    out.mkdir()
    more = ("--as", "mooncake") if case == "not-as" else ()
    done = CliRunner().invoke(lab_cli.app, ["traffic", str(file), "--workload", str(out / "mine.yaml"), *more])
    assert isinstance(done.exception, LabError)
    # what `main` prints of it, and what a traceback would
    nothing_of_it(done.output + str(done.exception) + "".join(traceback.format_exception(done.exception)), out)
    assert list(out.iterdir()) == []
