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
_PRIVATE = (
    r"(?:10[-.]\d{1,3}|192[-.]168|172[-.](?:1[6-9]|2\d|3[01])|169[-.]254|100[-.](?:6[4-9]|[789]\d|1[01]\d|12[0-7]))"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"

KEYS: tuple[tuple[str, str], ...] = (
    (r"\bsk-(?=[a-z_-]{0,200}\d)[a-z0-9_-]{16}", "sk-"),
    (
        r"\b(?:hf|gh[opsur]|nvapi|glpat|gldt|glrt|xox[abeprs]|xapp|npm|pypi|gsk|pplx|r8|xai|fw|csk|dckr_pat|ntn|"
        r"shp(?:at|ca|pa|ss)|lin_api|do[opr]_v1|atatt3\w|hv[sbr]|tskey|sq0\w{3}|figd|rnd|pat|tgp_v1)[._-]"
        r"(?=[a-z._-]{0,200}\d)(?=[a-z0-9_-]{0,200}[a-z])[a-z0-9_-]{16}",
        "hf_ hf- gho ghp ghu ghs ghr nvapi glpat gldt glrt xox xapp npm_ pypi- gsk_ pplx- r8_ xai- fw_ csk- dckr ntn_ "
        "shp lin_api _v1_ atatt3 hvs. hvb. hvr. tskey sq0 figd rnd_ pat. pat_ tgp_v1",
    ),
    (r"\b(?:[srp]k|whsec)_(?:live|test)_[a-z0-9]{16}|\bwhsec_[a-z0-9]{24}", "k_live k_test whsec"),
    (r"\bgithub_pat_\w{20}", "github_pat"),
    (r"\bsg\.[a-z0-9_-]{16,40}\.[a-z0-9_-]{20}", "sg."),
    (r"\b(?:ac|sk|dapi|key-)[0-9a-f]{32}\b", "ac sk dapi key-"),
    (
        r"\ba(?:bi|cc|gp|id|ip|ki|np|nv|pk|ro|sc|si)a[0-9a-z]{16}\b",
        "abia acca agpa aida aipa akia anpa anva apka aroa asca asia",
    ),
    (r"\baiza[0-9a-z_-]{30}", "aiza"),
    (r"\bya29\.[0-9a-z_-]{20}", "ya29."),
    (r"\b\d{8,10}:aa[0-9a-z_-]{32,35}\b", ":aa"),
    (r"hooks\.slack\.com/(?:services|workflows)/t|discord(?:app)?\.com/api/webhooks/\d", "hooks"),
    (r"\beyj[a-z0-9_-]{8,4000}\.eyj[a-z0-9_-]{8}", "eyj"),
    (r"-----begin [a-z ]{0,30}private key|\bage-secret-key-1", "-----begin age-secret"),
    (
        r"\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-nistp\d{3}|sk-ssh-ed25519@openssh\.com) aaaa[a-z0-9+/]{20}",
        "ssh- ecdsa-",
    ),
    (r"\bbearer\s{1,8}(?=[a-z._-]{0,200}\d)[a-z0-9._~+/-]{16}", "bearer"),
    (r"\bauthorization[\"']?\s{0,8}[:=]\s{0,8}[\"']?basic\s{1,8}[a-z0-9+/]{8}", "basic"),
    (r"\b(?:set-)?cookie\s{0,8}:\s{0,8}[\w.-]{1,60}=[^\s;]{12}", "cookie"),
    (r"://[^\s/:@\"'<>]{1,200}:[^\s/@\"'<>]{1,200}@", "://"),
    (r"\b(?:accountkey|sharedaccesskey|sharedaccesssignature|sig)=[a-z0-9+/%]{20}", "key= ture= sig="),
    (
        r"\b(?:api[ _-]?key|access[ _-]?(?:token|key(?:[ _-]?id)?)|(?:auth|refresh)[ _-]?token|client[ _-]?secret|"
        r"secret(?:[ _-]?(?:access[ _-]?)?key)?|private[ _-]?key(?:[ _-]?id)?|token|passwo?r?d|passphrase|pwd)[\"']?"
        r"\s{0,8}[:=]\s{0,8}[\"']?(?=[a-z+/=._-]{0,200}\d)(?=[\d+/=._-]{0,200}[a-z])[\w+/=.-]{12}",
        "key token secret pass pwd",
    ),
)
"""Keys of many services by the form they have, and of any by the word before them: in lower case, with the hints."""

PATTERNS: tuple[Pattern, ...] = (
    _pattern(
        "path of a home folder",
        r"(?<![\w.])/(?:home|users)/[a-z0-9._-]",
        r"(?<![\w.])/root/\w",
        r"\b[a-z]:\\{1,4}(?:users|documents and settings)\\",
        r"(?<![\w~])~[a-z][a-z0-9._-]{2,31}/\w",
        hints="/home/ /users/ /root/ :\\ ~",
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
        r"(?<![\w.:/~<>-])/(?:mnt|media|data\d{0,3}|srv|opt|workspaces?|scratch|nfs|lustre|gpfs|beegfs|fsx|efs|export|"
        r"storage|vol\d{0,3}|volumes?|ckpts?|checkpoints|private|shared?|run/user|var/lib|dev/shm|repo|work|app|models)"
        r"/[\w.]",
        r"\bfile:///{0,8}[\w/]",
        r"(?<!\\)\\\\[a-z0-9._-]{1,64}\\[a-z0-9$._-]{1,64}\\",
        hints="/mnt/ /media/ /data /srv/ /opt/ /workspace /scratch/ /nfs/ /lustre/ /gpfs/ /beegfs/ /fsx/ /efs/ "
        "/export/ /storage/ /vol /ckpt /checkpoints/ /private/ /share /run/ /var/ /dev/ /repo/ /work/ /app/ /models/ "
        "file:/ \\\\",
    ),
    _pattern(
        "name of a kernel process",
        r"ipykernel_\d",
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
        hints="192.168 172. 169.254 100.",
    ),
    _pattern(
        "private network address",
        # 10.x.y.z is the version of some libraries too
        r"(?<![\d.])(?<!tensorrt )(?<!tensorrt-)(?<!cudnn )(?<!version )(?<!版 )(?<!==)(?<!v)10\.\d{1,3}" + _OCTETS,
        hints="10.",
    ),
    _pattern(
        "private network address",
        r"(?<![0-9a-f:])(?:fe80|f[cd][0-9a-f]{2}):(?::?[0-9a-f]{1,4}){2,7}(?![0-9a-f:])",
        hints="fe80: fc fd",
    ),
    _pattern(
        "private network address",
        # as a browser takes it in a URL too: one number, or in another base
        r"://(?:\d{8,10}|0x[0-9a-f]{8}|0\d{10})(?=[:/\s\"'<]|$)",
        r"\b(?:ip|ec2)-" + _PRIVATE.replace("[-.]", "-") + r"-\d{1,3}-\d{1,3}\b",
        r"\bec2-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\b",
        hints="://0x ://0 ://1 ://2 ://3 ://4 ip-1 ec2-",
    ),
    _pattern(
        "hardware address",
        r"(?<![0-9a-f:-])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![0-9a-f:-])",
        r"(?<![\w.])[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?![\w.])",
        hints=": - .",
    ),
    *(_pattern("key or token", expression, hints=hints, joined=True) for expression, hints in KEYS),
    _pattern(
        "e-mail address",
        r"(?<![a-z0-9._%+-])[a-z0-9._%+-]{1,64}@(?!(?:[\w-]{1,63}\.){0,8}example\.)(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}\b",
        hints="@",
        joined=True,
    ),
    _pattern(
        "name of a host",
        r"\b[a-z0-9](?:[a-z0-9-]{0,63}\.){1,8}(?:corp|lan|intranet|localdomain|ts\.net)\b(?!\()",
        r"\b[a-z0-9-]{1,63}\.home\.arpa\b",
        # threading.local is no host: a digit, a dash or a second label makes one
        r"\b(?=[a-z0-9.-]{0,200}[0-9-][a-z0-9.-]{0,200}\.(?:local|internal)|"
        r"[a-z0-9-]{1,63}\.[a-z0-9-]{1,63}\.(?:local|internal))[a-z0-9][a-z0-9.-]{0,200}\.(?:local|internal)\b(?![(._-])",
        r"\b(?:desktop|laptop)-(?=[a-z]{0,6}\d)[a-z0-9]{7}\b",
        hints=".corp .lan .intranet .localdomain .ts.net .home.arpa .local .internal desktop- laptop-",
    ),
    _pattern(
        "device id",
        r"\b(?:gpu|mig)-[0-9a-f]{8}(?![0-9a-z])",
        r"\bserial(?:[ _]?(?:number|no\.?))?[\"']?\s{0,8}[:=]?\s{0,8}[\"']?\d{10,14}\b",
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
        r"\b(?:docker|libpod|cri-containerd|kubepods)[-/.][\w./-]{0,200}?[0-9a-f]{12,64}\b",
        r"\bcontainer[ _]?id[\"']?\s{0,8}[:=]\s{0,8}[\"']?[0-9a-f]{12,64}\b",
        hints="docker libpod cri-containerd kubepods container",
        joined=True,
    ),
    _pattern(
        "moment in time",
        r"(?<!\d)20\d\d-[01]\d-[0-3]\d[t ][0-2]\d:[0-5]\d",
        r"(?<!\d)20\d\d[01]\d[0-3]\d[t_-][0-2]\d[0-5]\d[0-5]\d",
        r"\bd:20\d{12}",
        r"\b[0-3]?\d " + _MONTH + r" 20\d\d [0-2]\d:[0-5]\d",
        r"\b" + _MONTH + r" [0-3 ]?\d [0-2]\d:[0-5]\d:[0-5]\d",
        hints="20 :",
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
