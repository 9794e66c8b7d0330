"""Run an external planner as a subprocess and stream its plans.

The program runs once, when the first plan is requested. None of its code is imported.

The program runs in its own session and process group, started by a shell. This Python process kills the
whole group as soon as the program ends, the deadline passes or an exception is raised.

If this Python process is killed itself, a guard process in the group kills the group. The guard reads from
a pipe whose write end is open only in this process, so it notices when the pipe closes. (If this process
is forked without exec, the child also holds the write end, and the guard waits until both have ended.)

The planner's input is a ground problem in the format SAS+ (version 3), the output format of Fast Downward's
translator. The translator itself is not used, because the problem is grounded already. On small tasks, the
translator would take longer than the search, and on large tasks it would run out of memory. Variables and
operators have generated names, such as v3 and o7, so the planner never reads names chosen by the user. Each
variable stands for an atom; its value is 0 if the atom holds, and 1 if not.
"""

from __future__ import annotations

import importlib.util
import os
import re
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from needful.abstraction.atom_table import bits
from needful.core.limits import Budget
from needful.core.plans import Outcome, SearchStatistics
from needful.errors import InvalidInputError, PlannerError, install_command
from needful.planning.grounding import EncodedOperator, GroundProblem, deleted_atoms, operator_masks

Steps: TypeAlias = tuple[int, ...]
# Exit statuses of Fast Downward and planners derived from it.
_SOLVED = 0
_ENDED_WITHOUT_PLAN = {
    12: None,  # an incomplete search found no plan, so plans may exist
    22: Outcome.OUT_OF_NODES,
    23: Outcome.TIMEOUT,
    24: Outcome.TIMEOUT,
}
_COUNTER = re.compile(r"(Generated|Expanded|Evaluated) (\d+) state")
# The shell script that runs a command and prints its exit status. Its arguments are the memory limit in
# kilobytes (ignored if the system cannot set it), the input file, the output file and the command.
# A guard process kills the script's process group when its standard input closes, which happens when the
# Python process that started the script ends.
# At the end, the script kills the guard and waits for it; otherwise the guard could become a zombie.
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
# The maximum timeout is ten days, because system calls do not accept much longer timeouts.
_MAX_TIMEOUT = 10 * 24 * 3600.0
# The number of the first SAS+ variable, an additional one that stands for an atom that always holds.
_TRUE = 0


