"""Decoding: breaks if an answer that is not exactly in the form gets a value, or if anything at all raises."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.decode import STATUSES, decode_belief, decode_decision, decode_distribution, worst

GOOD = "No: 0.30\nYes: 0.70"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (GOOD, 0.70),
        ("\nNo: 0.30\nYes: 0.70\n", 0.70),
        ("  No:  0.30 \r\n\r\nYes: 0.70\r\n", 0.70),
        ("No:0.3\nYes:.7", 0.7),
        ("No: 1\nYes: 0", 0.0),
        ("No: 0.0\nYes: 1.", 1.0),
        ("No: 1.0\nYes: -0.0", 0.0),
        ("No: 0.31\nYes: 0.70", 0.70),
        ("No: 0.29\nYes: 0.69", 0.69),
    ],
)
def test_the_form_is_read_as_stated(text, value):
    decoded = decode_belief(text)
    assert (decoded.value, decoded.status) == (value, "ok")
    assert math.copysign(1, decoded.value) == 1  # a belief of -0.0 would print as such


def test_the_sum_is_reported_and_never_repaired():
    decoded = decode_belief("No: 0.31\nYes: 0.70")
    assert decoded.value == 0.70
    assert decoded.residual == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "unparsed"),
        ("   \n\n", "unparsed"),
        ("0.7", "unparsed"),
        ("Yes: 0.70\nNo: 0.30", "unparsed"),
        ("Yes: 0.70", "unparsed"),
        ("No: 0.30\nYes: 0.70\nBecause.", "unparsed"),
        ("Sure!\nNo: 0.30\nYes: 0.70", "unparsed"),
        ("no: 0.30\nyes: 0.70", "unparsed"),
        ("No : 0.30\nYes : 0.70", "unparsed"),
        ("No: 30%\nYes: 70%", "unparsed"),
        ("No: 0,30\nYes: 0,70", "unparsed"),
        ("No: 0.30.\nYes: 0.70.", "unparsed"),
        ("No: 3e-1\nYes: 7e-1", "unparsed"),
        ("No: +0.30\nYes: +0.70", "unparsed"),
        ("No: nan\nYes: nan", "unparsed"),
        ("No: inf\nYes: -inf", "unparsed"),
        ("No: 0.\u0663\u0660\nYes: 0.70", "unparsed"),
        ("No: 0.30\x0bYes: 0.70", "unparsed"),
        ("No: 0.30 Yes: 0.70", "unparsed"),
        ("**No: 0.30**\n**Yes: 0.70**", "unparsed"),
        ("```\nNo: 0.30\nYes: 0.70\n```", "unparsed"),
        ("No: \nYes: 0.70", "unparsed"),
        ("No: .\nYes: 1", "unparsed"),
        ("No: 30\nYes: 70", "out_of_range"),
        ("No: -0.30\nYes: 1.30", "out_of_range"),
        ("No: 0.30\nYes: 0.60", "out_of_range"),
        ("No: 0.50\nYes: 0.53", "out_of_range"),
        ("No: 0.00\nYes: 0.00", "out_of_range"),
        (f"No: 0.30\nYes: {'9' * 5000}", "out_of_range"),
        ("I cannot give a medical assessment.", "refused"),
        ("I can\u2019t help with that.\nPlease ask a doctor.", "refused"),
        ("As an AI, I'm unable to judge.", "refused"),
    ],
)
def test_everything_else_has_a_status_and_no_value(text, status):
    decoded = decode_belief(text)
    assert (decoded.value, decoded.status) == (None, status)


def test_a_readable_answer_is_not_a_refusal_by_its_words():
    # Labels come from users: one that holds a refusal phrase must still be readable.
    assert decode_distribution("I cannot: 0.5\nother: 0.5", ("I cannot", "other")).status == "ok"


@pytest.mark.parametrize(
    ("text", "labels", "value"),
    [
        ("a: 0.33\nb: 0.33\nc: 0.33", ("a", "b", "c"), (0.33, 0.33, 0.33)),
        ("tuberculosis or lung cancer, or both: 0.4\nneither: 0.6", ("tuberculosis or lung cancer, or both", "neither"), (0.4, 0.6)),
        ("a+b (c): 0.4\n[d]: 0.6", ("a+b (c)", "[d]"), (0.4, 0.6)),
        ("a: b: 0.4\na: 0.6", ("a: b", "a"), (0.4, 0.6)),
        ("\n".join(f"s{i}: 0.12" for i in range(8)), tuple(f"s{i}" for i in range(8)), (0.12,) * 8),
    ],
)
def test_distributions_take_any_labels_and_allow_for_rounding(text, labels, value):
    assert decode_distribution(text, labels).value == value


@pytest.mark.parametrize("text", ["b: 0.4\na: 0.6", "a: 0.4\nA: 0.6", "a: 0.4", "a: 0.4\nb: 0.6\nc: 0.0", "aa: 0.4\nb: 0.6"])
def test_labels_count_in_order_and_to_the_letter(text):
    assert decode_distribution(text, ("a", "b")).status == "unparsed"


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Can decide: Yes\nDecision: Yes", "yes"),
        ("Can decide: Yes\nDecision: No", "no"),
        ("Can decide: No\nDecision: Yes", "defer"),
        ("\nCan decide: No\n\nDecision: No \n", "defer"),
    ],
)
def test_actions(text, action):
    assert decode_decision(text).value == action


@pytest.mark.parametrize(
    "text",
    ["Yes\nNo", "Can decide: yes\nDecision: no", "Decision: Yes\nCan decide: Yes", "Can decide: Yes", "Can decide: Yes\nDecision: Maybe",
     "Can decide: Yes.\nDecision: No.", "Can decide: Yes\nDecision: Yes\nDecision: No", "Can decide: \nDecision: "],
)  # fmt: skip
def test_no_action_is_guessed(text):
    assert decode_decision(text).value is None
    assert decode_decision(text).status == "unparsed"


def test_worst_follows_the_declared_order():
    assert worst(["ok"]) == "ok"
    assert worst(["unparsed", "out_of_range", "ok"]) == "unparsed"
    assert worst(["unparsed", "refused"]) == "refused"


# Whole-text readers written apart from the decoder: what an `ok` may mean at most.
_NUMBER = r"(-?(?:\d+\.?\d*|\.\d+))"
_BELIEF = re.compile(rf"\s*No:[ \t]*{_NUMBER}\s*\n\s*Yes:[ \t]*{_NUMBER}\s*", re.ASCII)
_DECISION = re.compile(r"\s*Can decide:[ \t]*(Yes|No)\s*\n\s*Decision:[ \t]*(Yes|No)\s*", re.ASCII)
_PIECES = [
    *("No: ", "Yes: ", "0.", "1.0", "7", "%", ",", "\n", "\r\n", " ", "\t", "-", "+", "e", ":", "no", "Decision: ", "Can decide: "),
    *("\u00a0", "\u2028", "\x00", "I can't", "\U0001f642", "**", "```", "0.70", "\u0667", "nan", "inf"),
]


def _mutated(rng, text):
    for _ in range(rng.integers(1, 4)):
        at, to = sorted(rng.integers(0, len(text) + 1, size=2))
        piece = _PIECES[rng.integers(len(_PIECES))]
        text = [
            text[:at] + piece + text[at:],
            text[:at] + text[min(at + 1, len(text)) :],
            text[:at] + piece + text[at + len(piece) :],
            text[:at] + text[to:],
            "\n".join(reversed(text.split("\n"))),
            text + "\n" + text,
            text.swapcase(),
        ][rng.integers(7)]
    return text


@pytest.mark.parametrize("seed", range(4))
def test_mutated_answers_never_raise_and_never_give_a_wrong_value(seed):
    rng = np.random.default_rng(seed)
    read = 0
    for _ in range(1000):
        hundredths = int(rng.integers(101))
        text = _mutated(rng, f"No: {(100 - hundredths) / 100:.2f}\nYes: {hundredths / 100:.2f}")
        decoded = decode_belief(text)
        assert decoded.status in STATUSES
        assert (decoded.value is not None) == (decoded.status == "ok")
        if decoded.status == "ok":
            read += 1
            no, yes = map(float, _BELIEF.fullmatch(text).groups())
            assert decoded.value == yes
            assert abs(no + yes - 1) < 0.0201
        text = _mutated(rng, "Can decide: Yes\nDecision: No")
        action = decode_decision(text)
        assert (action.value is not None) == (action.status == "ok")
        if action.status == "ok":
            able, decision = _DECISION.fullmatch(text).groups()
            assert action.value == ("defer" if able == "No" else decision.lower())
    assert read > 20  # the mutations must leave some answers readable, or nothing was tested


@settings(max_examples=300, deadline=None)
@given(st.text(), st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_any_text_and_any_labels_are_survived(text, labels):
    decoded = decode_distribution(text, labels)
    assert (decoded.value is not None) == (decoded.status == "ok")
    assert decode_decision(text).status in STATUSES
