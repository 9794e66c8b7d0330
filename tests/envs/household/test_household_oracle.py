"""The hand-written operators, compared to the table of the specification."""

from __future__ import annotations

from needful.envs.household.environment import OpeningPresents

TABLE = """
NavigateTo(?obj:thing)
  controller: NavigateTo(?obj)
  needs:      -
  adds:       Reachable(?obj)
  deletes:    ReachableNothing()
  forgets:    Reachable(*:obj)
Grasp(?obj:thing)
  controller: Grasp(?obj)
  needs:      HandEmpty(), Reachable(?obj)
  adds:       Holding(?obj)
  deletes:    HandEmpty(), Reachable(?obj)
  forgets:    Inside(*:obj, ?obj), Inside(?obj, *:obj), OnTop(*:obj, ?obj), OnTop(?obj, *:obj)
PlaceOnTop(?held:thing, ?obj:thing)
  controller: PlaceOnTop(?obj)
  needs:      Holding(?held), Reachable(?obj)
  adds:       HandEmpty(), OnTop(?held, ?obj)
  deletes:    Holding(?held)
  forgets:    -
PlaceInside(?held:thing, ?obj:thing)
  controller: PlaceInside(?obj)
  needs:      Holding(?held), NotOpenable(?obj), Reachable(?obj)
  adds:       HandEmpty(), Inside(?held, ?obj)
  deletes:    Holding(?held)
  forgets:    -
PlaceInsideOpen(?held:thing, ?obj:thing)
  controller: PlaceInside(?obj)
  needs:      Holding(?held), Open(?obj), Reachable(?obj)
  adds:       HandEmpty(), Inside(?held, ?obj)
  deletes:    Holding(?held)
  forgets:    -
Open(?obj:thing)
  controller: Open(?obj)
  needs:      Closed(?obj), HandEmpty(), Reachable(?obj)
  adds:       Open(?obj)
  deletes:    Closed(?obj)
  forgets:    -
Close(?obj:thing)
  controller: Close(?obj)
  needs:      HandEmpty(), Open(?obj), Reachable(?obj)
  adds:       Closed(?obj)
  deletes:    Open(?obj)
  forgets:    -
"""


def test_the_operators() -> None:
    model = OpeningPresents().oracle_model()
    assert "\n".join(map(str, model.operators)) == TABLE.strip()
    assert model.missing_samplers() == ()
