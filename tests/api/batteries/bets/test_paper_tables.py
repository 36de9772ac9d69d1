"""Tables of bets equal what pandas makes of the accuracies, and their z tests the paper's."""

import io
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coherence import score_bets
from coherence.batteries.bets.agents import simulate_answers
from coherence.batteries.bets.tables import bet_tables, transfer_tables
from coherence.report.files import render_csv
from elicitation import bet_questions, value_questions
from elicitation.batteries.bets.items import default_items
from tests.api.tables import read_exactly


@pytest.fixture(scope="module")
def accuracy():
    items = default_items()
    splits = ["dev", "test"]
    questions = pd.concat(
        [
            value_questions(items, splits=splits, templates=["choice-valuable"]),
            bet_questions(items, splits=splits, modalities=["coin", "card"]),
        ],
        ignore_index=True,
    )
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
        for name, column in (
            ("accuracy", ""),
            ("low", ".low"),
            ("p_exact", ".p_exact"),
            ("n", ".n"),
        ):
            assert shown[f"{key}{column}"] == row[name], (key, name)
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
        kind, method = (
            name[:-1].removesuffix("s-set"),
            "threshold" if "sets" in name else "standard",
        )
        rows = accuracy[(accuracy["kind"] == kind) & (accuracy["method"] == method)]
        check(table, rows, "model", "template")
        headings = {column.group for column in table.columns if column.group}
        assert ("coin, BCA" in headings) == (name == "bets")


def test_a_z_without_a_size_has_its_limit_and_a_note(accuracy):
    sure = accuracy.assign(accuracy=1.0, n_right=accuracy["n"])
    cell = bet_tables(sure)[0].rows[0][3]
    assert cell.text == "– (<0.001)"
    assert "no size where all or none" in cell.note


def test_transfer_is_trained_by_tested(accuracy):
    bets = accuracy[accuracy["kind"] == "bet"].rename(
        columns={"model": "trained_on", "template": "tested_on"}
    )
    single, sets = transfer_tables(bets)
    standard = bets[(bets["method"] == "standard") & (bets["truth"] == "correct")]
    check(single, standard, "trained_on", "tested_on")
    check(sets, bets[bets["method"] == "threshold"], "trained_on", "tested_on")
    assert (single.name, sets.name) == ("transfer", "transfer-sets")


def test_captions_count_questions_and_unread_answers(accuracy):
    caption = bet_tables(accuracy.assign(n_unread=2))[0].caption
    assert "A cell has 25 questions; 4 answers of all cells could not be read" in caption
