"""RationalAgent: what it says of an agent whose every parameter is known."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from coherence import InputError, fit_rational_agent, noise_sensitivity, simulate
from coherence.rational.choice import prelec_weight


@pytest.fixture(scope="module")
def agent(drawn):
    data = drawn(11, n=1500, sd=0.12)
    return fit_rational_agent(*data.arrays, context=data.context)


def test_thresholds_costs_and_utilities(agent):
    table = agent.thresholds
    assert table[["below", "above"]].to_numpy().tolist() == [["no", "defer"], ["defer", "yes"]]
    assert table["belief"].tolist() == pytest.approx([0.3167, 0.6833], abs=0.03)
    assert (table["low"] < table["belief"]).all()
    assert (table["belief"] < table["high"]).all()
    assert table["cost_ratio"].tolist() == pytest.approx([0.463, 2.158], rel=0.12)
    utilities = agent.utilities.set_index("action")
    slopes = utilities["slope"]
    assert (slopes["yes"] - slopes["no"]) == pytest.approx(12, rel=0.1)
    assert utilities[["if_false", "if_true", "slope"]].sum().abs().max() < 1e-9
    differences = utilities["if_true"] - utilities["if_false"]
    assert differences.to_numpy() == pytest.approx(slopes.to_numpy())


def test_choices_are_those_of_the_utilities_that_were_drawn(agent):
    curve = agent.choice_curve
    table = curve.pivot(index="belief", columns="action", values="probability")
    assert table.sum(axis=1).to_numpy() == pytest.approx(np.ones(len(table)))
    belief = table.index.to_numpy()
    utilities = np.stack([6 * (belief - 0.6), 6 * (0.4 - belief), np.full(belief.size, 0.5)])
    drawn_from = np.exp(utilities) / np.exp(utilities).sum(axis=0)
    for action, expected in zip(("yes", "no", "defer"), drawn_from, strict=True):
        assert table[action].to_numpy() == pytest.approx(expected, abs=0.03)
    assert (curve["low"] < curve["probability"]).all()
    assert (curve["probability"] < curve["high"]).all()
    assert (curve["high"] - curve["low"]).max() < 0.15


def test_noise_calibration_and_beliefs_of_contexts(agent, drawn):
    noise = agent.noise
    assert noise["sd"][0] == pytest.approx(0.12, rel=0.05)
    assert noise["low"][0] < 0.12 < noise["high"][0]
    calibration = agent.calibration.set_index("belief")
    assert calibration["probability"][0.5] == pytest.approx(0.5, abs=0.06)
    assert calibration["low"][0.2] < 0.2 < calibration["high"][0.2]
    held = drawn(11, n=1500, sd=0.12).belief
    table = agent.beliefs
    inside = np.abs(table["mean"] - held) < 1.96 * table["sd"]
    assert inside.mean() == pytest.approx(0.95, abs=0.03)


@pytest.mark.lengthy
def test_the_hidden_shift_is_free_of_noise(drawn):
    data = drawn(12, n=800, sd=0.15, signal=0.2)
    value, interval = fit_rational_agent(*data.arrays, context=data.context).hidden_shift
    assert interval.low < 0.2 < interval.high
    assert value == pytest.approx(0.2, abs=0.07)


@pytest.mark.lengthy
def test_a_weighting_is_recovered_and_shown(drawn):
    rng = np.random.default_rng(1)
    belief = np.repeat(rng.random(800), 4)
    truth = np.repeat((rng.random(800) < belief[::4]).astype(int), 4)
    weight = prelec_weight(belief, 0.6)
    utility = np.stack([8 * (weight - 0.6), 8 * (0.4 - weight), np.full(3200, 0.5)], axis=1)
    chosen = np.array(["yes", "no", "defer"])[np.argmax(utility + rng.gumbel(size=(3200, 3)), 1)]
    report = np.clip(belief + 0.1 * rng.normal(size=3200), 0, 1).round(2)
    agent = fit_rational_agent(
        report, chosen, truth, context=np.arange(3200) // 4, weighting="prelec"
    )
    line = agent.weighting.iloc[0]
    assert line["parameter"] == "alpha"
    assert line["value"] == pytest.approx(0.6, rel=0.35)
    assert line["low"] < 0.6 < line["high"]
    assert agent.weight([0.1])[0] == pytest.approx(prelec_weight(np.array([0.1]), 0.6)[0], abs=0.07)


def test_reports_without_scatter_have_no_noise(drawn):
    data = drawn(2, n=60, sd=0.0)
    agent = fit_rational_agent(*data.arrays, context=data.context)
    assert not agent.noisy
    assert agent.noise["sd"].tolist() == [0.0] * 6
    assert len(agent.weighting) == 0
    assert agent.beliefs["mean"].to_numpy() == pytest.approx(data.report[::5])


def test_an_agent_that_never_changes_its_mind_has_no_threshold(drawn):
    data = drawn(2, n=60)
    action = np.where(np.arange(300) % 10, "wait", "act")  # act in a tenth, whatever the belief
    agent = fit_rational_agent(data.report, action, data.truth, context=data.context)
    assert len(agent.thresholds) == 0
    assert list(agent.thresholds.columns[:5]) == ["below", "above", "belief", "low", "high"]


def test_a_shift_is_not_read_off_slopes_that_may_be_none(drawn):
    """Answers of a real model once had a shift of -.43 [-.58, -.28] beside p = .43."""
    data = drawn(6, n=80, sd=0.25)
    action = np.random.default_rng(1).choice(["yes", "no"], data.report.size)
    agent = fit_rational_agent(data.report, action, data.truth, context=data.context)
    assert agent.strength < 10
    assert np.isnan(agent.hidden_shift[0])
    assert agent.hidden_shift[1] is None
    assert "hidden shift: cannot be told" in str(agent)
    with pytest.raises(InputError, match="agent must have a hidden shift"):
        noise_sensitivity(agent)
    assert fit_rational_agent(*data.arrays, context=data.context).strength > 10


@pytest.mark.slow
def test_errors_of_thresholds_are_their_spread(drawn):
    """Tastes join the choices of a context; errors of single choices would be too small."""
    estimates, errors = [], []
    for seed in range(24):
        data = drawn(seed, n=200, taste=1.0)
        table = fit_rational_agent(*data.arrays, context=data.context).thresholds
        estimates.append(table["belief"].to_numpy())
        errors.append((table["high"] - table["belief"]).to_numpy() / 1.972)
    spread = np.std(estimates, axis=0, ddof=1)
    assert np.mean(errors, axis=0) == pytest.approx(spread, rel=0.4)
    assert np.mean(estimates, axis=0) == pytest.approx([0.3167, 0.6833], abs=0.03)


def test_the_calibration_of_exact_beliefs_is_a_logit(drawn):
    data = drawn(7, n=3000, reps=1, sd=0.0, grid=0)
    agent = fit_rational_agent(*data.arrays, context=data.context)
    inside = np.clip(data.report, 0.002, 0.998)
    centred = 2 * data.report - 1
    terms = [np.ones(3000), np.log(inside / (1 - inside)), centred, centred**2]
    theirs = sm.Logit(data.truth, np.column_stack(terms)).fit(disp=0).predict()
    at = agent.calibration["belief"].to_numpy()
    row = np.abs(data.report[:, None] - at).argmin(axis=0)
    assert agent.calibration["probability"].to_numpy() == pytest.approx(theirs[row], abs=0.01)


def test_an_isotonic_calibration_never_falls():
    rng = np.random.default_rng(1)
    belief = np.repeat(rng.random(400), 2)
    truth = np.repeat(rng.random(400) < 2 * np.abs(belief[::2] - 0.5), 2)
    action = np.where(rng.random(800) < belief, "yes", "no")
    free, rising = (
        fit_rational_agent(belief, action, truth, context=np.arange(800) // 2, calibration=shape)
        for shape in ("logistic", "isotonic")
    )
    assert (np.diff(free.calibration["probability"]) < -0.01).any()
    assert (np.diff(rising.calibration["probability"]) > -1e-12).all()


def test_noise_by_belief_is_that_seen_within_contexts_whose_belief_is_near(drawn):
    """Reports end at 0 and 1, so that they vary by less there than in the middle."""
    data = drawn(11, n=1500, sd=0.12)
    seen = fit_rational_agent(*data.arrays, context=data.context).noise.set_index("belief")
    inside = pd.Series(data.report).groupby(data.context).var(ddof=1)
    for belief in (0.1, 0.5, 0.9):
        near = np.abs(data.belief - belief) <= 0.1
        wanted = np.sqrt(inside[near].mean())
        assert seen["sd"][belief] == pytest.approx(wanted, rel=0.05)
        assert seen["low"][belief] < wanted < seen["high"][belief]


def test_what_is_printed_are_the_numbers_of_the_agent_and_labels_are_text():
    """Breaks if it says what it cannot tell, or if a page takes a label for markup."""
    runs = simulate("noisy", n_contexts=80, n_reps=4, rng=1)
    rows = runs[runs["action"].notna()]
    labels = rows["action"].replace("yes", "<b>yes</b>")
    agent = fit_rational_agent(rows["p"], labels, rows["theta"], context=rows["context"])
    text, page = str(agent), agent._repr_html_()
    assert repr(agent) == "<RationalAgent of 320 choices in 80 contexts>"
    assert f"SD {agent.noise['sd'].iloc[0]:.3f} [" in text
    for belief in agent.thresholds["belief"]:
        assert f"at {belief:.3f} [" in text
    assert f"hidden shift: {agent.hidden_shift[0]:.3f} [" in text
    assert f"lasting taste: {agent.taste[0]:.3f}" in text
    assert "&lt;b&gt;yes&lt;/b&gt; overtakes" in page
    assert "<b>yes" not in page
