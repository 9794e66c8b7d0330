"""The data of the page's cards about invented predicates: those that were learned, not given.

The definition of an invented predicate is a comparison of a value with a bound, or a conjunction of such
comparisons. A card has the definition as a sentence, examples of the compared values, and the operators
that use the predicate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from needful.approaches.learned_model import INVENTED
from needful.core.atoms import LiftedAtom, Predicate
from needful.core.operators import DeletePattern, Operator
from needful.errors import ModelError
from needful.invention.result import EXAMPLES
from needful.storage.json_fields import Field, Source
from needful.storage.model_directory import MODEL_FILE, StoredModel


def invented_cards(stored: StoredModel) -> list[dict[str, Any]]:
    """Return the data of one card per invented predicate (one with a definition), as JSON values.

    Models that earlier versions of needful wrote do not record why a predicate was invented, or examples of
    the compared values. In the cards of such models, the reason is None and the examples are empty.
    """
    source = Source(MODEL_FILE, ModelError)
    known = Field(stored.provenance.get(INVENTED, {}), source, f"provenance.{INVENTED}").entries()
    records = known["predicates"].entries() if "predicates" in known else {}
    cards = []
    for predicate in stored.model.vocabulary.predicates:
        if predicate.definition is None:
            continue
        record = records[predicate.name].entries() if predicate.name in records else {}
        cards.append(
            {
                "name": predicate.name,
                "types": [kind.name for kind in predicate.types],
                "sentence": predicate.definition.sentence,
                "reason": record["reason"].text() if "reason" in record else None,
                "alternatives": [one.text() for one in _items(record, "alternatives")],
                "examples": [_example(one) for one in _items(record, EXAMPLES)],
                "uses": [
                    {"operator": operator.name, "how": how}
                    for operator in stored.model.operators
                    if (how := list(_how_used(predicate, operator)))
                ],
            }
        )
    return cards


def _items(record: Mapping[str, Field], name: str) -> list[Field]:
    return record[name].items() if name in record else []


def _example(field: Field) -> dict[str, Any]:
    record = field.record("sentence", "compare", "bound", "true", "false")
    return {
        "sentence": record["sentence"].text(),
        "holdsBelow": record["compare"].text() == "<=",
        "bound": record["bound"].number(),
        "true": list(record["true"].numbers()),
        "false": list(record["false"].numbers()),
    }


def _how_used(predicate: Predicate, operator: Operator) -> Iterator[str]:
    """Yield how an operator uses a predicate, as verbs for the page, such as `needs` and `adds`."""
    parts: Mapping[str, Collection[LiftedAtom | DeletePattern]] = {
        "needs": operator.preconditions - operator.keep_effects,
        "forbids": operator.negative_preconditions,
        "adds": operator.add_effects - operator.keep_effects,
        "keeps": operator.keep_effects,
        "deletes": operator.delete_effects,
        "forgets": operator.delete_patterns,
    }
    for verb, atoms in parts.items():
        if any(atom.predicate == predicate for atom in atoms):
            yield verb
