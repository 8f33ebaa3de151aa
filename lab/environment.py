"""Captures the machine: what a result depends on, and what would identify the host.

The whole record is private. `lab.publish` takes a class of machine out of it and uses the rest to look
for leaks.
"""

from __future__ import annotations

import ctypes
import getpass
import importlib.metadata
import mmap
import os
import platform
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Literal

import psutil

from lab.records import MachineClass
from lab.spec import Frozen

PACKAGES = ("lm-eval", "papermill", "xllamacpp", "httptools", "uvloop", "numpy", "pyarrow", "pydantic")
"""Packages whose versions can change a result."""


class Gpu(Frozen):
    """One NVIDIA GPU as nvidia-smi reports it."""

    name: str
    uuid: str
    driver: str
    memory_mib: int | None
    architecture: str | None = None
    """For instance sm_90; None when the driver's tools do not tell the compute capability."""


class Environment(Frozen):
    """The machine and the software of one run. Private."""

    hostname: str
    user: str
    home: str
    cwd: str
    addresses: tuple[str, ...]
    """IP and MAC addresses of its interfaces, loopback left out."""
    system: str
    release: str
    machine: str
    distribution: str
    cpu_model: str
    cpu_cores: int
    """Logical cores this process may use."""
    memory_bytes: int
    python: str
    packages: dict[str, str]
    gpus: tuple[Gpu, ...]
    gpu_reason: str | None
    """Why no GPU is listed; None when there is one."""
    load_average: float | None
    """One minute, at the start of the run: a busy machine measures badly."""
    cgroup: str
    """First line of /proc/self/cgroup: in a container it holds the container's id."""

    @property
    def gpu_architecture(self) -> str | None:
        """The one architecture of every GPU here, for instance sm_90; None: not known, or they differ."""
        found = {gpu.architecture for gpu in self.gpus}
        return found.pop() if len(found) == 1 else None

    @property
    def machine_class(self) -> MachineClass:
        """The machine as a class: what may be said of it in public."""
        systems: dict[str, Literal["Linux", "Darwin"]] = {"Linux": "Linux", "Darwin": "Darwin"}
        return MachineClass(
            accelerator=self.gpus[0].name if self.gpus else None,
            cpu_cores=self.cpu_cores,
            memory_gib=max(1, round(self.memory_bytes / 2**30)),
            system=systems.get(self.system, "Other"),
            machine=self.machine.lower(),
            python=self.python,
        )


def capture() -> Environment:
    """The machine as it is now."""
    gpus, gpu_reason = _gpus()
    return Environment(
        hostname=socket.gethostname(),
        user=_user(),
        home=str(Path.home()),
        cwd=os.getcwd(),
        addresses=_addresses(),
        system=platform.system(),
        release=platform.release(),
        machine=platform.machine(),
        distribution=_distribution(),
        cpu_model=_cpu_model(),
        cpu_cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        python=platform.python_version(),
        packages={name: version for name in PACKAGES if (version := _version(name)) is not None},
        gpus=gpus,
        gpu_reason=gpu_reason,
        load_average=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        cgroup=_first_line(Path("/proc/self/cgroup")),
    )


def page_cache_share(path: Path) -> float | None:
    """Share of a file, or of all files of a folder, that already is in memory, 0 to 1; None where it cannot be told.

    Source: mincore(2), one byte for each page.
    """
    if sys.platform != "linux":
        return None
    files = [inner for inner in path.rglob("*") if inner.is_file()] if path.is_dir() else [path]
    counts = [_resident_pages(file) for file in files if file.stat().st_size]
    whole = [count for count in counts if count is not None]
    if not whole or len(whole) < len(counts):
        return None
    return sum(resident for resident, _ in whole) / sum(pages for _, pages in whole)


def _resident_pages(path: Path) -> tuple[int, int] | None:
    """Pages of a file in memory, and all its pages."""
    libc = ctypes.CDLL(None, use_errno=True)
    size = path.stat().st_size
    pages = -(-size // mmap.PAGESIZE)
    resident = (ctypes.c_ubyte * pages)()
    # a private writable mapping, because ctypes needs a writable buffer to take an address; nothing is written
    with (
        path.open("rb") as handle,
        mmap.mmap(handle.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as view,
    ):
        window = ctypes.c_char.from_buffer(view)
        failed = libc.mincore(ctypes.c_void_p(ctypes.addressof(window)), ctypes.c_size_t(size), resident)
        del window
    return None if failed else (sum(byte & 1 for byte in resident), pages)


def _gpus() -> tuple[tuple[Gpu, ...], str | None]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return (), "no NVIDIA driver tools on this machine"
    try:
        rows = [row for row in _ask(program, "name,uuid,driver_version,memory.total") if len(row) == 4]
        # asked apart: a driver that does not know the field answers nothing at all
        capabilities = {row[0]: row[1] for row in _ask(program, "uuid,compute_cap") if len(row) == 2}
    except (OSError, subprocess.TimeoutExpired) as problem:
        return (), f"nvidia-smi did not answer: {type(problem).__name__}"
    gpus = tuple(
        Gpu(
            name=name,
            uuid=uuid,
            driver=driver,
            memory_mib=int(memory) if memory.isdigit() else None,
            architecture=_architecture(capabilities.get(uuid, "")),
        )
        for name, uuid, driver, memory in rows
    )
    return gpus, None if gpus else "nvidia-smi lists no GPU"


def _ask(program: str, fields: str) -> list[list[str]]:
    """Rows of nvidia-smi, one a GPU, one cell a field."""
    done = subprocess.run(
        [program, f"--query-gpu={fields}", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines()]


def _architecture(capability: str) -> str | None:
    """A compute capability as the compiler's name of the architecture: 9.0 is sm_90."""
    major, _, minor = capability.partition(".")
    return f"sm_{major}{minor}" if major.isdigit() and minor.isdigit() else None


def _addresses() -> tuple[str, ...]:
    found = set()
    for addresses in psutil.net_if_addrs().values():
        for address in addresses:
            plain = address.address.partition("%")[0]
            if plain and not plain.startswith("127.") and plain not in ("::1", "00:00:00:00:00:00"):
                found.add(plain)
    return tuple(sorted(found))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid()) if hasattr(os, "getuid") else "unknown"


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.lower().startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0]
    except OSError:
        return ""
