"""Answers from elsewhere: breaks if they are not read as those of a model would be."""

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError, SchemaError, score_beliefs
from coherence.batteries.revealed.scores import score_stated
from elicitation import standard_grid
from elicitation.batteries.revealed import simulated
from elicitation.batteries.revealed.answer_file import beliefs_of, read_answer_file, stated_of
from elicitation.batteries.revealed.runs import tabulate_wagers
from elicitation.batteries.revealed.scenarios import choice, dice
from elicitation.batteries.revealed.scenarios.grid import select

SINGLE = [dice.single(1, 4), choice.single(2)]


def test_beliefs_and_stated_answers_are_scored(fill, write):
    answers = read_answer_file(write(fill(SINGLE)), SINGLE)
    assert list(answers) == ["mine"]
    scores = score_beliefs(beliefs_of(answers, SINGLE))
    assert scores["l1"].to_numpy() == pytest.approx(0)
    assert set(scores["wording"]) == {"standard", "story", "record"}
    assert score_stated(stated_of(answers, SINGLE))["stated_error"].tolist() == [0, 0]


def test_a_parquet_is_read_like_a_csv(tmp_path, fill, write):
    """Numbers are numbers there, and missing ones null; the beliefs are the same."""
    table = fill(SINGLE)
    rows = table[table["kind"] == "belief"].assign(rep=np.nan, answer=None)
    as_csv = beliefs_of(read_answer_file(write(rows), SINGLE), SINGLE)
    faces = rows["setting"].str.startswith("dice")
    rows[faces].assign(outcome=rows.loc[faces, "outcome"].astype(float)).to_parquet(
        tmp_path / "mine.parquet"
    )
    as_parquet = beliefs_of(read_answer_file(tmp_path / "mine.parquet", SINGLE), SINGLE)
    pd.testing.assert_frame_equal(as_parquet, as_csv[as_csv["scenario"] == "dice"])
    (tmp_path / "broken.parquet").write_text("no table")
    with pytest.raises(InputError, match="broken.parquet: the file cannot be read"):
        read_answer_file(tmp_path / "broken.parquet", SINGLE)


def test_any_kind_may_be_left_out(fill, write):
    table = fill(SINGLE)
    for kind in ("belief", "stated", "bet"):
        part = table.assign(probability=table["probability"].where(table["kind"] == kind))
        answers = read_answer_file(write(part), SINGLE)["mine"]
        assert [bool(answers.beliefs), bool(answers.stated), bool(answers.bets)] == [
            kind == "belief",
            kind == "stated",
            kind == "bet",
        ]


def test_a_file_of_beliefs_alone_needs_neither_kind_nor_question(fill, write):
    """The layout of earlier versions."""
    table = fill(SINGLE)[["setting", "wording", "outcome", "probability"]][: 3 * (4 + 2)]
    story = table[table["wording"] == "story"].assign(probability=0.25)
    scores = score_beliefs(beliefs_of(read_answer_file(write(story), SINGLE), SINGLE)).set_index(
        "setting"
    )
    assert scores["l1"].to_numpy() == pytest.approx(0)
    assert scores.loc["choice/single/2 options", "answer_mass"] == 0.5
    bare = table[table["wording"] == "standard"].drop(columns="wording")
    assert set(beliefs_of(read_answer_file(write(bare), SINGLE), SINGLE)["wording"]) == {"standard"}


def test_several_sources(fill, write):
    both = pd.concat(
        [
            fill(SINGLE).assign(source="a"),
            fill(SINGLE, believe=simulated.point_mass).assign(source="b"),
        ]
    )
    scores = (
        score_beliefs(beliefs_of(read_answer_file(write(both), SINGLE), SINGLE))
        .groupby("source")["l1"]
        .max()
    )
    assert scores["a"] == pytest.approx(0)
    assert scores["b"] == pytest.approx(1.5)


def test_sums_above_one_from_rounding_are_divided_out(write):
    table = pd.DataFrame(
        {"setting": "dice/single/1 die of 6 faces", "outcome": list("123456"), "probability": 0.17}
    )
    beliefs = read_answer_file(write(table), [dice.single(1, 6)])["mine"].beliefs
    assert list(beliefs["dice/single/1 die of 6 faces", "standard"].values()) == pytest.approx(
        [1 / 6] * 6
    )


