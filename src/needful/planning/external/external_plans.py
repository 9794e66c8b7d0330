"""A stream of the plans that a program outside this process finds.

The program runs once, when the first plan is asked for, and only while that plan is waited for.

Find the programs of other people's packages. They are started, never imported.

Run a program that cannot outlive its deadline, the caller, or this process.

The program runs in a session and process group of its own, led by a shell. The group is killed whole
as soon as the program ends, the deadline passes or an exception arrives. Should this very process be
killed, the pipe that it holds closes; a guard in the group waits for that and kills the group then.
(A copy of this process that was forked without exec in the meantime would keep the pipe open.)
"""

from __future__ import annotations

import importlib.util
import os
import re
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from needful.core.plans import Outcome, SearchStatistics
from needful.errors import InvalidInputError, PlannerError, install_command
from needful.planning.budget import Budget
from needful.planning.external.sas_task import deleted_atoms, sas_task
from needful.planning.grounding import GroundProblem


def find_program(name: str, given: str | None, package: str, inside: str) -> str:
    """Return the path of a program: the given one, else the file inside an installed package."""
    if given is not None:
        if not os.path.isfile(given) or not os.access(given, os.X_OK):
            raise InvalidInputError(
                f"{given!r} is not a program that can be started. Give the file of {name}'s search "
                "component, or None for the one that 'needful[planners]' installs."
            )
        return os.path.abspath(given)
    found = importlib.util.find_spec(package)
    for folder in (found and found.submodule_search_locations) or ():
        path = Path(folder, inside)
        if path.is_file():
            return str(path)
    raise PlannerError(f"{name} is not installed. From the checkout: {install_command('planners')}")


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
_MAX_TIMEOUT = 10 * 24 * 3600.0


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
        return leader.stdout.readline() if selector.select(min(seconds, _MAX_TIMEOUT)) else None


def _kill_group(leader: subprocess.Popen[bytes]) -> None:
    # Nobody has collected the leader yet, so its number cannot belong to another group. Some systems
    # answer that one may not kill what has ended by itself.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader.pid, signal.SIGKILL)


Steps: TypeAlias = tuple[int, ...]

# What Fast Downward and its kin mean by their exit status.
_SOLVED = 0
_ENDED_WITHOUT_PLAN = {
    12: None,  # A search that may overlook plans found none.
    22: Outcome.OUT_OF_NODES,
    23: Outcome.TIMEOUT,
    24: Outcome.TIMEOUT,
}
_COUNTER = re.compile(r"(Generated|Expanded|Evaluated) (\d+) state")


@dataclass(frozen=True, slots=True)
class Program:
    """How a planner is started and understood.

    Attributes:
        name: what people call it.
        command: the program and its arguments; it finds the task on its standard input.
        memory: how many bytes it may use; when they are spent, the outcome is `OUT_OF_NODES`.
        plans: how many plans it looks for; with fewer it has proved that there are no others.
        unsolvable: the exit status by which it says that there is no plan at all.
        read: returns its plans from the folder in which it ran; raises OSError, ValueError, LookupError
            or TypeError if they make no sense.
    """

    name: str
    command: tuple[str, ...]
    memory: int
    plans: int
    unsolvable: int
    read: Callable[[Path], list[Steps]]


@dataclass(frozen=True, slots=True)
class _ProgramResult:
    plans: list[Steps]
    ended: Outcome | None


class ExternalPlans:
    """The plans of one run of a program, none of which goes on after the goal; see `PlanStream`.

    After the last plan `ended` stays None if nobody knows whether there are others. A cap on nodes is
    looked at before the program starts; from then on its memory is limited instead.
    """

    def __init__(
        self, program: Program, problem: GroundProblem, budget: Budget, statistics: SearchStatistics
    ) -> None:
        self.ended: Outcome | None = None
        self._program = program
        self._problem = problem
        self._budget = budget
        self._statistics = statistics
        self._answer: _ProgramResult | None = None

    def __iter__(self) -> ExternalPlans:
        return self

    def __next__(self) -> Steps:
        if self.ended is None and self._budget.expired():
            self.ended = Outcome.TIMEOUT
        if self.ended is None:
            self._answer = self._answer or self._search()
            if self._answer.plans:
                return self._answer.plans.pop(0)
            self.ended = self._answer.ended
        raise StopIteration

    def _search(self) -> _ProgramResult:
        problem = self._problem
        if _achieved(problem.initial, problem):
            return _ProgramResult([()], Outcome.NO_ABSTRACT_PLAN)
        if not problem.goal_reachable:
            return _ProgramResult([], Outcome.NO_ABSTRACT_PLAN)
        if not self._budget.allows(self._statistics.nodes_created):
            return _ProgramResult([], Outcome.OUT_OF_NODES)
        task = sas_task(problem, self._budget)
        if task is None:
            return _ProgramResult([], Outcome.TIMEOUT)
        with tempfile.TemporaryDirectory(prefix="needful-", ignore_cleanup_errors=True) as name:
            return self._run(task, Path(name))

    def _run(self, task: str, folder: Path) -> _ProgramResult:
        program = self._program
        stdin = folder / "task.sas"
        stdin.write_text(task)
        finished = run_guarded(program.command, folder, stdin, self._budget.remaining(), program.memory)
        if finished is None:
            return _ProgramResult([], Outcome.TIMEOUT)
        self._count(finished.output)
        endings = {**_ENDED_WITHOUT_PLAN, program.unsolvable: Outcome.NO_ABSTRACT_PLAN}
        if finished.status in endings:
            return _ProgramResult([], endings[finished.status])
        if finished.status != _SOLVED:
            raise _failure(program, finished, "failed")
        try:
            found = program.read(folder)
            plans = [steps for steps in found if self._stops_at_goal(steps)]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise _failure(program, finished, f"gave an answer that makes no sense ({error})") from error
        return _ProgramResult(plans, None if len(found) >= program.plans else Outcome.NO_ABSTRACT_PLAN)

    def _count(self, output: str) -> None:
        # Totals are printed last, so they replace what was printed on the way.
        counted = {kind: int(number) for kind, number in _COUNTER.findall(output)}
        self._statistics.nodes_created += counted.get("Generated", 0)
        self._statistics.nodes_expanded += counted.get("Expanded", 0)
        self._statistics.nodes_evaluated += counted.get("Evaluated", 0)

    def _stops_at_goal(self, steps: Steps) -> bool:
        """Return whether the goal holds in the end and not before; a plan must work and reach it."""
        problem = self._problem
        state = problem.initial
        states = []
        for step in steps:
            states.append(state)
            operator = problem.ground_operators[step]
            if operator.preconditions & ~state:
                raise ValueError(f"the plan {steps} does not work")
            state = state & ~deleted_atoms(operator, problem) | operator.adds
        if not _achieved(state, problem):
            raise ValueError(f"the plan {steps} misses the goal")
        return not any(_achieved(earlier, problem) for earlier in states)


def parse_step(name: str) -> int:
    """Return the number of a ground operator from its name in the task; see `sas_task`."""
    found = re.fullmatch(r"o(\d+)", name)
    if found is None:
        raise ValueError(f"unknown step {name!r}")
    return int(found[1])


def _achieved(state: int, problem: GroundProblem) -> bool:
    return problem.goal & ~state == 0


def _failure(program: Program, finished: Finished, what: str) -> PlannerError:
    lines = [line for line in finished.output.splitlines() if line.strip()][-10:]
    return PlannerError(
        f"{program.name} {what}; exit status {finished.status}. Choose another planner, or see what it "
        "said last:\n" + "\n".join(lines or ["(nothing)"])
    )
