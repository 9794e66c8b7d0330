from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from needful.planning.pddl.names import Comments, controller_comment, name_comment

NAMES = st.text(max_size=20)


@given(st.dictionaries(st.sampled_from(["a", "B-2", "c_"]), NAMES), NAMES)
def test_comments_tell_what_was_written(originals: dict[str, str], controller: str) -> None:
    lines = [name_comment("type", pddl, original) for pddl, original in originals.items()]
    lines += ["(define", f"  {controller_comment('Go', controller, ['?X', '?y'])}", "  (:action"]
    comments = Comments.of("\n".join(lines))
    for pddl, original in originals.items():
        assert comments.original("type", pddl.upper()) == original
        assert comments.original("object", pddl) == pddl
    assert comments.controllers == {"go": (controller, ("?x", "?y"))}


def test_variables_belong_to_the_action_that_follows() -> None:
    text = "\n".join([name_comment("variable", "x", "ä"), "(", name_comment("variable", "X", "ö"), "("])
    comments = Comments.of(text)
    assert comments.variables_before(2, after=0) == {"x": "ä"}
    assert comments.variables_before(4, after=2) == {"x": "ö"}


def test_other_peoples_comments_are_passed_over() -> None:
    text = """; type a is "b" or "c"
; type a is b
x ; type a is "b"
; the type a is "b"
; action a runs "b" or "c" with (?x)
; action a runs b with (?x)
; action a runs "b" with ?x
"""
    assert Comments.of(text) == Comments({}, (), {})
