"""Named options: breaks if an option that is mentioned counts as chosen."""

import pytest

from coherence.decoding.decode import decode_choice
from coherence.decoding.named_option import find_option
from coherence.decoding.numerals import RepairedText, UnreadableError

LETTERS, WORDS = ("A", "B"), ("I bet on heads.", "I bet on tails.")


def option(text, options=LETTERS, words=(), *, cut=False):
    lines = [line for line in text.split("\n") if line]
    return find_option(lines, [], options, RepairedText(text), cut=cut, words=words)


@pytest.mark.parametrize(
    "text",
    [
        "B",
        "(B)",
        "Option B",
        "B\nA has the better odds.",
        "The answer is (B).",
        "Both have merits.\nMy choice: B",
        "I would choose B, since it pays.",
        "B) I bet on tails.",
        "B, because A costs more than it returns."[:11] + " it pays.",
    ],
)
def test_the_one_that_is_chosen(text):
    assert option(text, words=WORDS) == "B"


@pytest.mark.parametrize(
    "text", ["A fair die has six faces.", "Both A and B.", "Not B", "hm", "I would not choose B."]
)
def test_an_option_that_is_mentioned_is_not_chosen(text):
    assert option(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "The answer is A.\nNo, the answer is B.",
        "The wrong answer is B.",
        "My choice: B or A",
        "I would choose B if it paid.",
        "B\nSorry, I misread the stakes.",
        "B: I bet on heads.",
        "Some would say the answer is B.",
    ],
)
def test_two_options_or_one_that_is_taken_back_are_not_read(text):
    with pytest.raises(UnreadableError):
        option(text, words=WORDS)


def test_an_option_may_be_a_word_of_correction():
    options = ("wait", "treat now")
    assert option("I choose wait.\nTo wait costs little.", options) == "wait"


def test_of_a_cut_reply_only_what_is_conclusive_counts():
    assert option("B\nThe", cut=True) == "B"
    assert option("I would choose B.\nThe", cut=True) is None


def test_a_letter_may_have_its_own_words_behind_it_also_where_they_are_no():
    assert decode_choice("B. No", ("A", "B"), words=("Yes", "No")).value == "B"
    assert decode_choice("B. No", ("A", "B")).value is None
    assert decode_choice("B. No", ("A", "B"), words=("No", "Yes")).value is None


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Yes, possibly.", ("Yes", "No")),
        ("Yes, I can help with that.", ("Yes", "No")),
        ("No, more information is needed.", ("Yes", "No")),
        ("No, the patient likely has it.", ("Yes", "No")),
        ("My opponent's choice is A.", ("A", "B")),
        ("The safe choice is A.", ("A", "B")),
        ("A) is incorrect.", ("A", "B")),
        ("I'd pick A for a friend, B for myself.", ("A", "B")),
        ("Wait! The scan is clear evidence: treat.", ("wait", "treat now")),
    ],
)
def test_an_option_that_is_not_chosen_is_not_read(text, options):
    assert decode_choice(text, options).value is None


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("Option B is the best choice.", "B"),
        ("Therefore, B.", "B"),
        ("I'm going with B.", "B"),
        ("I'd choose A here.", "A"),
    ],
)
def test_an_option_that_is_called_the_best_is_chosen(text, option):
    assert decode_choice(text, ("A", "B")).value == option
