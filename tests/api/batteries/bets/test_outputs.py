"""Tables equal what pandas makes of the accuracies, with the paper's z; figures show them."""

import io
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coherence.batteries import score_bets
from coherence.batteries.bets.shown import bet_tables, transfer_tables
from coherence.report.files import render_csv
from elicitation.batteries.bets.questions import bet_questions, default_items, value_questions
from tests.api.batteries.bets.conftest import simulate_answers
from tests.api.tables import read_exactly


@pytest.fixture(scope="module")
def accuracy():
    items = default_items()
    splits = ["dev", "test"]
    values = value_questions(items, splits=splits, templates=["choice-valuable"])
    bets = bet_questions(items, splits=splits, modalities=["coin", "card"])
    questions = pd.concat([values, bets], ignore_index=True)
    answers = [simulate_answers(name, questions, rng=1) for name in ("maximiser", "random")]
    return score_bets(questions, pd.concat(answers)).accuracy


def csv_of(table):
    return read_exactly(io.StringIO(render_csv(table)))


def check(table, rows, down, across):
    """Compare every accuracy and test with the rows it was made of."""
    wide = csv_of(table).set_index(down)
    assert len(rows) > 1
    for row in rows.to_dict("records"):
        key = f"{row[across]}.{row['truth']}"
        shown = wide.loc[row[down]]
        for name in ("accuracy", "low", "p_exact", "n"):
            column = key if name == "accuracy" else f"{key}.{name}"
            assert shown[column] == row[name], (key, name)
        share, n = row["n_right"] / row["n"], row["n"]
        if 0 < share < 1:
            z = (share - row["chance"]) / math.sqrt(share * (1 - share) / (n - 1))
            assert shown[f"{key}.z"] == pytest.approx(z)
            assert shown[f"{key}.z.pvalue"] == pytest.approx(stats.norm.sf(z))
        else:
            assert np.isinf(shown[f"{key}.z"])


def test_accuracies_of_models_by_kind_of_question(accuracy):
    tables = {table.name: table for table in bet_tables(accuracy)}
    assert list(tables) == ["values", "values-sets", "bets", "bets-sets"]
    for name, table in tables.items():
        kind = name[:-1].removesuffix("s-set")
        method = "threshold" if "sets" in name else "standard"
        rows = accuracy[(accuracy["kind"] == kind) & (accuracy["method"] == method)]
        check(table, rows, "model", "template")
        headings = {column.group for column in table.columns if column.group}
        assert ("coin, BCA" in headings) == (name == "bets")


def test_transfer_is_trained_by_tested(accuracy):
    bets = accuracy[accuracy["kind"] == "bet"].rename(
        columns={"model": "trained_on", "template": "tested_on"}
    )
    single, sets = transfer_tables(bets)
    standard = bets[(bets["method"] == "standard") & (bets["truth"] == "correct")]
    check(single, standard, "trained_on", "tested_on")
    check(sets, bets[bets["method"] == "threshold"], "trained_on", "tested_on")
    assert (single.name, sets.name) == ("transfer", "transfer-sets")
