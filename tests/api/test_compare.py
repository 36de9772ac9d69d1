"""Models on the same cases: what is compared, withheld, corrected and shown."""

import json
from html import escape

import numpy as np
import pandas as pd
import pytest

from coherence import analyze, compare, simulate
from coherence.statistics.pvalues import holm

ACCURACY = ["calibration:rmse", "calibration:brier"]


def by_hand(**columns):
    """Twelve cases with two reports each."""
    cases = {"context": np.repeat([f"c{number:02d}" for number in range(12)], 2)}
    answers = {"rep": np.tile([0, 1], 12), "p": np.tile([0.2, 0.4], 12)}
    return pd.DataFrame(cases | answers | {"theta": np.repeat([0, 1], 12)} | columns)


def forecasts(**tables):
    """Return the Brier scores of tables without choices, and their differences."""
    found = compare(tables, rng=1)
    assert set(found.effects["effect"]) == {"scores"}
    return found, found.effects.set_index("model")


def test_estimates_intervals_and_verdicts_are_those_of_the_analysis(compared, asked):
    checks = ["sufficiency", "evidence_leak", "calibration"]
    for model, runs in asked.items():
        report = analyze(runs, checks=checks, rng=1)
        rows = compared.effects[compared.effects["model"] == model].set_index("effect")
        assert set(rows.index) == {"sufficiency", *ACCURACY}
        expected = report.results.set_index("check").loc[rows.index]
        columns = ["estimate", "low", "high"]
        assert np.allclose(rows[columns], expected[columns], atol=1e-12)
        said = compared.verdicts.set_index("model").loc[model]
        assert said[["verdict", "sentence"]].tolist() == [
            *report.verdicts.loc[0, ["verdict", "sentence"]]
        ]


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


