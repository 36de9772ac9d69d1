import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError, compare, prompt_consistency, simulate
from coherence.statistics.multiplicity import benjamini_hochberg, holm

QUICK = ["calibration:brier", "report_noise"]
PLAIN = {"prompts": ["standard"], "iterated": False}


def by_hand(**columns):
    """Twelve cases with two reports each."""
    cases = {"context": np.repeat([f"c{number:02d}" for number in range(12)], 2)}
    answers = {"rep": np.tile([0, 1], 12), "p": np.tile([0.2, 0.4], 12)}
    return pd.DataFrame(cases | answers | {"theta": np.repeat([0, 1], 12)} | columns)


def one_effect(effect, **tables):
    found = compare(tables, effects=[effect], rng=1)
    return found, found.estimates.set_index("model")


@pytest.mark.lengthy
def test_estimates_and_intervals_are_those_of_the_analysis(compared, asked):
    checks = ["sufficiency", "calibration", "iterated_expectation"]
    for model, runs in asked.items():
        reported = coherence.analyze(runs, checks=checks, rng=1).results.set_index("check")
        rows = compared.estimates[compared.estimates["model"] == model].set_index("effect")
        same = [name for name in rows.index if name in reported.index]
        assert len(same) == 7
        expected, found = (
            table.loc[same, ["estimate", "low", "high"]] for table in (reported, rows)
        )
        # Ends of the inverted test vary with its draws, of which the two have their own.
        by_draws = found.index == "sufficiency"
        assert np.allclose(found[by_draws], expected[by_draws], atol=0.004, rtol=0)
        assert np.allclose(found[~by_draws], expected[~by_draws], atol=1e-9, equal_nan=True)
        plain = prompt_consistency(runs[runs["z_state"].isna()])
        assert rows.loc["prompt_consistency", "estimate"] == pytest.approx(plain.statistic)


def test_planted_flaws_are_ranked_last(compared):
    ranks = compared.estimates.set_index(["effect", "model"])["rank_low"]
    assert ranks["prompt_consistency", "wordbound"] == 3
    assert ranks["iterated_expectation:noise_removed", "wordbound"] == 3
    assert ranks["report_noise", "heaping"] == 3
    assert ranks["calibration:rmse", "heaping"] == 3


def test_a_difference_by_pandas(compared, asked):
    """Brier scores case by case, on which nothing but the p-value is this package's."""
    by_case = {}
    for name, runs in asked.items():
        rows = runs[(runs["prompt"] == "standard") & runs["z_state"].isna()]
        by_case[name] = ((rows["p"] - rows["theta"]) ** 2).groupby(rows["context"]).mean()
    row = compared.differences.query("effect == 'calibration:brier' and model_b == 'heaping'")
    expected = by_case["rational"] - by_case["heaping"]
    assert row["difference"].item() == pytest.approx(expected.mean())
    middle = (row["low"].item() + row["high"].item()) / 2
    half = (row["high"].item() - row["low"].item()) / 2
    assert middle == pytest.approx(expected.mean(), abs=half / 4)
    assert half == pytest.approx(1.98 * expected.std() / 10, rel=0.1)


@pytest.mark.lengthy
def test_p_values_are_adjusted_over_all_pairs_effects_and_tasks(asked):
    one = pd.concat([runs.assign(model=name) for name, runs in asked.items()])
    tasks = pd.concat([one.assign(task="t1"), one.assign(task="t2")])
    found = compare(tasks, effects=QUICK, rng=1).differences
    assert len(found) == 2 * 2 * 3
    assert np.array_equal(found["pvalue_bh"], benjamini_hochberg(found["pvalue"]), equal_nan=True)
    assert np.array_equal(found["pvalue_holm"], holm(found["pvalue"]), equal_nan=True)
    assert found["pvalue_bh"].notna().any()
    # rational and wordbound report alike: nothing of theirs is tested.
    assert found["pvalue"].isna().sum() == 4


@pytest.mark.lengthy
def test_number_of_processes_and_choice_of_effects_change_nothing(asked, compared):
    few = ["sufficiency", "calibration:brier"]
    alone = compare(asked, effects=few, rng=1)
    spread = compare(asked, effects=few, rng=1, n_jobs=2)
    pd.testing.assert_frame_equal(alone.differences, spread.differences)
    assert alone.to_json() == spread.to_json()
    expected = compared.estimates[compared.estimates["effect"].isin(few)].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone.estimates, expected)


