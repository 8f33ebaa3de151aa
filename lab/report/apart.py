"""Pages built by a process that can see the public evidence of its edition, and nothing else of this machine.

It is started with an environment of its own, in a folder that holds the evidence and nothing else, and is told no
other path. Two fences stand around it: Python's own opening, listing, starting and connecting is refused outside that
folder, the package and its libraries; and where Linux has Landlock the kernel refuses the same to every program
code in it, also to what never asks Python.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import os
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from lab.errors import EvidenceError, LabError
from lab.scratch import scratch

LIMIT_S = 600.0
"""How long building pages may take."""

REFUSAL = "refusal.json"
"""Where that process says what kept it from building, in the words of the lab."""

PACKAGE = Path(__file__).resolve().parents[1]
"""The package itself."""

SYSTEM = (
    "/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/usr/share",
    "/usr/local/share", "/etc/fonts", "/etc/ld.so.cache",
    "/etc/localtime", "/etc/mime.types", "/dev/null", "/dev/urandom", "/dev/random", "/proc/self/maps",
    "/proc/self/stat", "/proc/self/status", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu",
)  # fmt: skip
"""What libraries read of a system: code, fonts, time zones, the number of CPUs. Of the process only what it uses: its
mounts and its control group tell the host and the container."""

REFUSED = frozenset(
    "os.exec os.posix_spawn os.system os.fork os.forkpty os.spawn subprocess.Popen os.chdir os.chroot "
    "socket.connect socket.bind socket.getaddrinfo socket.gethostbyname socket.gethostbyaddr socket.gethostname "
    "socket.__new__ socket.sendto socket.sendmsg os.kill os.killpg os.getxattr os.listxattr os.mkfifo os.mknod "
    "sqlite3.connect pty.spawn os.link os.symlink ftplib.connect urllib.Request".split()
)
"""What no page needs: another program, a connection, the name of the host, a way around a path."""

PATHS = frozenset(
    "open os.listdir os.scandir os.truncate os.remove os.rename os.mkdir os.rmdir os.chmod os.utime "
    "shutil.copyfile".split()
)
"""Events of Python whose first argument is a path."""


class Fence(PermissionError):
    """Something outside the fence was asked for."""


def apart(target: str) -> Callable[..., dict[str, bytes]]:
    """A function that builds pages, made to run behind the fences.

    Args:
        target: module and name, for instance `lab.report.build:build_pages`. Its arguments are annotated with public
            types, because they travel as JSON.

    Returns:
        A function with the same arguments and the same pages.
    """

    def build(*args: Any, **kwargs: Any) -> dict[str, bytes]:
        with scratch("pages") as folder:
            evidence = folder / "evidence"
            evidence.mkdir()
            (evidence / "arguments.json").write_bytes(to_json({"args": args, "kwargs": kwargs}))
            done = run_apart(folder, f"from lab.report.apart import main; main({target!r})")
            refused = Path(folder) / REFUSAL
            if refused.is_file():
                what, next_step = from_json(refused.read_bytes())
                raise EvidenceError(f"the pages could not be built: {what}", next_step)
            if done.returncode:
                said = done.stderr.strip().splitlines()
                raise EvidenceError(
                    f"the pages could not be built: {said[-1] if said else f'exit {done.returncode}'}",
                    "see whether there is room where TMPDIR lies (df -h), and no limit for files (ulimit -f)",
                )
            pages = folder / "pages"
            found = [path for path in sorted(pages.rglob("*")) if path.is_file() and not path.is_symlink()]
            return {path.relative_to(pages).as_posix(): path.read_bytes() for path in found}

    return build


def run_apart(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run Python code behind the fences, in `folder`.

    Args:
        folder: the only place it can write, and besides libraries the only one it can read.
        code: what to run.
    """
    start = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); from lab.report.apart import fence; fence(); "
    return subprocess.run(
        [sys.executable, "-I", "-B", "-c", start + code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=clean_environment(folder),
        timeout=LIMIT_S,
        check=False,
    )


def clean_environment(folder: Path) -> Mapping[str, str]:
    """The variables of that process: nothing of whoever starts it."""
    return {"LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": str(folder), "TMPDIR": str(folder), "PATH": "/usr/bin:/bin"}


def fence() -> None:
    """Put both fences around this process, for good.

    Raises:
        Fence: the kernel has Landlock and did not put up its fence.
    """
    inside = (Path.cwd(),)
    _leave_host()
    readable = (*inside, PACKAGE, *_libraries(), *map(Path, SYSTEM))
    if not _ask_kernel(inside, readable) and kernel_refuses():
        raise Fence("the kernel did not put up its fence")
    roots = tuple(dict.fromkeys(os.path.realpath(root) for root in readable))
    writable = tuple(os.path.realpath(root) for root in inside)
    fixed = tuple(str(root) + "/" for root in readable[1:])  # nothing in there can be changed from in here
    refused, watched, below, real = REFUSED, PATHS, _below, os.path.realpath  # what is changed later changes nothing
    listed = {os.path.realpath(entry or ".") for entry in sys.path}  # the import system lists these, one level deep

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event in refused:
            raise Fence(f"{event} is not for building pages")
        if event not in watched or isinstance(arguments[0], int) or arguments[0] is None:
            return
        if (
            event == "open"
            and arguments[1] == "r"
            and str(arguments[0]).startswith(fixed)
            and ".." not in str(arguments[0])
        ):
            return
        path = real(os.fsdecode(arguments[0]))  # type: ignore[arg-type]  # an audit event is untyped
        changes = event not in ("open", "os.listdir", "os.scandir")
        if event == "open":
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            changes = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)) and path != os.devnull
        if not below(path, writable if changes else roots) and not (event == "os.listdir" and path in listed):
            raise Fence(f"{event} outside the evidence")

    sys.addaudithook(audit)


