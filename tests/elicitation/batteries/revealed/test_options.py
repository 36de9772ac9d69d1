from elicitation.batteries.revealed.questions import LETTERS, option_question


def test_a_question_ends_where_its_letter_comes():
    question = option_question("Which?", ["red", "blue"])
    assert question.text == "Which?\nA. red\nB. blue\nAnswer with one letter.\nAnswer:"
    assert question.letters == LETTERS[:2]
    assert question.options == ("red", "blue")