def test_two_identical_models_are_never_told_apart(asked):
    found = compare({"one": asked["heaping"], "other": asked["heaping"].assign(model="x")}, rng=1)
    assert found.differences["pvalue"].isna().all()
    assert set(found.estimates["letters"]) == {"a"}
    assert found.summary == "No difference could be tested."
    assert "cannot be told apart" in str(found)


@pytest.mark.lengthy
def test_probabilities_of_three_actions_are_compared(asked):
    options = {"n_contexts": 80, "n_reps": 2, "rng": 2, **PLAIN}
    tables = {name: simulate(name, policies=True, **options) for name in ("rational", "leaky")}
    found = compare(tables, effects=["sufficiency"], rng=1)
    ranks = found.estimates.set_index(["effect", "model"])["rank_low"]
    assert ranks["sufficiency", "leaky"] == 2
    # Drawn beside forced actions: the two can be compared, and a note says so.
    tables["rational"] = simulate("rational", **options)
    mixed = compare(tables, effects=["sufficiency"], rng=1)
    assert mixed.estimates["rank_low"].tolist() == [1, 2]
    assert any("elicited in different ways" in note for note in mixed.notes)


def test_three_states_are_compared_by_what_can_be_had():
    rng = np.random.default_rng(0)
    case = np.repeat(np.arange(30), 3)

    def table(name, spread):
        beliefs = rng.dirichlet([2, 2, 2], 30)[case]
        beliefs = beliefs * np.exp(spread * rng.normal(size=beliefs.shape))
        beliefs /= beliefs.sum(axis=1, keepdims=True)
        columns = {
            "context": case,
            "rep": np.tile(range(3), 30),
            "theta": np.array([*"xyw"])[case % 3],
        }
        table = pd.DataFrame(beliefs, columns=["p_x", "p_y", "p_w"]).assign(**columns, model=name)
        return table.assign(action=rng.choice(["go", "stay"], 90))

    tables = pd.concat([table("steady", 0.1), table("loose", 0.8)])
    found = compare(tables, rng=1)
    assert set(found.estimates["effect"]) == {"report_noise", "unreadable"}
    ranks = found.estimates.set_index(["effect", "model"])["rank_low"]
    assert ranks["report_noise", "loose"] == 2
    assert any("beliefs are over more than two states" in note for note in found.notes)


@pytest.mark.lengthy
def test_a_model_without_choices_is_left_out_of_theirs_alone(asked):
    tables = asked | {"rational": asked["rational"].drop(columns="action")}
    found = compare(tables, effects=["sufficiency", "calibration:brier"], rng=1)
    rows = found.estimates.set_index(["effect", "model"])
    lost = rows.loc[("sufficiency", "rational")]
    assert np.isnan(lost["estimate"])
    assert "no parsed belief with a parsed action" in lost["reason"]
    others = rows.loc["sufficiency"].drop("rational")
    assert (others["rank_low"].min(), others["rank_high"].max()) == (1, len(others))
    assert rows.loc[("calibration:brier", "rational"), "rank_low"] == 1


@pytest.mark.lengthy
def test_wordings_and_variables_that_not_all_were_asked_are_left_out(asked):
    runs = asked["rational"]
    fewer = runs[(runs["prompt"] != "bayes")]
    found = compare(asked | {"rational": fewer}, effects=["prompt_consistency"], rng=1)
    assert any("not every model was asked were left out: 'bayes'" in note for note in found.notes)
    # The flaw of this agent shows under that wording alone.
    assert found.estimates["rank_low"].tolist() == [1, 1, 1]
    other = runs.assign(prompt=runs["prompt"] + "*")
    with pytest.raises(InputError, match="a prompt in common"):
        compare(asked | {"rational": other})


