"""Free text: breaks if a reply is read as what it does not say, or is cut into saying it."""

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coherence.decoding.decode import (
    decode_belief,
    decode_choice,
    decode_decision,
    decode_distribution,
)
from coherence.decoding.free_text import number_of, option_of, probabilities_of, words_of
from coherence.decoding.numerals import UnreadableError
from coherence.decoding.reply import Reply
from tests.coherence.decoding.replies import coded, read, same

FORMS = {"belief_lines", "belief_number", "distribution", "decision", "choice"}


CORPORA = ("corpus", "held_out", "everyday", "fresh", "unseen")


@pytest.mark.parametrize(
    ("name", "n_replies", "n_uncodable", "n_read"),
    [
        ("corpus", 305, 100, 205),
        ("held_out", 100, 31, 68),
        ("everyday", 171, 52, 117),
        ("fresh", 63, 24, 34),
        ("unseen", 63, 25, 30),
    ],
)
def test_of_replies_coded_by_hand_none_is_wrong(name, n_replies, n_uncodable, n_read):
    """Each but the first was written before the reader was mended for it, and read then:
    held_out 60 of 69, none wrongly; everyday 71 of 119, and 21 wrongly; fresh, which came after
    everyday, 32 of 39, and 3 wrongly; unseen, after fresh, 29 of 38, and 2 wrongly."""
    rows = coded(name)
    assert len(rows) == n_replies
    assert {row["form"] for row in rows} == FORMS
    assert len({row["family"] for row in rows}) >= 8
    confusion: Counter[str] = Counter()
    wrong = []
    for row in rows:
        decoded = read(row)
        kind = "codable" if row["value"] is not None else "uncodable"
        outcome = "unread" if decoded.value is None else "read"
        if outcome == "read" and not same(decoded.value, row["value"]):
            outcome = "wrong"
            wrong.append((row["text"], decoded, row["value"]))
        confusion[f"{kind}, {outcome}"] += 1
    assert wrong == [], confusion
    assert confusion["codable, read"] >= n_read, confusion
    assert confusion["uncodable, unread"] == n_uncodable, confusion


def test_of_nasty_replies_none_is_wrong():
    """Written to be misread; what a human would still make out of them may stay unread."""
    rows = coded("nasty")
    wrong = [
        (row["text"], decoded, row["value"])
        for row, decoded in ((row, read(row)) for row in rows)
        if decoded.value is not None and not same(decoded.value, row["value"])
    ]
    assert wrong == []
    assert sum(row["value"] is None for row in rows) > 400
    assert sum(read(row).value is not None for row in rows) > 180


@pytest.mark.parametrize("name", CORPORA)
def test_what_was_cut_or_withheld_says_so(name):
    for row in coded(name):
        decoded = read(row)
        if row["finish_reason"] == "content_filter":
            assert decoded.status == "refused", row
        elif row["finish_reason"] == "length" and row["value"] is None:
            assert decoded.status == "truncated", row
        elif row["finish_reason"] == "stop":
            unfinished = "<think>" in row["text"] and "</think>" not in row["text"]
            assert (decoded.status == "truncated") == unfinished, row


@pytest.mark.parametrize("name", CORPORA)
def test_a_reply_that_was_cut_anywhere_says_what_it_said_whole_or_nothing(name):
    n_read = 0
    for row in (row for row in coded(name) if row["value"] is not None):
        whole = read(row, finish_reason="stop")
        if whole.value is None:
            continue
        for end in range(len(row["text"]) + 1):
            cut = read(row, row["text"][:end], "length")
            assert cut.value is None or same(cut.value, whole.value), (row["text"][:end], cut)
            n_read += cut.value is not None
    # Texts cut after their answer are still read, or this says nothing.
    assert n_read > (100 if name in ("fresh", "unseen") else 500)


