"""The C++ search engine, compiled from `native/bindings.cpp`. All arguments are positional."""

# `EncodedAtom` and `StageTuple` are explained in `native_planner`.
EncodedAtom = tuple[int, list[int]]
# The types of the parameters, then the preconditions, negative preconditions, adds, deletes and patterns.
OperatorTuple = tuple[
    list[int],
    list[EncodedAtom],
    list[EncodedAtom],
    list[EncodedAtom],
    list[EncodedAtom],
    list[EncodedAtom],
]
StageTuple = tuple[bool, int, bool, int]
Counters = list[int]

class Problem:
    """A ground problem. Only the functions below can use it."""

class Search:
    """A running search. Only the functions below can use it."""

def ground(
    arities: list[int],
    object_types: list[int],
    type_members: list[list[int]],
    operators: list[OperatorTuple],
    initial: list[int],
    goal: list[int],
    seconds: float,
    max_operators: int,
    cpu_time: bool,
    /,
) -> Problem | None: ...
def goal_reachable(problem: Problem, /) -> bool: ...
def operator_count(problem: Problem, /) -> int: ...
def ground_operator(problem: Problem, index: int, /) -> EncodedAtom: ...
def start_search(
    problem: Problem,
    failures: list[tuple[int, int]],
    lifted_costs: list[int],
    surcharges: list[tuple[int, int]],
    tried: list[list[int]],
    stages: list[StageTuple],
    distinct: bool,
    seed: int,
    spent: Counters,
    seconds: float,
    cpu_time: bool,
    /,
) -> Search: ...
def next_plan(search: Search, spent: Counters, seconds: float, max_nodes: int, /) -> list[int] | None: ...
def spent(search: Search, /) -> Counters: ...
def ended(search: Search, /) -> str | None: ...
