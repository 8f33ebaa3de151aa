"""Executes a notebook with parameters, in the process it is started in.

`python -m lab.notebook INPUT OUTPUT PARAMETERS` where PARAMETERS is a JSON object. The kernel is reached
over ipc, not over TCP ports that another run could take. An unknown parameter is an error, not a warning.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager


def main(argv: list[str]) -> int:
    """Execute; 0 when every cell ran, 1 when one raised or the kernel died."""
    import papermill
    from jupyter_client.manager import AsyncKernelManager
    from nbclient.exceptions import DeadKernelError

    source, target, parameters = Path(argv[0]), Path(argv[1]), json.loads(argv[2])
    unknown = set(parameters) - set(papermill.inspect_notebook(str(source)))
    if unknown:
        print(f"{source.name} has no parameter {', '.join(sorted(unknown))}")
        return 1
    # the connection file and the sockets lie in the working directory, which the supervisor removes
    # the asynchronous manager: with the other, nobody looks whether the kernel lives while a cell runs
    kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", connection_file=str(Path.cwd() / "kernel.json"))
    try:
        papermill.execute_notebook(
            str(source),
            str(target),
            parameters=parameters,
            kernel_name="python3",
            km=kernel,
            progress_bar=False,
            start_timeout=120,
        )
    except papermill.PapermillExecutionError as problem:
        print(f"{problem.ename}: {str(problem.evalue).partition(chr(10))[0]}")
        return 1
    except DeadKernelError as problem:
        print(f"the kernel died: {problem}")
        return 1
    finally:
        if kernel.has_kernel:  # papermill ends only a kernel that it started itself
            asyncio.run(_end(kernel))
    return 0


async def _end(kernel: AsyncKernelManager) -> None:
    await kernel.shutdown_kernel(now=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
