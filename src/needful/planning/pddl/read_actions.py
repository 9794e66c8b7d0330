"""Read actions of a PDDL domain as operators without controllers.

PDDL allows an action to use the same object for several parameters, but operators do not. On request, such
an action is read as several operators: one without merged parameters, and others in which parameters that
may stand for the same object are merged into one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from needful.core.atoms import LiftedAtom
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, PatternArgument, Wildcard
from needful.core.s_expressions import Expression, Form, Word, expression_text
from needful.errors import InvalidInputError
from needful.planning.pddl.deletes import DeleteEffect, merge_deletes, parameter_partitions
from needful.planning.pddl.names import KEYWORD
from needful.planning.pddl.read_symbols import Symbols

FIELDS = (":parameters", ":precondition", ":effect")
COMPARISONS = ("=", "<", ">", "<=", ">=")
# The advice in error messages about unsupported preconditions.
_CONDITIONS = "Preconditions must be atoms, negated atoms, equalities and inequalities."


@dataclass(frozen=True, slots=True)
class ActionBody:
    """An operator without a controller, read from an action.

    Attributes:
        action: the parsed action.
        name: the original name of the action. Merged parameters are appended, as in `move[?b=?a]`.
        arguments: the operator's variable for each parameter of the action, in order. Merged parameters
            stand for the same object and have the same variable.
        parameters: the variables in `arguments`, each once, and one for each constant in the action.
        terms: the operator's variable for each parameter and constant, by lower-case PDDL name.
    """

    action: Action
    name: str
    arguments: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    preconditions: frozenset[LiftedAtom]
    negative_preconditions: frozenset[LiftedAtom]
    add_effects: frozenset[LiftedAtom]
    delete_effects: frozenset[LiftedAtom]
    delete_patterns: frozenset[DeletePattern]
    terms: Mapping[str, Variable]


@dataclass(frozen=True, slots=True)
class Action:
    """An action as written in the PDDL text: its name, its fields by keyword, and the whole expression."""

    name: Word
    fields: Mapping[str, Expression]
    form: Form

    @classmethod
    def of(cls, form: Form, symbols: Symbols) -> Action:
        """Read `(:action name :parameters (...) :precondition (...) :effect (...))`."""
        syntax = symbols.syntax
        if len(form) < 2 or len(form) % 2:
            raise syntax.fault(form, "an action must have the form (:action name :parameters (...) ...).")
        fields: dict[str, Expression] = {}
        for key, value in zip(form[2::2], form[3::2], strict=True):
            name = syntax.word(key)
            if name.lower() not in FIELDS:
                raise syntax.unknown("part of an action", name, FIELDS)
            if name.lower() in fields:
                raise syntax.fault(name, f"the action has {name} twice. Remove one.")
            fields[name.lower()] = value
        return cls(syntax.word(form[1]), fields, form)


def read_action(
    form: Form, previous_line: int, symbols: Symbols, repeated_objects: bool
) -> list[ActionBody]:
    """Return the operators that an action stands for, usually one.

    With `repeated_objects`, there is one operator per way to merge parameters: merged parameters stand for
    the same object. `previous_line` is the line where the previous action starts. Comments between the
    previous action and this action belong to this action.
    """
    action = Action.of(form, symbols)
    parameters = _parameters(action, previous_line, symbols)
    terms = parameters | _constants(form, parameters, symbols)
    unmerged = {variable: variable for variable in terms.values()}
    bodies = []
    for merged in parameter_partitions(list(unmerged)) if repeated_objects else [unmerged]:
        bound_terms = {name: merged[variable] for name, variable in terms.items()}
        arguments = tuple(merged[variable] for variable in parameters.values())
        body = _Scope(symbols, bound_terms).body(action, arguments)
        if body is not None:
            bodies.append(replace(body, name=_variant_name(body.name, merged)))
    if not bodies:
        contradiction = _Scope(symbols, terms).contradiction(action)
        if contradiction is not None:
            raise symbols.syntax.fault(
                form,
                f"{action.name} can never be applied, because its precondition requires that "
                f"{contradiction} holds and that it does not hold. Remove one of the two conditions.",
            )
        raise symbols.syntax.fault(
            form,
            f"{action.name} can never be applied, because distinct parameters stand for distinct objects. "
            "Pass repeated_objects=True to allow the same object twice.",
        )
    return bodies


def _parameters(action: Action, previous_line: int, symbols: Symbols) -> dict[str, Variable]:
    """Return the parameters of an action as variables with original names, by lower-case PDDL name."""
    syntax = symbols.syntax
    originals = symbols.comments.variables_before(action.form.line, after=previous_line)
    found = {}
    for name, kind in syntax.typed_list(syntax.form(action.fields.get(FIELDS[0], Form(action.form.line)))):
        if not name.startswith("?"):
            raise syntax.fault(name, f"the parameter {name} must start with a question mark.")
        original = originals.get(name[1:].lower(), name[1:])
        found[name.lower()] = Variable(f"?{original}", symbols.type(kind))
    return found


def _constants(form: Form, parameters: Mapping[str, Variable], symbols: Symbols) -> dict[str, Variable]:
    """Return a new parameter for each constant in an action, by lower-case PDDL name of the constant.

    Operators have no constants. The parameter has a type with the constant as its only object.
    """
    taken = {variable.name for variable in parameters.values()}
    found = {}
    for name in dict.fromkeys(word.lower() for word in _words(form)):
        if name in symbols.constants:
            constant = symbols.constants[name]
            variable = f"?{constant.name}"
            while variable in taken:
                variable += "_"
            taken.add(variable)
            found[name] = Variable(variable, constant.type)
    return found


def _words(expression: Expression) -> Iterator[Word]:
    if isinstance(expression, Word):
        yield expression
    else:
        for part in expression:
            yield from _words(part)


def _variant_name(name: str, merged: Mapping[Variable, Variable]) -> str:
    """Return the name of an operator, with its merged parameters appended, such as `move[?b=?a]`."""
    same = [f"{one.name}={other.name}" for one, other in merged.items() if one != other]
    return f"{name}[{','.join(same)}]" if same else name


class _Literal(NamedTuple):
    """An atom in a precondition: it must hold if `positive`, and otherwise must not hold."""

    atom: LiftedAtom
    positive: bool


def _atoms(conditions: Iterable[_Literal | bool], positive: bool) -> frozenset[LiftedAtom]:
    """Return the atoms that must hold, or those that must not hold if `positive` is false."""
    literals = (one for one in conditions if isinstance(one, _Literal))
    return frozenset(one.atom for one in literals if one.positive == positive)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Reads the conditions and effects of an action.

    `terms` maps the lower-case names of parameters and constants to the operator's parameters.
    """

    symbols: Symbols
    terms: Mapping[str, Variable]

    def body(self, action: Action, arguments: tuple[Variable, ...]) -> ActionBody | None:
        """Return the operator, or None if its precondition can never hold.

        This is the case if it contains a false equality or inequality, or an atom and its negation.
        """
        _, condition, effect = (action.fields.get(name, Form(action.form.line)) for name in FIELDS)
        conditions = list(self.conditions(condition))
        if any(one is False for one in conditions):
            return None
        needed, forbidden = _atoms(conditions, positive=True), _atoms(conditions, positive=False)
        if needed & forbidden:
            return None
        effects = list(self.effects(effect, {}, None))
        adds = frozenset(one for one in effects if isinstance(one, LiftedAtom))
        deletes = [one for one in effects if isinstance(one, DeleteEffect)]
        atoms, patterns = _bound_and_quantified(merge_deletes(deletes, adds, self.symbols.syntax))
        return ActionBody(
            action=action,
            name=self.symbols.comments.original("action", action.name),
            arguments=arguments,
            parameters=tuple(dict.fromkeys((*arguments, *self.terms.values()))),
            preconditions=needed,
            negative_preconditions=forbidden,
            add_effects=adds,
            delete_effects=atoms,
            delete_patterns=patterns,
            terms=self.terms,
        )

    def contradiction(self, action: Action) -> LiftedAtom | None:
        """Return an atom that the precondition both requires and forbids, or None if there is none."""
        conditions = list(self.conditions(action.fields.get(FIELDS[1], Form(action.form.line))))
        both = _atoms(conditions, positive=True) & _atoms(conditions, positive=False)
        return min(both, default=None)

    def conditions(self, expression: Expression) -> Iterator[_Literal | bool]:
        """Yield one item for each atom, negated atom, equality and inequality in a precondition.

        For an atom or a negated atom, the item is a literal. For an equality or inequality, the item is its
        truth value. An equality is true if both sides stand for the same parameter of the operator.
        """
        if not self.symbols.syntax.form(expression):
            return
        match self.symbols.syntax.parts(expression):
            case "and", parts:
                for part in parts:
                    yield from self.conditions(part)
            case "=", [one, other]:
                yield self._term(one) == self._term(other)
            case "not", [["=", one, other]]:
                yield self._term(one) != self._term(other)
            case head, arguments if head in self.symbols.predicates:
                yield _Literal(self._atom(expression, head, arguments), positive=True)
            case "not", [Form() as negated]:
                head, arguments = self.symbols.syntax.parts(negated)
                if head not in self.symbols.predicates:
                    raise self._unreadable(negated, _CONDITIONS)
                yield _Literal(self._atom(negated, head, arguments), positive=False)
            case _:
                raise self._unreadable(expression, _CONDITIONS)

    def effects(
        self, expression: Expression, quantified: Mapping[str, Wildcard], condition: Expression | None
    ) -> Iterator[LiftedAtom | DeleteEffect]:
        """Yield the add and delete effects in an expression.

        The expression may be inside a `forall` over `quantified` variables and a `when` with `condition`.
        """
        if not self.symbols.syntax.form(expression):
            return
        match self.symbols.syntax.parts(expression):
            case "and", parts:
                for part in parts:
                    yield from self.effects(part, quantified, condition)
            case "forall", [Form() as variables, part]:
                typed = self.symbols.syntax.typed_list(variables)
                found = {name.lower(): Wildcard(self.symbols.type(kind)) for name, kind in typed}
                yield from self.effects(part, {**quantified, **found}, condition)
            case "when", [given, part] if condition is None:
                yield from self.effects(part, quantified, given)
            case "not", [Form() as atom]:
                yield self._delete(atom, quantified, condition)
            case head, arguments if head in self.symbols.predicates and not quantified and not condition:
                yield self._atom(expression, head, arguments)
            case _:
                raise self._unreadable(expression, "Effects must be atoms or deletes of one atom.")

    def _delete(
        self, atom: Form, quantified: Mapping[str, Wildcard], condition: Expression | None
    ) -> DeleteEffect:
        syntax = self.symbols.syntax
        head, arguments = syntax.parts(atom)
        if head not in self.symbols.predicates:
            raise self._unreadable(atom, "Effects must be atoms or deletes of one atom.")
        names = [syntax.word(argument).lower() for argument in arguments]
        if sorted(name for name in names if name in quantified) != sorted(quantified):
            raise self._unreadable(atom, f"The atom must contain each of {', '.join(quantified)} once.")
        pattern_arguments: list[PatternArgument] = [
            quantified[name] if name in quantified else self._term(argument)
            for name, argument in zip(names, arguments, strict=True)
        ]
        with syntax.locate_errors(atom):
            pattern = DeletePattern(self.symbols.predicates[head], tuple(pattern_arguments))
        quantified_names = tuple(name if name in quantified else None for name in names)
        return DeleteEffect(pattern, quantified_names, condition, self.terms, atom)

    def _atom(self, at: Expression, head: str, arguments: list[Expression]) -> LiftedAtom:
        terms = tuple(map(self._term, arguments))
        with self.symbols.syntax.locate_errors(at):
            return LiftedAtom(self.symbols.predicates[head], terms)

    def _term(self, expression: Expression) -> Variable:
        name = self.symbols.syntax.word(expression)
        if name.lower() not in self.terms:
            kind = "parameter" if name.startswith("?") else "constant"
            raise self.symbols.syntax.unknown(kind, name, (*self.terms, *self.symbols.constants))
        return self.terms[name.lower()]

    def _unreadable(self, expression: Expression, remedy: str) -> InvalidInputError:
        syntax = self.symbols.syntax
        head, _ = syntax.parts(expression)
        if head in (*COMPARISONS, *self.symbols.predicates) or KEYWORD.fullmatch(head):
            return syntax.fault(expression, f"{expression_text(expression)} is not supported. {remedy}")
        return syntax.unknown("predicate", syntax.word(syntax.form(expression)[0]), self.symbols.predicates)


def _bound_and_quantified(
    patterns: frozenset[DeletePattern],
) -> tuple[frozenset[LiftedAtom], frozenset[DeletePattern]]:
    """Divide delete patterns: return those without wildcards, converted to atoms, and the others."""
    atoms, quantified = [], []
    for pattern in patterns:
        variables = tuple(one for one in pattern.arguments if isinstance(one, Variable))
        if len(variables) == len(pattern.arguments):
            atoms.append(LiftedAtom(pattern.predicate, variables))
        else:
            quantified.append(pattern)
    return frozenset(atoms), frozenset(quantified)