def test_drawn_bets_become_the_actions(fill, draws, write):
    setting = dice.single(1, 4)
    bet = f"{setting.name} | bet"
    table = draws(
        fill([setting]),
        {
            f"{bet} 1": ["A", "(B)", "B. No"],
            f"{bet} 2": ["Answer: B", "yes", "A fair die has no memory"],
        },
    )
    answers = read_answer_file(write(table), [setting])["mine"]
    # Yes is A first and B then; the last answer begins with an article, and chooses nothing.
    assert answers.bets[setting.name].drawn == ("yes", "no", "no", "yes", "yes", None)
    assert answers.bets[setting.name].share == pytest.approx((1 / 3 + 1) / 2)
    assert answers.bets[setting.name].answer_mass == pytest.approx((1 + 2 / 3) / 2)
    runs = tabulate_wagers([setting], answers.beliefs, answers.bets, model="m", reps=99)
    coherence.validate_runs(runs)
    acted = runs[runs["prompt"] == "standard"].sort_values("rep")
    assert acted["action"].fillna("").tolist() == ["yes", "no", "no", "yes", "yes", ""]
    assert acted["status"].tolist() == [*["ok"] * 5, "unparsed"]


def test_drawn_stated_answers_are_shares(fill, draws, write):
    setting = choice.single(2)
    table = draws(
        fill([setting]),
        {
            f"{setting.name} | stated {order}": ["ABCD"[order - 1], "D", "?", "**B**"]
            for order in range(1, 5)
        },
    )
    stated = stated_of(read_answer_file(write(table), [setting]), [setting])
    first = stated[stated["rotation"] == 0].set_index("letter")["mass"]
    assert first.to_dict() == {"A": 0.25, "B": 0.25, "C": 0, "D": 0.25}
    assert score_stated(stated)["answer_mass"].item() == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("answered", "match"),
    [
        (
            {"bet 1": ["A"]},
            (
                "needs all 2 orders of its options, or none; 'dice/single/1 die of 4 faces | bet "
                "2' is not"
            ),
        ),
        (
            {"bet 1": ["A", "B"], "bet 2": ["A"]},
            "as many drawn answers in each order of the options; received 2 and 1",
        ),
        ({"stated 2": ["A"]}, "needs all 4 orders"),
    ],
)
def test_half_of_a_question_is_a_fault(answered, match, fill, draws, write):
    setting = dice.single(1, 4)
    table = fill([setting])
    table = table[table["kind"] == "belief"]
    with pytest.raises(SchemaError, match=match):
        read_answer_file(
            write(
                draws(
                    table, {f"{setting.name} | {name}": texts for name, texts in answered.items()}
                )
            ),
            [setting],
        )


@pytest.mark.lengthy
def test_the_verdict_on_answers_from_elsewhere(fill, write):
    """Coherent answers must pass every check, and incoherent ones fail, as with a model."""
    settings = select(
        standard_grid(faces=[4, 6, 8, 10, 12]),
        {"scenario": ["dice"], "n": ["2", "3"], "variant": ["single", "observation"]},
    )
    results = {}
    for name, table in {
        "coherent": fill(
            settings, accept=lambda setting: 0.1 + 0.8 * float(setting.probability(setting.event))
        ),
        "reversed": fill(
            settings, accept=lambda setting: 0.9 - 0.8 * float(setting.probability(setting.event))
        ),
        # Counts the smallest sum too often, but not once the first die is knanswers.
        "lover": fill(
            settings,
            believe=lambda setting: (
                simulated.first_lover if setting.variant == "single" else simulated.exact
            )(setting),
        ),
    }.items():
        answers = read_answer_file(write(table), settings)["mine"]
        runs = tabulate_wagers(settings, answers.beliefs, answers.bets, model=name, reps=4, seed=1)
        coherence.validate_runs(runs)
        names = ["residual_covariance", "monotone_choice", "iterated_expectation"]
        results[name] = coherence.analyze(runs, checks=names, rng=1).results.set_index("check")
    pvalues = results["coherent"]["pvalue"]
    assert (pvalues[["residual_covariance", "monotone_choice:yes/no"]] > 0.05).all()
    # The gaps of somebody who is exact are rounding errors, whose signs mean nothing.
    assert abs(results["coherent"].loc["iterated_expectation", "statistic"]) < 1e-9
    assert results["coherent"].loc["iterated_expectation", "n_contexts"] == 18
    assert results["reversed"].loc["monotone_choice:yes/no", "pvalue"] < 0.01
    assert results["lover"].loc["iterated_expectation", "pvalue"] < 0.01
    assert results["lover"].loc["iterated_expectation", "statistic"] < -0.05
