"""Each figure shows the numbers of the results in its panels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text

from needful.core.plans import Outcome
from needful.paper.published import ANALYTIC, DOMAINS, METHODS, method_style
from needful.reports.figure_canvas import report_style
from needful.reports.method_figures import draw_nodes_created, draw_paired_differences
from needful.reports.outcome_figures import (
    OUTCOME_COLOURS,
    SizeClass,
    draw_data_efficiency,
    draw_failures,
    draw_success_by_objects,
    draw_survival,
    learning_curves,
    outcome_label,
    size_classes,
    solved_within,
)
from needful.reports.runs import RunGroup, group_runs
from needful.reports.write_report import FIGURES, render_figure
from needful.sweeps.jobs import Job, JobResult
from synthetic_results import make_record, make_result, make_sweep

JOB = Job("screws", "necessary")


@pytest.fixture(autouse=True)
def _report_style() -> Iterator[None]:
    with report_style():
        yield


def shown(figure: Figure | None) -> list[Axes]:
    assert figure is not None
    return [axes for axes in figure.axes if axes.get_visible()]


def with_records(job: Job, *changes: dict[str, object]) -> tuple[RunGroup, ...]:
    """Return the group of one run whose records have the given changes."""
    records = tuple(make_record(job, task, **change) for task, change in enumerate(changes))  # type: ignore[arg-type]
    job = replace(job, tasks=len(records))
    return group_runs([JobResult(job, {}, records)])


def colours(axes: Axes) -> set[str]:
    return {to_hex(line.get_color()) for line in axes.lines}


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_without_results_there_is_nothing_to_draw(name: str) -> None:
    assert render_figure(name, ()) is None
    assert render_figure(name, group_runs([JobResult(JOB, {}, (), "error")])) is None
    assert render_figure(name, group_runs([make_result(JOB, [])])) is None


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_odd_names_and_single_tasks_can_be_drawn(name: str) -> None:
    results = [
        make_result(Job(domain, learner, demos=demos))
        for domain in ("screws", "$x^$")
        for learner in ("necessary", "_a$", "b" * 60)
        for demos in (5, 50)
    ]
    files = render_figure(name, group_runs(results))
    assert files is not None
    assert files.png.startswith(b"\x89PNG")
    assert b"<svg" in files.svg


def test_data_efficiency_has_a_curve_in_each_of_six_panels() -> None:
    results = [
        run for demos in (5, 10, 25, 50) for run in make_sweep(ANALYTIC, ["necessary"], 3, 10, demos)
    ]
    panels = shown(draw_data_efficiency(group_runs(results)))
    assert [axes.get_title() for axes in panels] == [DOMAINS[name].title for name in ANALYTIC]
    for axes, domain in zip(panels, ANALYTIC, strict=True):
        (curve,) = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
        line = curve.lines[0]
        assert line is not None
        assert list(line.get_xdata()) == [5, 10, 25, 50]
        solved = [
            100.0 * np.mean([r.solved for run in results for r in run.records if _of(run, domain, demos)])
            for demos in (5, 10, 25, 50)
        ]
        assert list(line.get_ydata()) == pytest.approx(solved)
        assert [label.get_text() for label in axes.get_xticklabels()] == ["5", "10", "25", "50"]


def _of(run: JobResult, domain: str, demos: int) -> bool:
    return (run.job.domain, run.job.demos) == (domain, demos)


def test_the_published_success_is_a_star() -> None:
    results = [make_result(replace(JOB, demos=demos), ["solved", "timeout"]) for demos in (5, 50)]
    (axes,) = shown(draw_data_efficiency(group_runs(results)))
    (star,) = [line for line in axes.lines if line.get_marker() == "*"]
    assert (list(star.get_xdata()), list(star.get_ydata())) == ([50], [100.0])


def test_there_is_no_star_beyond_the_curves() -> None:
    results = [make_result(replace(JOB, demos=demos)) for demos in (5, 20)]
    figure = draw_data_efficiency(group_runs(results))
    (axes,) = shown(figure)
    assert not [line for line in axes.lines if line.get_marker() == "*"]
    assert figure is not None
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Necessary"]


def test_a_curve_needs_several_numbers_of_demonstrations() -> None:
    curves = learning_curves(
        group_runs(
            [
                make_result(replace(JOB, demos=5), ["solved"]),
                make_result(replace(JOB, demos=5, timeout=99.0), ["solved", "timeout"]),
                make_result(replace(JOB, demos=50)),
                make_result(replace(JOB, demos=50, planner="paper"), ["solved", "timeout", "timeout"]),
                make_result(replace(JOB, learner="ci")),
            ]
        )
    )
    ((key, curve),) = curves.items()
    assert key == ("screws", "necessary")
    assert [(one.setting.demos, len(one.records)) for one in curve] == [(5, 2), (50, 1)]


def test_nodes_are_shown_task_by_task_with_failures_at_the_end() -> None:
    changes = [{"nodes_created": 10 * (n + 1)} for n in range(12)]
    failed = [{"nodes_created": 7, "outcome": "timeout"}] * 3
    (axes,) = shown(draw_nodes_created(with_records(JOB, *changes, *failed)))
    points, crosses = (
        next(line for line in axes.lines if line.get_marker() == marker) for marker in ("o", "x")
    )
    assert list(points.get_xdata()) == pytest.approx([10 * (n + 1) for n in range(12)])
    assert list(crosses.get_xdata()) == pytest.approx([10**6] * 3)
    (median,) = [line for line in axes.lines if line.get_marker() == "|"]
    assert list(median.get_xdata()) == pytest.approx([np.sqrt(60 * 70)])
    assert len(axes.collections) == 1  # the violin
    assert [text.get_text() for text in axes.texts] == ["20 %"]
    assert axes.get_xscale() == "log"


def test_failures_move_right_if_solved_tasks_need_more_nodes() -> None:
    household = Job("sorting-books", "necessary")
    for nodes, end in ((20, 10**3), (999, 10**3), (1_000, 10**4), (123_456, 10**6)):
        changes = {"nodes_created": nodes}, {"outcome": "timeout"}
        (axes,) = shown(draw_nodes_created(with_records(household, *changes)))
        (crosses,) = [line for line in axes.lines if line.get_marker() == "x"]
        assert list(crosses.get_xdata()) == pytest.approx([end])


def test_a_violin_is_widest_where_most_tasks_are() -> None:
    nodes = [10] * 3 + [1_000] * 12
    (axes,) = shown(draw_nodes_created(with_records(JOB, *[{"nodes_created": n} for n in nodes])))
    (violin,) = axes.collections
    outline = violin.get_paths()[0].vertices
    widest = outline[np.abs(outline[:, 1]).argmax()]
    assert np.log10(widest[0]) == pytest.approx(3.0, abs=0.2)
    assert np.abs(outline[:, 1]).max() < 0.5  # rows are 1 apart
    there = np.abs(np.log10(outline[:, 0]) - 1.0) < 0.2
    assert np.abs(outline[there, 1]).max() < abs(widest[1])


def test_equal_points_make_a_violin_that_can_be_seen() -> None:
    (axes,) = shown(draw_nodes_created(with_records(JOB, *[{"nodes_created": 5}] * 50)))
    (violin,) = axes.collections
    assert np.ptp(np.log10(violin.get_paths()[0].vertices[:, 0])) > 0.1


def test_a_few_points_make_no_violin() -> None:
    few = with_records(JOB, *[{"nodes_created": n + 1} for n in range(9)])
    none_created = with_records(JOB, *[{"nodes_created": 0}] * 2)
    for groups in (few, none_created):
        (axes,) = shown(draw_nodes_created(groups))
        assert len(axes.collections) == 0
    (points,) = [line for line in axes.lines if line.get_marker() == "o"]
    assert list(points.get_xdata()) == [1.0, 1.0]


def test_rare_failures_are_not_rounded_away() -> None:
    (axes,) = shown(draw_nodes_created(with_records(JOB, *[{}] * 199, {"outcome": "timeout"})))
    assert [text.get_text() for text in axes.texts] == ["0.5 %"]


def test_policies_create_no_nodes() -> None:
    results = make_sweep(["screws"], ["necessary", "gnn-shooting", "gnn-model-free"], 1, 5)
    (axes,) = shown(draw_nodes_created(group_runs(results)))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Necessary"]
    assert draw_nodes_created(group_runs(make_sweep(["screws"], ["gnn-shooting"], 1, 5))) is None


def test_survival_rises_when_a_task_is_solved() -> None:
    (group,) = with_records(
        JOB,
        {"seconds": {"total": 4.0}},
        {"seconds": {"total": 0.5}},
        {"seconds": {"total": 9.0}, "outcome": "timeout"},
        {"seconds": {"total": 0.0}},
    )
    assert solved_within(group) == ([0.0001, 0.0001, 0.5, 4.0, 10.0], [0.0, 25.0, 50.0, 75.0, 75.0])
    (axes,) = shown(draw_survival((group,)))
    step = axes.lines[0]
    assert list(step.get_ydata()) == [0.0, 25.0, 50.0, 75.0, 75.0]
    assert step.get_drawstyle() == "steps-post"
    assert axes.get_xscale() == "log"


def test_a_method_that_solves_nothing_stays_at_zero() -> None:
    (group,) = with_records(JOB, {"outcome": "timeout"})
    assert solved_within(group) == ([0.0001, 10.0], [0.0, 0.0])


def test_sizes_are_divided_into_classes() -> None:
    records = [make_record(JOB, n, "solved" if n < 6 else "timeout", objects=n) for n in range(1, 13)]
    classes = size_classes(records)
    assert [(one.objects, one.solved, one.tasks) for one in classes] == [
        (1.5, 100.0, 2),
        (3.5, 100.0, 2),
        (5.5, 50.0, 2),
        (7.5, 0.0, 2),
        (9.5, 0.0, 2),
        (11.5, 0.0, 2),
    ]


def test_few_sizes_have_a_class_each_and_uncounted_tasks_none() -> None:
    records = [make_record(JOB, n, objects=objects) for n, objects in enumerate((4, 4, 9, 0))]
    assert size_classes(records) == (SizeClass(4.0, 100.0, 2), SizeClass(9.0, 100.0, 1))
    assert size_classes([make_record(JOB, 0, objects=0)]) == ()
    assert draw_success_by_objects(with_records(JOB, {"objects": 0})) is None


def test_success_by_objects_has_one_line_per_method() -> None:
    groups = group_runs(make_sweep(["screws"], ["necessary", "ci"], 2, 10))
    (axes,) = shown(draw_success_by_objects(groups))
    assert colours(axes) == {method_style(name).colour for name in ("necessary", "ci")}
    by_colour = {to_hex(line.get_color()): line for line in axes.lines}
    for group in groups:
        line = by_colour[method_style(group.method).colour]
        classes = size_classes(group.records)
        assert list(line.get_xdata()) == [one.objects for one in classes]
        assert list(line.get_ydata()) == [one.solved for one in classes]


def test_every_outcome_has_a_unique_colour() -> None:
    labels = {outcome_label(make_record(JOB, 0, outcome.value)) for outcome in Outcome}
    labels.add(outcome_label(make_record(JOB, 0, "timeout", abstract_plans=0)))
    assert labels == set(OUTCOME_COLOURS)
    assert len(set(OUTCOME_COLOURS.values())) == len(OUTCOME_COLOURS)
    assert not set(OUTCOME_COLOURS.values()) & {style.colour for style in METHODS.values()}


def test_bars_are_divided_by_outcome() -> None:
    groups = with_records(
        JOB,
        {"outcome": "timeout", "abstract_plans": 0},
        {"outcome": "timeout", "abstract_plans": 2},
        {"outcome": "solved"},
        {"outcome": "solved"},
        {"outcome": "not_learned"},
    )
    figure = draw_failures(groups)
    (axes,) = shown(figure)
    parts = [(to_hex(bar.get_facecolor()), bar.get_x(), bar.get_width()) for bar in axes.patches]
    assert parts == [
        (OUTCOME_COLOURS["solved"], 0.0, 40.0),
        (OUTCOME_COLOURS["not learned"], 40.0, 20.0),
        (OUTCOME_COLOURS["timeout in search"], 60.0, 20.0),
        (OUTCOME_COLOURS["timeout in refinement"], 80.0, 20.0),
    ]
    assert figure is not None
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "solved",
        "not learned",
        "timeout in search",
        "timeout in refinement",
    ]


def test_differences_are_drawn_with_their_intervals() -> None:
    results = [
        make_result(replace(JOB, learner=learner, seed=seed), outcomes)
        for seed, pair in enumerate([(["solved"] * 4, ["timeout"] * 4), (["solved"] * 4, ["solved"] * 4)])
        for learner, outcomes in zip(("necessary", "ci"), pair, strict=True)
    ]
    (axes,) = shown(draw_paired_differences(group_runs(results)))
    interval, point = (line for line in axes.lines if to_hex(line.get_color()) == method_style("ci").colour)
    assert list(interval.get_xdata()) == [0.0, 100.0]
    assert list(point.get_xdata()) == [50.0]
    assert point.get_fillstyle() == "full"
    assert [text.get_text() for text in axes.texts] == ["4 : 0"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["CI"]


def test_the_scale_of_differences_goes_below_zero_where_others_are_better() -> None:
    worse = [make_result(JOB, ["timeout"] * 5), make_result(replace(JOB, learner="ci"), ["solved"] * 5)]
    (axes,) = shown(draw_paired_differences(group_runs(worse)))
    assert axes.get_xlim()[0] < -100
    (point,) = (line for line in axes.lines if to_hex(line.get_color()) == method_style("ci").colour)
    assert point.get_fillstyle() == "none"  # one seed, no interval
    better = [make_result(JOB, ["solved"] * 5), make_result(replace(JOB, learner="ci"), ["timeout"] * 5)]
    (axes,) = shown(draw_paired_differences(group_runs(better)))
    assert -25 < axes.get_xlim()[0] < 0


def test_without_ours_there_is_nothing_to_compare() -> None:
    assert draw_paired_differences(group_runs(make_sweep(["screws"], ["ci", "loft"], 1, 2))) is None


def test_a_method_has_one_colour_in_all_figures() -> None:
    results = make_sweep(["screws"], ["necessary", "ci"], 2, 12) + make_sweep(
        ["screws"], ["necessary", "ci"], 2, 12, demos=5
    )
    groups = group_runs(results)
    expected = {method_style(name).colour for name in ("necessary", "ci")}
    for draw in (draw_data_efficiency, draw_nodes_created, draw_survival, draw_success_by_objects):
        (axes,) = shown(draw(groups))
        assert expected <= colours(axes)


def tick_labels(axes: Axes) -> list[Text]:
    """Return the visible labels; matplotlib also has labels outside the limits."""
    found = []
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        found += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [label for label in found if label.get_visible()]


@pytest.mark.slow
def test_texts_do_not_overlap() -> None:
    """The titles, labels and legends of a full report do not overlap."""
    learners = [*(name for name in METHODS if "," not in name), "unknown " * 9]
    results = [run for demos in (5, 50) for run in make_sweep(ANALYTIC, learners, 2, 12, demos)]
    groups = group_runs(results)
    for name, spec in FIGURES.items():
        figure = spec.draw(groups)
        assert figure is not None
        FigureCanvasAgg(figure).draw()
        extents = [
            (text.get_text(), text.get_window_extent())
            for axes in shown(figure)
            for text in (axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts, *tick_labels(axes))
            if text.get_text()
        ]
        extents += [
            (t.get_text(), t.get_window_extent()) for one in figure.legends for t in one.get_texts()
        ]
        for index, (text, extent) in enumerate(extents):
            assert _inside(extent, figure), (name, text)
            overlapping = [other for other, its in extents[:index] if extent.overlaps(its)]
            assert not overlapping, (name, text, overlapping)


def _inside(extent: object, figure: Figure) -> bool:
    width, height = figure.get_size_inches() * figure.dpi
    x0, y0, x1, y1 = extent.extents  # type: ignore[attr-defined]
    return bool(x0 > -1 and y0 > -1 and x1 < width + 1 and y1 < height + 1)
