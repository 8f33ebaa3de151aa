"""Prints what the harness costs beside bare HTTP: `python -m tests.quality.overhead`.

The same bodies are sent to a server that answers at once, by the harness and by `http.client`, at concurrency 1,
each with a connection per request. Also printed: what it takes until the first request can be sent.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from lab.quality import load_suite, run_suite
from lab.records import Capabilities, Check
from tests.quality.fake_engine import CharTokenizer, Exchange, chat, completion, echo, serve
from tests.quality.small_suite import SAMPLING

ITEMS = 200

START = """
import sys, time
begin = time.perf_counter()
from pathlib import Path
from lab.quality import load_suite
suite = load_suite(Path(sys.argv[1]))
read = time.perf_counter()
suite.ref()
print(f"{read - begin:.2f} s to read it, {time.perf_counter() - read:.2f} s more to import lm-eval and pin it")
"""


def write_suite(folder: Path, settings: dict[str, object]) -> Path:
    choice = settings.get("output") == "choice"
    extra = {"choices": ["x", "y"], "accept": ["y"]} if choice else {"accept": ["y"]}
    items = ({"id": f"item-{n}", "question": f"question {n}"} | extra for n in range(ITEMS))
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    task = {"task": "items", "data": "items.jsonl"} | settings
    (folder / "suite.yaml").write_text(
        yaml.safe_dump({"suite": "overhead", "version": "1.0.0", "about": "For a measurement.", "tasks": [task]})
    )
    return folder


def answer(exchange: Exchange) -> None:
    if "echo" in exchange.asked:
        exchange.send(echo(exchange.question))
    else:
        exchange.send(chat("y") if "messages" in exchange.asked else completion("y"))


def bare(port: int, path: str, bodies: list[bytes]) -> float:
    begin = time.perf_counter()
    for body in bodies:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        connection.getresponse().read()
        connection.close()
    return time.perf_counter() - begin


def main() -> None:
    for folder in sorted(Path("params/quality").iterdir()):
        if folder.name != "core":
            done = subprocess.run([sys.executable, "-c", START, folder], capture_output=True, text=True, check=True)
            print(f"{folder.name}: {done.stdout.strip()}")
    for output, metric in (("chat", "exact_match"), ("completion", "exact_match"), ("choice", "acc")):
        settings: dict[str, object] = {"output": output, "metric": metric}
        if output != "choice":
            settings["max_tokens"] = 8
        with tempfile.TemporaryDirectory() as folder, serve(answer) as engine:
            suite = load_suite(write_suite(Path(folder), settings))
            suite.ref()  # imports are not what is measured
            result, _ = run_suite(
                suite,
                base_url=engine.base_url,
                model="m",
                sampling=SAMPLING,
                context_limit=512,
                run_id="r-abcdefgh23",
                capabilities=Capabilities(checks=(Check(name="echo", result="pass", detail=""),)),
                tokenizer=CharTokenizer(),
            )
            sent = [exchange.raw for exchange in engine.seen]
            bare_s = bare(engine.server_port, engine.seen[0].path, sent)
        each, alone = result.seconds / len(sent) * 1000, bare_s / len(sent) * 1000
        print(
            f"{output}: {len(sent)} requests, {each:.2f} ms each through the harness, {alone:.2f} ms bare: "
            f"{each - alone:.2f} ms overhead"
        )


if __name__ == "__main__":
    main()
