from elicitation.batteries.revealed.questions import COLUMNS, inner_settings, questions_table
from elicitation.batteries.revealed.scenarios import choice, dice


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