@pytest.mark.lengthy
def test_a_task_that_cannot_be_compared_does_not_cost_the_others(asked):
    """One task has few cases, another no common wording; states are named in each."""
    tables = []
    for name, runs in asked.items():
        few = runs[runs["context"] < "c0009"].assign(task="few")
        named = runs.assign(task="named", theta=runs["theta"].map({0: "healthy", 1: "ill"}))
        apart = runs.assign(task="apart", prompt=runs["prompt"] + name)
        other = runs.assign(task="other", theta=runs["theta"].map({0: "dry", 1: "wet"}))
        tables += [table.assign(model=name) for table in (few, named, apart, other)]
    together = pd.concat(tables)
    found = compare(together, effects=QUICK, positive=["ill", "wet"], rng=1)
    assert list(dict.fromkeys(found.estimates["task"])) == ["named", "other"]
    with pytest.raises(InputError, match="positive must be a label of theta; received 'sick'"):
        compare(together, effects=QUICK, positive=["ill", "wet", "sick"])
    left = [note for note in found.notes if note.startswith("not compared: ")]
    assert [note.split("'")[1] for note in left] == ["apart", "few"]
    assert "in common" in left[0]
    assert "received 9" in left[1]


@pytest.mark.lengthy
def test_lost_answers_are_compared(asked):
    rng = np.random.default_rng(0)
    runs = asked["rational"]
    lost = rng.random(len(runs)) < 0.3
    worse = runs.assign(p=runs["p"].mask(lost), action=runs["action"].mask(lost))
    worse["status"] = np.where(lost, "refused", "ok")
    found = coherence.compare({"all": runs, "some": worse.assign(model="some")}, rng=1)
    rows = found.estimates.set_index(["effect", "model"])
    assert rows.loc[("unreadable", "some"), "estimate"] == pytest.approx(0.3, abs=0.03)
    assert rows.loc[("unreadable", "some"), "rank_low"] == 2
    # What is left of a case is what the other model said of it.
    brier = rows.loc["calibration:brier", "estimate"]
    assert brier["some"] == pytest.approx(brier["rational"])
    assert any("cases left out" in note for note in found.notes)


def test_other_questions_are_no_difference_in_what_can_be_read():
    """Actions asked with a wording that only one model has make its mixture another one."""
    rng = np.random.default_rng(0)
    asked = coherence.simulate("rational", n_contexts=40, n_reps=2, iterated=False, rng=1)
    two = asked[asked["prompt"].isin(["standard", "mse"])].assign(status="ok")
    one = two[two["prompt"] == "standard"].assign(prompt="mse")
    runs = {}
    for name, table in (("two", two), ("one", one)):
        lost = table["action"].notna() & (rng.random(len(table)) < 0.4)
        table = table.assign(model=name, status=table["status"].where(~lost, "unparsed"))
        runs[name] = table.assign(action=table["action"].where(~lost))
    found = coherence.compare(runs, effects=["unreadable"], rng=0)
    assert found.differences.empty
    assert any("'two': its actions were asked with a prompt" in note for note in found.notes)


def test_a_case_counts_once_however_many_of_its_answers_are_lost():
    p = np.tile([0.2, 0.4], 12)
    p[[1, 3]] = np.nan
    _, rows = one_effect("calibration:brier", some=by_hand(p=p), all=by_hand())
    of_all = np.r_[np.full(6, 0.1), np.full(6, (0.64 + 0.36) / 2)]
    of_some = np.r_[[0.04, 0.04], of_all[2:]]
    assert rows.loc["all", "estimate"] == pytest.approx(of_all.mean())
    assert rows.loc["some", "estimate"] == pytest.approx(of_some.mean())


def test_the_spread_of_reports_is_the_standard_deviation_within_cases():
    cases = np.repeat([0.0, 0.3, 0.6], 8)
    wide = cases + np.r_[np.tile([0.1, 0.3], 6), np.tile([0.2, 0.2], 6)]
    near = by_hand(p=cases + 0.2)
    found, rows = one_effect("report_noise", near=near, wide=by_hand(p=wide))
    assert rows.loc["wide", "estimate"] == pytest.approx(np.sqrt(0.02 / 2))
    assert rows.loc["near", "estimate"] == 0
    assert "have the same value" in rows.loc["near", "reason"]
    assert found.differences["difference"].tolist() == pytest.approx([-0.01])
    assert found.differences["scale"].tolist() == ["mean square"]
    computed = by_hand(p=wide, belief_kind="stated:exact")
    found, rows = one_effect("report_noise", near=near, wide=by_hand(p=wide), exact=computed)
    assert np.isnan(rows.loc["exact", "estimate"])
    assert "computed beliefs" in rows.loc["exact", "reason"]
    assert rows.loc["wide", "estimate"] == pytest.approx(np.sqrt(0.02 / 2))


