"""Figures of a report. Breaks if one shows or links what its caption does not say."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as MatplotlibFigure

from coherence import CheckResult, Interval
from coherence.report.figures import WIDTH, evaluation_figures, forest_figures
from coherence.report.ranking import rank
from coherence.report.variation import Variation
from coherence.statistics.report_noise import ReportNoise

LEAD = "Choices by belief and realised state"
FIRST = ["What varies", LEAD]


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


def test_an_action_has_one_colour_and_a_state_another_in_every_figure(unit, choices):
    beliefs = choices(actions=("yes", "no", "defer"))
    shares = {"yes": 0.5, "defer": 0.3, "no": 0.2}
    figures, _ = evaluation_figures(
        unit(results=(), verdicts=(), beliefs=beliefs, variation=Variation(actions=shares)), "k"
    )
    colours: dict[str, set[str]] = {}
    for figure in figures:
        drawn = MatplotlibFigure()
        figure.draw(ax=drawn.add_subplot())
        for artist in (each for ax in drawn.axes for each in ax.get_children()):
            gid = str(artist.get_gid())
            if gid.startswith(("action-", "state-")):
                face = np.atleast_2d(
                    artist.get_facecolor()
                    if "state" in gid or figure.title == "What varies"
                    else artist.get_edgecolor()
                )
                names = list(shares) if figure.title == "What varies" else ["defer", "no", "yes"]
                what = names[int(gid[-1])] if gid.startswith("action") else gid
                colours.setdefault(what, set()).add(to_hex(face[0]))
    assert set(colours) == {"yes", "no", "defer", "state-0", "state-1"}
    assert all(len(each) == 1 for each in colours.values())
    assert len(set.union(*colours.values())) == 5


def test_states_bear_the_labels_of_the_table_in_every_figure(unit, choices):
    names = ("not ill", "ill")
    figures, _ = evaluation_figures(
        unit(beliefs=choices(p_true=False), state_names=names, results=(), verdicts=()), "k"
    )
    varies, states, _, calibration = (figure.svg for figure in figures)
    for svg in (varies, states):
        assert all(f">{name}<" in svg for name in names)
    assert "share of cases with ill" in calibration
    assert not any("state 1" in figure.svg for figure in figures)


def test_letters_are_of_one_size_however_many_panels_there_are(unit, choices):
    sizes = set()
    for actions in (("yes", "no"), ("a", "b", "c"), ("a", "b", "c", "d", "e")):
        figures, _ = evaluation_figures(unit(beliefs=choices(actions=actions)), "k")
        sizes |= {figure.width for figure in figures}
    assert sizes == {WIDTH}


# Choices by belief and realised state


def planned(unit, **changes):
    """Plan the figure of choices by state, and what is said of it where it cannot be drawn."""
    figures, missing = evaluation_figures(unit(**changes), "k")
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


ALL_THE_SAME = "residual_covariance rejects all the same: it adds up over all beliefs"


@pytest.mark.parametrize(
    ("check", "pvalue", "adjusted", "said"),
    [
        ("residual_covariance", 0.001, 0.004, True),
        ("residual_covariance", 0.03, 0.2, False),  # does not survive the correction
        ("residual_covariance", 0.6, 0.6, False),
        ("rational_agent", 0.001, 0.004, False),  # the bars are not its own
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


def forests(unit, effects):
    units = []
    for at, (measure, effect) in enumerate(effects):
        ends = Interval(effect - 1, effect + 1) if at else None
        result = CheckResult("a", "n", effect, measure, ends, 0.5, 10, 5)
        units.append(unit(model=f"m{at}", results=(result,), verdicts=("V.",)))
    return forest_figures(rank(units)[1])


def test_measures_have_a_figure_each_and_a_single_unit_has_none(unit, ax, drawn):
    figures = forests(unit, [("belief", 1.0), ("belief", 3.0), ("belief", 2.0), ("share", 1.0)])
    assert [figure.title for figure in figures] == ["a over evaluations"]
    assert "1 effects have no interval" in figures[0].caption
    figures[0].draw(ax=ax)
    (points,) = drawn(ax, "effects")
    assert points.get_offsets()[:, 0].tolist() == [3.0, 2.0, 1.0]


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


@pytest.mark.lengthy
def test_of_very_many_units_both_ends_are_drawn(unit, ax, drawn):
    (figure,) = forests(unit, [("belief", float(at)) for at in range(80)])
    figure.draw(ax=ax)
    (points,) = drawn(ax, "effects")
    assert sorted(points.get_offsets()[:, 0]) == [*range(30), *range(50, 80)]
    assert "Of 80 evaluations" in figure.caption