@dataclass(frozen=True, slots=True)
class Program:
    """How to start a planner and read its plans.

    Attributes:
        name: the planner's name in messages.
        command: the program and its arguments; the program reads the task from standard input.
        memory: the memory limit in bytes; if it is exceeded, the outcome is `OUT_OF_NODES`.
        plans: the number of plans requested; if the program finds fewer, there are no others.
        unsolvable: the exit status for an unsolvable task.
        read: reads the plans from the folder in which the program ran; raises OSError, ValueError,
            LookupError or TypeError if they are malformed.
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
    end_reason: Outcome | None


class ExternalPlans:
    """The plans of one run of a program; see `PlanStream`.

    Plans that continue after they reach the goal are left out, and so are plans that were tried before.
    After the last plan, `end_reason` stays None if it is unknown whether there are more plans. The budget's
    limit on nodes is checked only before the program starts; the program has a memory limit instead.
    """

    def __init__(
        self, program: Program, problem: GroundProblem, budget: Budget, statistics: SearchStatistics
    ) -> None:
        self.end_reason: Outcome | None = None
        self._program = program
        self._problem = problem
        self._budget = budget
        self._statistics = statistics
        self._result: _ProgramResult | None = None

    def __iter__(self) -> ExternalPlans:
        return self

    def __next__(self) -> Steps:
        if self.end_reason is None and self._budget.expired():
            self.end_reason = Outcome.TIMEOUT
        if self.end_reason is None:
            self._result = self._result or self._search()
            if self._result.plans:
                return self._result.plans.pop(0)
            self.end_reason = self._result.end_reason
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
        result = run_guarded(program.command, folder, stdin, self._budget.remaining(), program.memory)
        if result is None:
            return _ProgramResult([], Outcome.TIMEOUT)
        self._update_statistics(result.output)
        end_reasons = {**_ENDED_WITHOUT_PLAN, program.unsolvable: Outcome.NO_ABSTRACT_PLAN}
        if result.status in end_reasons:
            return _ProgramResult([], end_reasons[result.status])
        if result.status != _SOLVED:
            raise _failure(program, result, "failed")
        try:
            found = program.read(folder)
            new = (steps for steps in found if steps not in self._problem.tried)
            plans = [steps for steps in new if self._stops_at_goal(steps)]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise _failure(program, result, f"returned an invalid plan ({error})") from error
        return _ProgramResult(plans, None if len(found) >= program.plans else Outcome.NO_ABSTRACT_PLAN)

    def _update_statistics(self, output: str) -> None:
        # The planner prints intermediate counts and, at the end, total counts. Keep only the last ones.
        counted = {kind: int(number) for kind, number in _COUNTER.findall(output)}
        self._statistics.nodes_created += counted.get("Generated", 0)
        self._statistics.nodes_expanded += counted.get("Expanded", 0)
        self._statistics.nodes_evaluated += counted.get("Evaluated", 0)

    def _stops_at_goal(self, steps: Steps) -> bool:
        """Return whether a plan reaches the goal only at its end; raise ValueError for an invalid plan."""
        problem = self._problem
        state = problem.initial
        states = []
        for step in steps:
            states.append(state)
            masks = operator_masks(step, problem)
            if not masks.applicable(state):
                raise ValueError(f"step {step} of the plan {steps} is not applicable")
            state = masks.apply(state)
        if not _achieved(state, problem):
            raise ValueError(f"the plan {steps} does not reach the goal")
        return not any(_achieved(earlier, problem) for earlier in states)


def parse_step(name: str) -> int:
    """Return the index of a ground operator from its name in the planner's input: 7 from `o7`."""
    found = re.fullmatch(r"o(\d+)", name)
    if found is None:
        raise ValueError(f"unknown step {name!r}")
    return int(found[1])


def _achieved(state: int, problem: GroundProblem) -> bool:
    return problem.goal & ~state == 0


def _failure(program: Program, result: ProcessResult, what: str) -> PlannerError:
    lines = [line for line in result.output.splitlines() if line.strip()][-10:]
    return PlannerError(
        f"{program.name} {what}; exit status {result.status}. Choose another planner. "
        "The last lines of its output:\n" + "\n".join(lines or ["(none)"])
    )


def find_program(name: str, given: str | None, package: str, relative_path: str) -> str:
    """Return the path of a planner's program; raise if there is no such file.

    The path is `given`, or if that is None, `relative_path` in the installed package `package`.
    """
    if given is not None:
        if not os.path.isfile(given) or not os.access(given, os.X_OK):
            raise InvalidInputError(
                f"{given!r} is not an executable file. Give the path of {name}'s search component, or None "
                "for the component that 'needful[planners]' installs."
            )
        return os.path.abspath(given)
    found = importlib.util.find_spec(package)
    for folder in (found and found.submodule_search_locations) or ():
        path = Path(folder, relative_path)
        if path.is_file():
            return str(path)
    raise PlannerError(f"{name} is not installed. Install it: {install_command('planners')}.")


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """The exit status of a program and its output; the status is 128 + n if signal n ended the program."""

    status: int
    output: str


