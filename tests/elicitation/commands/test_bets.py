"""``coherence bets``.

Breaks if a score differs from Python's, if a list of things or a rule is misread, or if answers to
other questions pass.
"""

import numpy as np
import pandas as pd
import pytest

from coherence.batteries import score_bets
from elicitation import AnswerStore
from tests.api.batteries.bets.conftest import simulate_answers

from ..tiny_choosers import make_multiple_choice
from .conftest import written


def read_questions(path):
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


@pytest.fixture(scope="module")
def table(questions):
    """Return the default questions as a table."""
    return read_questions(questions)


@pytest.fixture
def score(run, tmp_path):
    """Score a table of answers, and return what was printed."""

    def score_table(answers, more="", out="out", status=0):
        path = tmp_path / "answers.csv"
        answers.to_csv(path, index=False)
        return run(f"bets --answers {path} --out {tmp_path}/{out} {more}", status)

    return score_table


@pytest.fixture
def things(tmp_path, list_of_things):
    path = tmp_path / "things.csv"
    path.write_text(list_of_things, encoding="utf-8")
    return path


@pytest.mark.lengthy
def test_answers_are_scored_as_in_python_and_results_of_an_earlier_call_do_not_stay(
    table, tmp_path, score, run
):
    assert len(table) == 2 * 25 * 4 + 2 * 100 * 3 + 9 * 10 * 5 * 2
    out = tmp_path / "out"
    out.mkdir()
    kept = {"accuracy_x.svg", "accuracy_1.svg.bak", "notes.csv", "answers.sqlite"}
    for name in kept:
        (out / name).write_text("mine", encoding="utf-8")
    names = ("maximiser", "random")
    answers = pd.concat([simulate_answers(name, table, rng=1) for name in names])
    said = score(answers).out
    accuracy, expected = pd.read_csv(out / "accuracy.csv"), score_bets(table, answers).accuracy
    for column in ("accuracy", "low"):
        np.testing.assert_allclose(accuracy[column], expected[column])
    first = {"accuracy.csv", "answers.csv", "ladder_runs.parquet", "files.sha256"}
    assert written(out) == kept | first
    row = expected.set_index(["model", "template", "truth"]).loc[("maximiser", "coin", "correct")]
    assert f"{row['accuracy']:.1%}" in said
    partial = simulate_answers("random", table[table["kind"] == "value"], rng=1)
    score(partial)
    assert written(out) == kept | first - {"ladder_runs.parquet"}
    partial.to_csv(out / "accuracy_2.svg.csv", index=False)
    run(f"bets --answers {out}/accuracy_2.svg.csv --out {out}")
    assert (out / "accuracy_2.svg.csv").exists()  # what was read is no result


PRICED = "item,value,split,price\n"


def test_own_things_come_with_their_prices_and_filled_in_answers_are_kept(tmp_path, run):
    things = f"{PRICED}a yacht,high,test,2000\na villa,high,test,\na nail,low,test,.5\n"
    (tmp_path / "things.csv").write_text(things)
    out = tmp_path / "q.csv"
    words = f"bets questions --items {tmp_path}/things.csv --out {out}"
    run(words)
    table = read_questions(out)
    bets = table[table["kind"] == "bet"]
    assert len(bets) == 3 * 4 * 2
    step = table.loc[table["kind"] == "ladder", "text"].iloc[0]
    assert "I win a yacht worth 2000 dollars" in step
    assert "I lose a nail worth 0.50 dollars" in step
    assert bets.groupby("high")["high_value"].first().to_dict() == {"a villa": 100, "a yacht": 2000}
    table.assign(answer="A").to_csv(out, index=False)
    filled = out.read_bytes()
    assert "must be a new file" in run(words, status=2).err
    assert out.read_bytes() == filled


@pytest.mark.slow
def test_training_asking_and_transfer(things, tmp_path, run):
    """Plumbing on two things of each kind: what is trained is saved, asked, and compared."""
    run(f"bets questions --items {things} --out {tmp_path}/q.csv")
    words = pd.read_csv(tmp_path / "q.csv")
    make_multiple_choice(
        tmp_path / "base", [*words["text"], *words["option_a"], *words["option_b"]]
    )
    short = f"--model {tmp_path}/base --items {things} --epochs 1 --goal 1 --device cpu"
    run(f"bets transfer --out {tmp_path}/all {short} --paper {tmp_path}/paper")
    table = pd.read_csv(tmp_path / "all" / "transfer.csv")
    kinds = ("coin", "dice", "card")
    pairs = set(zip(table["trained_on"], table["tested_on"], strict=True))
    assert pairs == {(a, b) for a in kinds for b in kinds}
    shares = table[table["truth"] == "correct"].set_index(["trained_on", "tested_on"])["accuracy"]
    laid_out = pd.read_csv(tmp_path / "paper" / "transfer.csv").set_index("trained_on")
    for (trained, tested), share in shares.items():
        assert laid_out.loc[trained, f"{tested}.correct"] == share
    asked = f"--items {things} --device cpu"
    run(f"bets --model {tmp_path}/all/coin --out {tmp_path}/alone {asked}")
    alone = pd.read_csv(tmp_path / "alone" / "accuracy.csv")
    correct = alone[alone["truth"] == "correct"].set_index("template")["accuracy"]
    assert correct[shares["coin"].index].to_dict() == shares["coin"].to_dict()
    several = f"bets --model {tmp_path}/all/coin --model {tmp_path}/all/dice {asked}"
    found, out = [], tmp_path / "both"
    for _ in range(2):  # what has been asked is not asked again
        run(f"{several} --out {out}")
        with AnswerStore(out / "answers.sqlite") as store:
            found.append((len(store), (out / "answers.csv").read_bytes()))
    assert found[0] == found[1]
    assert found[0][0] == len(pd.read_csv(out / "answers.csv"))
    both = pd.read_csv(out / "accuracy.csv")
    assert set(both["model"]) == {"coin", "dice"}
    pd.testing.assert_frame_equal(both[both["model"] == "coin"].reset_index(drop=True), alone)
