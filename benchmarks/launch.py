"""Run a command within limits on time and memory, and write a report of its resources.

Usage: python -I -S launch.py REQUEST.json REPORT.json OUTPUT.txt

This is a separate program because on Linux the reported peak memory of a new process is at least the memory
of its parent. This program needs little memory, so the peaks of the processes that it starts are correct.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from typing import Any

# The exit code of a shell for a command that cannot be started.
NOT_FOUND = 127


def launch(request: dict[str, Any], output: int) -> dict[str, Any]:
    """Run the command in a new session, which is killed as a whole at the time limit.

    Returns the exit code (None at the time limit), CPU and wall seconds, and the peak memory.
    """
    start = time.perf_counter()
    try:
        process = subprocess.Popen(
            request["command"],
            cwd=request["folder"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: limit_memory(request["memory_bytes"]),
        )
    except OSError as error:
        os.write(output, str(error).encode())
        return {"returncode": NOT_FOUND, "cpu_seconds": 0.0, "wall_seconds": 0.0, "peak_mb": 0.0}
    timed_out = threading.Event()
    timer = threading.Timer(request["seconds"], stop, (process.pid, timed_out))
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        stop(process.pid, timed_out)
        raise
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "returncode": None if timed_out.is_set() else process.returncode,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "wall_seconds": time.perf_counter() - start,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def limit_memory(size: int | None) -> None:
    if size is not None:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def stop(group: int, timed_out: threading.Event) -> None:
    timed_out.set()
    with contextlib.suppress(ProcessLookupError):  # the process may have ended just before
        os.killpg(group, signal.SIGKILL)


def main() -> None:
    request_file, report_file, output_file = sys.argv[1:]
    with open(request_file) as file, open(output_file, "wb") as output:
        report = launch(json.load(file), output.fileno())
    with open(report_file, "w") as file:
        json.dump(report, file)


if __name__ == "__main__":
    main()
