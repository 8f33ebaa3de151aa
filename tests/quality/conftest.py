from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from .small_suite import SCHEMA, SUMS, Write


@pytest.fixture
def write_suite(tmp_path: Path) -> Write:
    """Writes a small sound suite; keyword arguments replace parts of it, `more` the whole list of tasks."""

    def write(
        folder: str = "suite",
        head: dict[str, Any] | None = None,
        task: dict[str, Any] | None = None,
        sums: list[Any] | None = None,
        schemas: bool = False,
        more: dict[str, tuple[dict[str, Any], list[Any]]] | None = None,
    ) -> Path:
        where = tmp_path / folder
        where.mkdir()
        sum_task = {
            "task": "sums",
            "metric": "number_match",
            "data": "sums.jsonl",
            "max_tokens": 16,
            "stop": ["\n"],
            "examples": [{"question": "9 + 0?", "answer": "9"}],
        }
        tasks = [sum_task | (task or {})]
        (where / "sums.jsonl").write_text("".join(json.dumps(item) + "\n" for item in (SUMS if sums is None else sums)))
        if schemas:
            shaped = {"task": "shaped", "metric": "schema_valid", "data": "shaped.jsonl", "max_tokens": 64}
            tasks.append(shaped | {"response_format": "json_schema"})
            items = [
                {
                    "id": f"shape-{n}",
                    "question": f"shape {n}",
                    "answer_schema": {**SCHEMA, "title": f"number {n}"},
                }
                for n in range(2)
            ]
            (where / "shaped.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
        for name, (settings, items) in (more or {}).items():
            tasks.append({"task": name, "data": f"{name}.jsonl"} | settings)
            (where / f"{name}.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
        if more is not None:
            del tasks[0]
        whole = {"suite": "small", "version": "1.0.0", "about": "For tests.", "tasks": tasks} | (head or {})
        (where / "suite.yaml").write_text(yaml.safe_dump(whole))
        return where

    return write
