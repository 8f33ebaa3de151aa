"""Whether a licence lets other people's numbers be shown again."""

from __future__ import annotations

import re

from lab.imports.record import Republish

OPEN = re.compile(
    r"^(cc0|cc-?by(-sa)?(-\d(\.\d)?)?|pddl|odc-by|odbl|mit|apache-?2(\.0)?|bsd(-[23]-clause)?|public-domain)"
    r"(-1\.0|-\d\.\d)?$"
)
"""Licences that allow the numbers to be republished; versions may follow."""

WITHOUT_CREDIT = re.compile(r"^(cc0|pddl|public-domain)")
"""Those of them that ask for no credit."""


def may_republish(licence: str | None, credit: str | None) -> Republish:
    """What follows from a licence's name, and from who is named: only names the lab knows to allow it say yes."""
    if licence is None or not licence.strip():
        return "not-stated"
    folded = re.sub(r"[\s_]+", "-", licence.strip().lower())
    if not OPEN.match(folded):
        return "no"
    return "yes" if WITHOUT_CREDIT.match(folded) or (credit and credit.strip()) else "needs-credit"
