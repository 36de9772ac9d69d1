import numpy as np
import pandas as pd
import pytest

import coherence
from coherence.batteries.revealed.answer_scores import score_stated, score_wagers
from coherence.batteries.revealed.belief_scores import score_beliefs
from coherence.errors import InputError, SchemaError
from elicitation.batteries.revealed import believers, choice, dice
from elicitation.batteries.revealed.elsewhere import (
    COLUMNS,
    battery,
    beliefs_of,
    questions_table,
    read_answers,
    stated_of,
)
from elicitation.batteries.revealed.grid import select, standard_grid
from elicitation.batteries.revealed.wager import inner_settings, tabulate_bets, tabulate_wagers

SINGLE = [dice.single(1, 4), choice.single(2)]


def fill(
    settings,
    *,
    believe=believers.exact,
    accept=lambda setting: float(setting.probability(setting.event) > 0.5),
):
    """Answer the whole battery as somebody would whose beliefs, stated answers and bets are known."""
    table = questions_table(settings)
    asked = {one.name: one for one in battery(settings)}

    def probability(name, outcome):
        one = asked[name]
        if one.kind == "belief":
            return believe(one.setting)[outcome]
        option = one.options[one.outcomes.index(outcome)]
        if one.kind == "stated":
            return float(option == str(one.setting.truth[one.setting.asked]))
        share = accept(one.setting)
        return share if option == "Yes" else 1 - share

    numbers = [
        probability(name, outcome)
        for name, outcome in zip(table["question"], table["outcome"], strict=True)
    ]
    return table.assign(probability=numbers)


def written(table, tmp_path, name="mine.csv"):
    table.to_csv(tmp_path / name, index=False)
    return tmp_path / name


def test_the_table_has_every_question_once_with_all_its_options():
    settings = [dice.single(2, 4), choice.single(2)]
    table = questions_table(settings)
    assert tuple(table.columns) == COLUMNS
    assert table[["probability", "rep", "answer"]].isna().all().all()
    counts = table.drop_duplicates("question")["kind"].value_counts()
    # Two settings and, for the iterated expectation, the first die and the sum given each of its
    # faces, in one wording.
    assert counts["belief"] == 2 * 3 + 1 + 4
    assert (counts["stated"], counts["bet"]) == (2 * 4, 2)  # nobody bets on the letters
    assert not table.duplicated(["question", "outcome"]).any()
    assert not table.duplicated(["text", "outcome"]).any()
    stated = table[table["question"] == "choice/single/2 options | stated 2"]
    assert list(stated["option"])[1] == "1/2"  # the truth stands second
    assert all(f"{row.outcome}. {row.option}\n" in row.text for row in stated.itertuples())
    assert set(questions_table(settings, only_revealed=True)["kind"]) == {"belief"}
    assert {setting.name for setting in inner_settings(settings)} <= set(table["setting"])


def test_beliefs_and_stated_answers_are_scored(tmp_path):
    answers = read_answers(written(fill(SINGLE), tmp_path), SINGLE)
    assert list(answers) == ["mine"]
    scores = score_beliefs(beliefs_of(answers, SINGLE))
    assert scores["l1"].to_numpy() == pytest.approx(0)
    assert set(scores["wording"]) == {"standard", "story", "record"}
    assert score_stated(stated_of(answers, SINGLE))["stated_error"].tolist() == [0, 0]


def test_a_parquet_is_read_like_a_csv(tmp_path):
    """Numbers are numbers there, and missing ones null; with text alone or without, the beliefs are the same."""
    table = fill(SINGLE)
    told = table[table["kind"] == "belief"].assign(rep=np.nan, answer=None)
    as_csv = beliefs_of(read_answers(written(told, tmp_path), SINGLE), SINGLE)
    faces = told["setting"].str.startswith("dice")
    told[faces].assign(outcome=told.loc[faces, "outcome"].astype(float)).to_parquet(
        tmp_path / "mine.parquet"
    )
    as_parquet = beliefs_of(read_answers(tmp_path / "mine.parquet", SINGLE), SINGLE)
    pd.testing.assert_frame_equal(as_parquet, as_csv[as_csv["scenario"] == "dice"])
    (tmp_path / "broken.parquet").write_text("no table")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        read_answers(tmp_path / "broken.parquet", SINGLE)


