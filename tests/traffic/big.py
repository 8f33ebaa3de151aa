"""How fast a large file of traffic is read, and in how much memory: `python -m tests.traffic.big [--mb 1000]`.

Not a test: it writes a file of that size into a temporary folder, reads it with `lab traffic` in a process of its own,
and prints megabytes a second, of the clock and of the CPU, and the largest resident set.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import CHECKOUT


def write_log(path: Path, size: int, seed: int = 1) -> int:
    """Conversations over 200 instructions, a third of them later turns; returns the requests."""
    chance = random.Random(seed)
    syllables = "ka ri to me no shi ra ve lo an de qu is po tu be".split()
    vocabulary = ["".join(chance.choices(syllables, k=chance.randrange(1, 4))) for _ in range(20_000)]

    def text(words: int) -> str:
        return " ".join(chance.choices(vocabulary, k=words))

    instructions = [text(chance.randrange(100, 800)) for _ in range(200)]
    open_: list[list[dict[str, str]]] = []
    at_s, written, number = 1.7e9, 0, 0
    with path.open("w", encoding="utf-8") as out:
        while written < size:
            at_s += chance.expovariate(20.0)
            if len(open_) > 50 and chance.random() < 0.35:
                turns = open_.pop(chance.randrange(len(open_)))
                turns = [*turns, {"role": "assistant", "content": text(120)}, {"role": "user", "content": text(30)}]
            else:
                first = instructions[min(int(chance.expovariate(0.05)), 199)]
                turns = [{"role": "system", "content": first},
                         {"role": "user", "content": text(int(chance.lognormvariate(4, 1)) + 1)}]  # fmt: skip
            if len(turns) < 12:
                open_.append(turns)
                if len(open_) > 5000:
                    open_.pop(0)
            line = json.dumps({
                "id": f"r{number}", "timestamp": at_s, "duration_ms": chance.randrange(200, 20_000),
                "body": {"model": "m", "stream": True, "messages": turns},
                "response": {"choices": [{"message": {"content": text(chance.randrange(20, 200))}}]},
            })  # fmt: skip
            out.write(line + "\n")
            written += len(line) + 1
            number += 1
    return number


_RUN = """
import resource, sys
sys.argv = ["lab", *sys.argv[1:]]
import lab.cli
lab.cli.app(standalone_mode=False)
used = resource.getrusage(resource.RUSAGE_SELF)
print("USED", used.ru_maxrss, used.ru_utime + used.ru_stime, file=sys.stderr)
"""


def main() -> None:
    """Write, read, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=1000, help="size of the file, megabytes")
    parser.add_argument("--tokenizer", help="as for lab traffic; none: characters")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lab-big-") as folder:
        path = Path(folder) / "log.jsonl"
        requests = write_log(path, arguments.mb * 1_000_000)
        size = path.stat().st_size
        print(f"{size / 1e6:,.0f} MB, {requests:,} requests", flush=True)
        more = ["--tokenizer", arguments.tokenizer, "--workload", f"{folder}/big.yaml"] if arguments.tokenizer else []
        start = time.monotonic()
        done = subprocess.run([sys.executable, "-c", _RUN, "traffic", str(path), *more], cwd=CHECKOUT,
                              capture_output=True, text=True, check=True)  # fmt: skip
        took = time.monotonic() - start
        print(done.stdout)
        kib, cpu_s = map(float, done.stderr.rsplit("USED", 1)[1].split())
        print(f"{size / 1e6 / took:.1f} MB/s, {took:.0f} s, {cpu_s:.0f} s of CPU: {size / 1e6 / cpu_s:.1f} MB for each")
        print(f"largest resident set {kib / 1024:,.0f} MiB")


if __name__ == "__main__":
    main()
