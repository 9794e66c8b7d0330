"""The C++ search engine, compiled from `native/bindings.cpp`."""

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
    goal_reachable: bool
    operator_count: int
    def ground_operator(self, index: int) -> EncodedAtom: ...

class Search:
    ended: str | None
    spent: list[int]
    def __init__(
        self,
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
        cpu_time: bool = False,
    ) -> None: ...
    def next(self, spent: Counters, seconds: float, max_nodes: int) -> list[int] | None: ...

def ground(
    arities: list[int],
    object_types: list[int],
    type_members: list[list[int]],
    operators: list[OperatorTuple],
    initial: list[int],
    goal: list[int],
    seconds: float,
    max_operators: int,
    cpu_time: bool = False,
) -> Problem | None: ...