def test_a_model_whose_beliefs_or_choices_hardly_vary_has_no_rank_for_that():
    choices = {"action": ["go"] * 23 + ["stay"], "theta": np.tile([0, 1], 12), "rep": 0}
    choices["context"] = [f"c{number:02d}" for number in range(24)]
    still = by_hand(p=0.3, **choices)
    rising = np.linspace(0.1, 0.9, 24)
    moving = by_hand(p=rising, **choices | {"action": ["go", "stay"] * 12})
    found, _ = one_effect("calibration:brier", still=still, moving=moving)
    (note,) = [note for note in found.notes if "hardly moves" in note]
    assert "an SD of 0.00 and go is 95.8% of its choices" in note
    assert found.variation["moves"].tolist() == [False, True]
    assert found.variation["belief_sd"].tolist() == pytest.approx([0.0, np.std(rising, ddof=1)])
    assert found.variation.loc[0, ["action", "action_share"]].tolist() == ["go", 23 / 24]
    # A proper score of a constant forecast counts; what is small for standing still does not.
    assert found.estimates["rank_low"].notna().all()
    some = {"still": still, "moving": moving, "other": moving}
    found, rows = one_effect("calibration:calibration_error", **some)
    assert rows["rank_low"].isna().tolist() == [True, False, False]
    assert rows.loc["still", "reason"] == "hardly moves"
    assert 0 < rows.loc["still", "estimate"] < 0.2
    assert set(found.differences["model_a"]) == {"moving"}


def test_answers_count_as_unparsed_by_their_status():
    lost = by_hand(status=np.tile(["ok", "refused"], 12))
    read = by_hand(status=np.tile(["ok", "repaired:percent"], 12))
    found, rows = one_effect("unreadable", lost=lost, read=read)
    assert rows["estimate"].to_dict() == {"lost": 0.5, "read": 0.0}
    (pair,) = found.differences.to_dict("records")
    assert pair["reason"] == "all cases differ alike"
    assert pair["pvalue"] == 2.0**-11
    assert rows["rank_low"].to_dict() == {"lost": 2, "read": 1}
    without_status = by_hand(p=np.tile([0.2, np.nan], 12))
    _, rows = one_effect("unreadable", lost=without_status, read=by_hand())
    assert rows["estimate"].to_dict() == {"lost": 0.5, "read": 0.0}


def answered(first, last):
    """A table in which cases from one number to another alone have beliefs."""
    number = np.repeat(np.arange(12), 2)
    return by_hand(p=np.where((number >= first) & (number < last), np.tile([0.2, 0.4], 12), np.nan))


def test_models_are_compared_on_the_cases_that_all_of_them_show():
    found, rows = one_effect("calibration:brier", a=answered(0, 11), b=answered(1, 12), c=by_hand())
    assert set(rows["n_contexts"]) == {10}
    assert set(found.differences["n_contexts"]) == {10}
    assert rows["estimate"].tolist() == pytest.approx([(5 * 0.1 + 5 * 0.5) / 10] * 3)
    assert any("2 of 12 cases left out" in note for note in found.notes)
    found, _ = one_effect("calibration:brier", a=answered(0, 10), b=answered(2, 12))
    assert len(found.differences) == 0
    assert any("8 cases that all models show it in are fewer than 10" in n for n in found.notes)
    # A model with few cases is left out by name and costs the others none.
    found, rows = one_effect("calibration:brier", a=by_hand(), b=by_hand(p=0.3), c=answered(0, 4))
    assert rows["n_contexts"].to_dict() == {"a": 12, "b": 12, "c": 0}
    assert rows.loc["c", "reason"] == "4 contexts are fewer than 10"
    assert rows["rank_high"].isna().to_dict() == {"a": False, "b": False, "c": True}
    assert len(found.differences) == 1
