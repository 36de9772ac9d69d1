"""Every cell equals what plain pandas makes of results.parquet, and every caption of its counts."""

import io

import numpy as np
import pandas as pd
import pytest

from coherence.analysis.paper.tables import paper_tables
from coherence.report.files import render_csv

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
