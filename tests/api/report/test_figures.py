"""Figures of a report. Breaks if one shows or links what its caption does not say."""

import dataclasses
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure as MatplotlibFigure

from coherence import (
    AGENTS,
    CheckResult,
    Interval,
    monotone_choice_test,
    rational_agent_test,
    simulate,
)
from coherence.plots.choices import choices_of
from coherence.report.answer_links import AnswerLinks
from coherence.report.figures import evaluation_figures, forest_figures
from coherence.report.ranking import rank
from coherence.statistics.report_noise import ReportNoise

LEAD = "Choices by belief and realised state"
FIRST = ["What moves", LEAD]


def titles(unit):
    return [figure.title for figure in evaluation_figures(unit, "k")[0]]


def pairwise(unit):
    return next(
        f for f in evaluation_figures(unit, "k")[0] if f.title.startswith("Share of yes among")
    )


def test_a_unit_with_everything_misses_no_figure_and_what_moves_comes_first(unit):
    figures, missing = evaluation_figures(unit(), "k")
    assert [figure.title for figure in figures] == [
        *FIRST,
        "Share of yes among yes and no",
        "Beliefs by action",
        "Belief and exact posterior",
    ]
    assert missing == []
    assert all(figure.svg.startswith("<svg") for figure in figures)


def test_beliefs_without_actions_are_one_histogram_and_truth_gives_calibration(unit, choices):
    beliefs = choices(p_true=False)
    assert titles(unit(results=(), verdicts=(), beliefs=beliefs)) == [
        *FIRST,
        "Beliefs by action",
        "Calibration",
    ]
    alone = unit(results=(), verdicts=(), beliefs=beliefs[["belief", "context"]])
    figures, missing = evaluation_figures(alone, "k")
    assert [figure.title for figure in figures] == ["Stated beliefs"]
    assert missing == [
        "No plot of choices by state: no state is known that is 0 or 1.",
        "No plot of pairwise choice: there are no parsed actions.",
        "No calibration plot: neither a truth coded 0/1 nor the exact posterior is known.",
    ]


def test_every_point_that_stands_for_answers_is_a_link_to_them(unit, choices):
    runs = choices(actions=("yes", "no"))
    result = monotone_choice_test(
        runs["belief"], runs["action"], pair=("yes", "no"), context=runs["context"], rng=1
    )
    of_runs = unit(results=(result,), verdicts=("V.",), beliefs=runs)
    links = AnswerLinks("evaluation-1", runs["context"].unique(), most=1000)
    figures, _ = evaluation_figures(of_runs, "evaluation-1", links)
    moves, states, choice, histogram, calibration = (
        ElementTree.fromstring(figure.svg) for figure in figures
    )
    anchors = {f"answers/evaluation-1.html#{group.anchor}" for group in links.groups}
    for svg in (states, choice):
        assert {link.get("href") for link in svg.iter("a")} <= anchors
    n_bins = result.settings["n_bins_used"]
    assert len(list(choice.iter("a"))) == n_bins
    assert not list(histogram.iter("a"))
    assert not list(moves.iter("a"))
    contexts = [link for link in calibration.iter("a") if link.get("href") not in anchors]
    assert len(contexts) == runs["context"].nunique()
    # All choices of the pair are in one of its bins.
    in_bins = [group for group in links.groups if "pair" in group.anchor]
    assert {c for group in in_bins for c in group.contexts} == set(runs["context"].astype(str))


# Choices by belief and realised state


def planned(unit, *, links=None, **changes):
    """Plan the figure of choices by state, and what is said of it where it cannot be drawn."""
    figures, missing = evaluation_figures(unit(**changes), "k", links)
    return (
        [figure for figure in figures if figure.title == LEAD],
        [sentence for sentence in missing if "by state" in sentence],
    )


def panels(figure):
    """Draw a figure; the titles of its panels and what its one legend says."""
    drawn = MatplotlibFigure()
    figure.draw(ax=drawn.add_subplot())
    (legend,) = drawn.legends
    assert not any(ax.get_legend() for ax in drawn.axes)
    return [ax.get_title() for ax in drawn.axes], [t.get_text() for t in legend.get_texts()]


def test_the_action_that_rises_most_with_the_belief_is_the_first_panel(unit, choices):
    (figure,), _ = planned(unit, beliefs=choices())
    assert panels(figure)[0] == ["yes", "defer", "no"]


@pytest.mark.parametrize(
    ("lacking", "why"),
    [
        (["belief"], "no row has a parsed belief that is one number"),
        (["truth"], "no state is known that is 0 or 1"),
        (["action"], "there are no parsed actions"),
    ],
)
def test_what_is_lacking_is_said(unit, choices, lacking, why):
    figures, missing = planned(
        unit, beliefs=choices().drop(columns=lacking), results=(), verdicts=()
    )
    assert figures == []
    assert missing == [f"No plot of choices by state: {why}."]


def test_probabilities_of_actions_are_drawn(unit, choices):
    rows = choices()
    policies = rows.drop(columns="action").assign(
        action_yes=rows["belief"], action_no=1 - rows["belief"]
    )
    (figure,), _ = planned(unit, beliefs=policies)
    assert panels(figure)[0] == ["yes"]
    assert "No point lies outside" in figure.caption


