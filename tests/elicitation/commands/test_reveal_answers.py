"""Answers to the battery from elsewhere: breaks if they are not read as those of a model are."""

import numpy as np
import pandas as pd
import pytest

import coherence

DIE = "--where faces=4 --where scenario=dice --where variant=single --where n=1"
NAME = "dice/single/1 die of 4 faces"
FOUR = pd.DataFrame({"setting": NAME, "outcome": list("1234"), "probability": 0.25})
ASKED = FOUR.assign(question=f"{NAME} | standard")


@pytest.fixture
def questions(tmp_path, run):
    """Return the questions about one die of four faces."""
    run(f"reveal --write-questions {tmp_path}/q.csv {DIE}")
    return pd.read_csv(tmp_path / "q.csv", dtype={"outcome": str, "option": str})


@pytest.fixture
def score(tmp_path, run):
    """Score a table of answers; return the tables written, by name."""

    def score_table(table, where=DIE, name="mine.csv", status=0):
        path, out = tmp_path / name, tmp_path / "out"
        table.to_parquet(path) if name.endswith("parquet") else table.to_csv(path, index=False)
        said = run(f"reveal --answers {path} --out {out} {where}", status)
        return said.err if status else {each.stem: pd.read_csv(each) for each in out.glob("*.csv")}

    return score_table


def exact(table):
    """Answer as somebody who knows the truth and bets by it."""
    bets = table["kind"] == "bet"
    numbers = pd.Series(0.25, index=table.index)  # of four faces, and as the truth of one of them
    numbers[table["kind"] == "stated"] = (table["option"] == "1/4").astype(float)
    numbers[bets] = (table["option"] == "Yes").astype(float)
    return table.assign(probability=numbers)


KINDS = {"belief": ("scores", "l1", 0), "stated": ("stated_errors", "stated_error", 0),
         "bet": ("bets", "share", 1)}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_any_kind_is_scored_and_may_be_left_out(kind, questions, score):
    table = exact(questions)
    table["probability"] = table["probability"].where(table["kind"] == kind)
    found, (name, column, value) = score(table), KINDS[kind]
    assert [each for each, _, _ in KINDS.values() if each in found] == [name]
    assert found[name][column].to_numpy() == pytest.approx(value)
    if kind == "belief":
        assert set(found["scores"]["wording"]) == {"standard", "story", "record"}


@pytest.mark.lengthy
def test_layouts_of_one_table_give_one_score_and_sources_are_told_apart(questions, score):
    """As CSV and as Parquet, with and without kind and wording; masses may sum to less than 1."""
    rows = exact(questions)[questions["kind"] == "belief"].assign(probability=0.2)
    expected = score(rows)["beliefs"]
    typed = rows.assign(outcome=rows["outcome"].astype(float), rep=np.nan, answer=None)
    pd.testing.assert_frame_equal(score(typed, name="mine.parquet")["beliefs"], expected)
    bare = rows[["setting", "wording", "outcome", "probability"]]
    pd.testing.assert_frame_equal(score(bare)["beliefs"], expected)
    standard = bare[bare["wording"] == "standard"].drop(columns="wording")
    found = score(standard)["scores"]
    assert set(found["wording"]) == {"standard"}
    assert found["answer_mass"].tolist() == pytest.approx([0.8])
    certain = rows.assign(source="b", probability=(rows["outcome"] == "1").astype(float))
    scores = score(pd.concat([rows.assign(source="a"), certain]))["scores"]
    assert scores.groupby("source")["l1"].max().to_dict() == pytest.approx({"a": 0, "b": 1.5})
    # Sums above one from rounding are divided out.
    six = pd.DataFrame({"setting": NAME.replace("4", "6"), "outcome": list("123456")})
    found = score(six.assign(probability=0.17), where=DIE.replace("4", "6"))
    assert found["beliefs"]["mass"].tolist() == pytest.approx([1 / 6] * 6)


def drawn(table, answers):
    """Replace the rows of questions by drawn answers."""
    answers = {f"{NAME} | {name}": texts for name, texts in answers.items()}
    rows = [(name, *drawn) for name, texts in answers.items() for drawn in enumerate(texts)]
    rows = pd.DataFrame(rows, columns=["question", "rep", "answer"])
    return pd.concat([table[~table["question"].isin(answers)], rows])


def test_drawn_bets_become_the_actions_and_drawn_stated_answers_shares(questions, score, tmp_path):
    bets = {
        "bet 1": ["A", "(B)", "B. No"],
        "bet 2": ["Answer: B", "yes", "A fair die has no memory"],
    }
    stated = {f"stated {k}": ["ABCD"[k - 1], "D", "?", "**B**"] for k in range(1, 5)}
    found = score(drawn(exact(questions), bets | stated))
    unnumbered = drawn(exact(questions), bets | stated).assign(rep="")
    pd.testing.assert_frame_equal(score(unnumbered)["bets"], found["bets"])
    (bet,) = found["bets"].to_dict("records")
    # Yes is A first and B then; the last answer begins with an article, and chooses nothing.
    assert bet["share"] == pytest.approx((1 / 3 + 1) / 2)
    assert bet["answer_mass"] == pytest.approx((1 + 2 / 3) / 2)
    runs = coherence.read_runs(tmp_path / "out" / "runs.parquet")
    acted = runs[runs["prompt"] == "standard"].sort_values("rep")
    assert acted["action"].fillna("").tolist() == ["yes", "no", "no", "yes", "yes", ""]
    assert acted["status"].tolist() == [*["ok"] * 5, "unparsed"]
    first = found["stated"][found["stated"]["rotation"] == 0].set_index("letter")["mass"]
    assert first.to_dict() == {"A": 0.25, "B": 0.25, "C": 0, "D": 0.25}


UNEQUAL = drawn(ASKED, {"bet 1": ["A", "B"], "bet 2": ["A"]})
TWICE = drawn(ASKED, {"bet 1": "AB", "bet 2": "AB"}).assign(rep=0)
FAULTS = {
    "column 'outcome' is missing": FOUR.drop(columns="outcome"),
    "has no rows": FOUR.iloc[:0],
    "nothing is filled in": FOUR.assign(probability=None),
    "'much' (row 1)": FOUR.assign(probability=[0.1, "much", 0.2, 0.3]),
    "'25' (row 0, 1, 2, 3). Divide percentages by 100": FOUR.assign(probability=25),
    "at most 1; they sum to 2 (row 0, 1, 2, 3)": FOUR.assign(probability=0.5),
    "column 'question' must name": FOUR.assign(setting="dice/single/1 die of 5 faces"),
    "lacks the probability of 4 (row 0, 1, 2)": FOUR.iloc[:3],
    "2 rows share theirs with another (row 2, 3)": FOUR.assign(outcome=list("1233")),
    "'probability' and 'answer' must not both": FOUR.assign(answer=["", "", "x", ""]),
    "needs all 2 orders of its options": drawn(ASKED, {"bet 1": ["A"]}),
    "in each order of the options; received 2 and 1": UNEQUAL,
    "rep) must be unique; 4 rows": TWICE,
    "has 4 errors": pd.concat(
        [
            FOUR.assign(probability=[0.1, 2, "x", 0]),
            FOUR.assign(setting="dice"),
            FOUR.assign(outcome="7"),
        ]
    ),
}


@pytest.mark.parametrize("message", FAULTS)
def test_what_is_wrong_with_a_file_is_named_with_its_rows(message, score, tmp_path):
    assert message in score(FAULTS[message], status=2)
    assert not (tmp_path / "out").exists()
