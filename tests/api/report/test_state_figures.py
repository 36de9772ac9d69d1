import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure as MatplotlibFigure

from coherence import AGENTS, CheckResult, rational_agent_test, simulate
from coherence.plots.choices import choices_of
from coherence.report.answer_links import AnswerLinks
from coherence.report.state_figures import MOST_ACTIONS, state_figures
from coherence.statistics.scatter import Scatter


def planned(unit, **changes):
    return state_figures(unit(**changes), "k", "stated belief")


def panels(figure):
    """Draw a figure; the titles of its panels and what its one legend says."""
    drawn = MatplotlibFigure()
    figure.draw(ax=drawn.add_subplot())
    (legend,) = drawn.legends
    assert not any(ax.get_legend() for ax in drawn.axes)
    return [ax.get_title() for ax in drawn.axes], [t.get_text() for t in legend.get_texts()]


def test_of_two_actions_the_one_that_rises_with_the_belief_is_drawn(unit, choices):
    (figure,), missing = planned(unit, beliefs=choices(actions=("yes", "no")))
    assert panels(figure) == (["yes"], ["state 0", "state 1"])
    assert missing == []


def test_the_action_that_rises_most_with_the_belief_is_the_first_panel(unit, choices):
    (figure,), _ = planned(unit, beliefs=choices())
    assert panels(figure)[0] == ["yes", "defer", "no"]


@pytest.mark.parametrize("n_actions", [MOST_ACTIONS, MOST_ACTIONS + 2])
def test_of_many_actions_those_that_differ_most_are_drawn_and_the_rest_counted(
    unit, choices, n_actions
):
    actions = tuple(f"a{at}" for at in range(n_actions))
    (figure,), missing = planned(unit, beliefs=choices(actions=actions, n_contexts=120))
    assert len(panels(figure)[0]) == MOST_ACTIONS
    many = n_actions > MOST_ACTIONS
    assert len(missing) == many
    assert not many or missing[0].startswith(f"Of {n_actions} actions, the {MOST_ACTIONS} whose")


@pytest.mark.parametrize(
    ("lacking", "why"),
    [
        (["belief"], "no row has a readable belief that is one number"),
        (["truth"], "no state is known that is 0 or 1"),
        (["action"], "there are no readable actions"),
    ],
)
def test_what_is_lacking_is_said(unit, choices, lacking, why):
    figures, missing = planned(unit, beliefs=choices().drop(columns=lacking))
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
    scatter = None if sd is None else Scatter(sd, 40)
    (figure,), _ = planned(unit, beliefs=choices(actions=("yes", "no")), scatter=scatter)
    assert "The bars take each report for the belief itself" in figure.caption
    assert ("these reports do scatter" in figure.caption) == misled
    assert ("SD 0.12" in figure.caption) == misled


def test_points_lead_to_the_contexts_of_their_bin_and_state(unit, choices):
    rows = choices(actions=("no", "yes"))
    links = AnswerLinks("unit-1", rows["context"].unique(), most=1000)
    (figure,), _ = state_figures(unit(beliefs=rows), "k", "stated belief", links)
    assert figure.svg.count("<a ") == len(links.groups) == len(figure.names)
    state_1 = [group for group in links.groups if group.anchor.endswith("-1")]
    members = {context for group in state_1 for context in group.contexts}
    assert members == set(rows["context"][rows["truth"] == 1].astype(str))
    assert all(np.char.isdigit(list(group.contexts)).all() for group in links.groups)


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
    misled, _ = planned(unit, scatter=Scatter(0.25, 400), **same)
    exact, _ = planned(unit, scatter=Scatter(0.02, 400), **same)
    assert "what the nearest rational agent allows, whose reports scatter" in misled[0].caption
    assert "SD 0.25 over repetitions" in misled[0].caption
    assert all("No point lies outside its bar." in figure.caption for figure in misled)
    assert "The bars take each report for the belief itself" in exact[0].caption
    assert any("outside their bars (ringed)" in figure.caption for figure in exact)


def test_bars_that_their_points_hide_are_owned_to(unit, choices):
    """Choices that hardly vary leave bars that nobody sees, of which the caption once spoke."""
    rows = choices()
    steady = 0.98 + 0.001 * rows["belief"]
    policies = rows.drop(columns="action").assign(action_yes=steady, action_no=1 - steady)
    figures, _ = planned(unit, beliefs=policies)
    assert "Here the points hide their bars, or nearly: they are at most 0.0" in figures[0].caption
    seen, _ = planned(unit, beliefs=rows)
    assert "hide their bars" not in seen[0].caption


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


def test_where_points_stand_out_they_speak_for_the_test(unit, choices):
    rows = choices(actions=("no", "yes"))
    rows["action"] = np.where(rows["truth"] == 1, "yes", "no")
    result = CheckResult("residual_covariance", "null", 0.5, "belief", None, 0.001, 300, 60)
    (figure,), _ = planned(unit, beliefs=rows, results=(result,), verdicts=("V.",))
    assert "(ringed)" in figure.caption
    assert "all the same" not in figure.caption


def test_with_bars_that_allow_for_noise_the_test_that_does_is_named(unit, noisy_and_fitted):
    rows, fitted = noisy_and_fitted
    for pvalue, said in ((0.5, False), (0.001, True)):
        results = (dataclasses.replace(fitted, pvalue=pvalue),)
        figures, _ = planned(
            unit, beliefs=rows, results=results, verdicts=("V.",), scatter=Scatter(0.25, 400)
        )
        told = ["rational_agent rejects all the same" in figure.caption for figure in figures]
        assert told == [said] * len(figures)
