"""What never belongs in anything published, whoever runs the lab: looked for in folded text.

A pattern has to hold over ordinary prose, digests, versions and routes; what cannot be told from those (a bare
64-digit container id, a public IP address) is looked for only where a private bundle knows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of thing that identifies.

    Attributes:
        kind: what it is called in a finding.
        expression: over folded text.
        hints: one of these stands in every text that has it; without one the expression is not tried.
        joined: whether it is looked for with the markup taken out too, where cells of a table run together.
    """

    kind: str
    expression: re.Pattern[str]
    hints: tuple[str, ...]
    joined: bool = False


def _pattern(kind: str, *expressions: str, hints: str, joined: bool = False) -> Pattern:
    return Pattern(kind, re.compile("|".join(expressions)), tuple(hints.split()), joined)


_OCTETS = r"\.\d{1,3}\.\d{1,3}(?![\d.]*\d)"

PATTERNS: tuple[Pattern, ...] = (
    _pattern(
        "path of a home folder",
        r"(?<![\w.])/(?:home|users)/[a-z0-9._-]+",
        r"(?<![\w.])/root/\w",
        r"\b[a-z]:\\+(?:users|documents and settings)\\",
        hints="/home/ /users/ /root/ :\\",
        joined=True,
    ),
    _pattern(
        "path of a temporary folder",
        r"(?<![\w.])/(?:var/)?tmp/\w",
        r"/var/folders/\w",
        hints="/tmp/ /folders/",  # noqa: S108 - nothing is written there
        joined=True,
    ),
    _pattern(
        "absolute path",
        r"(?<![\w.:/~<>-])/(?:mnt|media|data\d*|srv|opt|workspaces?|scratch|nfs|lustre|gpfs|beegfs|fsx|efs|export|"
        r"storage|vol\d*|volumes?|ckpts?|checkpoints|private|shared?|run/user|var/lib|dev/shm|repo|work|app|models)/[\w.]",
        r"\bfile://+[\w/]",
        r"(?<!\\)\\\\[a-z0-9._-]+\\[a-z0-9$._-]+\\",
        hints="/mnt/ /media/ /data /srv/ /opt/ /workspace /scratch/ /nfs/ /lustre/ /gpfs/ /beegfs/ /fsx/ /efs/ "
        "/export/ /storage/ /vol /ckpt /checkpoints/ /private/ /share /run/ /var/ /dev/ /repo/ /work/ /app/ /models/ "
        "file:/ \\\\",
    ),
    _pattern(
        "name of a kernel process",
        r"ipykernel_\d+",
        r"\bkernel-[0-9a-f]{8}-",
        hints="kernel",
        joined=True,
    ),
    _pattern(
        "address of an object",
        r"\b0x[0-9a-f]{8,16}\b",
        hints="0x",
    ),
    _pattern(
        "private network address",
        r"(?<![\d.])(?:192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254|100\.(?:6[4-9]|[789]\d|1[01]\d|12[0-7]))" + _OCTETS,
        # 10.x.y.z is the version of some libraries too
        r"(?<![\d.])(?<!tensorrt )(?<!tensorrt-)(?<!cudnn )(?<!version )(?<!版 )(?<!==)(?<!v)10\.\d{1,3}" + _OCTETS,
        r"(?<![0-9a-f:])(?:fe80|f[cd][0-9a-f]{2}):(?::?[0-9a-f]{1,4}){2,7}(?![0-9a-f:])",
        hints="10. 192.168 172. 169.254 100. fe80: fc fd",
    ),
    _pattern(
        "hardware address",
        r"(?<![0-9a-f:-])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![0-9a-f:-])",
        hints=": -",
    ),
    _pattern(
        "key or token",
        r"\bsk-(?=[a-z_-]*\d)[a-z0-9_-]{16,}",
        r"\b(?:hf|gh[opsu]|nvapi|glpat|xox[abprs]|npm|pypi)[_-](?=[a-z_-]*\d)[a-z0-9_-]{16,}",
        r"\bgithub_pat_\w{20,}",
        r"\ba[ks]ia[0-9a-z]{16}\b",
        r"\baiza[0-9a-z_-]{30,}",
        r"\beyj[a-z0-9_-]{8,}\.eyj[a-z0-9_-]{8,}",
        r"-----begin [a-z ]*private key",
        r"\bssh-(?:rsa|ed25519|dss) aaaa[a-z0-9+/]{20,}",
        r"\bbearer\s+(?=[a-z._-]*\d)[a-z0-9._~+/-]{16,}",
        r"://[^\s/:@\"'<>]+:[^\s/@\"'<>]+@",
        r"\b(?:api[ _-]?key|access[ _-]?token|auth[ _-]?token|token|secret|passwo?r?d|passphrase)[\"']?\s*[:=]\s*[\"']?"
        r"(?=[\w+/=.-]*\d)(?=[\w+/=.-]*[a-z])[\w+/=.-]{12,}",
        hints="sk- hf nvapi glpat xox npm pypi gh akia asia aiza eyj -----begin ssh- bearer :// key token secret pass",
        joined=True,
    ),
    _pattern(
        "e-mail address",
        r"\b[a-z0-9._%+-]+@(?!(?:[\w-]+\.)*example\.)(?:[a-z0-9-]+\.)+[a-z]{2,}\b",
        hints="@",
        joined=True,
    ),
    _pattern(
        "name of a host",
        r"\b[a-z0-9](?:[a-z0-9-]*\.)+(?:corp|lan|intranet|localdomain)\b(?!\()",
        r"\b[a-z0-9-]+\.home\.arpa\b",
        # threading.local is no host: a digit, a dash or a second label makes one
        r"\b(?=[a-z0-9.-]*[0-9-][a-z0-9.-]*\.(?:local|internal)|[a-z0-9-]+\.[a-z0-9-]+\.(?:local|internal))"
        r"[a-z0-9][a-z0-9.-]*\.(?:local|internal)\b(?![(._-])",
        hints=".corp .lan .intranet .localdomain .home.arpa .local .internal",
    ),
    _pattern(
        "device id",
        r"\b(?:gpu|mig)-[0-9a-f]{8}-[0-9a-f]{4}-",
        r"\bserial(?:[ _]?(?:number|no\.?))?[\"']?\s*[:=]?\s*[\"']?\d{10,14}\b",
        hints="gpu- mig- serial",
        joined=True,
    ),
    _pattern(
        "bus address",
        r"\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b",
        hints=":",
    ),
    _pattern(
        "unique id",
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        hints="-",
    ),
    _pattern(
        "container id",
        r"\b(?:docker|libpod|cri-containerd|kubepods)[-/.][\w./-]*[0-9a-f]{12,64}\b",
        hints="docker libpod cri-containerd kubepods",
        joined=True,
    ),
    _pattern(
        "moment in time",
        r"(?<!\d)20\d\d-[01]\d-[0-3]\d[t ][0-2]\d:[0-5]\d",
        r"\bd:20\d{12}",
        hints="20",
    ),
)
"""Everything that is looked for in every reading."""


def patterns_in(text: str, *, joined: bool = False) -> Iterator[tuple[str, int]]:
    """Kind and place of everything that never belongs in what is published.

    Args:
        text: folded.
        joined: the markup was taken out, so what runs together may never have been one word.
    """
    for pattern in PATTERNS:
        if (joined and not pattern.joined) or not any(hint in text for hint in pattern.hints):
            continue
        for match in pattern.expression.finditer(text):
            yield pattern.kind, match.start()