@pytest.mark.parametrize(("sd", "misled"), [(0.12, True), (0.01, False), (None, False)])
def test_the_caption_says_what_the_bars_assume_of_noise(unit, choices, sd, misled):
    scatter = None if sd is None else ReportNoise(sd, 40, bias=10 * sd)
    (figure,), _ = planned(unit, beliefs=choices(actions=("yes", "no")), scatter=scatter)
    assert "The bars take each report for the belief itself" in figure.caption
    assert ("these reports have noise" in figure.caption) == misled
    assert ("SD 0.12" in figure.caption) == misled


@pytest.fixture(scope="module")
def noisy_and_fitted():
    agent = dataclasses.replace(AGENTS["noisy"], report_noise=0.25)
    runs = simulate(agent, n_contexts=400, n_reps=3, prompts=["standard"], iterated=False, rng=1)
    rows = choices_of(runs)
    fitted = rational_agent_test(
        rows["belief"], rows["action"], rows["truth"], context=rows["context"], rng=1
    )
    return rows, fitted


def test_where_scatter_misleads_the_bars_are_those_of_the_fitted_agent(unit, noisy_and_fitted):
    rows, fitted = noisy_and_fitted
    same = {"beliefs": rows, "results": (fitted,), "verdicts": ("V.",)}
    misled, _ = planned(unit, scatter=ReportNoise(0.25, 400, bias=2.0), **same)
    exact, _ = planned(unit, scatter=ReportNoise(0.02, 400, bias=0.1), **same)
    assert "what the nearest rational agent allows" in misled[0].caption
    assert "SD 0.25 over repetitions" in misled[0].caption
    assert all("No point lies outside its bar." in figure.caption for figure in misled)
    assert "The bars take each report for the belief itself" in exact[0].caption
    assert any("outside their bars (ringed)" in figure.caption for figure in exact)


ALL_THE_SAME = "residual_covariance rejects all the same: it adds up over all beliefs"


@pytest.mark.parametrize(
    ("check", "pvalue", "adjusted", "said"),
    [
        ("residual_covariance", 0.001, 0.004, True),
        ("residual_covariance", 0.03, 0.2, False),  # does not survive the correction
        ("residual_covariance", 0.6, 0.6, False),
        ("rational_agent", 0.001, 0.004, False),  # the bars are not those of its agent
    ],
)
def test_a_test_that_rejects_where_no_point_stands_out_is_named(
    unit, choices, check, pvalue, adjusted, said
):
    """A reader took the figure for the answer, against the verdict beside it."""
    result = CheckResult(check, "null", 0.05, "belief", None, pvalue, 300, 60, pvalue_holm=adjusted)
    (figure,), _ = planned(
        unit, beliefs=choices(actions=("no", "yes")), results=(result,), verdicts=("V.",)
    )
    assert "No point lies outside its bar." in figure.caption
    assert (ALL_THE_SAME in figure.caption) == said


# Over units


def forests(unit, effects, url_of=None):
    units = []
    for at, (measure, effect) in enumerate(effects):
        ends = Interval(effect - 1, effect + 1) if at else None
        result = CheckResult("a", "n", effect, measure, ends, 0.5, 10, 5)
        units.append(unit(model=f"m{at}", results=(result,), verdicts=("V.",)))
    return forest_figures(rank(units)[1], url_of)


def test_measures_have_a_figure_each_and_a_single_unit_has_none(unit, ax, drawn):
    figures = forests(unit, [("belief", 1.0), ("belief", 3.0), ("belief", 2.0), ("share", 1.0)])
    assert [figure.title for figure in figures] == ["a over units"]
    assert "1 effects have no interval" in figures[0].caption
    figures[0].draw(ax=ax)
    (points,) = drawn(ax, "effects")
    assert points.get_offsets()[:, 0].tolist() == [3.0, 2.0, 1.0]


def test_points_lead_to_their_units(unit):
    (figure,) = forests(unit, [("belief", 1.0), ("belief", 3.0)], lambda row: f"#{row.key}")
    assert figure.names == {"#evaluation-2": "asia · m1", "#evaluation-1": "asia · m0"}
    assert figure.svg.count("<a ") == 2


def test_of_many_pairs_those_with_the_strongest_evidence_are_drawn(unit, pairs):
    results = tuple(
        CheckResult(
            f"monotone_choice:a{number}/b",
            "n",
            0.1,
            "share",
            None,
            1 / (number + 1),
            10,
            5,
            details=pairs(),
        )
        for number in range(10)
    )
    figures, missing = evaluation_figures(unit(results=results, verdicts=("V.",) * 10), "k")
    shown = [figure.title[9:11] for figure in figures if figure.title.startswith("Share of a")]
    assert sorted(shown) == ["a4", "a5", "a6", "a7", "a8", "a9"]
    assert any(sentence.startswith("Of 10 pairs of actions") for sentence in missing)


def test_of_very_many_units_both_ends_are_drawn(unit, ax, drawn):
    (figure,) = forests(unit, [("belief", float(at)) for at in range(80)])
    figure.draw(ax=ax)
    (points,) = drawn(ax, "effects")
    assert sorted(points.get_offsets()[:, 0]) == [*range(30), *range(50, 80)]
    assert "Of 80 evaluations" in figure.caption
