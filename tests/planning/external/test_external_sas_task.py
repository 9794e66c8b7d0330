"""The written task is equivalent to the problem: it is parsed and compared."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from fake_clock import FakeClock
from needful.abstraction.atom_table import bits
from needful.core.atoms import LiftedAtom, Predicate
from needful.core.controllers import Controller
from needful.core.limits import Budget
from needful.core.operators import Operator
from needful.planning.engines.external_plans import sas_task
from needful.planning.engines.python_planner import with_failure
from needful.planning.grounding import GroundProblem
from planning_problems import Problem, negated, problems, toy_problem

P, Q, R = (Predicate(name, ()) for name in "PQR")


@dataclass
class Task:
    """A parsed task; values are 0 (holds) and 1 (does not)."""

    initial: list[int]
    goal: list[list[int]]
    operators: list[tuple[str, list[list[int]], list[list[int]]]]


def parse(text: str) -> Task:
    lines = iter(text.splitlines())

    def expect(*expected: str) -> None:
        assert [next(lines) for _ in expected] == list(expected)

    def rows() -> list[list[int]]:
        return [[int(number) for number in next(lines).split()] for _ in range(int(next(lines)))]

    expect("begin_version", "3", "end_version", "begin_metric", "0", "end_metric")
    variables = int(next(lines))
    for number in range(variables):
        expect("begin_variable", f"v{number}", "-1", "2")
        expect(f"Atom a{number}()", f"NegatedAtom a{number}()", "end_variable")
    expect("0", "begin_state")
    initial = [int(next(lines)) for _ in range(variables)]
    expect("end_state", "begin_goal")
    goal = rows()
    expect("end_goal")
    operators = []
    for _ in range(int(next(lines))):
        expect("begin_operator")
        operators.append((next(lines), rows(), rows()))
        expect("1", "end_operator")
    expect("0")
    assert next(lines, None) is None
    return Task(initial, goal, operators)


def applicable(task: Task, operator: int, values: list[int]) -> bool:
    _, conditions, changes = task.operators[operator]
    needed = conditions + [[variable, before] for _, variable, before, _ in changes if before != -1]
    return all(values[variable] == value for variable, value in needed)


def successor(task: Task, operator: int, values: list[int]) -> list[int]:
    after = list(values)
    for conditions, variable, _, value in task.operators[operator][2]:
        assert conditions == 0
        after[variable] = value
    return after


def as_values(problem: GroundProblem, state: int) -> list[int]:
    """The expected values: a variable per negated atom, and per relevant atom that is not always true."""
    deleted = relevant_atoms = negated_atoms = 0
    for operator in problem.ground_operators:
        patterns = [problem.pattern_masks[i] for i in operator.patterns]
        for mask in (operator.deletes, *patterns):
            deleted |= mask & ~operator.adds
        relevant_atoms |= operator.preconditions
        negated_atoms |= operator.negative_preconditions
    relevant_atoms |= problem.goal
    always = problem.initial & ~deleted
    return [0, *(1 - (state >> atom & 1) for atom in bits(relevant_atoms & ~always | negated_atoms))]


def written(problem: GroundProblem) -> Task:
    text = sas_task(problem, Budget.unlimited())
    assert text is not None
    return parse(text)


@settings(max_examples=150)
@given(negated(problems()), st.data())
def test_walks_in_the_task_are_walks_in_the_problem(problem: Problem, data: st.DataObject) -> None:
    compact = problem.grounded()
    if compact.ground_operators and data.draw(st.booleans(), label="with a failure"):
        step = data.draw(st.integers(0, len(compact.ground_operators) - 1))
        compact = with_failure(compact, step, [data.draw(st.sampled_from(compact.objects))])
    task = written(compact)
    assert [name for name, _, _ in task.operators] == [f"o{i}" for i in range(len(task.operators))]
    state, values = compact.initial, task.initial
    for _ in range(6):
        assert values == as_values(compact, state)
        goal_holds = all(values[variable] == value for variable, value in task.goal)
        assert goal_holds == (state & compact.goal == compact.goal)
        possible = [
            index
            for index, operator in enumerate(compact.ground_operators)
            if state & operator.preconditions == operator.preconditions
            and not state & operator.negative_preconditions
        ]
        assert possible == [i for i in range(len(task.operators)) if applicable(task, i, values)]
        if not possible:
            break
        step = data.draw(st.sampled_from(possible))
        values = successor(task, step, values)
        operator = compact.ground_operators[step]
        for mask in (operator.deletes, *(compact.pattern_masks[i] for i in operator.patterns)):
            state &= ~mask
        state |= operator.adds


def test_a_task_by_hand() -> None:
    """P is required and deleted, Q is added, and R, which always holds, has no variable."""
    effects = [p.lifted() for p in (P, Q, R)]
    operator = Operator(
        "swap",
        (),
        frozenset([effects[0], effects[2]]),
        frozenset([effects[1]]),
        frozenset([effects[0], effects[1]]),
        frozenset(),
        Controller("c", ()),
        (),
    )
    task = written(Problem((operator,), (), frozenset([P(), R()]), frozenset([Q()])).grounded())
    assert task == Task(
        initial=[0, 0, 1],
        goal=[[2, 0]],
        operators=[("o0", [], [[0, 1, 0, 1], [0, 2, -1, 0]])],
    )


def test_a_task_with_negation_by_hand() -> None:
    """P must not hold and is added, Q must not hold and is deleted, and R must not hold but always does."""
    p, q, r = (predicate.lifted() for predicate in (P, Q, R))
    nothing: frozenset[LiftedAtom] = frozenset()
    go = Operator("go", (), nothing, frozenset([p]), frozenset([q]), frozenset(), Controller("c", ()), ())
    never = replace(go, name="never", negative_preconditions=frozenset([r]))
    go = replace(go, negative_preconditions=frozenset([p, q]))
    # `keep` deletes R and adds it, so R stays true.
    keep = replace(
        go,
        name="keep",
        add_effects=frozenset([r]),
        delete_effects=frozenset([r]),
        negative_preconditions=nothing,
    )
    problem = Problem((go, never, keep), (), frozenset([Q(), R()]), frozenset([P()]))
    task = written(problem.grounded())
    assert task == Task(
        initial=[0, 1, 0, 0],
        goal=[[1, 0]],
        operators=[
            ("o0", [[2, 1]], [[0, 1, 1, 0]]),
            ("o1", [[3, 1]], [[0, 1, -1, 0], [0, 2, -1, 1]]),
            ("o2", [], [[0, 3, -1, 0]]),
        ],
    )


def test_a_step_without_effects_can_be_taken() -> None:
    compact = toy_problem(balls=1, jars=1).grounded()
    names = [str(compact.ground_operator(i)) for i in range(len(compact.ground_operators))]
    _, conditions, changes = written(compact).operators[names.index("TakeLidOff(robot, jar0)")]
    assert (conditions, changes) == ([], [[0, 0, -1, 0]])  # sets the variable that always holds


def test_writing_ends_at_the_deadline() -> None:
    compact = toy_problem().grounded()
    for seconds in range(2, len(compact.ground_operators) + 10, 3):
        budget = Budget.seconds(float(seconds), clock=FakeClock(tick=1.0))
        assert sas_task(compact, budget) is None


def test_names_do_not_reach_the_task() -> None:
    text = sas_task(toy_problem().grounded(), Budget.unlimited())
    assert text is not None
    assert not any(word in text for word in ("robot", "ball", "jar", "Holding"))
