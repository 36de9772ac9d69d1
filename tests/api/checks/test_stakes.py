"""Choices at stakes: who moves with them, who ignores them, what is lost, and what is not known."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coherence import InputError, analyze, stakes_estimates

N, STAKES = 60, np.array([0.1, 0.3, 0.5, 0.7, 0.9])
BELIEFS = (np.arange(N) + 0.5) / N


def table(own=lambda t: t, *, beliefs=BELIEFS, stakes=STAKES, noise=0.05, slope=40.0, seed=1):
    """Return a row a case and stake: belief, choice, stake. It acts from the belief `own(t)`."""
    rng, n = np.random.default_rng(seed), len(beliefs)
    case, t = np.repeat(np.arange(n), len(stakes)), np.tile(stakes, n)
    belief = beliefs[case]
    acts = rng.random(len(case)) < 1 / (1 + np.exp(slope * (own(t) - belief)))
    said = np.clip(belief + noise * rng.normal(size=len(case)), 0, 1).round(2)
    choice = np.where(acts, "bet", "pass")
    return pd.DataFrame({"id": case, "p": said, "choice": choice, "gain": 1 - t, "loss": t})


def found(rows, **options):
    named = {"gain": "gain", "acts": "bet", "context": "id", **options}
    results = stakes_estimates("p", "choice", "loss", data=rows, **named)
    return {result.check.partition(":")[2]: result for result in results}


def exact_loss(rows, policy):
    """Return the loss of chances of acting against beliefs that are stated without noise."""
    gain = rows["p"] - rows["loss"]
    return float((gain.clip(lower=0) - policy * gain).mean())


AGENTS = {
    "coherent": (lambda t: t, "moves"),
    "ignores": (lambda t: 0.5 + 0 * t, "ignores"),
    "always": (lambda t: t - 5, "ignores"),
}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("once", [False, True], ids=["crossed", "one stake a case"])
def test_who_ignores_the_stakes_is_told_so_and_who_follows_is_not(agent, once):
    own, expected = AGENTS[agent]
    rows = table(own, beliefs=np.repeat(BELIEFS, 3) if once else BELIEFS)
    if once:
        rows = rows.groupby("id").sample(1, random_state=2)
    result = found(rows)["movement"]
    assert (result.settings["moves"], result.settings["crossed"]) == (expected, not once)
    assert (result.settings["pays"] - result.settings["loses"] > 0.9) == (expected == "moves")


def test_loss_is_that_of_beliefs_without_noise_and_beside_those_of_fixed_policies():
    """Breaks if a unit changes: .5 of a gain and a loss of 1 and 1 is .25."""
    rows = table(lambda t: 0.5 + 0 * t, noise=0.0, slope=1e3)
    loss = found(rows, computed=True)["loss"]
    acts = rows["choice"] == "bet"
    for value, policy in ((loss.statistic, acts), (loss.settings["never"], 0 * acts)):
        assert value == pytest.approx(exact_loss(rows, policy), abs=1e-12)
    assert loss.settings["always"] == pytest.approx(exact_loss(rows, acts | True), abs=1e-12)
    scaled = found(rows.assign(gain=7 * rows["gain"], loss=7 * rows["loss"]), computed=True)
    assert scaled["loss"].statistic == pytest.approx(loss.statistic, abs=1e-12)
    wrong = (acts != (rows["p"] > rows["loss"])) & (rows["p"] != rows["loss"])
    against = found(rows, computed=True)["against"]
    assert against.statistic == pytest.approx(wrong.mean(), abs=1e-12)


def test_noise_of_reports_is_taken_out_of_loss_and_slope_and_one_report_gives_a_bound():
    rows = table(noise=0.1)
    exact = exact_loss(table(noise=0.0), rows["choice"] == "bet")
    results, once = found(rows), found(rows.assign(p=rows.groupby("id")["p"].transform("first")))
    assert results["loss"].low < exact < results["loss"].high
    assert results["slope"].low < 1 < results["slope"].high
    assert once["movement"].settings["moves"] == "moves"
    assert math.isnan(once["loss"].statistic)
    assert math.isnan(once["slope"].statistic)
    assert once["loss"].settings["at_most"] > exact
    assert found(table(lambda t: 0.25 + 0.5 * t))["slope"].high < 1


def test_the_loss_of_beliefs_near_one_is_within_its_interval_though_reports_end_there():
    """Breaks if noise is taken to have a mean of 0: half of the intervals lie above, then."""
    beliefs, held = np.linspace(0.85, 0.97, 80), 0
    for seed in range(20):
        rows = table(
            beliefs=beliefs, stakes=np.array([0.5, 0.75, 0.91, 0.97]), noise=0.15, seed=seed
        )
        sharp, loss = rows.assign(p=beliefs.repeat(4)), found(rows)["loss"]
        held += loss.low <= exact_loss(sharp, rows["choice"] == "bet") <= loss.high
    assert held >= 18


def test_reports_that_lie_on_the_stakes_bound_the_loss():
    """Breaks if what noise looks like there, choices against the belief, is taken for a loss."""
    grid = np.arange(1, 10) / 10
    rows = table(beliefs=np.repeat(grid, 7), stakes=grid, noise=0.1).round({"p": 1})
    loss = found(rows)["loss"]
    assert math.isnan(loss.statistic)
    assert loss.settings["at_most"] > 0


def test_reports_of_three_values_bound_the_loss_and_give_no_slope():
    """Breaks if what they round off is left in: slopes of 1.3 for an agent that has 1."""
    rows, exact = (table(stakes=np.array([0.1, 0.3, 0.7, 0.9]), noise=sd) for sd in (0.05, 0.0))
    coarse = found(rows.assign(p=(2 * rows["p"]).round() / 2))
    assert coarse["loss"].settings["at_most"] > exact_loss(exact, rows["choice"] == "bet")
    assert "3 values alone" in coarse["loss"].reason
    assert "3 values alone" in coarse["slope"].reason
    assert math.isnan(coarse["slope"].statistic)


def test_either_choice_is_right_where_the_stake_is_the_belief():
    """Breaks if acting there counts against who follows: stakes and beliefs may be the same few."""
    rows = table(beliefs=np.repeat([0.5, 0.7, 0.9], 20), stakes=np.array([0.5, 0.7, 0.9]), noise=0)
    results = found(rows.assign(choice=np.where(rows["p"] >= rows["loss"], "bet", "pass")))
    assert results["movement"].settings["moves"] == "moves"
    assert results["movement"].statistic == pytest.approx(1)
    # None of 60 is seen to lose: less than 6.1% do, and none more than .4.
    most = results["loss"].settings["at_most"]
    assert most == pytest.approx(0.4 * (1 - 0.025 ** (1 / 60)))


def test_who_acts_from_far_below_what_pays_moves_where_its_threshold_does():
    rows = table(lambda t: t - 0.3, stakes=np.array([0.5, 0.75, 0.9]))
    results = found(rows)
    assert results["slope"].low > 1 / 3 > results["movement"].high
    assert results["movement"].settings["moves"] == "moves"


def test_stakes_that_go_with_the_belief_tell_nothing_with_one_a_case():
    """Breaks if penalties by difficulty let a belief that moves choices look like stakes."""
    for own in (lambda t: 0.5 + 0 * t, lambda t: t):
        rows = table(own, beliefs=np.repeat(BELIEFS, 2))
        hard = rows["loss"] == STAKES[np.clip(4 - (5 * rows["p"]).astype(int), 0, 4)]
        movement = found(rows[hard].drop_duplicates("id"))["movement"]
        assert "moves" not in movement.settings
        assert "stakes go with the stated beliefs" in movement.reason


@pytest.mark.parametrize("times", [1, 4], ids=["at all stakes", "beside many choices"])
def test_copies_of_reports_are_not_asked_again(times):
    """Breaks if two reports, each copied to many rows, pass for many that hardly differ."""
    parts = [table(noise=0.15, seed=seed) for seed in (1, 2)]
    if times == 1:  # one report of each of two wordings
        parts = [rows.assign(p=rows.groupby("id")["p"].transform("first")) for rows in parts]
        rows, reports = pd.concat(parts), pd.concat([part.drop_duplicates("id") for part in parts])
    else:
        rows, reports = pd.concat([parts[0]] * times), parts[0]
    apart = reports.assign(choice=None, gain=np.nan, loss=np.nan)
    told = found(pd.concat([rows.assign(p=np.nan), apart]))
    for name in ("loss", "slope"):
        assert found(rows)[name].interval == told[name].interval


def test_the_loss_of_cases_with_one_report_is_not_that_of_the_others():
    """Breaks if careless cases that were asked once are left out in silence."""
    rows = table(beliefs=np.repeat(BELIEFS, 2))
    careless = rows["id"] < 50
    rows = pd.concat([rows[careless].assign(choice="bet").drop_duplicates("id"), rows[~careless]])
    loss = found(rows)["loss"]
    assert "50 of 120 cases have one report" in loss.reason
    assert loss.settings["at_most"] > exact_loss(rows, rows["choice"] == "bet")


def test_confidences_that_only_answers_have_give_no_loss_and_no_verdict_across_cases():
    rows = table(beliefs=np.repeat(BELIEFS, 3)).groupby("id").sample(1, random_state=2)
    results = found(rows.assign(p=rows["p"].where(rows["choice"] == "bet")))
    for name in ("movement", "loss"):
        assert "missing by what was chosen" in results[name].reason


def test_stakes_of_nothing_and_everything_stay_but_in_the_slope():
    rows = table(stakes=np.array([0.0, 0.3, 0.5, 0.7, 1.0]))
    infinite = rows.assign(
        gain=rows["gain"].where(rows["loss"] < 1, 1.0),
        loss=rows["loss"].where(rows["loss"] < 1, math.inf),
    )
    for given in (rows, infinite):
        results = found(given)
        assert results["slope"].settings["n_ends"] == 2 * N
        assert results["movement"].settings["highest"] == "a loss alone"
        assert results["movement"].details["stake"].nunique() == 5
    assert found(rows)["loss"].statistic == found(infinite)["loss"].statistic
    penalty = rows.assign(loss=rows["loss"] / rows["gain"])  # of a gain of 1
    alone = found(penalty, gain=None)
    assert alone["loss"].statistic == pytest.approx(found(rows)["loss"].statistic)


def test_beliefs_may_stand_in_rows_of_their_own_or_be_missing_in_some():
    rows = table()
    told = rows[["id", "p"]]
    apart = pd.concat([told, rows.drop(columns="p")], ignore_index=True)
    results = found(rows)
    for name, result in found(apart).items():
        assert result.statistic == pytest.approx(results[name].statistic, abs=1e-12)
    few = rows.assign(p=rows["p"].where(rows.index % 5 > 0))
    assert found(few)["movement"].settings["moves"] == "moves"
    assert found(few)["loss"].interval is not None
    answered = found(rows.assign(p=rows["p"].where(rows["choice"] == "bet")))
    for name in ("loss", "slope", "difference"):  # of cases with high beliefs alone
        assert "missing by what was chosen" in answered[name].reason


def test_too_few_clear_cases_and_groups_cannot_be_told():
    near = found(table(lambda t: 0.5 + 0 * t, beliefs=np.full(N, 0.95), noise=0.0))["movement"]
    assert "0 of 60 cases" in near.reason
    assert "one stake" in found(table(stakes=np.array([0.3])))["movement"].reason
    rows = table().assign(group=lambda rows: rows["id"] % 9)
    assert "9 groups are too few" in found(rows, group="group")["movement"].reason
    rows["group"] = rows["id"] % 20
    assert found(rows, group="group")["movement"].statistic != found(rows)["movement"].statistic


def costs(follows=1.0, caution=0.0, n=60, seed=1):
    """Return beliefs asked twice, choices at three costs, and twenty answers where it would act."""
    rng, case = np.random.default_rng(seed), np.arange(n)
    belief, stakes = rng.uniform(0.05, 0.95, n), np.array([0.25, 0.5, 0.75])
    told = pd.DataFrame({"id": case.repeat(2), "p": 0.0})
    told["p"] = np.clip(belief[told["id"]] + rng.normal(0, 0.04, 2 * n), 0, 1).round(2)
    chosen = pd.DataFrame({"id": case.repeat(3), "loss": np.tile(stakes, n)})
    own = 0.5 + follows * (chosen["loss"] - 0.5) + caution
    acts = rng.random(3 * n) < 1 / (1 + np.exp(30 * (own - belief[chosen["id"]])))
    said = pd.DataFrame({"id": -1, "loss": stakes.repeat(20)})
    said["said"] = np.clip(said["loss"] + rng.normal(0, 0.05, 60), 0, 1).round(2)
    rows = [told, chosen.assign(choice=np.where(acts, "bet", "pass")), said]
    return pd.concat(rows, ignore_index=True).assign(gain=lambda rows: 1 - rows["loss"])


@pytest.mark.parametrize(("follows", "caution"), [(1.0, 0.0), (0.5, 0.0), (0.0, 0.0), (1.0, 0.1)])
def test_the_threshold_asked_for_acted_on_and_said_are_told_apart(follows, caution):
    """Breaks if a mean is taken for a slope, or what is said for what is acted on."""
    rows = costs(follows, caution)
    results = found(rows, said="said")
    truths = {"slope": follows, "difference": caution, "said": 0, "said_slope": 1}
    for name, truth in (truths | {"acted_less_said": caution}).items():
        assert results[name].low <= truth <= results[name].high, name
    assert results["difference"].high - results["difference"].low < 0.2
    assert results["movement"].n_dropped == 0
    alone = found(rows[rows["said"].isna()])
    assert alone["slope"].statistic == results["slope"].statistic
    named = {"id": "context", "choice": "action", "said": "says_from"}
    runs = rows.rename(columns=named).assign(acts="bet", prompt="standard")
    runs.loc[runs["says_from"].notna(), "prompt"] = "costs-said"
    (evaluation,) = analyze(runs, acts="bet", rng=1).evaluations
    of_report = {result.check: result for result in evaluation.results}
    assert of_report["stakes:said"].interval == results["said"].interval


def test_a_confidence_that_falls_with_the_stake_is_seen():
    rows = table(noise=0.02)
    falls = rows.assign(p=(rows["p"] - 0.2 * (rows["loss"] - 0.1) / 0.8).clip(lower=0))
    assert found(falls)["confidence"].high < -0.15
    assert abs(found(rows)["confidence"].statistic) < 0.02


def test_policies_are_choices():
    rows = table()
    policies = pd.DataFrame({name: rows["choice"] == name for name in ("pass", "bet")}) * 1.0
    named = {"gain": rows["gain"], "acts": "bet", "context": rows["id"]}
    other = stakes_estimates(rows["p"], policies, rows["loss"], **named)
    for plain, result in zip(found(rows).values(), other, strict=True):
        assert result.statistic == pytest.approx(plain.statistic, abs=1e-9)


def test_what_breaks_a_rule_is_named():
    with pytest.raises(InputError, match="gain and loss must be at least 0"):
        found(table().assign(loss=-1.0))
    with pytest.raises(InputError, match=r"belief must hold numbers in \[0, 1\]"):
        found(table().assign(p=2.0))


def test_whoever_acts_on_the_report_of_its_row_does_not_ignore_stakes():
    """Reports rise with the stake, so that the mean of a case asks for what no row asks for."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        case, t = np.repeat(np.arange(80), 4), np.tile([0.25, 0.5, 0.75, 0.9], 80)
        row = np.clip(rng.uniform(0.1, 0.95, 80)[case] + 0.9 * (t - t.mean()), 0, 1)
        said = np.clip(row + 0.03 * rng.normal(size=len(t)), 0, 1)
        choice = np.where(row > t, "bet", "pass")
        rows = pd.DataFrame({"id": case, "p": said, "choice": choice, "gain": 1 - t, "loss": t})
        assert found(rows)["movement"].settings.get("moves") != "ignores"
        rows["choice"] = np.where(rows.groupby("id")["p"].transform("mean") > 0.5, "bet", "pass")
        rows["p"] = (said - 0.9 * (t - t.mean())).clip(0, 1)
        assert found(rows)["movement"].settings["moves"] == "ignores"


def test_of_one_choice_a_case_the_share_against_the_belief_has_an_exact_interval():
    rows = table(beliefs=np.repeat(BELIEFS, 2), noise=0.0).groupby("id").sample(1, random_state=2)
    against = found(rows, computed=True)["against"]
    ends = stats.binomtest(round(120 * against.statistic), 120).proportion_ci(0.95, "exact")
    assert (against.low, against.high) == pytest.approx((ends.low, ends.high))
