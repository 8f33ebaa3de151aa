"""Makes a contract of lab/engines/contracts/ from the full option list of an engine's own parser.

    python tools/slim_contract.py FULL.json OUT.json [--source SITE_PACKAGES]

The full list maps the spellings of an option, joined by '/', to what argparse knows of it. Kept: spellings, whether
a value follows, its choices, a short default. Added, because argparse does not know it: what the engine's source
calls deprecated, and, with --source, the parser names that vLLM registers.
"""

from __future__ import annotations

import argparse
import ast
import json
from pathlib import Path
from typing import Any

DEPRECATED = {
    # vllm/engine/arg_utils.py
    "vllm": ["--disable-cascade-attn", "--log-config-file"],
    # sglang/srt/server_args.py, and arg_groups/serving_hook.py for values
    "sglang": [
        "--disable-cuda-graph",
        "--enable-dp-attention",
        "--enable-flashinfer-allreduce-fusion",
        "--grpc-mode",
        "--monokernel-backend",
        "--tool-call-parser=qwen25",
        "--tool-call-parser=glm45",
    ],
}
DOTTED = {
    # vLLM's parser makes JSON for the option out of --option.key value; these are the three the lab has a use for
    "vllm": ["--compilation-config", "--speculative-config", "--structured-outputs-config"],
    "sglang": [],
}
REGISTRIES = {
    "--tool-call-parser": ("vllm/tool_parsers/__init__.py", "_TOOL_PARSERS_TO_REGISTER"),
    "--reasoning-parser": ("vllm/reasoning/__init__.py", "_REASONING_PARSERS_TO_REGISTER"),
}
LONGEST_DEFAULT = 40


def slim(full: dict[str, Any], source: Path | None) -> dict[str, Any]:
    """The contract that the lab ships."""
    options = {}
    for joined, facts in full["options"].items():
        if not joined.startswith("-"):
            continue  # the model, where it is a positional
        entry: dict[str, Any] = {"names": joined.split("/"), "value": takes_value(joined, facts)}
        if facts.get("choices"):
            entry["choices"] = [str(choice) for choice in facts["choices"]]
        default = facts.get("default")
        if default is not None and len(str(default)) <= LONGEST_DEFAULT and default != "==SUPPRESS==":
            entry["default"] = default
        options[joined.split("/")[0]] = entry
    if source is not None:
        for option, (file, variable) in REGISTRIES.items():
            options[option]["choices"] = registered(source / file, variable)
    engine = full["engine"]
    return {
        "engine": engine,
        "version": full["version"],
        "dotted": DOTTED[engine],
        "deprecated": DEPRECATED[engine],
        "options": list(options.values()),
    }


def takes_value(joined: str, facts: dict[str, Any]) -> bool | str:
    """Whether a value has to follow; `many`: one or more."""
    if "takes_value" in facts:
        return "many" if facts.get("nargs") in ("+", "*") else bool(facts["takes_value"])
    return "--no-" not in joined and facts.get("default") is not False


def registered(path: Path, variable: str) -> list[str]:
    """The keys of the dictionary `variable` of a Python file, which is read, not run."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", None) == variable:
            assert isinstance(statement.value, ast.Dict)
            return sorted(ast.literal_eval(key) for key in statement.value.keys if key is not None)
    raise SystemExit(f"{path} has no {variable}")


def text(contract: dict[str, Any]) -> str:
    """JSON with one option a line, so that a change of one is a change of one line."""
    options = ",\n    ".join(json.dumps(option) for option in contract.pop("options"))
    head = json.dumps(contract, indent=2)[:-2]
    return f'{head},\n  "options": [\n    {options}\n  ]\n}}\n'


def main() -> None:
    """Read, slim, write."""
    parser = argparse.ArgumentParser(description="Make a contract of lab/engines/contracts/")
    parser.add_argument("full", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--source", type=Path, help="site-packages with the engine's source, for parser names")
    options = parser.parse_args()
    full = json.loads(options.full.read_text(encoding="utf-8"))
    options.out.write_text(text(slim(full, options.source)), encoding="utf-8")


if __name__ == "__main__":
    main()
