"""Keeps a process and all its descendants on a leash: when the holder goes, they go.

`python -m lab.leash REPORT_FD SCRATCH COMMAND…` starts COMMAND and watches two things: its own standard input,
which the holder keeps open, and the command. When the holder closes it, on purpose or by dying (kill -9
included), or when the command ends, every descendant is asked to stop and then made to stop, those that
left their session or lost their parent too (on Linux the leash adopts orphans). A holder that dies leaves its
SCRATCH folder to the leash, which removes it; one that closes on purpose says so first (SIGUSR1) and keeps it.

On REPORT_FD it says `started PID SECONDS` (monotonic) right before the command runs. Its exit code is the
command's, 128 + n for signal n.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import IO

import psutil

GRACE_S = 8.0
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class Leashed:
    """The holder's side: a command that cannot outlive this process.

    Args:
        argv: the command.
        env: its whole environment.
        output: where its standard output and error go.
        cwd: its working directory; None keeps ours.
        scratch: a folder of the holder's that goes when the holder dies; None: there is none.

    Attributes:
        pid: process id of the command itself.
        started_s: `perf_counter` second right before it ran.

    Raises:
        FileNotFoundError: the program does not exist.
    """

    def __init__(
        self,
        argv: list[str],
        env: dict[str, str],
        output: IO[bytes],
        cwd: str | None = None,
        scratch: str | None = None,
    ) -> None:
        from lab.scratch import held_handles  # not at the top: the leash's own process knows no package

        read_fd, write_fd = os.pipe()
        try:
            self._leash = subprocess.Popen(
                [sys.executable, "-P", os.path.abspath(__file__), str(write_fd), scratch or "", *argv],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=cwd,
                pass_fds=(write_fd, *held_handles()),  # what is measured is held until its last process has ended
                start_new_session=True,
            )
        finally:
            os.close(write_fd)
        with os.fdopen(read_fd) as report:
            words = report.readline().split()
        if not words or words[0] != "started":
            self._leash.wait()
            raise FileNotFoundError(f"'{argv[0]}' could not be started: {' '.join(words[1:]) or 'no report'}")
        self.pid, self.started_s = int(words[1]), float(words[2])

    def poll(self) -> int | None:
        """Exit code of the command, or None while it runs."""
        return self._leash.poll()

    def stop(self) -> int:
        """Stop the command and every descendant; returns when none is left."""
        assert self._leash.stdin is not None
        self._leash.send_signal(signal.SIGUSR1)  # on purpose; nothing is sent to one that has ended
        with contextlib.suppress(OSError):
            self._leash.stdin.close()
        try:
            return self._leash.wait(GRACE_S + 10)
        except subprocess.TimeoutExpired:
            self._leash.kill()
            return self._leash.wait()


def main(argv: list[str]) -> int:
    """Run a command on a leash; see the module's first lines."""
    report_fd, scratch, command = int(argv[0]), argv[1], argv[2:]
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    if libc is not None:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def follow() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    if scratch:
        with contextlib.suppress(OSError):  # held as long as this process lives: nobody takes it for a dead one's
            fcntl.flock(os.open(scratch, os.O_RDONLY), fcntl.LOCK_SH)
    let_go, on_purpose = threading.Event(), threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: on_purpose.set())
    started_s = time.perf_counter()
    with os.fdopen(report_fd, "w") as report:
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=follow)
        except OSError as problem:
            report.write(f"failed {problem.strerror}\n")
            return 127
        report.write(f"started {child.pid} {started_s!r}\n")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop_descendants())
    threading.Thread(target=_await_release, args=(let_go,), daemon=True).start()
    code = child.wait()
    stop_descendants()
    if scratch and let_go.is_set() and not on_purpose.is_set():
        shutil.rmtree(scratch, ignore_errors=True)
    return code if code >= 0 else 128 - code


def stop_descendants() -> None:
    """Ask every descendant of this process to stop, then make them."""
    deadline = time.monotonic() + GRACE_S
    asked: set[int] = set()
    while family := psutil.Process().children(recursive=True):
        late = time.monotonic() > deadline
        for process in family:
            with contextlib.suppress(psutil.Error):
                if late:
                    process.kill()
                elif process.pid not in asked:
                    asked.add(process.pid)
                    process.terminate()
        _, alive = psutil.wait_procs(family, timeout=0.05)
        _reap()
        if late and not alive:
            break


def _reap() -> None:
    """Collect adopted children that have ended; the command itself is left to its own wait."""
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.Error, ChildProcessError):
            if process.status() == psutil.STATUS_ZOMBIE and process.pid != os.getpid():
                os.waitpid(process.pid, os.WNOHANG)


def _await_release(let_go: threading.Event) -> None:
    """Wait for the holder to let go, on purpose or by dying, then stop everything."""
    with contextlib.suppress(OSError):
        while os.read(0, 1024):
            pass
    let_go.set()
    stop_descendants()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
