"""Learn the operators of the examples in the paper's appendix, and show them beside the paper's results.

For two skills, the appendix compares the operators of the paper's method with those of the learner CI+QE.
For one domain, it shows all operators. The appendix has only pictures of operators. The page therefore
quotes what the text of the paper and its table of operator numbers report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from needful.approaches.learned_model import operators_of
from needful.core.operators import Operator
from needful.envs.catalogue import make_environment
from needful.evaluation.pipeline import run
from needful.paper.domains import domain_title
from needful.paper.methods import OURS, PAPER_LEARNERS, method_style
from needful.paper.presets import paper_preset
from needful.paper.published_numbers import OPERATORS

EXAMPLES_FILE = "operator_examples.md"


@dataclass(frozen=True, slots=True)
class OperatorExample:
    """An example in the appendix of the paper.

    Attributes:
        domain: the domain of the operators.
        controller: the skill whose operators are shown; None for all skills.
        methods: the methods whose operators are shown.
        published: what the paper reports about these operators.
    """

    domain: str
    controller: str | None
    methods: tuple[str, ...]
    published: str


EXAMPLES = (
    OperatorExample(
        "opening-presents",
        "Open",
        (OURS, "ci-qe"),
        "one operator; CI+QE has several for the same transitions, which are more specific",
    ),
    OperatorExample(
        "collecting-cans",
        "NavigateTo",
        (OURS, "ci-qe"),
        "one operator; CI+QE has several for the same transitions, which are more specific",
    ),
    OperatorExample("sorting-books", None, (OURS,), "the full set of one seed"),
)


def operator_examples(examples: Sequence[OperatorExample] = EXAMPLES, seed: int = 0) -> str:
    """Learn with the preset `paper` and return a Markdown page with the operators of the examples."""
    lines = [
        "# Operator examples",
        "",
        f"Learned with the preset `paper` and seed {seed}, beside what the paper reports.",
        "The paper shows its operators as pictures; numbers of operators are those of its table.",
        "",
    ]
    for example in examples:
        lines += _section(example, seed)
    return "\n".join(lines)


def _section(example: OperatorExample, seed: int) -> Iterator[str]:
    skill = example.controller or "all skills"
    yield f"## {domain_title(example.domain)}: {skill}\n"
    yield f"Published: {example.published}.\n"
    for method in example.methods:
        operators = learn_operators_as_published(example.domain, method, seed)
        shown = [one for one in operators if example.controller in (None, one.controller.name)]
        published = OPERATORS[example.domain].get(method)
        total = (
            "" if published is None else f" (published {published.mean:g}, deviation {published.spread:g})"
        )
        yield f"### {method_style(method).label}: {len(shown)} of {len(operators)} operators{total}\n"
        texts = "\n\n".join(map(str, shown))
        yield f"```text\n{texts}\n```\n"


def learn_operators_as_published(domain: str, method: str, seed: int) -> tuple[Operator, ...]:
    """Return the operators that a method learns with the preset `paper`."""
    learner = PAPER_LEARNERS.get(method, method)
    learned = run(
        make_environment(domain), paper_preset(domain, learner=learner, seed=seed, tasks=0)
    ).learned
    return operators_of(learned)
