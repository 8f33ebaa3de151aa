"""Pages with a random identifier in a random place, spelling and packing, in bulk.

Print the tally: python -m tests.publish.fuzz --pages 2000 --seed 1
"""

from __future__ import annotations

import argparse
import html
import random

from lab.publish.gate import PrivateFact, inspect
from tests.publish.test_canaries import BROKEN, PACKED, PROSE, SPELLED

LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"


def main() -> int:
    """Plant and look; 1 when one was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    chance, missed, told = random.Random(asked.seed), 0, 0
    for page in range(asked.pages):
        head, tail = ("".join(chance.choices(LETTERS, k=chance.randint(4, 10))) for _ in range(2))
        value = head + chance.choice("-._") + tail + chance.choice(("", "", "山梨"))
        spelled, packed = chance.choice(sorted(SPELLED)), chance.choices(sorted(PACKED), k=chance.randint(0, 3))
        written = SPELLED[spelled](value)
        for name in packed:
            written = PACKED[name](written)
        broken = "" if packed else chance.choice(["", *sorted(BROKEN)])
        written = BROKEN[broken](written) if broken else written
        lines = [html.escape(one) for one in PROSE]
        lines[chance.randrange(len(lines))] += f" {written} "
        findings = inspect("en/index.html", "\n".join(lines).encode(), [PrivateFact(kind="canary", value=value)])
        if not [finding for finding in findings if finding.kind.startswith("canary")]:
            missed += 1
            print(f"MISSED page {page}: {value} {spelled}, {', '.join(packed)} {broken}")
        told += value in repr(findings)
    print(f"{asked.pages - missed} of {asked.pages} pages found, {told} findings repeat the value (seed {asked.seed})")
    return 1 if missed or told else 0


if __name__ == "__main__":
    raise SystemExit(main())
