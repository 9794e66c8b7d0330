"""Run a program that cannot outlive its deadline, the caller, or this process.

The program runs in a session and process group of its own, led by a shell. The group is killed whole
as soon as the program ends, the deadline passes or an exception arrives. Should this very process be
killed, the pipe that it holds closes; a guard in the group waits for that and kills the group then.
(A copy of this process that was forked without exec in the meantime would keep the pipe open.)
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

# $1: kilobytes of memory, where the system can limit it; $2: input file; $3: output file; then the
# command. The shell ends the guard itself, because whoever else inherits it may not collect it.
_LEADER = """
ulimit -v "$1" 2>/dev/null
input=$2 output=$3
shift 3
exec 3<&0
(read -r line; kill -KILL 0) <&3 >/dev/null 2>&1 &
guard=$!
"$@" <"$input" >"$output" 2>&1 3<&-
status=$?
kill -KILL "$guard"
wait "$guard" 2>/dev/null
echo "$status"
"""

# No planner runs for ten days, and system calls do not take much longer timeouts.
_LONGEST = 10 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended: its exit status (128 + n after signal n) and all that it printed."""

    status: int
    output: str


def run_guarded(
    command: Sequence[str], folder: Path, stdin: Path, seconds: float, memory: int
) -> Finished | None:
    """Run a command in a folder and return how it ended, or None if it was killed at the deadline.

    `seconds` is the time it has and `memory` the bytes it may use. When the function is left, in
    whatever way, the whole group has been killed.
    """
    output = folder / "output.txt"
    arguments = [str(memory // 1024), str(stdin), str(output), *command]
    with ExitStack() as cleanup:
        held, pipe = os.pipe()
        cleanup.callback(os.close, pipe)
        try:
            leader = subprocess.Popen(
                ["/bin/sh", "-c", _LEADER, "sh", *arguments],
                cwd=folder,
                stdin=held,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        finally:
            os.close(held)
        cleanup.enter_context(leader)
        cleanup.callback(_kill_group, leader)
        status = _first_line(leader, seconds)
    if status is None:
        return None
    text = output.read_text(errors="replace") if output.exists() else ""
    # The shell says nothing if it was killed itself.
    return Finished(int(status or 128 + signal.SIGKILL), text)


def _first_line(leader: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    """Wait for what the leader says; None if it said nothing in time."""
    assert leader.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(leader.stdout, selectors.EVENT_READ)
        return leader.stdout.readline() if selector.select(min(seconds, _LONGEST)) else None


def _kill_group(leader: subprocess.Popen[bytes]) -> None:
    # Nobody has collected the leader yet, so its number cannot belong to another group. Some systems
    # answer that one may not kill what has ended by itself.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader.pid, signal.SIGKILL)