def test_any_kind_may_be_left_out(tmp_path):
    table = fill(SINGLE)
    for kind in ("belief", "stated", "bet"):
        part = table.assign(probability=table["probability"].where(table["kind"] == kind))
        answers = read_answers(written(part, tmp_path), SINGLE)["mine"]
        assert [bool(answers.told), bool(answers.stated), bool(answers.bets)] == [
            kind == "belief",
            kind == "stated",
            kind == "bet",
        ]


def test_a_file_of_beliefs_alone_needs_neither_kind_nor_question(tmp_path):
    """The layout of earlier versions."""
    table = fill(SINGLE)[["setting", "wording", "outcome", "probability"]][: 3 * (4 + 2)]
    story = table[table["wording"] == "story"].assign(probability=0.25)
    scores = score_beliefs(
        beliefs_of(read_answers(written(story, tmp_path), SINGLE), SINGLE)
    ).set_index("setting")
    assert scores["l1"].to_numpy() == pytest.approx(0)
    assert scores.loc["choice/single/2 options", "answer_mass"] == 0.5
    bare = table[table["wording"] == "standard"].drop(columns="wording")
    assert set(beliefs_of(read_answers(written(bare, tmp_path), SINGLE), SINGLE)["wording"]) == {
        "standard"
    }


def test_several_sources(tmp_path):
    both = pd.concat(
        [
            fill(SINGLE).assign(source="a"),
            fill(SINGLE, believe=believers.point_mass).assign(source="b"),
        ]
    )
    scores = (
        score_beliefs(beliefs_of(read_answers(written(both, tmp_path), SINGLE), SINGLE))
        .groupby("source")["l1"]
        .max()
    )
    assert scores["a"] == pytest.approx(0)
    assert scores["b"] == pytest.approx(1.5)


def test_sums_above_one_from_rounding_are_divided_out(tmp_path):
    table = pd.DataFrame(
        {"setting": "dice/single/1 die of 6 faces", "outcome": list("123456"), "probability": 0.17}
    )
    told = read_answers(written(table, tmp_path), [dice.single(1, 6)])["mine"].told
    assert list(told["dice/single/1 die of 6 faces", "standard"].values()) == pytest.approx(
        [1 / 6] * 6
    )


def draws(table, answers):
    """Replace the rows of questions by drawn answers."""
    rows = [
        {"question": name, "rep": rep, "answer": text}
        for name, texts in answers.items()
        for rep, text in enumerate(texts)
    ]
    return pd.concat([table[~table["question"].isin(list(answers))], pd.DataFrame(rows)])


def test_drawn_bets_become_the_actions(tmp_path):
    setting = dice.single(1, 4)
    bet = f"{setting.name} | bet"
    table = draws(
        fill([setting]),
        {
            f"{bet} 1": ["A", "(B)", "B. No"],
            f"{bet} 2": ["Answer: B", "yes", "A fair die has no memory"],
        },
    )
    own = read_answers(written(table, tmp_path), [setting])["mine"]
    # Yes is A first and B then; the last answer begins with an article, and chooses nothing.
    assert own.bets[setting.name].drawn == ("yes", "no", "no", "yes", "yes", None)
    assert own.bets[setting.name].share == pytest.approx((1 / 3 + 1) / 2)
    assert own.bets[setting.name].answer_mass == pytest.approx((1 + 2 / 3) / 2)
    runs = tabulate_wagers([setting], own.told, own.bets, model="m", reps=99)
    coherence.validate_runs(runs)
    acted = runs[runs["prompt"] == "standard"].sort_values("rep")
    assert acted["action"].fillna("").tolist() == ["yes", "no", "no", "yes", "yes", ""]
    assert acted["status"].tolist() == [*["ok"] * 5, "unparsed"]


