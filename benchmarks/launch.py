"""Run a command within limits and write down what it cost.

Usage: python -I -S launch.py ORDER.json REPORT.json OUTPUT.txt

This is a program of its own because Linux starts to count the memory of a process with that of the one
that started it. From a small program the peaks come out right.
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

# What a shell returns for a command that cannot be started.
NOT_FOUND = 127


def launch(order: dict[str, Any], output: int) -> dict[str, Any]:
    """Run the command in a session of its own, all of which is killed when time is up."""
    start = time.perf_counter()
    try:
        process = subprocess.Popen(
            order["command"],
            cwd=order["folder"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: limit_memory(order["memory_bytes"]),
        )
    except OSError as error:
        os.write(output, str(error).encode())
        return {"returncode": NOT_FOUND, "cpu_seconds": 0.0, "wall_seconds": 0.0, "peak_mb": 0.0}
    late = threading.Event()
    timer = threading.Timer(order["seconds"], stop, (process.pid, late))
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        stop(process.pid, late)
        raise
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "returncode": None if late.is_set() else process.returncode,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "wall_seconds": time.perf_counter() - start,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def limit_memory(size: int | None) -> None:
    if size is not None:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def stop(group: int, late: threading.Event) -> None:
    late.set()
    with contextlib.suppress(ProcessLookupError):  # it may have ended just now
        os.killpg(group, signal.SIGKILL)


def main() -> None:
    order_file, report_file, output_file = sys.argv[1:]
    with open(order_file) as file, open(output_file, "wb") as output:
        report = launch(json.load(file), output.fileno())
    with open(report_file, "w") as file:
        json.dump(report, file)


if __name__ == "__main__":
    main()