def run_guarded(
    command: Sequence[str], folder: Path, stdin: Path, seconds: float, memory: int
) -> ProcessResult | None:
    """Run a command in a folder; return its result, or None if it was killed after `seconds` seconds.

    The command reads its input from the file `stdin` and may use `memory` bytes of memory. It runs in its
    own process group. When this function returns or raises, the whole group has been killed.
    """
    output = folder / "output.txt"
    arguments = [str(memory // 1024), str(stdin), str(output), *command]
    with ExitStack() as cleanup:
        read_end, write_end = os.pipe()
        cleanup.callback(os.close, write_end)
        try:
            leader = subprocess.Popen(
                ["/bin/sh", "-c", _LEADER, "sh", *arguments],
                cwd=folder,
                stdin=read_end,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        finally:
            os.close(read_end)
        cleanup.enter_context(leader)
        cleanup.callback(_kill_group, leader)
        status = _first_line(leader, seconds)
    if status is None:
        return None
    text = output.read_text(errors="replace") if output.exists() else ""
    # The shell prints no status if it was killed itself.
    return ProcessResult(int(status or 128 + signal.SIGKILL), text)


def _first_line(leader: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    """Return the line with the exit status, which the shell `leader` prints; None if time runs out."""
    assert leader.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(leader.stdout, selectors.EVENT_READ)
        return leader.stdout.readline() if selector.select(min(seconds, _MAX_TIMEOUT)) else None


def _kill_group(leader: subprocess.Popen[bytes]) -> None:
    # The id of the group is the process id of the shell. The system cannot give this id to another group
    # before this Python process waits for the shell. If the shell has already ended, some systems raise a
    # PermissionError.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader.pid, signal.SIGKILL)


def sas_task(problem: GroundProblem, budget: Budget) -> str | None:
    """Return a ground problem as a text in the format SAS+, or None if time ran out.

    The ground operator with index 7 is named o7. Two kinds of atoms are left out: those that occur neither
    in a precondition nor in the goal, and those that always hold. Atoms of negative preconditions are never
    left out. The caller must check that the goal does not hold at the start. Otherwise all goal atoms might
    be left out, and planners reject a task without a goal.
    """
    deleted = []
    for operator in problem.ground_operators:
        if budget.expired():
            return None
        deleted.append(deleted_atoms(operator, problem))
    numbers = {
        atom: number for number, atom in enumerate(_necessary_variables(problem, deleted), start=_TRUE + 1)
    }
    costs = problem.step_costs()
    # With metric 0, the planner ignores the costs of operators, and each operator costs 1.
    metric = str(int(bool(problem.costs)))
    lines = ["begin_version", "3", "end_version", "begin_metric", metric, "end_metric"]
    lines += _variables(len(numbers) + 1)
    lines += ["0", "begin_state", "0", *(str(1 - (problem.initial >> atom & 1)) for atom in numbers)]
    goal = [f"{number} 0" for atom, number in numbers.items() if problem.goal >> atom & 1]
    lines += ["end_state", "begin_goal", str(len(goal)), *goal, "end_goal"]
    lines.append(str(len(problem.ground_operators)))
    for index, operator in enumerate(problem.ground_operators):
        if budget.expired():
            return None
        lines += [f"begin_operator\no{index}", *_operator(operator, deleted[index], numbers)]
        lines += [str(costs[index]), "end_operator"]
    lines.append("0\n")
    return "\n".join(lines)


def _necessary_variables(problem: GroundProblem, deleted: list[int]) -> Iterator[int]:
    needed, forbidden, ever_deleted = problem.goal, 0, 0
    for operator, mask in zip(problem.ground_operators, deleted, strict=True):
        needed |= operator.preconditions
        forbidden |= operator.negative_preconditions
        ever_deleted |= mask
    return bits(needed & (ever_deleted | ~problem.initial) | forbidden)


def _variables(count: int) -> Iterator[str]:
    yield str(count)
    for number in range(count):
        yield f"begin_variable\nv{number}\n-1\n2\nAtom a{number}()\nNegatedAtom a{number}()\nend_variable"


def _operator(operator: EncodedOperator, deleted: int, numbers: dict[int, int]) -> list[str]:
    """Return the lines of an operator: the conditions on atoms that it does not change, then its changes.

    Each change consists of a variable, its value before the step (-1 for any value) and its value after the
    step.
    """
    conditions, changes = [], []
    forbidden = operator.negative_preconditions
    for atom in bits(operator.preconditions | forbidden | operator.adds | deleted):
        number = numbers.get(atom)
        if number is None:
            continue
        before = 0 if operator.preconditions >> atom & 1 else 1 if forbidden >> atom & 1 else -1
        after = 1 if deleted >> atom & 1 else 0 if operator.adds >> atom & 1 else before
        if before == after:
            conditions.append(f"{number} {before}")
        else:
            changes.append(f"0 {number} {before} {after}")
    # The format requires at least one change, so an operator without effects sets the variable _TRUE.
    changes = changes or [f"0 {_TRUE} -1 0"]
    return [str(len(conditions)), *conditions, str(len(changes)), *changes]
