"""The belief acted on, by closed forms: whatever draws no answers is told without error."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.checks.matching import LEAST_SWING, matching_estimates

N, LEVELS = 40, (np.arange(20) + 0.5) / 20
EXACT = np.linspace(0.05, 0.95, N)
STATED = 0.5 + 0.5 * np.sin(np.arange(N) * 2.4) * np.minimum(EXACT, 1 - EXACT) + 0.3 * (EXACT - 0.5)
COMPUTED = ["action_event", "action_lottery"]


def policies(acted_on, *, slope=25.0, order=0.0, aversion=0.0, reports=(0.0,), stated=STATED):
    """Computed answers: every cell of level, frame and order has the probability of each option."""
    told = pd.DataFrame({"context": np.repeat(np.arange(N), len(reports))})
    told["p"] = np.add.outer(stated, reports).ravel()
    names = ["context", "level", "frame", "order"]
    cells = [range(N), LEVELS, ["event", "complement"], ["event", "lottery"]]
    asked = pd.MultiIndex.from_product(cells, names=names).to_frame(index=False)
    acted = acted_on[asked["context"]]
    worth = np.where(asked["frame"] == "event", acted, 1 - acted)
    first = np.where(asked["order"] == "event", 1, -1)
    event = 1 / (1 + np.exp(-slope * (worth - aversion - asked["level"]) - order * first))
    asked = asked.assign(action_event=event, action_lottery=1 - event)
    rows = pd.concat([told, asked], ignore_index=True)
    return rows.assign(exact=EXACT[rows["context"]])


def found(rows, **options):
    named = {"exact": "exact", "frame": "frame", "order": "order", "context": "context"}
    action = "action" if "action" in rows else COMPUTED
    options = {"computed": True} | named | options
    results = matching_estimates("p", action, "level", data=rows, **options)
    return {result.check.partition(":")[2]: result for result in results}


def labelled(rows, rng):
    """Draw an answer of each question."""
    label = np.where(rng.random(len(rows)) < rows["action_event"], "event", "lottery")
    return rows.assign(action=np.where(rows["level"].isna(), None, label)).drop(columns=COMPUTED)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_the_share_of_the_posterior_is_the_one_that_was_acted_on(weight):
    results = found(policies(STATED + weight * (EXACT - STATED)))
    share, difference = results["share"], results["difference"]
    assert share.statistic == pytest.approx(weight, abs=1e-3)
    assert difference.statistic == pytest.approx(weight * (EXACT - STATED).mean(), abs=1e-3)


@pytest.mark.parametrize("acted_on", [np.full(N, 0.5), 1 - STATED], ids=["one half", "against"])
def test_who_acts_on_neither_has_weights_and_no_share(acted_on):
    results = found(labelled(policies(acted_on), np.random.default_rng(4)))
    share, difference = results["share"], results["difference"]
    assert "not seen to rise" in share.reason
    assert math.isnan(share.statistic)
    assert difference.interval.low < (acted_on - STATED).mean() < difference.interval.high


def test_order_and_ambiguity_aversion_move_neither_belief_nor_weights():
    plain = found(policies(STATED))
    other = found(policies(STATED, order=2.0, aversion=0.1))
    assert other["difference"].statistic == pytest.approx(plain["difference"].statistic, abs=5e-3)
    assert other["share"].statistic == pytest.approx(0.0, abs=5e-3)
    assert plain["order"].statistic == pytest.approx(0.0, abs=1e-12)
    assert other["order"].statistic > 0.05


@pytest.mark.parametrize(
    "chance",
    [
        lambda rows: np.ones(len(rows)),
        lambda rows: np.where(rows["order"] == "event", 0.99, 0.01),
        lambda rows: rows["exact"],
    ],
    ids=["always the event", "what is named first", "as often as it believes"],
)
def test_who_does_not_answer_the_chance_gets_no_belief(chance):
    rows = policies(STATED)
    event = np.where(rows["level"].isna(), np.nan, chance(rows))
    results = found(rows.assign(action_event=event, action_lottery=1 - event))
    assert abs(results["swing"].statistic) < LEAST_SWING
    for name in ("share", "difference"):
        assert math.isnan(results[name].statistic)
        assert "does not answer the stated chance" in results[name].reason
        assert results[name].details.empty


def test_noise_of_reports_is_not_taken_for_the_posterior():
    noisy = policies(STATED, reports=(0.0, 0.0, 0.0))
    told = noisy["level"].isna()
    noisy.loc[told, "p"] += np.random.default_rng(1).normal(0, 0.1, told.sum())
    noisy["p"] = noisy["p"].clip(0, 1)
    calibrated, taken = found(noisy, computed=False)["share"], found(noisy)["share"]
    assert calibrated.interval.low < 0 < calibrated.interval.high
    assert taken.statistic > calibrated.statistic + 0.02
    assert calibrated.settings["reliability"] < 0.95
    single = found(policies(STATED), computed=False)
    assert "one report a case" in single["share"].reason
    assert single["difference"].statistic == pytest.approx(0.0, abs=5e-3)


def test_statements_that_say_it_all_or_a_posterior_that_does_not_vary_leave_no_weights():
    for stated in (0.2 + 0.5 * EXACT, EXACT**2 / (EXACT**2 + (1 - EXACT) ** 2)):
        share = found(policies(stated, stated=stated))["share"]
        assert "told apart" in share.reason
        assert math.isnan(share.statistic)
    assert "told apart" in found(policies(STATED).assign(exact=0.4))["share"].reason
    # Words of few kinds have weights.
    words = np.array([0.1, 0.5, 0.9])[np.arange(N) % 3]
    share = found(policies(EXACT, stated=words))["share"]
    assert share.statistic == pytest.approx(1.0, abs=0.02)
    # Without posteriors the belief acted on is held against the stated one alone.
    alone = found(policies(STATED + 0.1), exact=None)
    assert alone["difference"].statistic == pytest.approx(0.1, abs=5e-3)
    assert "share" not in alone or math.isnan(alone["share"].statistic)


def test_labels_give_what_their_probabilities_give_on_average_and_refusals_enter_nothing():
    rows = labelled(policies(STATED + 0.5 * (EXACT - STATED)), np.random.default_rng(2))
    share = found(rows)["share"]
    assert share.interval.low < 0.5 < share.interval.high < share.interval.low + 0.3
    refused = rows.index[(rows["context"] == 3) & rows["level"].notna()][:4]
    other = rows.assign(action=rows["action"].mask(rows.index.isin(refused), None))
    refusing, without = (found(each)["difference"] for each in (other, rows.drop(index=refused)))
    assert refusing.statistic == without.statistic


def test_groups_few_cases_and_one_level_are_said():
    rows = policies(STATED)
    assert "6 contexts" in found(rows[rows["context"] < 6])["difference"].reason
    grouped = found(rows.assign(template=rows["context"] % 4), group="template")
    assert "4 groups are too few" in grouped["share"].reason
    enough = found(rows.assign(template=rows["context"] % 12), group="template")["share"]
    assert "groups" in enough.interval.method
    few = found(rows[rows["context"] < 19])
    assert "20 cases" in few["share"].reason
    assert few["difference"].interval is not None
    assert not math.isnan(found(rows[rows["context"] < 20])["share"].statistic)
    one_level = found(rows[rows["level"].isna() | (rows["level"] == LEVELS[3])])
    assert "one chance" in one_level["difference"].reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": lambda rows: 100 * rows["level"]}, r"level must hold numbers in \(0, 1\)"),
        ({"frame": "no"}, "frame must be 'event' or 'complement'"),
        ({"order": "x"}, "order must be 'event' or 'lottery'"),
        ({"action": "ill"}, "action must be 'event' or 'lottery'.* received 'ill'"),
        ({"p": 2.0}, r"belief must hold numbers in \[0, 1\]"),
    ],
)
def test_what_breaks_a_rule_is_named(change, message):
    rows = policies(STATED)
    with pytest.raises(InputError, match=message):
        found(rows.assign(**change))
    with pytest.raises(InputError, match="context must name cases"):
        found(rows[rows["level"].notna()])


BENT = {"sharper": 1 / (1 + (1 / np.clip(STATED, 0.01, 0.99) - 1) ** 2), "the square": STATED**2}


@pytest.mark.parametrize("acted_on", BENT.values(), ids=BENT)
def test_a_belief_acted_on_that_bends_with_the_stated_one_is_no_use_of_the_posterior(acted_on):
    results = found(policies(acted_on))
    assert results["share"].statistic == pytest.approx(0.0, abs=0.03)
    truth = (acted_on - STATED).mean()
    assert results["difference"].statistic == pytest.approx(truth, abs=0.005)


@pytest.mark.parametrize("levels", [LEVELS, [0.325, 0.675]], ids=["twenty", "two"])
def test_who_goes_by_an_order_that_goes_with_the_chance_does_not_answer_it(levels):
    rows = policies(STATED)
    rows = rows[rows["level"].isna() | np.isclose(rows["level"].to_numpy()[:, None], levels).any(1)]
    lottery = rows["level"] > 0.5
    first = np.where(lottery, "lottery", "event")
    rows = rows[rows["level"].isna() | (rows["order"] == first)]
    event = np.where(rows["level"].isna(), np.nan, rows["order"] == "event")
    results = found(rows.assign(action_event=event, action_lottery=1 - event))
    assert not results["swing"].settings["answered"]
    assert math.isnan(results["difference"].statistic)
