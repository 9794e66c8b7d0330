"""The operator examples of the appendix: learned here, beside what the paper reports."""

from __future__ import annotations

from needful.approaches.catalogue import APPROACHES
from needful.envs.catalogue import CATALOGUE
from needful.paper.methods import PAPER_LEARNERS
from needful.paper.operator_examples import EXAMPLES, OperatorExample, operator_examples


def test_examples_name_known_domains_and_methods() -> None:
    for example in EXAMPLES:
        assert example.domain in CATALOGUE
        assert {PAPER_LEARNERS.get(one, one) for one in example.methods} <= set(APPROACHES)


def test_a_page_shows_the_operators_of_a_skill_beside_the_published_number() -> None:
    example = OperatorExample("screws", "MoveToScrew", ("necessary", "ci"), "one operator")
    page = operator_examples([example])
    assert "## Screws: MoveToScrew" in page
    assert "Published: one operator." in page
    assert "### Necessary: 1 of 4 operators (published 4, deviation 0)" in page
    assert "### CI: " in page
    assert "controller: MoveToScrew(" in page
    assert "controller: MagnetizeGripper(" not in page
