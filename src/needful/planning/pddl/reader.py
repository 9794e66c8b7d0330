"""Read a PDDL domain as operators: files that `write_pddl` wrote, and STRIPS domains from other sources.

PDDL has no controllers. `write_pddl` writes a comment that names the controller of an action. Without such
a comment, the controller has the action's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from needful.core.controllers import Controller
from needful.core.model import Vocabulary
from needful.core.objects import Abbreviated, Object, Type, Variable
from needful.core.operators import Operator
from needful.core.s_expressions import Expression, Form, Word, expression_text, read_expression
from needful.errors import InvalidInputError
from needful.planning.pddl.names import Comments
from needful.planning.pddl.read_actions import ActionBody, read_action
from needful.planning.pddl.read_symbols import PddlSyntax, Symbols, read_symbols

# The requirements that a domain may declare. `when` and `forall` are supported only in delete effects.
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


@dataclass(frozen=True, slots=True, repr=False)
class PddlDomain(Abbreviated):
    """The contents of a PDDL domain.

    Attributes:
        name: its name.
        vocabulary: its types, predicates and controllers. If the domain was read with a vocabulary, this is
            an extended copy: with the types of the constants, and a controller for each further action.
        operators: its actions as operators.
        constants: the objects that its actions name. Each is the only object of a new type, and operators
            refer to it by a parameter of this type. A task must contain these objects.
    """

    name: str
    vocabulary: Vocabulary
    operators: tuple[Operator, ...]
    constants: tuple[Object, ...] = ()


def read_pddl_domain(
    source: str | Path, vocabulary: Vocabulary | None = None, *, repeated_objects: bool = False
) -> PddlDomain:
    """Read a domain from a file or from PDDL text; a string that contains `(` is PDDL text.

    STRIPS with types, constants, equalities, inequalities and negative preconditions on atoms is supported.
    `forall` and `when` are only supported in deletes, and `when` only to exclude atoms that the action
    adds. Anything else raises an `InvalidInputError` that names the line.

    PDDL has no features, classifiers or controllers. With a vocabulary, the operators use its types,
    predicates and controllers, so you can plan with them in the environment of the vocabulary.

    Comments that `write_pddl` wrote give original names and the controller of each action. An action
    without such a comment runs a controller that has the action's name and takes all its parameters.

    Distinct parameters of an operator stand for distinct objects. PDDL does not require this. With
    `repeated_objects`, an action becomes several operators, one per way to merge parameters that may stand
    for the same object.
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
        for action, previous_line in zip(actions, lines, strict=False)
        for body in read_action(action, previous_line, symbols, repeated_objects)
    ]
    operators, controllers = assign_controllers(bodies, vocabulary, symbols)
    return PddlDomain(
        comments.original("domain", name),
        _vocabulary(vocabulary, symbols, controllers),
        operators,
        tuple(symbols.constants.values()),
    )


def _text(source: str | Path) -> tuple[str, str]:
    """Return the PDDL text of a source, and the name of the source for error messages."""
    if isinstance(source, str) and "(" in source:
        return source, "PDDL"
    try:
        return Path(source).read_text(encoding="utf-8"), str(source)
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or an invalid path
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInputError(
            f"{source}: cannot be read: {reason}. Give the path or the text of a PDDL domain."
        ) from None


def _sections(definition: Expression, syntax: PddlSyntax) -> tuple[Word, list[Form]]:
    """Return the name and the sections of `(define (domain name) section ...)`."""
    head, parts = syntax.parts(definition)
    if head != "define" or not parts or syntax.parts(parts[0])[0] != "domain" or len(parts[0]) != 2:
        raise syntax.fault(definition, "a domain must have the form (define (domain name) ...).")
    sections = [syntax.form(part) for part in parts[1:]]
    seen = set()
    for form in sections:
        title, content = syntax.parts(form)
        if title not in SECTIONS:
            raise syntax.unknown("section", syntax.word(form[0]), SECTIONS)
        # Only the section `:action` may occur several times, each time with another action name.
        key = f"{title} {expression_text(content[0])}".lower() if title == ":action" and content else title
        if key in seen:
            raise syntax.fault(form, f"the section {key} is repeated. Remove one.")
        seen.add(key)
    return syntax.word(syntax.form(parts[0])[1]), sections


