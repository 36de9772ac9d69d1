"""Persons who judge the same cases: whether choices go with the truth at equal own belief."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import coherence
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


def test_the_effect_at_equal_own_belief_is_that_of_a_regression():
    """Against one least-squares fit with a line of each person's, and refits without a cluster."""
    rows = panel(30, 6, np.random.default_rng(1), weight=0.3, missing=0.1)
    belief, code = rows["belief"].to_numpy(), pd.factorize(rows["person"])[0]
    persons = np.eye(6)[code]
    knots = np.quantile(belief, [0.05, 0.275, 0.5, 0.725, 0.95])
    last, before = knots[-1], knots[-2]

    def cube(knot):
        return np.maximum(belief - knot, 0) ** 3

    bends = [
        cube(k)
        - cube(before) * (last - k) / (last - before)
        + cube(last) * (before - k) / (last - before)
        for k in knots[:3]
    ]
    lines = [persons, persons * belief[:, None]]
    design = np.column_stack([rows["truth"], *bends, *lines])
    result = judged(rows)
    expected = np.linalg.lstsq(design, rows["action"].to_numpy())[0][0]
    assert result.statistic == pytest.approx(expected, abs=1e-8)
    # Freed of the persons' lines, the jackknife leaves out cases and persons in turn.
    own = np.column_stack(lines)
    freed = np.column_stack([design[:, :4], rows["action"]])
    freed = freed - own @ np.linalg.lstsq(own, freed)[0]

    def spread(name):
        each = []
        for label in rows[name].unique():
            kept = (rows[name] != label).to_numpy()
            each.append(np.linalg.lstsq(freed[kept, :4], freed[kept, 4])[0][0])
        return (len(each) - 1) / len(each) * ((np.array(each) - expected) ** 2).sum()

    others = freed[:, 1:4]
    truth, action = (
        freed[:, at] - others @ np.linalg.lstsq(others, freed[:, at])[0] for at in (0, 4)
    )
    squares = truth @ truth
    of_rows = ((truth * (action - truth * expected)) ** 2).sum() / squares**2
    error = math.sqrt(max(spread("case") + spread("person") - of_rows, spread("case")))
    assert result.details["standard_error"][1] == pytest.approx(error, rel=1e-6)
    weight = np.bincount(rows["case"], truth**2) / squares
    degrees = min(1 / (weight**2).sum(), 6) - 1
    assert result.pvalue == pytest.approx(2 * stats.t.sf(abs(expected) / error, degrees), rel=1e-6)
    half = stats.t.ppf(0.975, degrees) * error
    assert result.interval.high == pytest.approx(expected + half, rel=1e-6)


def margin_panel(rng, n_cases=100, n_persons=40):
    """Persons who act on their own statement and on a price that they all saw: 12 points apart."""
    price = rng.normal(0, 1, n_cases)
    seen = rng.normal(0, 1, n_cases)
    truth = (rng.random(n_cases) < logistic(1.2 * (price + seen))).astype(int)
    case, person = (each.ravel() for each in np.indices((n_cases, n_persons)))
    own = seen[case] + rng.normal(0, 0.5, case.size)
    belief = logistic(own).round(2)
    taste = rng.normal(0, 0.5, n_persons)[person]
    share = np.clip(belief + 0.05 * taste + 0.15 * price[case], 0, 1)
    action = np.where(rng.random(case.size) < share, "buy", "sell")
    columns = {"case": case, "person": person, "belief": belief, "action": action}
    return pd.DataFrame(columns).assign(truth=truth[case])


def test_a_price_that_persons_saw_is_found_or_open_and_never_within_a_margin():
    rejected, estimates = 0, []
    names = {"belief": "belief", "action": "action", "truth": "truth"}
    names |= {"context": "case", "person": "person"}
    for seed in range(6):
        rows = margin_panel(np.random.default_rng([12, seed]))
        report = coherence.analyze(rows, columns=names, checks=["sufficiency"], margin=0.1, rng=1)
        (evaluation,) = report.evaluations
        assert evaluation.verdict.code in ("acts_on_more_or_noisy", "no_evidence")
        (result,) = evaluation.results
        rejected += result.pvalue <= 0.05
        estimates.append(result.statistic)
        assert math.isnan(result.also["plain_average"].value)
    assert rejected >= 4
    assert 0.05 < np.mean(estimates) < 0.2


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
    assert judged(rows, person=None).settings["reports"] == "differ"


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
    assert second.pvalue == pytest.approx(first.pvalue, rel=1e-6)
    assert second.statistic == pytest.approx(first.statistic, abs=1e-9)
    assert second.interval.high == pytest.approx(first.interval.high, abs=1e-6)
    turned = judged(rows.assign(belief=1 - rows["belief"], truth=1 - rows["truth"]))
    assert turned.pvalue == pytest.approx(first.pvalue, abs=1e-6)
    assert abs(turned.statistic) == pytest.approx(abs(first.statistic), abs=1e-6)


def test_both_states_estimate_the_same_difference():
    """The posterior differs less than the truth, by the toss; in its own unit it is larger."""
    found = {"truth": [], "exact": []}
    for seed in range(30):
        rows = panel(60, 8, np.random.default_rng([16, seed]))
        follow, known = rows["belief"], rows["exact"]
        share = 0.6 * follow + 0.4 * known
        drawn = np.random.default_rng(seed).random(len(rows)) < share
        rows = rows.assign(action=drawn.astype(int))
        found["truth"].append(judged(rows).statistic)
        found["exact"].append(judged(rows, truth=None, exact="exact").statistic)
    means = {name: np.mean(values) for name, values in found.items()}
    error = np.std(np.subtract(found["truth"], found["exact"])) / math.sqrt(30)
    assert abs(means["truth"] - means["exact"]) < 3 * error
    assert np.std(found["exact"]) < np.std(found["truth"])


def test_few_cases_are_not_tested_however_many_persons_judge_them():
    rows = panel(12, 100, np.random.default_rng(8))
    rare = rows.assign(truth=(rows["case"] < 4).astype(int))
    result = judged(rare)
    assert math.isnan(result.pvalue)
    assert result.lack == "cases"
    assert "100 persons share 12 cases, of which 4 have one truth" in result.reason
    assert "takes 5 of either" in result.reason
    assert judged(rows.assign(truth=(rows["case"] < 5).astype(int))).pvalue > 0
    assert judged(rows, truth=None, exact="exact").pvalue > 0
    few = judged(rows[rows["case"] < 9], truth=None, exact="exact")
    assert (few.lack, math.isnan(few.pvalue)) == ("cases", True)
    assert "takes 10" in few.reason


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
