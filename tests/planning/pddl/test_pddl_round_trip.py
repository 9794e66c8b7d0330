"""Files of `write_pddl` are read back, with names of any form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile_domains import HostileDomain, hostile_domain
from needful.core.atoms import LiftedAtom
from needful.core.limits import Budget
from needful.core.objects import Type, Variable
from needful.core.operators import GroundOperator, Operator, Wildcard
from needful.core.plans import SearchStatistics
from needful.envs.catalogue import make_environment
from needful.planning.engines.searches import AStar
from needful.planning.pddl.reader import read_pddl_domain
from needful.planning.pddl.writer import PddlStyle, write_pddl
from pddl_tools import fast_downward_plan
from planning_problems import VOCABULARY, Problem, negated, problems, random_problem, state_space

QUANTIFIED = [PddlStyle.FORALL, PddlStyle.PAPER]


def as_written(operator: Operator) -> Operator:
    """The operator as PDDL expresses it: added atoms are not deleted, and patterns have wildcards."""
    bound = {p for p in operator.delete_patterns if not any(isinstance(a, Wildcard) for a in p.arguments)}
    atoms = {
        LiftedAtom(p.predicate, tuple(a for a in p.arguments if isinstance(a, Variable))) for p in bound
    }
    return replace(
        operator,
        delete_effects=(operator.delete_effects | atoms) - operator.add_effects,
        delete_patterns=operator.delete_patterns - bound,
    )


@settings(max_examples=150, deadline=None)
@given(st.builds(hostile_domain, st.integers(0, 2**32)), st.sampled_from(QUANTIFIED))
def test_operators_come_back_over_their_own_vocabulary(domain: HostileDomain, style: PddlStyle) -> None:
    text = write_pddl(domain.vocabulary, domain.operators, style=style, name=domain.name).domain
    read = read_pddl_domain(text, domain.vocabulary)
    assert read.name == domain.name
    assert read.operators == tuple(map(as_written, domain.operators))
    assert read.vocabulary == domain.vocabulary
    assert read.constants == ()
    # The inequalities in the text exclude that an object is used twice.
    assert read_pddl_domain(text, domain.vocabulary, repeated_objects=True) == read


def bare(kind: Type) -> Type:
    return Type(kind.name, parent=None if kind.parent is None else bare(kind.parent))


@settings(max_examples=150, deadline=None)
@given(st.builds(hostile_domain, st.integers(0, 2**32)), st.sampled_from(QUANTIFIED))
def test_without_the_vocabulary_only_features_and_classifiers_are_lost(
    domain: HostileDomain, style: PddlStyle
) -> None:
    text = write_pddl(domain.vocabulary, domain.operators, style=style, name=domain.name).domain
    read = read_pddl_domain(text)
    assert set(read.vocabulary.types) == set(map(bare, domain.vocabulary.types))
    assert {str(one) for one in read.vocabulary.predicates} == set(map(str, domain.vocabulary.predicates))
    operators = list(map(as_written, domain.operators))
    assert list(map(str, read.operators)) == list(map(str, operators))
    again = write_pddl(read.vocabulary, read.operators, style=style, name=read.name).domain
    assert again == write_pddl(domain.vocabulary, operators, style=style, name=domain.name).domain


@settings(max_examples=100, deadline=None)
@given(negated(problems()))
def test_ground_actions_do_what_the_operators_do(problem: Problem) -> None:
    space = state_space(problem, at_most=60)
    if space is None:
        return
    files = write_pddl(VOCABULARY, problem.operators, problem.task, PddlStyle.STRIPS)
    read = read_pddl_domain(files.domain, VOCABULARY)
    assert {one.name for one in read.constants} == {one.name for one in problem.objects}
    for operator in read.operators:
        expected = files.actions[operator.name.lower()]
        assert isinstance(expected, GroundOperator)
        constants = [next(c for c in read.constants if c.type == v.type) for v in operator.parameters]
        again = operator.ground(constants)
        assert set(map(str, again.preconditions)) == set(map(str, expected.preconditions))
        assert set(map(str, again.add_effects)) == set(map(str, expected.add_effects))
        # Atoms that never hold are left out.
        forbidden = set(map(str, again.negative_preconditions))
        assert forbidden <= set(map(str, expected.negative_preconditions))
        for state in space.successors:
            if expected.preconditions <= state:
                assert expected.applicable(state) == forbidden.isdisjoint(map(str, state))
            if expected.applicable(state):
                gone = {str(atom) for atom in state - expected.apply(state)}
                assert gone == {str(atom) for atom in state} & set(map(str, again.delete_effects))


@pytest.mark.parametrize("style", QUANTIFIED)
@pytest.mark.parametrize("name", ["screws", "painting", "cluttered-satellites"])
def test_the_operators_of_a_domain_come_back(name: str, style: PddlStyle, tmp_path: Path) -> None:
    model = make_environment(name).oracle_model()
    file = tmp_path / "domain.pddl"
    file.write_text(write_pddl(model.vocabulary, model.operators, style=style, name=name).domain)
    for source in (file, str(file)):
        read = read_pddl_domain(source, model.vocabulary)
        assert read.operators == model.operators
        assert read.vocabulary.predicates[0].classifier is model.vocabulary.predicates[0].classifier


def cost(problem: Problem) -> int | None:
    plan = next(AStar()(problem.grounded(), 0, Budget.unlimited(), SearchStatistics()), None)
    return None if plan is None else len(plan)


@pytest.mark.parametrize("seed", [75, 124, 251, 297, 398])
def test_fast_downward_agrees_on_actions_that_take_an_object_twice(seed: int, tmp_path: Path) -> None:
    """Without the inequalities of our files, PDDL allows parameters to be one object."""
    problem = random_problem(seed, max_objects=3)
    files = write_pddl(VOCABULARY, problem.operators, problem.task)
    assert files.problem is not None
    text = "\n".join(line for line in files.domain.splitlines() if "(not (=" not in line)
    read = read_pddl_domain(text, repeated_objects=True)
    looser = replace(problem, operators=read.operators)
    found = fast_downward_plan(text, files.problem, tmp_path)
    ours = cost(looser)
    assert ours != cost(problem)  # otherwise this tests nothing
    assert ours is not None
    assert found is not None
    assert f"; cost = {ours} (unit cost)" in found
