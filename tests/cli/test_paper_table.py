"""A table of the paper in the terminal."""

from __future__ import annotations

import pytest

from needful.reports.table import Table, as_text, one_decimal


@pytest.mark.parametrize("caption", ["Solved tasks", "Solved tasks.", "Solved tasks. Bold is best."])
def test_the_heading_ends_in_one_full_stop(caption: str) -> None:
    table = Table("main", "Success rates", caption, ("necessary",), (), one_decimal)
    assert as_text(table).splitlines()[0] == "Success rates. Solved tasks."
