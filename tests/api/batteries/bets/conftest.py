"""Tables of questions that several modules of the bets battery are tested on, and who answers."""

from pathlib import Path
from runpy import run_path

import pandas as pd
import pytest

from elicitation.batteries.bets.questions import (
    bet_questions,
    default_items,
    ladder_questions,
    value_questions,
)

LESSON = Path(__file__).parents[4] / "examples" / "bets_lesson.py"
simulate_answers = run_path(str(LESSON))["simulate_answers"]
ITEMS, SPLITS = default_items(), ["dev", "test"]
VALUES = value_questions(ITEMS, splits=SPLITS, templates=["choice-valuable"])


@pytest.fixture(scope="module")
def questions():
    tables = [VALUES, bet_questions(ITEMS, splits=SPLITS, modalities=["coin"])]
    return pd.concat([*tables, ladder_questions(ITEMS)], ignore_index=True)


def by_truth(scores):
    return scores.accuracy.set_index(["template", "truth"])
