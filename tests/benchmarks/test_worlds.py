"""Recorded worlds: the files, false claims, the validity of plans, and the benchmark."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest

import worlds
from needful.abstraction.atom_table import AtomTable
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration, Transition
from needful.core.model import Vocabulary
from needful.core.operators import DeletePattern, GroundOperator, Wildcard
from needful.core.tasks import AbstractTask
from notation import read_domain
from worlds import DATA, measure
from worlds_judge import (
    World,
    applicable_steps,
    choose_tasks,
    false_claims,
    false_claims_per_transition,
    find_failure,
    first_plan,
    judge,
    merge_parameters,
    read_truth,
    read_world,
    world_names,
)

# Unstack is the truth. PromiseToClear is false: it adds Clear for any block and does not delete On.
BLOCKS = read_domain("""
    type block
    predicate On block block
    predicate Clear block
    predicate Held block

    operator Unstack ?a:block ?b:block
      needs   On ?a ?b, Clear ?a
      adds    Held ?a, Clear ?b
      deletes On ?a ?b, Clear ?a
    operator PromiseToClear ?a:block ?b:block
      needs   Clear ?a
      adds    Held ?a, Clear ?b
      deletes Clear ?a
""")
PICK = Controller("Pick", (BLOCKS.types["block"],))
UNSTACK, PROMISE = (
    replace(operator, controller=PICK, controller_arguments=operator.parameters[:1])
    for operator in BLOCKS.operators
)
A, B, C = OBJECTS = tuple(BLOCKS.object("block", name) for name in "abc")
ON, CLEAR, HELD = (BLOCKS.predicates[name] for name in ("On", "Clear", "Held"))
TOWER = frozenset({ON(A, B), ON(B, C), CLEAR(A)})
PICKED = frozenset({HELD(A), ON(B, C), CLEAR(B)})
PICK_TOP = Transition(TOWER, PICK(A), PICKED)
CLEAR_LOWEST = AbstractTask(OBJECTS, TOWER, frozenset({CLEAR(C)}))


def claims(operator, transition=PICK_TOP):
    return false_claims([operator], transition, AtomTable(OBJECTS))


def executable(*operators):
    return [merged for operator in operators for merged in merge_parameters(operator)]


def test_false_claims_are_predicted_by_some_grounding_and_do_not_hold():
    assert claims(UNSTACK) == set()
    # Both groundings keep On(a, b), which counts once. Clear(b) is true, Clear(c) is false.
    assert claims(PROMISE) == {ON(A, B), CLEAR(C)}
    assert false_claims([UNSTACK, PROMISE], PICK_TOP, AtomTable(OBJECTS)) == {ON(A, B), CLEAR(C)}


def test_atoms_that_become_unknown_are_not_claimed():
    forgets_on = replace(PROMISE, delete_patterns=frozenset({DeletePattern(ON, (Wildcard(A.type),) * 2)}))
    assert claims(forgets_on) == {CLEAR(C)}


def test_only_applicable_operators_of_the_executed_controller_claim():
    other_controller = replace(PROMISE, controller=Controller("Push", PICK.types))
    assert claims(other_controller) == set()
    assert claims(PROMISE, Transition(TOWER, PICK(B), PICKED)) == set()


def test_false_claims_are_averaged_over_all_transitions():
    all_picked = frozenset({HELD(A), HELD(B), CLEAR(C)})
    demonstration = Demonstration(
        OBJECTS, frozenset({CLEAR(C)}), (TOWER, PICKED, all_picked), (PICK(A), PICK(B))
    )
    # The second transition also has two false claims: On(b, c) and Clear(a).
    assert false_claims_per_transition([PROMISE], [demonstration]) == 2.0
    assert false_claims_per_transition([UNSTACK], [demonstration, demonstration]) == 0.0


def test_a_plan_that_relies_on_a_false_claim_is_invalid():
    plan = first_plan([PROMISE], CLEAR_LOWEST)
    assert [str(step) for step in plan] == ["PromiseToClear(a, c)"]
    assert find_failure(plan, CLEAR_LOWEST, executable(UNSTACK)) == plan[0]


def test_a_plan_of_the_true_operators_is_valid():
    plan = first_plan([UNSTACK], CLEAR_LOWEST)
    assert [str(step) for step in plan] == ["Unstack(a, b)", "Unstack(b, c)"]
    assert find_failure(plan, CLEAR_LOWEST, executable(UNSTACK)) is None


def test_a_plan_fails_at_the_first_step_after_which_a_necessary_atom_is_false():
    plan = (UNSTACK.ground((A, B)), PROMISE.ground((B, A)))
    task = replace(CLEAR_LOWEST, goal=frozenset({HELD(B), CLEAR(A)}))
    assert find_failure(plan, task, executable(UNSTACK)) == plan[1]
    # The same controller calls are valid if the goal needs only what they really do.
    assert find_failure(plan, replace(task, goal=frozenset({HELD(B)})), executable(UNSTACK)) is None


def test_unknown_atoms_hold_where_a_plan_needs_them_unless_they_are_deleted():
    forgetful = replace(UNSTACK, delete_patterns=frozenset({DeletePattern(ON, (Wildcard(A.type),) * 2)}))
    plan = (UNSTACK.ground((A, B)),)
    keeps, deletes = (
        replace(CLEAR_LOWEST, goal=frozenset({HELD(A), atom})) for atom in (ON(B, C), ON(A, B))
    )
    assert find_failure(plan, keeps, executable(forgetful)) is None
    assert find_failure(plan, deletes, executable(forgetful)) == plan[0]


def test_parameters_of_true_operators_may_share_an_object():
    domain = read_domain("""
        type place
        predicate At place
        predicate Visited place
        operator Go ?from:place ?to:place
          needs At ?from
          adds  At ?to, Visited ?to
          deletes At ?from
        operator Look ?to:place
          adds  Visited ?to
    """)
    controller = Controller("Go", (domain.types["place"],))
    go, look = domain.operators
    go = replace(go, controller=controller, controller_arguments=go.parameters[1:])
    look = replace(look, controller=controller)
    here, there = (domain.object("place", name) for name in ("here", "there"))
    at, visited = domain.predicates["At"], domain.predicates["Visited"]
    task = AbstractTask((here, there), frozenset({at(here)}), frozenset({visited(here)}))
    plan = (look.ground((here,)),)
    assert find_failure(plan, task, executable(go)) is None
    assert find_failure(plan, task, [go]) == plan[0]


def test_merged_parameters_give_all_groundings_with_shared_objects():
    domain = read_domain("""
        type thing
        type cup < thing
        type lid < thing
        predicate Near thing thing
        operator Use ?x:thing ?c:cup ?l:lid ?y:thing
          needs Near ?x ?c, Near ?l ?y
          adds  Near ?x ?y
    """)
    (use,) = domain.operators
    use = replace(use, controller=Controller("Use", ()), controller_arguments=())
    near = domain.predicates["Near"]
    kinds = ("thing", "cup", "cup", "lid")
    objects = tuple(domain.object(kind, f"{kind}{i}") for i, kind in enumerate(kinds))
    state = frozenset(near(x, y) for x, y in itertools.product(objects, repeat=2) if x.name <= y.name)
    expected = {
        (frozenset({near(x, c), near(lid, y)}), near(x, y))
        for x, c, lid, y in itertools.product(objects, repeat=4)
        if c.type.name == "cup" and lid.type.name == "lid" and {near(x, c), near(lid, y)} <= state
    }
    steps = list(applicable_steps(executable(use), use.controller, (), state, AtomTable(objects)))
    assert {(step.preconditions, *step.add_effects) for step in steps} == expected
    assert next(merge_parameters(use)) == use


def test_one_variable_is_not_bound_to_two_objects():
    twice = replace(
        UNSTACK,
        controller=Controller("Stack", PICK.types * 2),
        controller_arguments=UNSTACK.parameters[:1] * 2,
    )
    table = AtomTable(OBJECTS)
    assert list(applicable_steps([twice], twice.controller, (A, B), TOWER, table)) == []
    assert list(applicable_steps([twice], twice.controller, (A, A), TOWER, table)) == [
        GroundOperator(twice, (A, B))
    ]


def test_tasks_are_evenly_spaced_and_not_solved_already():
    def demonstration(goal):
        return Demonstration(OBJECTS, frozenset({goal}), (TOWER, PICKED), (PICK(A),))

    solved, open_tasks = demonstration(ON(B, C)), [demonstration(HELD(A)), demonstration(CLEAR(B))]
    assert choose_tasks([solved], 5) == []
    chosen = choose_tasks([solved, *open_tasks, *open_tasks], 2)
    assert [task.goal for task in chosen] == [{HELD(A)}, {HELD(A)}]
    assert len(choose_tasks(open_tasks, 5)) == 2


def test_a_judgement_counts_valid_plans_and_names_failing_operators():
    end = frozenset({HELD(A), HELD(B), CLEAR(C)})
    both = Demonstration(OBJECTS, frozenset({CLEAR(C)}), (TOWER, PICKED, end), (PICK(A), PICK(B)))
    one = Demonstration(OBJECTS, frozenset({HELD(A)}), (TOWER, PICKED), (PICK(A),))
    world = World("tower", (), (both, one), (UNSTACK,))
    truth, false, none = (judge(operators, world, 25) for operators in ([UNSTACK], [PROMISE], []))
    assert (truth.valid, truth.no_plan, truth.tasks, truth.failing) == (1.0, 0.0, 2, {})
    assert (false.valid, false.no_plan, false.false_claims) == (0.5, 0.0, 2.0)
    assert false.failing == {"PromiseToClear": 1}
    assert (none.valid, none.no_plan, none.false_claims) == (0.0, 1.0, 0.0)


def test_true_operators_are_read_from_their_file():
    record = {
        "name": "PickIt",
        "controller": "Pick",
        "controller_vars": ["?x"],
        "parameters": [["?x", "block"], ["?y", "block"]],
        "pre": ["On(?x:block, ?y:block)"],
        "add": ["Done()", "Held(?x:block)"],
        "del": [],
        "ignore": ["On"],
        "data": 0,
    }
    done = read_domain("predicate Done").predicates["Done"]
    vocabulary = Vocabulary((A.type,), (ON, CLEAR, HELD, done), (PICK,))
    (operator,) = read_truth({"operators": [record]}, vocabulary)
    assert str(operator).splitlines() == [
        "PickIt(?x:block, ?y:block)",
        "  controller: Pick(?x)",
        "  needs:      On(?x, ?y)",
        "  adds:       Done(), Held(?x)",
        "  deletes:    -",
        "  forgets:    On(*:block, *:block)",
    ]


def test_every_world_can_be_read():
    names = world_names(DATA)
    assert len(names) == 29
    for name in names:
        world = read_world(DATA, name)
        assert all((world.train, world.held_out, world.truth)), name


def test_files_with_different_headers_are_refused(tmp_path):
    for part, source in (
        ("train.jsonl.gz", "blocks"),
        ("heldout.jsonl.gz", "doors"),
        ("truth.json", "blocks"),
    ):
        (tmp_path / f"mixed_{part}").write_bytes((DATA / f"{source}_{part}").read_bytes())
    with pytest.raises(ValueError, match="headers of mixed_train"):
        read_world(tmp_path, "mixed")


@pytest.mark.parametrize(
    "name",
    ["blocks", "doors", "pddl_blocks_coarse", "pddl_gripper_coarse", "repeated_nextto", "stick_button"],
)
def test_all_plans_of_the_truth_are_valid(name):
    result = measure(read_world(DATA, name), "truth", max_tasks=8)
    assert (result.judgement.valid, result.judgement.no_plan) == (1.0, 0.0)
    assert result.operators == result.true_operators
    assert result.judgement.false_claims == result.true_false_claims


@pytest.mark.parametrize(
    ("name", "learner", "operators"),
    [
        ("doors", "ci", 4),
        ("noisy_button", "necessary", 1),
        ("pddl_ferry", "ci", 3),
        ("touch_point", "ci", 1),
    ],
)
def test_learners_are_measured(name, learner, operators):
    result = measure(read_world(DATA, name), learner, max_tasks=3)
    assert (result.world, result.learner, result.operators) == (name, learner, operators)
    assert (result.judgement.false_claims, result.judgement.valid) == (0.0, 1.0)
    assert result.seconds > 0


def test_the_benchmark_prints_lines_and_means_and_writes_json(tmp_path, capsys):
    path = tmp_path / "worlds.json"
    names = ["noisy_button", "touch_point", "pddl_blocks_coarse"]
    options = ["--worlds", ",".join(names), "--learners", "truth,ci", "--tasks", "2", "--json", str(path)]
    worlds.main(options)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:7]] == [
        [n, learner] for n in names for learner in ("truth", "ci")
    ]
    assert [line[:48].split("  ")[0] for line in lines[7:]] == [
        "mean, full arguments (2)",
        "mean, full arguments (2)",
        "mean, coarse (1)",
        "mean, coarse (1)",
    ]
    written = json.loads(path.read_text())
    assert [one["world"] for one in written["results"][::2]] == names
    coarse = written["results"][-2]
    assert (coarse["learner"], coarse["operators"], coarse["valid"], coarse["tasks"]) == (
        "truth",
        4,
        1.0,
        2,
    )
    assert coarse["false_claims"] == pytest.approx(written["means"][-2]["figures"]["false_claims"])


def test_the_benchmark_prints_a_markdown_table(capsys):
    worlds.main(["--worlds", "touch_point,doors", "--learners", "truth,ci", "--tasks", "2", "--markdown"])
    rows = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
    assert cells[0] == ["World", "true operators", "truth", "ci"]
    assert cells[2:] == [
        ["touch_point", "1; 0.00", "1; 0.00; 1.00", "1; 0.00; 1.00"],
        ["doors", "4; 0.00", "4; 0.00; 1.00", "4; 0.00; 1.00"],
        ["mean, full arguments (2)", "2.5; 0.00", "2.5; 0.00; 1.00", "2.5; 0.00; 1.00"],
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--worlds", "blocks,dors"], "unknown world 'dors'; choose from blocks, "),
        (["--learners", "loft-replay"], "unknown learner 'loft-replay'; choose from necessary, "),
        (["--folder", "nowhere"], "there are no worlds in nowhere"),
        (["--tasks", "0"], "--tasks must be at least 1, got 0"),
    ],
)
def test_wrong_usage_is_reported(options, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        worlds.main(options)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