def test_groups_are_the_clusters_also_where_one_table_alone_names_them(asked):
    runs = {name: asked[name] for name in ("rational", "heaping")}
    alone = compare(runs, effects=ACCURACY, rng=1).differences
    number = pd.factorize(runs["rational"]["context"])[0]
    # Ten copies of ten cases each are ten clusters, not a hundred cases.
    group = runs["rational"].assign(group=number // 10)
    found = compare(runs | {"rational": group}, effects=ACCURACY, rng=1)
    assert any("group is not in the table of 'heaping'" in note for note in found.notes)
    grouped = found.differences
    assert np.allclose(grouped["difference"][1:], alone["difference"][1:])
    assert (grouped["low"][1:] != alone["low"][1:]).all()
    few = runs["rational"].assign(group=number // 20)
    found = compare(runs | {"rational": few}, effects=ACCURACY, rng=1).differences
    assert found["pvalue"].isna().all()
    assert "too few to be the clusters" in found["reason"].iloc[-1]


def test_p_values_are_adjusted_over_all_pairs_effects_and_tasks(asked):
    one = pd.concat([runs.assign(model=name) for name, runs in asked.items()])
    tasks = pd.concat([one.assign(task="t1"), one.assign(task="t2")])
    found = compare(tasks, effects=["calibration:brier"], rng=1)
    pairs = found.differences
    assert len(pairs) == 2 * 2 * 3
    assert np.array_equal(pairs["pvalue_holm"], holm(pairs["pvalue"]), equal_nan=True)
    # rational and wordbound report alike: nothing of their forecasts is tested.
    alike = pairs.query("effect == 'calibration:brier' and model_b == 'wordbound'")
    assert "no case differs" in set(alike["reason"])
    n = int((pairs["pvalue_holm"] <= 0.05).sum())
    lacking = int(pairs["pvalue"].isna().sum())
    assert found.summary == (
        f"{len(pairs) - lacking} differences were tested ({lacking} more cannot be tested): "
        f"{n or 'none'} at .05 after Holm's correction."
    )


@pytest.mark.lengthy
def test_number_of_processes_and_further_effects_change_nothing(asked, compared):
    alone = compare(asked, rng=1)
    assert alone.to_json() == compare(asked, rng=1, n_jobs=2).to_json()
    expected = compared.effects[compared.effects["effect"] == "sufficiency"]
    pd.testing.assert_frame_equal(alone.effects, expected)


def test_a_planted_leak_differs_and_identical_models_do_not(asked):
    leaky = simulate("leaky", n_contexts=100, n_reps=3, rng=3)
    same = asked["rational"].assign(model="same")
    found = compare(asked | {"leaky": leaky, "same": same}, rng=1)
    verdicts = found.verdicts.set_index("model")["verdict"]
    assert (verdicts["leaky"], verdicts["rational"]) == ("acts_on_more", "no_evidence")
    pairs = found.differences.set_index(["model_a", "model_b"])
    assert pairs.loc[("rational", "leaky"), "pvalue_holm"] < 0.01
    assert pairs.loc[("rational", "leaky"), "high"] < 0
    assert pairs.loc[("rational", "same"), "reason"] == "no case differs"
    assert np.isnan(pairs.loc[("rational", "same"), "pvalue"])


def test_two_vocabularies_of_one_agent_are_not_told_apart():
    """Breaks if rounding is allowed for in the p-value of each agent alone."""
    rng, words = np.random.default_rng(4), np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    odds = 1.5 * rng.normal(size=300)
    exact = 1 / (1 + np.exp(-odds))
    belief = 1 / (1 + np.exp(-odds - 0.5 * rng.normal(size=300)))
    context = np.repeat(np.arange(300), 5)
    yes = rng.random(1500) < 1 / (1 + np.exp(-15 * (belief[context] - 0.5)))
    theta = (rng.random(300) < exact).astype(int)
    said = {"percents": belief.round(2), "words": words[np.abs(belief[:, None] - words).argmin(1)]}
    rows = {"context": context.astype(str), "rep": np.tile(np.arange(5), 300)}
    rows |= {"action": np.where(yes, "yes", "no"), "theta": theta[context]}
    rows |= {"p_true": exact[context], "truth_kind": "drawn"}
    tables = {name: pd.DataFrame(rows | {"p": p[context]}) for name, p in said.items()}
    found = compare(tables, rng=1)
    difference = found.differences.iloc[0]
    assert difference["pvalue"] > 0.5
    assert difference["low"] < difference["difference"] < 0 < difference["high"]
    # As far above the difference as the low end is below it, the high end would exclude 0.
    assert 2 * difference["difference"] - difference["low"] < 0


def test_what_a_verdict_withholds_has_no_difference(asked):
    """A model that hardly moves: no effect of its choices, but its distance to the truth."""
    asked = {name: asked[name] for name in ("rational", "heaping")}
    still = asked["rational"].assign(p=0.4, action="go", model="still")
    found = compare({"still": still} | asked, effects=ACCURACY, rng=1)
    shown = [line.split()[0] for line in str(found).splitlines()[4:7]]
    assert shown == [*asked, "still"]  # a row a model first, whose data cannot tell last
    assert found.verdicts.set_index("model").loc["still", "verdict"] == "hardly_moves"
    rows = found.effects.set_index(["effect", "model"])
    assert np.isnan(rows.loc[("sufficiency", "still"), "estimate"])
    assert rows.loc[("sufficiency", "still"), "reason"] == "cannot tell: hardly moves"
    of_still = found.differences[found.differences["model_a"] == "still"]
    withheld = of_still[of_still["effect"] == "sufficiency"]
    assert withheld[["difference", "pvalue"]].isna().all(axis=None)
    assert all("'still': cannot tell" in reason for reason in withheld["reason"])
    assert of_still.loc[of_still["effect"] == "calibration:brier", "pvalue"].notna().all()
    others = found.differences.query("effect == 'sufficiency' and model_a != 'still'")
    assert others["pvalue"].notna().any()


def test_one_state_for_all_models_of_a_task(asked):
    """A posterior that no table has in some cases is the state of no model there."""
    runs = {name: asked[name] for name in ("rational", "heaping")}
    half = {
        name: of.assign(p_true=of["p_true"].where(of["context"] > "c0020"))
        for name, of in runs.items()
    }
    bare = {name: of.drop(columns="p_true") for name, of in runs.items()}
    expected = compare(bare, rng=1)
    pd.testing.assert_frame_equal(compare(half, rng=1).effects, expected.effects)
    assert expected.effects["estimate"].notna().all()


def test_forecasts_of_several_states_are_compared_by_the_sum_over_states():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=60)

    def table(spread):
        beliefs = np.eye(3)[truth] + 1
        beliefs = beliefs * np.exp(spread * rng.normal(size=beliefs.shape))
        beliefs /= beliefs.sum(axis=1, keepdims=True)
        theta = np.array([*"xyw"])[truth]
        columns = ["p_x", "p_y", "p_w"]
        return pd.DataFrame(beliefs, columns=columns).assign(context=range(60), theta=theta)

    tables = {"steady": table(0.1), "loose": table(1.5)}
    found, rows = forecasts(**tables)
    for name, runs in tables.items():
        happened = np.eye(3)[truth]
        square = ((runs[["p_x", "p_y", "p_w"]].to_numpy() - happened) ** 2).sum(axis=1)
        assert rows.loc[name, "estimate"] == pytest.approx(square.mean())
    (pair,) = found.differences.to_dict("records")
    assert pair["difference"] == pytest.approx(rows["estimate"].iloc[0] - rows["estimate"].iloc[1])
    assert pair["pvalue"] < 0.01


def answered(first, last):
    """A table in which cases from one number to another alone have beliefs."""
    number = np.repeat(np.arange(12), 2)
    return by_hand(p=np.where((number >= first) & (number < last), np.tile([0.2, 0.4], 12), np.nan))


def test_models_are_compared_on_the_cases_that_all_of_them_show():
    moved = by_hand(p=np.tile([0.3, 0.5], 12))
    found, _ = forecasts(a=answered(0, 11), b=answered(1, 12), c=moved)
    assert set(found.differences["n_contexts"]) == {10}
    with_c = found.differences.query("model_b == 'c'")["difference"]
    assert with_c.tolist() == pytest.approx([(5 * (0.1 - 0.17) + 5 * (0.5 - 0.37)) / 10] * 2)
    found, _ = forecasts(a=answered(0, 10), b=answered(2, 12))
    assert found.differences["pvalue"].isna().all()
    assert "8 cases that all models show it in are fewer" in found.differences["reason"][0]
    # A model with few cases is left out by name and costs the others none.
    found, rows = forecasts(a=by_hand(), b=by_hand(p=0.3), c=answered(0, 4))
    assert rows.loc["c", "reason"] == "it can be had in 4 of 12 cases only"
    assert found.differences["n_contexts"].tolist() == [12] * 3
    assert found.differences["difference"].notna().tolist() == [True, False, False]


def test_text_page_and_json_show_what_the_tables_hold(compared):
    text, page = str(compared), compared.to_html()
    assert text.startswith("simulated, 100 cases\n")
    assert max(map(len, text.splitlines())) <= 100
    row = compared.effects.query("effect == 'calibration:rmse' and model == 'heaping'").iloc[0]
    shown = f"{100 * row['estimate']:.1f} ["
    assert shown in text
    assert shown in page
    for said in (compared.summary, *compared.notes, *compared.verdicts["sentence"]):
        assert escape(said).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in page
        assert said[:40] in text.replace("\n", " ")
    assert page.count("<table") == 3
    assert "<script" not in page
    assert "default-src 'none'" in page
    record = json.loads(compared.to_json())
    assert [row["estimate"] for row in record["effects"]] == compared.effects["estimate"].tolist()
    pvalues = compared.differences["pvalue"].astype(object)
    assert [row["pvalue"] for row in record["differences"]] == pvalues.where(
        pvalues.notna(), None
    ).tolist()
    assert record["settings"]["n_contexts"] == {"simulated": 100}


def test_hostile_names_are_text(asked):
    evil = "\x1b[31mred\x1b[0m\nnote: all is well <img src=x>"
    runs = {evil: asked["rational"].drop(columns="model"), "b": asked["heaping"]}
    tagged = {name: table.assign(task="<b>task</b>") for name, table in runs.items()}
    found = compare(tagged, rng=1)
    text, page = str(found), found.to_html()
    assert "\x1b" not in text
    assert "\nnote: all is well" not in text
    assert "<img" not in page + found._repr_html_()
    assert "&lt;b&gt;task" in page


def test_differences_of_different_actions_are_not_compared():
    """Breaks if P(home) of one model is subtracted from P(draw) of another."""
    rng, n = np.random.default_rng(1), 90
    truth = rng.integers(0, 3, n)
    belief = rng.dirichlet(np.ones(3), n).round(6)
    tables = {}
    for model, favoured in (("one", 0), ("other", 2)):
        drive = rng.random((n, 3)) + belief * np.where(np.arange(3) == favoured, 9, 1)
        columns = {f"p_{name}": belief[:, at] for at, name in enumerate("abc")}
        tables[model] = pd.DataFrame(
            {
                "context": np.arange(n),
                **columns,
                "action": np.array(["x", "y", "z"])[drive.argmax(axis=1)],
                "theta": np.array(list("abc"))[truth],
            }
        )
    result = compare(tables, rng=1)
    (pair,) = result.differences.to_dict("records")
    assert "P(x | a) - P(x | not a)" in pair["reason"]
    assert "P(z | c) - P(z | not c)" in pair["reason"]
