"""Every cell equals what plain pandas makes of results.parquet, and every caption of its counts."""

import io

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence.analysis.paper.results import PaperResults
from coherence.analysis.paper.tables import paper_tables
from coherence.checks.forest_baseline import NAME as RANDOM_FOREST
from coherence.report.document import spoken_range
from coherence.report.files import render_csv, render_markdown

PAIRS = ("yes/no", "yes/defer", "defer/no")
PROMPTS = ("mse", "absolute", "bayes")
# Table -> its results, and whether a published procedure stands beside.
SHOWN = {
    "table1": {"cmi": True, "predictive_gain": True, "predictive_gain:features": True},
    "table2": {f"monotone_choice:{pair}": True for pair in PAIRS},
    "table3": {"repetition_sd": False} | {f"prompt_consistency:{name}": True for name in PROMPTS},
    "table4": {
        f"truth_rmse{name}:{prompt}": False
        for name in ("", "_noise_removed")
        for prompt in ("standard", *PROMPTS)
    },
    "table5": {"cmi": True, "cmi:isotonic": True},
}


@pytest.fixture(scope="module")
def tables(paper_results):
    return {table.name: table for table in paper_tables(paper_results)}


@pytest.fixture(scope="module")
def stored(paper_results, tmp_path_factory):
    path = tmp_path_factory.mktemp("paper") / "results.parquet"
    paper_results.frame().to_parquet(path)
    return pd.read_parquet(path)


@pytest.mark.lengthy
@pytest.mark.parametrize("name", SHOWN)
def test_numbers_equal_those_of_the_results(name, tables, stored):
    table = pd.read_csv(io.StringIO(render_csv(tables[name]))).set_index(["task", "model"])
    units = stored[["task", "model"]].drop_duplicates()
    numbers = {column for column in table if not column.endswith(".why")}
    for check, with_published in SHOWN[name].items():
        for procedure in ("published", "repaired") if with_published else ("repaired",):
            rows = stored[(stored["check"] == check) & (stored["procedure"] == procedure)]
            rows = rows.set_index(["task", "model"]).reindex(pd.MultiIndex.from_frame(units))
            column = f"{check}.{procedure}"
            if rows["estimate"].isna().all():
                assert column not in numbers or table[column].isna().all()
                numbers -= {key for key in numbers if key.startswith(f"{column}")}
                continue
            others = ("low", "high", "pvalue", "pvalue_holm", "n_rows", "n_contexts", "n_dropped")
            for of_csv, of_results in (("", "estimate"), *((f".{key}", key) for key in others)):
                shown = table.loc[rows.index, f"{column}{of_csv}"].to_numpy(dtype=float)
                np.testing.assert_array_equal(shown, rows[of_results].to_numpy(dtype=float))
                numbers -= {f"{column}{of_csv}"}
    assert numbers == set()  # no column that was not compared


@pytest.mark.lengthy
@pytest.mark.parametrize("name", ["table3", "table4"])
def test_means_are_those_of_pandas(name, tables, stored):
    table = pd.read_csv(io.StringIO(render_csv(tables[name])))
    means = table[table["task"].str.startswith("mean")].set_index(["task", "model"])
    for check in SHOWN[name]:
        rows = stored[(stored["check"] == check) & (stored["procedure"] == "repaired")]
        by_model = rows.groupby("model")["estimate"].mean()
        for model, mean in by_model.items():
            shown = means.loc[("mean over tasks", model), f"{check}.repaired"]
            # Of an agent whose reports come again as they are no scatter is known.
            assert shown == pytest.approx(mean, rel=1e-12, nan_ok=check == "repetition_sd")
        shown = means.loc[("mean over all", "all"), f"{check}.repaired"]
        assert shown == pytest.approx(rows["estimate"].mean(), rel=1e-12)
    # One task of this model has no exact posterior and no third wording: the row says so.
    partial = means.loc[("mean over tasks", "tidy")]
    assert "Mean of the 1 of 2 that have a number." in partial.to_list()
    assert tables[name].n_last == 3


@pytest.mark.lengthy
def test_a_cell_without_a_number_says_why_and_captions_count(tables, stored, paper_runs):
    for table in tables.values():
        for cell in (cell for row in table.rows for cell in row):
            if cell.text in ("not run", "undefined"):
                assert cell.note.endswith("."), (table.name, cell)
    text = render_markdown(tables["table1"])
    assert "Predictive gain was not among the checks that were asked for." in text
    assert "No exact posterior: p_true is missing or empty." in tables["table4"].notes
    caption = tables["table1"].caption
    entered = stored[(stored["check"] == "cmi") & (stored["procedure"] == "repaired")]
    assert f"{entered['n_rows'].sum()} rows entered the fullest column." in caption
    assert f"Of {len(paper_runs)} rows under all prompts 4 lack a parsed answer" in caption
    of_table = stored[stored["check"].isin(SHOWN["table1"]) & stored["estimate"].notna()]
    contexts = spoken_range(of_table["n_contexts"].tolist())
    assert f"A number comes from {contexts} contexts" in caption
    for method in of_table.loc[of_table["low"].notna(), "interval_method"].unique():
        assert method in caption
    isotonic = stored[(stored["check"] == "cmi:isotonic") & (stored["procedure"] == "repaired")]
    assert isotonic["pvalue"].notna().all()
    assert isotonic["pvalue_holm"].isna().all()
    assert "where there are no brackets it stands alone" in tables["table5"].caption


@pytest.mark.lengthy
def test_each_cell_has_its_own_reason():
    """Breaks if an empty cell has the reason of another prompt, or unparsed answers go uncounted.

    The second model has evidence for no forest, no parsed answer to one prompt, and was not asked
    another.
    """
    table = coherence.simulate("wordbound", n_contexts=20, n_reps=2, rng=1)
    first = table.assign(model="first")
    second = table[table["prompt"] != "bayes"].assign(model="second")
    mse = second["prompt"] == "mse"
    second = second.assign(
        p=second["p"].mask(mse), status=second["status"].mask(mse, "unparsed"), x_1=np.nan
    ).drop(columns=[f"x_{number}" for number in range(2, 7)])
    runs = pd.concat([first, second], ignore_index=True)
    checks = ["prompt_consistency", "iterated_expectation"]
    report = coherence.analyze(runs, checks=checks, rng=1)
    results = PaperResults({"repaired": report}, {})
    named = ("prompt_consistency:mse", "prompt_consistency:bayes")
    reasons = [results.why_absent("repaired", "simulated", "second", name) for name in named]
    assert reasons[0].startswith("No parsed belief under 'mse'")
    assert reasons[1] == "No belief was asked for under 'bayes' in this task and model."
    forest = results.why_absent("repaired", "simulated", "second", RANDOM_FOREST)
    assert forest.startswith("No p_true or no x_ columns")
    caption = next(table for table in paper_tables(results) if table.name == "table3").caption
    unparsed = int((runs["status"] == "unparsed").sum())
    assert f"Of {len(runs)} rows under all prompts {unparsed} lack a parsed answer" in caption
