"""fit_rational_agent: options, faults of the input, and invariances."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, fit_rational_agent


def test_order_of_rows_names_of_contexts_and_pairing_of_answers_do_not_matter(drawn):
    """Which report stands beside which choice is chance: they are asked in separate contexts."""
    data = drawn(1, n=60)
    order = np.random.default_rng(1).permutation(300)
    mixed = (values[order] for values in data.arrays)
    shifted = np.roll(data.action.reshape(60, 5), 2, axis=1).ravel()
    agent, again, two = (
        fit_rational_agent(*arrays, context=context)
        for arrays, context in (
            (data.arrays, data.context),
            (mixed, [f"c{i}" for i in data.context[order]]),
            ((data.report, shifted, data.truth), data.context),
        )
    )
    beliefs = agent.thresholds["belief"].tolist()
    assert again.thresholds["belief"].tolist() == pytest.approx(beliefs, abs=1e-6)
    assert again.noise["sd"][0] == pytest.approx(agent.noise["sd"][0], abs=1e-6)
    assert two.utilities["slope"].tolist() == agent.utilities["slope"].tolist()


def test_policies_stand_for_the_choices_that_they_give(drawn):
    data = drawn(2, n=100)
    counts = pd.get_dummies(data.action).groupby(data.context).mean()
    policy = counts.loc[data.context].reset_index(drop=True)
    chosen, computed = (
        fit_rational_agent(data.report, action, data.truth, context=data.context)
        for action in (data.action, policy)
    )
    beliefs = (each.thresholds["belief"].tolist() for each in (computed, chosen))
    assert next(beliefs) == pytest.approx(next(beliefs), abs=1e-6)


def test_one_report_per_context_is_taken_as_the_belief_and_said(drawn):
    data = drawn(3, n=100, reps=1)
    agent = fit_rational_agent(*data.arrays)
    assert not agent.noisy
    assert ["no context has two reports" in said for said in agent.cautions] == [True]
    known = fit_rational_agent(*data.arrays, noise=0.15)
    assert known.noisy
    assert known.cautions == ()
    assert known.noise["sd"][0] == pytest.approx(0.15, rel=1e-3)


def test_what_cannot_be_fitted_is_refused(drawn):
    data = drawn(4, n=60)
    report, action, truth = data.arrays
    with pytest.raises(InputError, match="only one action was seen"):
        fit_rational_agent(report, ["yes"] * 300, truth, context=data.context)
    with pytest.raises(InputError, match="12 contexts are fewer than 20"):
        fit_rational_agent(report[:60], action[:60], truth[:60], context=data.context[:60])
    thirds = np.full((300, 3), 1 / 3)
    with pytest.raises(InputError, match="beliefs in one of two states; received 3 states"):
        fit_rational_agent(thirds, action, truth, context=data.context)
    with pytest.raises(InputError, match="lapses must be True or False; received 'no'"):
        fit_rational_agent(*data.arrays, context=data.context, lapses="no")
    agent = fit_rational_agent(np.full(300, 0.4), action, truth, context=data.context)
    assert "every report is 0.4" in agent.cautions[0]
    assert agent.thresholds.empty


@pytest.mark.lengthy
def test_a_dependence_on_noise_that_all_reports_share_can_be_asked_for(drawn):
    data = drawn(5, n=300, signal=0.1)
    shifts = [
        fit_rational_agent(*data.arrays, context=data.context, shared_noise=sd).hidden_shift[0]
        for sd in (0.0, 0.1, 0.2)
    ]
    assert shifts[0] > shifts[1] > shifts[2]