def _check_requirements(requirements: Iterable[Expression], syntax: PddlSyntax) -> None:
    words = [syntax.word(one) for one in requirements]
    unsupported = [f"{one} (line {one.line})" for one in words if one.lower() not in REQUIREMENTS]
    if unsupported:
        raise InvalidInputError(
            f"{syntax.source}: these requirements are not supported: {', '.join(unsupported)}. "
            f"Supported: {', '.join(REQUIREMENTS)}."
        )


def _vocabulary(given: Vocabulary | None, symbols: Symbols, created: Iterable[Controller]) -> Vocabulary:
    """Return the vocabulary of a domain.

    It extends the given vocabulary by one type per constant of the domain and by the controllers in
    `created`. If no vocabulary is given, it extends the types and predicates that the domain declares.
    """
    given = given or Vocabulary(tuple(symbols.types.values()), tuple(symbols.predicates.values()), ())
    return Vocabulary(
        (*given.types, *(constant.type for constant in symbols.constants.values())),
        given.predicates,
        (*given.controllers, *created),
    )


def assign_controllers(
    bodies: Sequence[ActionBody], vocabulary: Vocabulary | None, symbols: Symbols
) -> tuple[tuple[Operator, ...], tuple[Controller, ...]]:
    """Return the operators with controllers, and the controllers that had to be created.

    A comment in the PDDL text can name the controller of an action. Without a comment, the controller has
    the action's name and takes the action's parameters. Controllers that are not in the vocabulary are
    created, without continuous parameters. If several actions run a created controller, its arguments have
    the narrowest types that include the arguments of all these actions.
    """
    known = {} if vocabulary is None else {one.name: one for one in vocabulary.controllers}
    created: dict[str, Controller] = {}
    calls = [_call(body, symbols) for body in bodies]
    for body, (name, arguments) in zip(bodies, calls, strict=True):
        commented = body.action.name.lower() in symbols.comments.controllers
        if vocabulary is not None and commented and name not in known:
            raise symbols.syntax.unknown("controller", Word(name, body.action.form.line), known)
        if name not in known:
            types = [variable.type for variable in arguments]
            common = _narrowest_common_types(created[name].types if name in created else types, types)
            if common is None:
                raise symbols.syntax.fault(
                    body.action.form, f"another action runs {name!r} with arguments of incompatible types."
                )
            created[name] = Controller(name, common)
    operators = []
    for body, (name, arguments) in zip(bodies, calls, strict=True):
        with symbols.syntax.locate_errors(body.action.form):
            operators.append(_operator(body, (known | created)[name], arguments))
    return tuple(operators), tuple(created.values())


def _call(body: ActionBody, symbols: Symbols) -> tuple[str, tuple[Variable, ...]]:
    """Return the name of the controller that an action runs, and its arguments."""
    commented = symbols.comments.controllers.get(body.action.name.lower())
    if commented is None:
        return symbols.comments.original("action", body.action.name), body.arguments
    name, arguments = commented
    for argument in arguments:
        if argument not in body.terms:
            raise symbols.syntax.unknown(
                f"argument of the controller {name!r}", Word(argument, body.action.form.line), body.terms
            )
    return name, tuple(body.terms[argument] for argument in arguments)


def _narrowest_common_types(before: Sequence[Type], types: Sequence[Type]) -> tuple[Type, ...] | None:
    """Return the narrowest common supertypes of two lists of types, one per position.

    Returns None if the lists differ in length or if two types have no common supertype.
    """
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
        body.negative_preconditions,
    )
