"""Injective tuples are counted and numbered without listing them."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from needful.core.objects import InjectiveTuples, Type

THING, ROBOT = Type("thing"), Type("robot")
CUP = Type("cup", (), THING)
KINDS = (THING, CUP, Type("mug", (), CUP), ROBOT)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_injective_tuples_are_numbered_without_gaps(data: st.DataObject) -> None:
    objects = [data.draw(st.sampled_from(KINDS))(f"o{i}") for i in range(data.draw(st.integers(0, 5)))]
    wanted = data.draw(st.lists(st.sampled_from(KINDS), max_size=4))
    domains = tuple(tuple(o for o in objects if o.type.is_subtype_of(kind)) for kind in wanted)
    tuples = InjectiveTuples(domains)
    injective = {t for t in itertools.product(*domains) if len(set(t)) == len(t)}
    assert tuples.count == len(injective)
    assert {tuples.at(index) for index in range(tuples.count)} == injective


def test_the_count_may_be_astronomic() -> None:
    crowd = tuple(CUP(f"cup{number:03}") for number in range(100))
    tuples = InjectiveTuples((crowd,) * 30)
    assert tuples.count > 2**64
    assert len(set(tuples.at(tuples.count - 1))) == 30