_HUNDREDTHS = st.integers(0, 100)
_PREAMBLES = st.sampled_from(
    [
        "",
        "Sure! Here is my answer:\n\n",
        "Given the smoking history of 20 pack-years, my estimate is:\n",
        "**Answer**\n\n",
        "<think>Yes: 0.11, or 0.12?</think>\n",
        "A 64-year-old with dyspnea. The base rate is 11%.\n\n",
    ]
)
_REMARKS = st.sampled_from(
    [
        "",
        "\n\nThe X-ray is what decides it.",
        "<|im_end|>",
        "\n\n*This is no medical advice.*",
        "\n\nI hope this helps! Let me know what else you need.",
    ]
)
_SHAPES = st.sampled_from(
    [
        "{a}: {x}\n{b}: {y}",
        "**{a}:** {x}\n**{b}:** {y}",
        "- {a}: {x}\n- {b}: {y}",
        "1. {a}: {x}\n2. {b}: {y}",
        "```\n{a}: {x}\n{b}: {y}\n```",
        "| label | p |\n|---|---|\n| {a} | {x} |\n| {b} | {y} |",
        '{{"{a}": {x}, "{b}": {y}}}',
        "{a} - {x}\n{b} - {y}",
        "{b}: {y}\n{a}: {x}",
        "P({a}) = {x}, P({b}) = {y}",
    ]
)


@settings(max_examples=300, deadline=None)
@given(_HUNDREDTHS, _PREAMBLES, _SHAPES, _REMARKS)
def test_wrapping_an_answer_does_not_change_it(h, before, shape, behind):
    x, y = f"{(100 - h) / 100:.2f}", f"{h / 100:.2f}"
    belief = decode_belief(before + shape.format(a="No", b="Yes", x=x, y=y) + behind)
    assert belief.value == h / 100, belief
    labels = ("a cold, or the flu", "neither of both")
    text = before + shape.format(a=labels[0], b=labels[1], x=x, y=y) + behind
    spread = decode_distribution(text, labels)
    assert spread.value == ((100 - h) / 100, h / 100), text
    # Wherever it is cut, it is that answer or none.
    text = before + shape.format(a="No", b="Yes", x=x, y=y) + behind
    for end in range(0, len(text), 3):
        cut = decode_belief(text[:end], finish_reason="length")
        assert cut.value in (None, h / 100), text[:end]


_PROSE = (
    "the patient smokes coughs yes no not and or maybe likely probability of is a chance that "
    "low high X-ray 67 0.4 30% about between than more I think say answer: Yes, No. decide "
    "decision however, actually wait if they have disease"
)
_WORDS = _PROSE.split(" ")


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from([word for word in _WORDS if not word[0].isdigit()]), max_size=30))
def test_words_without_numbers_state_no_belief(words):
    text = " ".join(words)
    assert decode_belief(text).value is None
    assert decode_belief(text, form="number").value is None
    assert decode_distribution(text, ("low", "high")).value is None


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(_WORDS), max_size=30), st.sampled_from(["stop", "length", None]))
def test_random_prose_states_no_distribution_and_no_decision(words, ended):
    text = " ".join(words)
    assert decode_distribution(text, ("rare", "common"), finish_reason=ended).value is None
    assert decode_decision(text, finish_reason=ended).value is None
    if "0.4" not in words or "30%" not in words:
        return
    # Two numbers in one stretch of prose, neither marked: no belief.
    assert decode_belief(text.replace(":", ""), form="number").value is None


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200), st.sampled_from(["stop", "length", "content_filter", None]))
def test_any_text_is_survived_however_it_ended(text, ended):
    for decoded in (
        decode_belief(text, finish_reason=ended),
        decode_belief(text, form="number", finish_reason=ended),
        decode_decision(text, finish_reason=ended),
        decode_choice(text, ("A", "B"), words=("yes", "no"), finish_reason=ended),
    ):
        assert decoded.readable == (decoded.value is not None)
        assert ended != "content_filter" or decoded.status == "refused"


