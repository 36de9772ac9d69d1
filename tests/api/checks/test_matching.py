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


def policies(acted_on, *, slope=25.0, order=0.0, aversion=0.0, reports=(0.0,)):
    """Computed answers: every cell of level, frame and order has the probability of each option."""
    rows = [
        {"context": case, "p": STATED[case] + away, "level": np.nan, "exact": EXACT[case]}
        for case in range(N)
        for away in reports
    ]
    for case in range(N):
        for level in LEVELS:
            for frame, sign in (("event", 1), ("complement", -1)):
                for first in ("event", "lottery"):
                    worth = acted_on[case] if sign > 0 else 1 - acted_on[case]
                    odds = slope * (worth - aversion - level) + order * (
                        1 if first == "event" else -1
                    )
                    event = 1 / (1 + np.exp(-odds))
                    rows.append(
                        {
                            "context": case,
                            "p": np.nan,
                            "level": level,
                            "exact": EXACT[case],
                            "frame": frame,
                            "order": first,
                            "action_event": event,
                            "action_lottery": 1 - event,
                        }
                    )
    return pd.DataFrame(rows)


def found(rows, **options):
    named = {"exact": "exact", "frame": "frame", "order": "order", "context": "context"}
    options = {"computed": True, **named, **options}
    results = matching_estimates(
        "p", ["action_event", "action_lottery"], "level", data=rows, **options
    )
    return {result.check.partition(":")[2]: result for result in results}


def labelled(rows, rng):
    """Draw an answer of each question."""
    event = rng.random(len(rows)) < rows["action_event"]
    label = np.where(event, "event", "lottery")
    return rows.assign(action=np.where(rows["level"].isna(), None, label))


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_the_share_of_the_posterior_is_the_one_that_was_acted_on(weight):
    results = found(policies(STATED + weight * (EXACT - STATED)))
    share, difference = results["share"], results["difference"]
    assert share.statistic == pytest.approx(weight, abs=1e-3)
    weights = share.details.set_index("weight_of")["estimate"]
    assert weights["exact"] == pytest.approx(weight, abs=5e-3)
    assert weights["stated"] == pytest.approx(1 - weight, abs=5e-3)
    assert difference.statistic == pytest.approx(weight * (EXACT - STATED).mean(), abs=1e-3)
    cases = difference.details.set_index("context")
    inside = cases["acted_on"].between(0.1, 0.9)
    acted = STATED + weight * (EXACT - STATED)
    assert np.abs(cases["acted_on"] - acted)[inside].max() < 0.02


@pytest.mark.parametrize("acted_on", [np.full(N, 0.5), 1 - STATED], ids=["one half", "against"])
def test_who_acts_on_neither_has_weights_and_no_share(acted_on):
    rng = np.random.default_rng(4)
    rows = labelled(policies(acted_on), rng).drop(columns=["action_event", "action_lottery"])
    options = {"exact": "exact", "frame": "frame", "order": "order", "context": "context"}
    results = matching_estimates("p", "action", "level", data=rows, computed=True, **options)
    share, difference = results[1], results[2]
    assert "not seen to rise" in share.reason
    assert math.isnan(share.statistic)
    assert len(share.details) == 2
    assert difference.interval.low < (acted_on - STATED).mean() < difference.interval.high


def test_order_and_ambiguity_aversion_move_neither_belief_nor_weights():
    plain = found(policies(STATED))
    other = found(policies(STATED, order=2.0, aversion=0.1))
    assert other["difference"].statistic == pytest.approx(plain["difference"].statistic, abs=5e-3)
    assert other["share"].statistic == pytest.approx(0.0, abs=5e-3)
    assert plain["order"].statistic == pytest.approx(0.0, abs=1e-12)
    assert other["order"].statistic > 0.05
    assert other["swing"].settings["frames_correlate"] < -0.9


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
    rng = np.random.default_rng(1)
    noisy = policies(STATED, reports=(0.0, 0.0, 0.0))
    told = noisy["level"].isna()
    noisy.loc[told, "p"] += rng.normal(0, 0.1, told.sum())
    noisy["p"] = noisy["p"].clip(0, 1)
    calibrated, taken = found(noisy, computed=False)["share"], found(noisy)["share"]
    assert calibrated.interval.low < 0 < calibrated.interval.high
    assert taken.statistic > calibrated.statistic + 0.02
    assert calibrated.settings["reliability"] < 0.95


def test_one_report_a_case_gives_no_weight_and_a_difference_all_the_same():
    results = found(policies(STATED), computed=False)
    assert "one report a case" in results["share"].reason
    assert results["difference"].statistic == pytest.approx(0.0, abs=5e-3)


def test_statements_that_say_it_all_leave_no_weights_to_tell_apart():
    rows = policies(STATED)
    rows.loc[rows["level"].isna(), "p"] = 0.2 + 0.5 * EXACT
    assert "told apart" in found(rows)["share"].reason


def test_labels_give_what_their_probabilities_give_on_average():
    rng = np.random.default_rng(2)
    rows = policies(STATED + 0.5 * (EXACT - STATED))
    drawn = labelled(rows, rng).drop(columns=["action_event", "action_lottery"])
    results = matching_estimates(
        "p", "action", "level", data=drawn, exact="exact", frame="frame", order="order",
        context="context", computed=True,
    )  # fmt: skip
    share = results[1]
    assert share.interval.low < 0.5 < share.interval.high
    assert share.interval.high - share.interval.low < 0.3


