"""Persons who judge the same cases: what is taken out of their choices, and what is left."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, sufficiency_test


def logistic(odds):
    return 1 / (1 + np.exp(-odds))


def panel(n_cases, n_persons, rng, *, weight=0.0, apart=0.0, missing=0.0):
    """Draw persons whose choices follow what they say, and know the truth to some weight."""
    said = 1.5 * rng.normal(size=n_cases)
    exact = logistic(said + rng.normal(size=n_cases))
    truth = (rng.random(n_cases) < exact).astype(int)
    person, case = (each.ravel() for each in np.indices((n_persons, n_cases)))
    belief = logistic(said[case] + 0.5 * rng.normal(size=person.size)).round(2)
    taste, steep = rng.normal(size=n_persons), 5 * np.exp(0.4 * rng.normal(size=n_persons))
    follow = logistic(steep[person] * (belief - 0.5) + taste[person])
    known = (weight + apart * rng.choice([-1, 1], n_persons))[person]
    share = (1 - known) * follow + known * truth[case]
    rows = {"person": person, "case": case, "belief": belief, "truth": truth[case]}
    rows |= {"exact": exact[case], "action": (rng.random(person.size) < share).astype(int)}
    return pd.DataFrame(rows)[rng.random(person.size) >= missing]


def judged(rows, *, check=sufficiency_test, **options):
    options = {"truth": "truth", "context": "case", "person": "person", "rng": 1} | options
    return check("belief", "action", data=rows, **options)


def test_lines_of_persons_go_out_of_choices_and_the_effect_of_the_case_stays():
    # Without noise the model is exact: what is left of a case is its own effect.
    rng = np.random.default_rng(1)
    person, case = (each.ravel() for each in np.indices((8, 40)))
    level = rng.uniform(0.2, 0.8, 40)
    belief = level[case] + rng.uniform(-0.1, 0.1, case.size)
    of_person = belief - np.bincount(case, belief)[case] / 8
    taste, steep = rng.normal(0, 0.05, 8), rng.normal(0, 0.2, 8)
    truth, effect = rng.integers(0, 2, 40), rng.normal(0, 0.1, 40)
    plain = 0.5 + effect + 0.1 * truth
    drive = plain[case] + 0.3 * of_person + taste[person] + steep[person] * (belief - belief.mean())
    scale = np.ptp(drive)
    share = (drive - drive.min()) / scale
    policy = pd.DataFrame({"no": 1 - share, "yes": share})
    options = {"context": case, "person": person, "rng": 1}
    found = sufficiency_test(belief, policy, truth[case], **options)
    acted_on = np.abs(0.3 + steep)[person]
    mean = np.bincount(case, acted_on * belief) / np.bincount(case, acted_on)
    plain = pd.DataFrame({"no": 1 - plain, "yes": plain})
    alone = sufficiency_test(mean, plain, truth, rng=1)
    of_yes, expected = (each.details["estimate"].iloc[1] for each in (found, alone))
    assert of_yes == pytest.approx(expected / scale, abs=0.003)


def test_what_choices_know_beyond_each_persons_belief_is_found():
    result = judged(panel(60, 10, np.random.default_rng(2), weight=0.3, missing=0.3))
    assert result.pvalue < 0.01
    assert result.interval.low < 0.3 < result.interval.high
    assert result.n_contexts == 60
    assert result.settings["n_persons"] == 10
    assert math.isnan(result.also["hidden_share"].value)
    assert "persons differ" in result.also["hidden_share"].reason


def test_beliefs_of_different_persons_are_no_repeated_reports():
    rows = panel(40, 8, np.random.default_rng(3))
    assert judged(rows).settings["reports"] == "single"
    again = rows.assign(belief=np.clip(rows["belief"] + 0.1, 0, 1))
    assert judged(pd.concat([rows, again])).settings["reports"] == "differ"
    # As repetitions of one agent they are noisy reports, and another test takes over.
    assert judged(rows, person=None).settings["test"] == "moments"


def test_the_interval_has_the_variance_between_persons():
    """Persons of whom some know twice as much as others tell less of yet others."""
    halves = []
    for apart in (0.0, 0.35):
        rows = panel(150, 8, np.random.default_rng(4), weight=0.4, apart=apart)
        result = judged(rows)
        halves.append((result.interval.high - result.interval.low) / 2)
    of_persons = 2.36 * 0.35 / math.sqrt(7)  # t with 7 degrees of freedom
    assert halves[1] == pytest.approx(math.hypot(halves[0], of_persons), rel=0.25)


def test_neither_the_order_of_rows_nor_names_matter():
    rows = panel(40, 6, np.random.default_rng(5), weight=0.2, missing=0.2)
    first = judged(rows)
    mixed = rows.sample(frac=1, random_state=1)
    mixed = mixed.assign(
        person=mixed["person"].map("p{}".format),
        case=mixed["case"].map(lambda at: f"c{97 * at % 89}"),
    )
    second = judged(mixed)
    assert second.pvalue == first.pvalue
    assert second.statistic == pytest.approx(first.statistic, abs=1e-9)
    assert second.interval.high == pytest.approx(first.interval.high, abs=1e-6)
    turned = judged(rows.assign(belief=1 - rows["belief"], truth=1 - rows["truth"]))
    assert turned.pvalue == pytest.approx(first.pvalue, abs=0.002)
    assert abs(turned.statistic) == pytest.approx(abs(first.statistic), abs=1e-6)


def test_an_exact_posterior_takes_the_place_of_the_truth():
    rows = panel(60, 10, np.random.default_rng(7))
    result = judged(rows, truth=None, exact="exact")
    assert result.settings["state"] == "exact"
    assert result.pvalue > 0.05
    assert result.interval.low < 0 < result.interval.high


def test_few_cases_are_not_tested_however_many_persons_judge_them():
    result = judged(panel(12, 100, np.random.default_rng(8)))
    assert math.isnan(result.pvalue)
    assert result.lack == "cases"
    assert "100 persons share 12 cases" in result.reason
    assert "takes 20" in result.reason
    assert abs(result.settings["within_persons"]) < 0.1


def test_what_persons_of_few_cases_do_at_their_own_beliefs_is_given_without_an_error():
    rows = panel(12, 100, np.random.default_rng(8), weight=0.4)
    result = judged(rows)
    assert result.settings["within_persons"] == pytest.approx(0.4, abs=0.1)
    assert result.interval is None
    # A posterior moves choices as much as the truth that it foretells.
    centred = {name: rows[name] - rows.groupby("person")[name].transform("mean") for name in rows}
    design = np.column_stack([centred["belief"], centred["exact"]])
    slope = np.linalg.lstsq(design, centred["action"])[0][1]
    left = centred["exact"] - centred["belief"] * (
        (centred["belief"] @ centred["exact"]) / (centred["belief"] @ centred["belief"])
    )
    toss = (rows["exact"] * (1 - rows["exact"])).sum()
    of_exact = judged(rows, truth=None, exact="exact").settings["within_persons"]
    assert of_exact == pytest.approx(slope * (left @ left) / (left @ left + toss))


def test_what_is_not_a_panel_of_persons_is_refused():
    rows = panel(40, 6, np.random.default_rng(9))
    with pytest.raises(InputError, match="--group"):  # who share nothing
        judged(rows.assign(case=range(len(rows))))
    with pytest.raises(InputError, match="positive"):
        judged(rows.assign(truth=rows["case"] % 3), check=sufficiency_test)
    with pytest.raises(InputError, match="person"):
        judged(rows.assign(person=np.nan))


def test_a_group_that_has_the_state_names_context_and_person():
    rows = panel(40, 6, np.random.default_rng(11))
    result = sufficiency_test(rows["belief"], rows["action"], rows["truth"], group=rows["case"])
    assert math.isnan(result.pvalue)
    assert "--context" in result.reason
    assert "--person" in result.reason


def test_choices_that_follow_belief_without_noise_leave_nothing():
    rows = panel(40, 6, np.random.default_rng(12))
    sure = (rows["belief"] > 0.5).astype(int)
    result = judged(rows.assign(action=sure))
    assert math.isnan(result.pvalue) or result.pvalue > 0.01


@pytest.mark.parametrize(
    "change",
    [
        {"belief": 0.4},
        {"action": 1},
        {"truth": 0},
        {"person": lambda rows: rows["person"] * (rows["case"] % 7 > 0)},
        {"belief": lambda rows: (rows["belief"] > 0.5).astype(float)},
        {"belief": lambda rows: rows.groupby("case")["belief"].transform("mean")},
    ],
)
def test_degenerate_panels_have_a_result_or_a_reason(change):
    result = judged(panel(30, 4, np.random.default_rng(14)).assign(**change))
    assert 0 <= result.pvalue <= 1 or result.reason


def test_three_actions_are_tested_together():
    rng = np.random.default_rng(13)
    rows = panel(60, 8, rng, weight=0.4)
    other = rng.random(len(rows)) < 0.2
    result = judged(rows.assign(action=rows["action"].astype(str).mask(other, "defer")))
    assert len(result.details.dropna(subset="low")) >= 3
    assert result.pvalue < 0.05
    # What one action gains the others lose.
    of_actions = result.details["estimate"].head(3)
    assert of_actions.sum() == pytest.approx(0, abs=1e-6)
