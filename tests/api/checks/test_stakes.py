"""Choices at stated stakes, by enumeration: whatever draws no answers is told without error."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, stakes_estimates

N = 60
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
BELIEFS = (np.arange(N) + 0.5) / N
EXACT = 0.5 + 0.8 * (BELIEFS - 0.5) + 0.1 * np.sin(np.arange(N) * 2.4)
NAMES = ["swing", "regret_stated", "regret_exact", "slope", "intercept", "order"]


def table(acts, *, beliefs=BELIEFS, levels=LEVELS, reports=(0.0,), exact=EXACT):
    """Return reports, and every level in both orders; `acts` gives the chance of acting."""
    n = len(beliefs)
    told = pd.DataFrame({"context": np.repeat(np.arange(n), len(reports))})
    told["p"] = np.add.outer(beliefs, reports).ravel()
    cells, names = [range(n), levels, ["act", "pass"]], ["context", "level", "order"]
    asked = pd.MultiIndex.from_product(cells, names=names).to_frame(index=False)
    first = np.where(asked["order"] == "act", 1, -1)
    chance = acts(beliefs[asked["context"]], asked["level"].to_numpy(), first)
    asked = asked.assign(action_act=chance, action_pass=1 - chance)
    rows = pd.concat([told, asked], ignore_index=True)
    return rows.assign(exact=exact[rows["context"]])


def found(rows, **options):
    named = {"exact": "exact", "order": "order", "context": "context", "computed": True}
    action = "action" if "action" in rows else [name for name in rows if name.startswith("action_")]
    results = stakes_estimates("p", action, "level", data=rows, **{**named, **options})
    by_name = {result.check.partition(":")[2]: result for result in results}
    assert list(by_name) == NAMES
    return by_name


def soft(threshold, slope=20.0, position=0.0):
    return lambda p, t, first: 1 / (1 + np.exp(-slope * (p - threshold(t)) - position * first))


def sharp(threshold):
    return lambda p, t, first: np.where(p > threshold(t), 1.0, 0.0)


def labelled(rows, rng):
    """Draw an answer of each question."""
    act = np.where(rng.random(len(rows)) < rows["action_act"], "act", "pass")
    rows = rows.assign(action=np.where(rows["level"].isna(), None, act))
    return rows.drop(columns=["action_act", "action_pass"])


def test_a_fixed_threshold_loses_the_triangles_between_it_and_the_stated_one():
    """Uniform beliefs and a threshold of .5 lose (.5 - t)^2 / 2: .08, .03125 and 0."""
    n = 2_000
    beliefs = (np.arange(n) + 0.5) / n
    rows = table(sharp(lambda t: 0.5), beliefs=beliefs, levels=(0.1, 0.25, 0.5), exact=beliefs)
    results = found(rows)
    for name in ("regret_stated", "regret_exact"):
        by_level = results[name].details.set_index("level")["regret"]
        assert by_level.to_numpy() == pytest.approx([0.08, 0.03125, 0.0], abs=1e-9)
        assert results[name].statistic == pytest.approx((0.08 + 0.03125) / 3, abs=1e-9)


def test_regret_is_what_the_best_choice_would_add():
    rows = table(soft(lambda t: t**2, position=0.5))
    asked = rows[rows["level"].notna()]
    acts, level, stated = asked["action_act"], asked["level"], BELIEFS[asked["context"]]
    for name, belief in (("regret_stated", stated), ("regret_exact", asked["exact"])):
        # In units of gain + cost: gain 1 - t, cost t.
        worth = belief * (1 - level) - (1 - belief) * level
        lost = np.maximum(worth, 0) - acts * worth
        assert found(rows)[name].statistic == pytest.approx(lost.mean(), abs=1e-12)


@pytest.mark.parametrize(("intercept", "slope"), [(0.0, 1.0), (0.5, 0.0), (0.1, 0.8), (0.9, -0.8)])
def test_the_line_is_the_one_that_was_planted_whatever_is_named_first(intercept, slope):
    for position in (0.0, 1.0):
        results = found(table(soft(lambda t: intercept + slope * t, position=position)))
        assert results["slope"].statistic == pytest.approx(slope, abs=2e-3)
        assert results["intercept"].statistic == pytest.approx(intercept, abs=2e-3)
        by_level = results["slope"].details.set_index("level")["acts_from"]
        assert by_level.to_numpy() == pytest.approx(intercept + slope * LEVELS, abs=2e-3)
        assert (results["order"].statistic > 0.05) == (position > 0)


def test_the_interval_of_drawn_answers_holds_the_planted_line():
    rows = labelled(table(soft(lambda t: 0.25 + 0.5 * t)), np.random.default_rng(1))
    results = found(rows)
    for name, true in (("slope", 0.5), ("intercept", 0.25)):
        interval = results[name].interval
        assert interval.low < true < interval.high < interval.low + 0.25
        assert "jackknife of cases" in interval.method


def test_choices_that_are_parted_without_error_leave_all_lines_that_part_them():
    """Thresholds of .3 and .7 lie anywhere between the neighbouring beliefs."""
    beliefs = np.repeat(np.arange(0.05, 1, 0.1), 6)
    results = found(table(sharp(lambda t: t), levels=(0.3, 0.7), beliefs=beliefs))
    slope, intercept = results["slope"], results["intercept"]
    assert (slope.low, slope.high) == pytest.approx((0.3 / 0.4, 0.5 / 0.4), abs=1e-6)
    # The line through (.3, .25) and (.7, .75), and that through (.3, .35) and (.7, .65).
    assert (intercept.low, intercept.high) == pytest.approx((-0.125, 0.125), abs=1e-6)
    assert slope.statistic == pytest.approx(1.0, abs=1e-6)
    by_level = slope.details.set_index("level")
    assert by_level.loc[0.3, ["low", "high"]].to_list() == pytest.approx([0.25, 0.35])


def test_lines_that_are_bounded_on_one_side_are_not_given_as_a_number():
    """A threshold between .4917 and .5083 at .5, and above .9917 at .7."""
    slope = found(table(sharp(lambda t: np.where(t > 0.6, 1.5, t)), levels=(0.5, 0.7)))["slope"]
    assert math.isnan(slope.statistic)
    assert "parted without error" in slope.reason
    assert "[2.42, inf]" in slope.reason


def test_noise_of_two_reports_is_taken_off_by_hand():
    """A case with two reports loses 2 L(mean) - (L(first) + L(second)) / 2."""
    rng = np.random.default_rng(3)
    rows = table(soft(lambda t: t), reports=(0.0, 0.0))
    told = rows["level"].isna()
    rows.loc[told, "p"] = (rows.loc[told, "p"] + rng.normal(0, 0.15, told.sum())).clip(0, 1)
    pairs = rows.loc[told, "p"].to_numpy().reshape(N, 2)
    asked = rows[~told]
    case, level, acts = (asked[name].to_numpy() for name in ("context", "level", "action_act"))

    def loss(beliefs):
        return np.maximum(beliefs[case] - level, 0) - acts * (beliefs[case] - level)

    by_hand = 2 * loss(pairs.mean(axis=1)) - (loss(pairs[:, 0]) + loss(pairs[:, 1])) / 2
    without, taken = found(rows, computed=False), found(rows)
    assert without["regret_stated"].statistic == pytest.approx(by_hand.mean(), abs=1e-12)
    true = found(table(soft(lambda t: t)))["regret_stated"].statistic
    interval = without["regret_stated"].interval
    assert interval.low < true < interval.high < taken["regret_stated"].statistic + 0.02
    assert taken["regret_stated"].statistic > true + 0.003
    assert without["slope"].statistic < taken["slope"].statistic - 0.02
    assert without["slope"].low < 1 < without["slope"].high


def test_one_report_gives_a_bound_of_regret_and_no_line():
    results = found(table(soft(lambda t: t)), computed=False)
    regret = results["regret_stated"]
    assert math.isnan(regret.statistic)
    assert regret.settings["at_most"] == found(table(soft(lambda t: t)))["regret_stated"].high
    assert f"at most {regret.settings['at_most']:.3f}" in regret.reason
    assert "one report a case" in results["slope"].reason
    # A few repeated reports do not measure their noise.
    rows = table(soft(lambda t: t), reports=(0.0, 0.01))
    once = rows["level"].isna() & rows.duplicated(["context", "level"]) & (rows["context"] > 5)
    few = found(rows[~once], computed=False)
    for name in ("regret_stated", "slope"):
        assert "6 contexts with two reports" in few[name].reason
    assert results["regret_exact"].interval is not None


@pytest.mark.parametrize(
    ("acts", "says"),
    [
        (lambda p, t, first: np.ones(len(p)), "always acts"),
        (lambda p, t, first: np.zeros(len(p)), "always passes"),
        (lambda p, t, first: np.where(first > 0, 0.99, 0.01), "do not go by the stated belief"),
        (lambda p, t, first: 1 - t, "do not go by the stated belief"),
        (lambda p, t, first: 0.5 + 0.1 * (p - 0.5), "do not go by the stated belief"),
    ],
    ids=["acts", "passes", "what is named first", "by the stakes alone", "hardly"],
)
def test_who_does_not_go_by_the_belief_has_regret_and_no_line(acts, says):
    results = found(table(acts))
    for name in ("slope", "intercept"):
        assert math.isnan(results[name].statistic)
        assert says in results[name].reason
    for name in ("regret_stated", "regret_exact"):
        assert results[name].interval.low > 0


def test_refusals_are_counted_and_enter_nothing_else():
    rows = labelled(table(soft(lambda t: t)), np.random.default_rng(6))
    refused = rows.index[rows["level"].notna()][::37]
    other = rows.copy()
    other.loc[refused, "action"] = "defer"
    other.loc[refused[0], "action"] = None
    results, without = (found(each) for each in (other, rows.drop(index=refused)))
    assert results["slope"].settings["n_refused"] == len(refused)
    for name in NAMES:
        assert results[name].statistic == without[name].statistic


def test_an_option_under_another_name_has_no_regret():
    rows = labelled(table(soft(lambda t: t)), np.random.default_rng(2))
    rows["action"] = rows["action"].replace("act", "treat")
    for result in found(rows).values():
        assert "never 'act'" in result.reason
        assert math.isnan(result.statistic)


def test_groups_few_cases_and_one_level_are_said():
    rows = table(soft(lambda t: t))
    few = found(rows[rows["context"] < 6])
    assert all("6 contexts" in result.reason for result in few.values())
    assert "4 groups" in found(rows.assign(of=rows["context"] % 4), group="of")["slope"].reason
    grouped = found(rows.assign(of=rows["context"] % 12), group="of")
    assert "jackknife of groups" in grouped["slope"].interval.method
    one = found(rows[rows["level"].isna() | (rows["level"] == 0.5)])
    assert "one level" in one["slope"].reason
    assert one["regret_stated"].interval is not None
    alike = found(rows.assign(p=rows["p"].where(rows["p"].isna(), 0.4)))
    assert "hardly vary" in alike["slope"].reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.assign(level=100 * rows["level"]), r"level must hold .* in \(0, 1\)"),
        (lambda rows: rows.assign(level=rows["level"].round()), "level must hold numbers"),
        (lambda rows: rows.assign(order="x"), "order must be 'act' or 'pass'"),
        (lambda rows: rows.assign(p=2.0), r"belief must hold numbers in \[0, 1\]"),
        (lambda rows: rows[rows["level"].notna()], "rows with a belief and rows with a level"),
        (lambda rows: rows.rename(columns={"action_act": "action_x", "action_pass": "action_y"}),
         "'act' or 'pass'"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_named(change, message):
    rows = change(table(soft(lambda t: t)))
    with pytest.raises(InputError, match=message):
        found(rows)


def test_a_case_with_one_report_among_others_is_left_out_of_what_needs_two():
    rng = np.random.default_rng(4)
    rows = table(soft(lambda t: t), reports=(0.0, 0.0, 0.0))
    told = rows["level"].isna()
    rows.loc[told, "p"] = (rows.loc[told, "p"] + rng.normal(0, 0.05, told.sum())).clip(0, 1)
    once = (rows["context"] < 5) & told & rows.duplicated(["context", "level"])
    twice = rows["context"].between(5, 20) & told & ~rows.duplicated(["context"])
    fewer = rows[~once & ~twice]
    results = found(fewer, computed=False)
    assert results["regret_stated"].n_contexts == N - 5
    assert results["regret_exact"].n_contexts == N
    without = found(fewer[fewer["context"] >= 5], computed=False)
    for name in ("regret_stated", "slope", "intercept"):
        assert results[name].statistic == pytest.approx(without[name].statistic, abs=2e-3)


def test_order_and_names_of_rows_do_not_matter():
    rows = labelled(table(soft(lambda t: t)), np.random.default_rng(7))
    other = rows.sample(frac=1, random_state=1)
    first, second = found(rows), found(other.assign(context="case " + other["context"].map(str)))
    for name in NAMES:
        assert second[name].statistic == pytest.approx(first[name].statistic, abs=1e-9)
        assert second[name].low == pytest.approx(first[name].low, abs=1e-6)