def test_drawn_stated_answers_are_shares(tmp_path):
    setting = choice.single(2)
    table = draws(
        fill([setting]),
        {
            f"{setting.name} | stated {place}": ["ABCD"[place - 1], "D", "?", "**B**"]
            for place in range(1, 5)
        },
    )
    stated = stated_of(read_answers(written(table, tmp_path), [setting]), [setting])
    first = stated[stated["rotation"] == 0].set_index("letter")["mass"]
    assert first.to_dict() == {"A": 0.25, "B": 0.25, "C": 0, "D": 0.25}
    assert score_stated(stated)["answer_mass"].item() == pytest.approx(0.75)


def test_bets_are_worth_what_they_win():
    setting = dice.single(1, 4)
    share = tabulate_bets([setting], {}, source="m")
    assert share.empty
    table = pd.DataFrame({"truth": [0.75, 0.25, 0.5], "share": [1.0, 1.0, np.nan]})
    scored = score_wagers(table)
    assert scored["gain"].tolist()[:2] == [0.5, -0.5]
    assert scored["loss"].tolist()[:2] == [0, 0.5]
    assert scored["loss"].isna().tolist() == [False, False, True]


FOUR = pd.DataFrame(
    {"setting": "dice/single/1 die of 4 faces", "outcome": list("1234"), "probability": 0.25}
)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda table: table.drop(columns="outcome"), "column 'outcome' is missing"),
        (lambda table: table.drop(columns="setting"), "column 'question' is missing"),
        (lambda table: table.drop(columns="probability"), "column 'probability' is missing"),
        (lambda table: table.iloc[:0], "has no rows"),
        (lambda table: table.assign(probability=None), "nothing is filled in"),
        (
            lambda table: table.assign(probability=[0.1, "much", 0.2, 0.3]),
            r"numbers in \[0, 1\]; 1 of 4 values are not, the first is 'much' \(row 1\)",
        ),
        (
            lambda table: table.assign(probability=25),
            r"first is '25' \(rows 0, 1, 2, 3\). Divide percentages by 100",
        ),
        (
            lambda table: table.assign(probability=0.5),
            r"at most 1; they sum to 2 \(rows 0, 1, 2, 3\)",
        ),
        (
            lambda table: table.assign(setting="dice/single/1 die of 5 faces"),
            "the first is 'dice/single/1 die of 5 faces | standard'.*Closest",
        ),
        (lambda table: table.iloc[:3], r"lacks the probability of 4 \(rows 0, 1, 2\)"),
        (
            lambda table: table.assign(outcome=list("1239")),
            r"'9' for .* \(row 3\). It has 1, 2, 3, 4",
        ),
        (
            lambda table: table.assign(outcome=list("1233")),
            r"must be unique; 2 rows share theirs with another \(rows 2, 3\)",
        ),
        (lambda table: table.assign(answer=["", "", "x", ""]), r"both filled in row 2"),
        (
            lambda table: table.assign(probability="", answer="1"),
            r"beliefs need 'probability', not 'answer' \(rows 0, 1, 2, 3\)",
        ),
    ],
)
def test_faults_of_a_file_from_elsewhere(tmp_path, change, match):
    with pytest.raises(SchemaError, match=match):
        read_answers(written(change(FOUR), tmp_path), [dice.single(1, 4)])


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (
            {"bet 1": ["A"]},
            "needs all 2 orders of its options, or none; 'dice/single/1 die of 4 faces | bet 2' is not",
        ),
        (
            {"bet 1": ["A", "B"], "bet 2": ["A"]},
            "as many drawn answers in each order of the options; received 2 and 1",
        ),
        ({"stated 2": ["A"]}, "needs all 4 orders"),
    ],
)
def test_half_of_a_question_is_a_fault(tmp_path, given, match):
    setting = dice.single(1, 4)
    table = fill([setting])
    table = table[table["kind"] == "belief"]
    with pytest.raises(SchemaError, match=match):
        read_answers(
            written(
                draws(table, {f"{setting.name} | {name}": texts for name, texts in given.items()}),
                tmp_path,
            ),
            [setting],
        )