def main(target: str) -> None:
    """Call `target` with the evidence in the working folder and write the pages beside it."""
    module, _, name = target.partition(":")
    build = getattr(importlib.import_module(module), name)
    given = from_json(Path("evidence/arguments.json").read_bytes())
    bound = inspect.signature(build, eval_str=True).bind(*given["args"], **given["kwargs"])
    for parameter, value in bound.arguments.items():
        kind = TypeAdapter(bound.signature.parameters[parameter].annotation)
        bound.arguments[parameter] = kind.validate_json(to_json(value))
    try:
        built = build(*bound.args, **bound.kwargs)
    except LabError as problem:
        Path(REFUSAL).write_bytes(to_json((problem.what, problem.next_step)))
        return
    for path, page in built.items():
        at = Path("pages") / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(page)


def _libraries() -> tuple[Path, ...]:
    """Where Python and its packages are; a folder of the checkout that only holds the package is none of them."""
    known = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    known |= {entry for entry in sys.path if "site-packages" in entry or "dist-packages" in entry}
    known |= {entry for entry in sys.path if entry.startswith((sys.base_prefix + "/lib", sys.base_prefix + "/Lib"))}
    configured = (Path(sys.prefix) / "pyvenv.cfg", Path(sys.base_prefix) / "lib")
    return (*(Path(entry) for entry in sorted(filter(None, known))), *configured, *_packages_elsewhere(known))


def _packages_elsewhere(known: set[str]) -> tuple[Path, ...]:
    """Shared libraries that Python's own program is linked to."""
    base = Path(os.path.realpath(sys.executable)).parent
    return (base,) if str(base) not in known else ()


def _below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


# Landlock: linux/landlock.h. The numbers of the calls are the same on every architecture.
_CREATE, _ADD, _RESTRICT, _NO_NEW_PRIVILEGES, _PATH_BENEATH = 444, 445, 446, 38, 1
_OWN_NAME, _OWN_USERS, _OWN_NETWORK = 0x0400_0000, 0x1000_0000, 0x4000_0000
_EXECUTE, _WRITE, _READ_FILE, _READ_FOLDER = 1, 2, 4, 8
_CHANGES = sum(1 << bit for bit in range(4, 9))  # remove and make files and folders; no link, no device
_REFER, _TRUNCATE, _TCP = 1 << 13, 1 << 14, 0b11


def _leave_host() -> None:
    """A name of its own and no network, where the kernel gives them to this user; else Python's fence stands alone."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    parts = _OWN_NAME | _OWN_NETWORK | (_OWN_USERS if os.getuid() else 0)
    if libc.unshare(ctypes.c_int(parts)) == 0:
        libc.sethostname(b"lab", ctypes.c_size_t(3))
    sys.modules.pop("platform", None)  # it keeps the name it was told first


def kernel_refuses() -> bool:
    """Whether this kernel can put its own fence around a process; Python's stands everywhere."""
    if sys.platform != "linux":
        return False
    return int(ctypes.CDLL(None).syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))) >= 1


def _ask_kernel(writable: tuple[Path, ...], readable: tuple[Path, ...]) -> bool:
    """Have the kernel refuse files outside and connections, as far as it can; False where it has no Landlock."""
    if not kernel_refuses():
        return False
    call = ctypes.CDLL(None, use_errno=True).syscall
    version = call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    files = _EXECUTE | _WRITE | _READ_FILE | _READ_FOLDER | _CHANGES
    files |= (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    attributes = struct.pack("QQ", files, _TCP) if version >= 4 else struct.pack("Q", files)
    rules = call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    if rules < 0:
        return False
    for root in dict.fromkeys((*writable, *readable)):
        allowed = files if root in writable else _EXECUTE | _READ_FILE | _READ_FOLDER
        if not root.is_dir():
            allowed &= _EXECUTE | _WRITE | _READ_FILE | (_TRUNCATE if version >= 3 else 0)
        try:
            handle = os.open(root, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # a system without this folder needs no way into it
        call(_ADD, rules, _PATH_BENEATH, struct.pack("=Qi", allowed, handle), ctypes.c_uint(0))
        os.close(handle)
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    done = call(_RESTRICT, rules, ctypes.c_uint(0)) == 0
    os.close(rules)
    return bool(done)
