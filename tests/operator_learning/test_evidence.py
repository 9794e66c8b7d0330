"""Why an operator is the way it is."""

from __future__ import annotations

from carrying_world import AT, BOX1, HELD, IN, NEAR, A, B, C, R, carrying
from needful.operator_learning.explanation import gather_evidence
from needful.operator_learning.hill_climbing import Climb
from needful.operator_learning.improve_coverage import improve_coverage
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators

DEMOS = (carrying(B, (A, B, C), (A, B)),)


def test_evidence_by_hand():
    evidence = gather_evidence(learn_operators(DEMOS), DEMOS)
    (going,), (putting,) = evidence["Go"], evidence["Put"]
    assert (going.demonstration, going.step, going.objects) == (0, 0, (R, BOX1, B))
    assert going.necessary == {AT(R, BOX1), NEAR(R, B), HELD(B)}
    assert (going.added, going.deleted) == ({AT(R, BOX1)}, {NEAR(R, C)})
    assert going.needed_by == {AT(R, BOX1): "Put(robby, b, box1) at step 2"}
    assert (putting.step, putting.objects) == (1, (R, B, BOX1))
    assert (putting.added, putting.deleted) == ({IN(B, BOX1)}, {HELD(B)})
    assert putting.needed_by == {IN(B, BOX1): "goal"}


def test_steps_before_the_chain_broke_are_unexplained():
    def only_the_last_step(problem, reduce):
        return Climb(improve_coverage(problem.empty_hypothesis(), problem))

    learned = learn_operators(DEMOS, OperatorLearningConfig(schedule=only_the_last_step))
    assert learned.chains[0][0] is None
    assert learned.necessary[0][0] is None
    assert set(gather_evidence(learned, DEMOS)) == {"Put"}
