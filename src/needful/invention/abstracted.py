"""Describe demonstrations with a changing set of invented predicates."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from needful.core.atoms import AbstractState, GroundAtom, Predicate
from needful.core.definitions import AnyDefinition
from needful.core.demonstrations import Demonstration
from needful.core.objects import Type
from needful.core.state import feature_array
from needful.errors import DemonstrationError


class DemonstrationAbstractor:
    """Adds the atoms of invented predicates to demonstrations; the results are cached."""

    def __init__(self, demonstrations: Sequence[Demonstration]) -> None:
        for index, demonstration in enumerate(demonstrations):
            if demonstration.states is None:
                raise DemonstrationError(
                    f"Demonstration {index} has no states. Predicates can only be invented from "
                    "demonstrations with states."
                )
        self.demonstrations = tuple(demonstrations)
        self._features: dict[tuple[int, Type], np.ndarray] = {}
        self._atoms: dict[tuple[str, AnyDefinition], tuple[tuple[AbstractState, ...], ...]] = {}

    def with_predicates(self, invented: Sequence[Predicate]) -> tuple[Demonstration, ...]:
        """Return the demonstrations with the atoms of the invented predicates added."""
        columns = [self.atoms(predicate) for predicate in invented]
        return tuple(
            replace(
                demonstration,
                abstract_states=tuple(
                    atoms.union(*(column[index][step] for column in columns))
                    for step, atoms in enumerate(demonstration.abstract_states)
                ),
            )
            for index, demonstration in enumerate(self.demonstrations)
        )

    def atoms(self, predicate: Predicate) -> tuple[tuple[AbstractState, ...], ...]:
        """Return the atoms of an invented predicate in each state of each demonstration."""
        definition = predicate.definition
        assert definition is not None
        key = (predicate.name, definition)
        if key not in self._atoms:
            self._atoms[key] = tuple(
                self._demonstration_atoms(predicate, definition, index)
                for index in range(len(self.demonstrations))
            )
        return self._atoms[key]

    def extension(self, definition: AnyDefinition) -> tuple[np.ndarray, ...]:
        """Return, for each demonstration, a Boolean array that marks where the definition holds.

        The first axis of an array is the state. Each further axis is the object of one argument.
        """
        return tuple(self._extension(definition, index) for index in range(len(self.demonstrations)))

    def changes(self, definition: AnyDefinition) -> bool:
        """Return whether the truth of the definition changes for some objects within a demonstration."""
        return any(bool((one != one[:1]).any()) for one in self.extension(definition))

    def _extension(self, definition: AnyDefinition, index: int) -> np.ndarray:
        features = {kind: self._feature_array(index, kind) for kind in definition.types}
        states = self.demonstrations[index].states
        assert states is not None
        return definition.truth(states, features)

    def _feature_array(self, index: int, kind: Type) -> np.ndarray:
        if (index, kind) not in self._features:
            states = self.demonstrations[index].states
            assert states is not None
            self._features[index, kind] = feature_array(states, kind)
        return self._features[index, kind]

    def _demonstration_atoms(
        self, predicate: Predicate, definition: AnyDefinition, index: int
    ) -> tuple[AbstractState, ...]:
        states = self.demonstrations[index].states
        assert states is not None
        domains = [states[0].of_type(kind) for kind in predicate.types]

        @functools.cache
        def atom(position: tuple[int, ...]) -> GroundAtom:
            return predicate(*(domain[i] for domain, i in zip(domains, position, strict=True)))

        holds = self._extension(definition, index)
        return tuple(frozenset(atom(tuple(p)) for p in np.argwhere(step).tolist()) for step in holds)