_LONG = 100_000
_HOSTILE = (
    *("1", "No ", "No: ", "{", '{"', '{"a":', "*", "`", "_", "|", "<think>", "<", "$"),
    *("\\boxed{", " ", "\n", "I would ", "the probability ", "answer ", "> ", "1. ", "a=", "("),
    *("1/", "No: 0.3\nYes: 0.7\n", "| No | Yes |\n", "let me say ", "\\text{", "p (", " - ", "0."),
    *("sorry if ", "if you revise ", ". ", "70% Yes, ", "answer: A ", "A B ", "likely has ", "no "),
    *("the answer is A and B ", "Yes (0.7) ", "No (x): ", "wait, ", "if i to ", "!? ", "\n \n"),
)


@pytest.mark.parametrize("piece", _HOSTILE)
def test_a_hostile_text_costs_time_in_proportion_to_its_length(piece):
    """A text ten times as long may take ten times as long, with room for noise; not a hundred."""
    times = []
    for n in (_LONG // 10, _LONG):
        text = piece * (n // len(piece)) + " 0.3"
        start = time.process_time()
        decode_belief(text)
        decode_belief(text, form="number")
        decode_decision(text)
        decode_choice(text, ("A", "B"))
        times.append(time.process_time() - start)
    assert times[1] < max(40 * times[0], 2.0), times


def test_a_hundred_thousand_replies_take_seconds():
    """As in a session of a chat model: most in the form, a fifth of them with words around."""
    odd = [row for row in coded("corpus") if row["form"] == "belief_lines"]
    start = time.process_time()
    for i in range(10_000):
        decode_belief("No: 0.30\nYes: 0.70") if i % 5 else read(odd[i // 5 % len(odd)])
    assert 10 * (time.process_time() - start) < 30  # some 3 s on an idle core


def test_the_parts_of_the_reader_say_how_they_read():
    assert probabilities_of(Reply("Yes: 1/4"), ("No", "Yes"))[1] == "repaired:single"
    assert number_of(Reply("So much for that.\nAnswer: 0.25"))[1] == "repaired:passage"
    assert option_of(Reply("Answer: **B**, since it pays."), ("A", "B"))[0] == "B"
    labels = ("Can decide", "Decision")
    said, status = words_of(Reply("Can decide - No\nDecision - Yes"), labels, ("Yes", "No"))
    assert said == {"can decide": "no", "decision": "yes"}
    assert status == "repaired:layout"
    with pytest.raises(UnreadableError):
        option_of(Reply("go"), ("go", "GO"))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        # Two shares are no fraction, and a count of many is not its first number.
        ("number", "50/50"),
        ("lines", "Yes: 50/50"),
        ("number", "30/70"),
        ("number", "Answer: 1 in a million"),
        ("number", "Probability: 1 in ten"),
        ("number", "Answer: 1 in 1,000"),
        ("number", "0...7"),
        # The number of No, not marked as such by a label.
        ("number", "0.7 (no disease)"),
        ("number", "0.7\n\nThis is the probability of the patient NOT having the disease."),
        ("number", "Probability: 0.7 that he does not have it"),
        ("number", '{"probability_no": 0.3}'),
        ("number", "P(\u00acD|+) = 0.3"),
        ("number", "No.\n\nProbability: 0.8"),
        # Shown or told, and not given as the answer.
        ("number", "Wrong answer: 0.21"),
        ("lines", '{"example": {"No": 0.5, "Yes": 0.5}}'),
        ("lines", "No: 0.30\nYes: 0.70\nI disagree with those numbers."),
        ("lines", "Prior:\nNo: 0.95\nYes: 0.05"),
        # More than a float or a stack can hold.
        ("lines", "Yes: 1e999"),
        ("number", "1e400%"),
        ("number", '{"a":' * 400 + "1" + "}" * 400),
    ],
)
def test_a_number_of_something_else_is_not_read(form, text):
    assert decode_belief(text, form=form).value is None


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("No, I can't determine that.", ("Yes", "No")),
        ("Yes: 0.2\nNo: 0.8", ("Yes", "No")),
        ("buy: no\nsell: yes", ("buy", "sell")),
        ("Rejected option: A", ("A", "B")),
    ],
)
def test_an_option_of_something_else_is_not_read(text, options):
    assert decode_choice(text, options).value is None