def test_refusals_are_counted_by_case_and_enter_nothing_else():
    rows = labelled(policies(STATED), np.random.default_rng(3))
    rows = rows.drop(columns=["action_event", "action_lottery"])
    other = rows.copy()
    refused = other.index[(other["context"] == 3) & other["level"].notna()][:4]
    other.loc[refused, "action"] = "defer"
    options = {"exact": "exact", "frame": "frame", "order": "order", "context": "context"}
    results = matching_estimates("p", "action", "level", data=other, computed=True, **options)
    cases = results[2].details.set_index("context")
    assert cases.loc[3, "n_refused"] == 4
    assert cases["n_refused"].sum() == 4
    without = matching_estimates(
        "p", "action", "level", data=other.drop(index=refused), computed=True, **options
    )
    assert results[2].statistic == without[2].statistic


def test_an_option_under_another_name_is_not_taken_for_an_agent_that_never_chooses_it():
    rows = labelled(policies(STATED), np.random.default_rng(3))
    rows = rows.drop(columns=["action_event", "action_lottery"])
    rows["action"] = rows["action"].replace("event", "ill")
    swing, share, difference, _ = matching_estimates(
        "p", "action", "level", data=rows, exact="exact", context="context", computed=True
    )
    assert not swing.settings["answered"]
    for result in (swing, share, difference):
        assert "never 'event'" in result.reason
        assert "'ill' counts as a refusal: rename" in result.reason
    always = rows.assign(action=rows["action"].where(rows["action"] != "ill"))
    (swing, *_) = matching_estimates("p", "action", "level", data=always, context="context")
    assert "does not answer the stated chance" in swing.reason


def test_groups_and_few_cases_are_said():
    rows = policies(STATED)
    few = found(rows[rows["context"] < 6])
    assert "6 contexts" in few["difference"].reason
    grouped = found(rows.assign(template=rows["context"] % 4), group="template")
    assert "4 groups are too few" in grouped["share"].reason
    enough = found(rows.assign(template=rows["context"] % 12), group="template")
    assert enough["share"].interval.method.startswith("logit")
    assert "groups" in enough["share"].interval.method


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda rows: rows.assign(level=100 * rows["level"]),
            r"level must hold numbers in \(0, 1\)",
        ),
        (lambda rows: rows.assign(frame="no"), "frame must be 'event' or 'complement'"),
        (lambda rows: rows.assign(order="x"), "order must be 'event' or 'lottery'"),
        (lambda rows: rows.assign(p=2.0), r"belief must hold numbers in \[0, 1\]"),
        (lambda rows: rows[rows["level"].notna()], "rows with a belief and rows with a level"),
    ],
)
def test_what_breaks_a_rule_is_named(change, message):
    with pytest.raises(InputError, match=message):
        found(change(policies(STATED)))


def test_one_level_is_said():
    rows = policies(STATED)
    only = rows[rows["level"].isna() | (rows["level"] == LEVELS[3])]
    assert "one chance" in found(only)["difference"].reason


BENT = {
    "sharper": 1 / (1 + (1 / np.clip(STATED, 0.01, 0.99) - 1) ** 2),
    "the square": STATED**2,
}


@pytest.mark.parametrize("acted_on", BENT.values(), ids=BENT)
def test_a_belief_acted_on_that_bends_with_the_stated_one_is_no_use_of_the_posterior(acted_on):
    results = found(policies(acted_on))
    assert results["share"].statistic == pytest.approx(0.0, abs=0.03)
    truth = (acted_on - STATED).mean()
    assert results["difference"].statistic == pytest.approx(truth, abs=0.005)


def stating(said):
    rows = policies(said)
    reports = rows["level"].isna()
    rows.loc[reports, "p"] = said[rows.loc[reports, "context"]]
    return rows


def test_what_says_a_curve_of_the_posterior_has_no_weights_to_tell_apart():
    share = found(stating(EXACT**2 / (EXACT**2 + (1 - EXACT) ** 2)))["share"]
    assert "told apart" in share.reason
    assert math.isnan(share.statistic)


def test_words_of_few_kinds_have_weights():
    rows = stating(np.array([0.1, 0.5, 0.9])[np.arange(N) % 3])
    exact = policies(EXACT)[["action_event", "action_lottery"]]
    share = found(rows.assign(**exact))["share"]
    assert share.statistic == pytest.approx(1.0, abs=0.02)


def test_a_posterior_that_does_not_vary_has_no_weight():
    share = found(policies(STATED).assign(exact=0.4))["share"]
    assert "the same in all cases" in share.reason


def test_fewer_than_twenty_cases_have_a_difference_and_no_share():
    rows = policies(STATED)
    results = found(rows[rows["context"] < 19])
    assert "20 cases" in results["share"].reason
    assert results["difference"].interval is not None
    assert not math.isnan(found(rows[rows["context"] < 20])["share"].statistic)


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


def test_the_swing_stays_within_its_bounds():
    event = EXACT[:, None] > LEVELS
    rows = pd.DataFrame(
        {
            "context": np.arange(N).repeat(20),
            "level": np.tile(LEVELS, N),
            "action": np.where(event.ravel(), "event", "lottery"),
        }
    )
    reports = pd.DataFrame({"context": np.arange(N), "p": STATED})
    table = pd.concat([reports, rows])
    swing = matching_estimates("p", "action", "level", data=table, context="context")[0]
    assert swing.interval.high <= 1
