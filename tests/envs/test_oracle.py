from __future__ import annotations

import numpy as np

from needful.core.model import ConstantSampler
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from needful.core.state import State
from needful.envs.cluttered_1d import DOT, GRASPED, MOVE_GRASP, NEXT_TO, NEXT_TO_NOTHING, ROBOT
from needful.envs.contract import oracle_operator

R, D = Variable("?r", ROBOT), Variable("?d", DOT)


def test_a_row_of_the_table_becomes_an_operator() -> None:
    assert oracle_operator(
        "Grasp",
        [R, D],
        (MOVE_GRASP, [R, D]),
        needs=[NEXT_TO.lifted(R, D)],
        adds=[GRASPED.lifted(R, D)],
        deletes=[NEXT_TO.lifted(R, D)],
        forgets=[NEXT_TO_NOTHING, NEXT_TO],
    ) == Operator(
        "Grasp",
        (R, D),
        frozenset({NEXT_TO.lifted(R, D)}),
        frozenset({GRASPED.lifted(R, D)}),
        frozenset({NEXT_TO.lifted(R, D)}),
        frozenset(
            {
                DeletePattern(NEXT_TO_NOTHING, (Wildcard(ROBOT),)),
                DeletePattern(NEXT_TO, (Wildcard(ROBOT), Wildcard(DOT))),
            }
        ),
        MOVE_GRASP,
        (R, D),
    )


def test_a_constant_sampler_draws_nothing() -> None:
    rng = np.random.default_rng(0)
    assert ConstantSampler((1.0, 2.0)).sample(State({}), (), rng) == (1.0, 2.0)
    assert rng.uniform() == np.random.default_rng(0).uniform()