def test_a_repetition_counts_once(tmp_path):
    setting = dice.single(1, 4)
    table = draws(
        fill([setting]), {f"{setting.name} | bet {place}": ["A", "B"] for place in (1, 2)}
    )
    table.loc[table["rep"] == 1, "rep"] = 0
    with pytest.raises(SchemaError, match="rep\\) must be unique; 4 rows"):
        read_answers(written(table, tmp_path), [setting])


def test_all_faults_are_listed_at_once(tmp_path):
    table = pd.concat(
        [
            FOUR.assign(probability=[0.1, 2, "x", 0]),
            FOUR.assign(setting="dice"),
            FOUR.assign(outcome="7"),
        ]
    )
    with pytest.raises(SchemaError) as caught:
        read_answers(written(table, tmp_path), [dice.single(1, 4)])
    assert len(caught.value.faults) == 4
    assert "rows 1, 2" in caught.value.faults[0]
    assert "rows 4, 5, 6, 7" in caught.value.faults[1]
    incomplete = pd.concat([FOUR.iloc[:2], FOUR.assign(wording="story", probability=0.9)])
    with pytest.raises(SchemaError, match="2 faults"):
        read_answers(written(incomplete, tmp_path), [dice.single(1, 4)])
    with pytest.raises(InputError, match="cannot be read as CSV"):
        read_answers(tmp_path / "nowhere.csv", SINGLE)


def test_the_verdict_on_answers_from_elsewhere(tmp_path):
    """Breaks if the runs table of a file is not that of a model: coherent answers must pass every check, and incoherent ones fail."""
    settings = select(
        standard_grid(faces=[4, 6, 8, 10, 12]),
        {"scenario": ["dice"], "n": ["2", "3"], "variant": ["single", "observation"]},
    )
    found = {}
    for name, table in {
        "coherent": fill(
            settings, accept=lambda setting: 0.1 + 0.8 * float(setting.probability(setting.event))
        ),
        "reversed": fill(
            settings, accept=lambda setting: 0.9 - 0.8 * float(setting.probability(setting.event))
        ),
        # Counts the smallest sum too often, but not once the first die is known.
        "lover": fill(
            settings,
            believe=lambda setting: (
                believers.first_lover if setting.variant == "single" else believers.exact
            )(setting),
        ),
    }.items():
        own = read_answers(written(table, tmp_path), settings)["mine"]
        runs = tabulate_wagers(settings, own.told, own.bets, model=name, reps=4, seed=1)
        coherence.validate_runs(runs)
        names = ["residual_covariance", "monotone_choice", "iterated_expectation"]
        found[name] = coherence.analyze(runs, checks=names, rng=1).results.set_index("check")
    pvalues = found["coherent"]["pvalue"]
    assert (pvalues[["residual_covariance", "monotone_choice:yes/no"]] > 0.05).all()
    # The gaps of somebody who is exact are rounding errors, whose signs mean nothing.
    assert abs(found["coherent"].loc["iterated_expectation", "statistic"]) < 1e-9
    assert found["coherent"].loc["iterated_expectation", "n_contexts"] == 18
    assert found["reversed"].loc["monotone_choice:yes/no", "pvalue"] < 0.01
    assert found["lover"].loc["iterated_expectation", "pvalue"] < 0.01
    assert found["lover"].loc["iterated_expectation", "statistic"] < -0.05
