"""Read a PDDL domain as operators: those that `write_pddl` wrote, and plain STRIPS of other people's.

The controllers of operators that were read from PDDL, which knows none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import Operator
from needful.core.s_expressions import Expression, Form, Word, expression_text, read_expression
from needful.errors import InvalidInputError
from needful.planning.pddl.names import Comments
from needful.planning.pddl.read_actions import ActionBody, read_action
from needful.planning.pddl.read_symbols import PddlSyntax, Symbols, read_symbols


def assign_controllers(
    bodies: Sequence[ActionBody], vocabulary: Vocabulary | None, symbols: Symbols
) -> tuple[tuple[Operator, ...], tuple[Controller, ...]]:
    """Return operators with controllers, and those of the controllers that had to be made up.

    The controller of an action is what its comment tells; without one, it is named after the action and
    takes its parameters. Those that the vocabulary does not have are made up, without continuous
    parameters, and with types that all actions can pass.
    """
    known = {} if vocabulary is None else {one.name: one for one in vocabulary.controllers}
    made: dict[str, Controller] = {}
    calls = [_call(body, symbols) for body in bodies]
    for body, (name, arguments) in zip(bodies, calls, strict=True):
        commented = body.action.name.lower() in symbols.comments.controllers
        if vocabulary is not None and commented and name not in known:
            raise symbols.syntax.unknown("controller", Word(name, body.action.at.line), known)
        if name not in known:
            types = [variable.type for variable in arguments]
            common = _narrowest_common_types(made[name].types if name in made else types, types)
            if common is None:
                raise symbols.syntax.fault(
                    body.action.at, f"another action runs {name!r} with arguments of other types."
                )
            made[name] = Controller(name, common)
    operators = []
    for body, (name, arguments) in zip(bodies, calls, strict=True):
        with symbols.syntax.locate_errors(body.action.at):
            operators.append(_operator(body, (known | made)[name], arguments))
    return tuple(operators), tuple(made.values())


def _call(body: ActionBody, symbols: Symbols) -> tuple[str, tuple[Variable, ...]]:
    """Return the name of the controller that an action runs, and its arguments."""
    told = symbols.comments.controllers.get(body.action.name.lower())
    if told is None:
        return symbols.comments.original("action", body.action.name), body.arguments
    name, arguments = told
    for argument in arguments:
        if argument not in body.terms:
            raise symbols.syntax.unknown(
                f"argument of the controller {name!r}", Word(argument, body.action.at.line), body.terms
            )
    return name, tuple(body.terms[argument] for argument in arguments)


def _narrowest_common_types(before: Sequence[Type], types: Sequence[Type]) -> tuple[Type, ...] | None:
    """Return the narrowest types that include both of each, if there are such."""
    if len(before) != len(types):
        return None
    found = []
    for one, other in zip(before, types, strict=True):
        shared = [kind for kind in one.ancestry() if other.is_subtype_of(kind)]
        if not shared:
            return None
        found.append(shared[0])
    return tuple(found)


def _operator(body: ActionBody, controller: Controller, arguments: tuple[Variable, ...]) -> Operator:
    return Operator(
        body.name,
        body.parameters,
        body.preconditions,
        body.add_effects,
        body.delete_effects,
        body.delete_patterns,
        controller,
        arguments,
    )


# Conditions and quantifiers are understood as far as quantified deletes make use of them.
REQUIREMENTS = (
    ":strips",
    ":typing",
    ":equality",
    ":negative-preconditions",
    ":conditional-effects",
    ":quantified-preconditions",
    ":universal-preconditions",
)
SECTIONS = (":action", ":constants", ":predicates", ":requirements", ":types")


@dataclass(frozen=True, slots=True)
class PddlDomain:
    """What a PDDL domain says.

    Attributes:
        name: its name.
        vocabulary: its types, predicates and controllers, or those that it was read with.
        operators: its actions.
        constants: the objects that its actions name. Each has a type of its own, because that is how an
            operator asks for this object and no other: a task must have these very objects.
    """

    name: str
    vocabulary: Vocabulary
    operators: tuple[Operator, ...]
    constants: tuple[Object, ...] = ()


def read_pddl_domain(
    source: str | Path, vocabulary: Vocabulary | None = None, *, repeated_objects: bool = False
) -> PddlDomain:
    """Read a domain from a file, or from a text, which is a string that contains a `(`.

    Understood are STRIPS with types, constants and inequalities, and `forall` and `when` as far as they
    delete everything of a kind but what is added. Whatever else there is raises an `InvalidInputError`
    that names its line.

    PDDL has no features, classifiers and controllers. Given a vocabulary, types, predicates and
    controllers are taken from there, so that the operators can be planned with in its environment.
    Comments of `write_pddl` tell original names and the controller of each action. An action without
    such a comment runs a controller of its own name that takes all of its parameters.

    Distinct parameters of an operator stand for distinct objects. PDDL does not ask for that; with
    `repeated_objects`, an action gives several operators, one for each way to use an object twice.
    """
    text, label = _text(source)
    syntax = PddlSyntax(label)
    name, sections = _sections(read_expression(text, label), syntax)
    declarations = {str(one[0]).lower(): one for one in sections if str(one[0]).lower() != ":action"}
    actions = [one for one in sections if str(one[0]).lower() == ":action"]
    _check_requirements(declarations.get(":requirements", Form(1))[1:], syntax)
    comments = Comments.of(text)
    symbols = read_symbols(declarations, actions, comments, vocabulary, syntax)
    lines = [0, *(action.line for action in actions)]
    bodies = [
        body
        for action, last_line in zip(actions, lines, strict=False)
        for body in read_action(action, last_line, symbols, repeated_objects)
    ]
    operators, controllers = assign_controllers(bodies, vocabulary, symbols)
    return PddlDomain(
        comments.original("domain", name),
        _vocabulary(vocabulary, symbols, controllers),
        operators,
        tuple(symbols.constants.values()),
    )


def _text(source: str | Path) -> tuple[str, str]:
    """Return a text, and what to call it in errors."""
    if isinstance(source, str) and "(" in source:
        return source, "PDDL"
    try:
        return Path(source).read_text(encoding="utf-8"), str(source)
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a path that no file can have
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInputError(f"{source}: cannot be read: {reason}. Give a PDDL domain.") from None


def _sections(definition: Expression, syntax: PddlSyntax) -> tuple[Word, list[Form]]:
    """Return the name and the sections of `(define (domain name) section ...)`."""
    head, parts = syntax.parts(definition)
    if head != "define" or not parts or syntax.parts(parts[0])[0] != "domain" or len(parts[0]) != 2:
        raise syntax.fault(definition, "a domain has the form (define (domain name) ...).")
    sections = [syntax.form(part) for part in parts[1:]]
    seen = set()
    for form in sections:
        title, content = syntax.parts(form)
        if title not in SECTIONS:
            raise syntax.unknown("section", syntax.word(form[0]), SECTIONS)
        # There are many actions, but no two of one name.
        key = f"{title} {expression_text(content[0])}".lower() if title == ":action" and content else title
        if key in seen:
            raise syntax.fault(form, f"there is a section {key} already.")
        seen.add(key)
    return syntax.word(syntax.form(parts[0])[1]), sections


def _check_requirements(requirements: Iterable[Expression], syntax: PddlSyntax) -> None:
    words = [syntax.word(one) for one in requirements]
    strange = [f"{one} (line {one.line})" for one in words if one.lower() not in REQUIREMENTS]
    if strange:
        raise InvalidInputError(
            f"{syntax.source}: these requirements are not supported: {', '.join(strange)}. "
            f"Supported: {', '.join(REQUIREMENTS)}."
        )


def _vocabulary(given: Vocabulary | None, symbols: Symbols, made: Iterable[Controller]) -> Vocabulary:
    """Return the vocabulary of the domain: the given one, and what only the domain has."""
    given = given or Vocabulary(tuple(symbols.types.values()), tuple(symbols.predicates.values()), ())
    return Vocabulary(
        (*given.types, *(constant.type for constant in symbols.constants.values())),
        given.predicates,
        (*given.controllers, *made),
    )
