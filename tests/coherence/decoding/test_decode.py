"""Decoding: breaks if what misses the form is called ok, a value is guessed, or anything raises."""

import math
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coherence.decoding.cues import REFUSALS
from coherence.decoding.decode import (
    Decoded,
    decode_belief,
    decode_choice,
    decode_decision,
    decode_distribution,
    worst,
)
from coherence.table.schema import READABLE, STATUSES

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


@pytest.mark.parametrize(
    ("text", "value", "status"),
    [
        ("0.7", 0.7, "ok"),
        (" .7\n", 0.7, "ok"),
        ("1", 1.0, "ok"),
        ("70%", 0.7, "repaired:percent"),
        ("70", None, "out_of_range"),
        ("0,7", 0.7, "repaired:comma"),
        ("7/10", 0.7, "repaired:fraction"),
        ("7/0", None, "unparsed"),
        ("24/7", None, "out_of_range"),
        ("3/4/2024", None, "unparsed"),
        ("Yes: 0.7", 0.7, "repaired:words"),
        ("No: 0.7", None, "unparsed"),
        ("-0.2", None, "out_of_range"),
        ("-0.01", None, "out_of_range"),
        ("1.01", None, "out_of_range"),
        ("101%", None, "out_of_range"),
        ("\u22120.2", None, "out_of_range"),
        ("0.7%", 0.007, "repaired:percent"),
    ],
)
def test_a_number_alone(text, value, status):
    decoded = decode_belief(text, form="number")
    assert (decoded.value, decoded.status) == (value, status)


def test_the_sum_is_reported_and_never_repaired():
    decoded = decode_belief("No: 0.31\nYes: 0.70")
    assert decoded.value == 0.70
    assert decoded.residual == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("text", "value", "status"),
    [
        ("1. No: 0.3\n2. Yes: 0.7", 0.7, "repaired:layout"),
        ("<think>0.2</think>0.7", 0.7, "repaired:single"),
        ("<think>Yes: 0.2</think>\nNo: 0.30\nYes: 0.70", 0.7, "ok"),
        ("No: 0.30\nYes: 0.70<|eot_id|>", 0.7, "repaired:markup"),
        ("No: 0.30\nYes: 0.70\nBecause.", 0.7, "repaired:passage"),
        ("No: 0.30", 0.7, "repaired:single"),
        ("Yes: 0.7\nYes: 0.7", 0.7, "repaired:single"),
    ],
)
def test_one_answer_and_no_other_is_read_wherever_it_stands(text, value, status):
    decoded = decode_belief(text)
    assert (decoded.value, decoded.status) == (value, status)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "unparsed"),
        ("   \n\n", "unparsed"),
        ("0.3 0.7", "unparsed"),
        ("0.7-0.8", "unparsed"),
        ("0.7 to 0.8", "unparsed"),
        ("between 70% and 80%", "unparsed"),
        ("About 70%.", "unparsed"),
        ("~0.7", "unparsed"),
        ("> 0.9", "unparsed"),
        (">0.9", "unparsed"),
        ("below 0.1", "unparsed"),
        ("at least 0.7", "unparsed"),
        ("The probability is not 0.7", "unparsed"),
        ("Not yes: 0.7", "unparsed"),
        ("Yes/No: 0.7", "unparsed"),
        ("70% chance of No", "unparsed"),
        ("1,000", "unparsed"),
        ("No: 0.30\nYes: 1,000", "unparsed"),
        ("1½", "unparsed"),
        ("10\u207b\u00b9", "unparsed"),
        ("0.7\u00b2", "unparsed"),
        ("0.\u200b7", "unparsed"),
        ("\u202e7.0", "unparsed"),
        ("0.7.5", "unparsed"),
        ("0.7x", "unparsed"),
        ("5**2", "unparsed"),
        ("70 percentage points", "unparsed"),
        ("Yes, 70%", "unparsed"),
        ("Yes", "unparsed"),
        ('{"No": 0.3}', "unparsed"),
        ('{"No": 0.3, "Yes": 0.7, "Yes": 0.2}', "unparsed"),
        ('{"No": true, "Yes": [0.7]}', "unparsed"),
        ("{" * 2000, "unparsed"),
        ("No: 0.30\nYes: 0.70\nSorry, the other way round.", "unparsed"),
        ("No: nan\nYes: nan", "unparsed"),
        ("No: inf\nYes: -inf", "unparsed"),
        ("No: 0.30\x0bYes: 0.70", "unparsed"),
        ("No: \nYes: 0.70", "unparsed"),
        ("No: .\nYes: 1", "unparsed"),
        ("70", "out_of_range"),
        ("No: 30\nYes: 70", "out_of_range"),
        ("Yes: 120%", "out_of_range"),
        ("No: -0.30\nYes: 1.30", "out_of_range"),
        ("No: 0.00\nYes: 1.01", "out_of_range"),
        ("No: -0.01\nYes: 1.00", "out_of_range"),
        ("No: 0.30\nYes: 0.60", "sum_not_one"),
        ("No: 30%\nYes: 60%", "sum_not_one"),
        ("No: 0.50\nYes: 0.53", "sum_not_one"),
        ("No: 0.00\nYes: 0.00", "sum_not_one"),
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
        (
            "tuberculosis or lung cancer, or both: 0.4\nneither: 0.6",
            ("tuberculosis or lung cancer, or both", "neither"),
            (0.4, 0.6),
        ),
        ("a+b (c): 0.4\n[d]: 0.6", ("a+b (c)", "[d]"), (0.4, 0.6)),
        ("a: b: 0.4\na: 0.6", ("a: b", "a"), (0.4, 0.6)),
        ("\n".join(f"s{i}: 0.12" for i in range(8)), tuple(f"s{i}" for i in range(8)), (0.12,) * 8),
    ],
)
def test_distributions_take_any_labels_and_allow_for_rounding(text, labels, value):
    assert decode_distribution(text, labels).value == value


@pytest.mark.parametrize(
    "text",
    [
        "a: 0.4\nA: 0.6",
        "a: 0.4",
        "0.4",
        "a: 0.4\nb: 0.6\nc: 0.0",
        "aa: 0.4\nb: 0.6",
        "x a: 0.4\nb: 0.6",
    ],
)
def test_every_label_must_be_there_once(text):
    assert decode_distribution(text, ("a", "b")).status == "unparsed"


def test_labels_name_their_numbers_in_any_order():
    assert decode_distribution("b: 0.4\na: 0.6", ("a", "b")).value == (0.6, 0.4)
    # Labels that differ in capitals alone can be told apart by the exact form only.
    assert decode_distribution("A: 0.4\na: 0.6", ("a", "A")).status == "unparsed"
    assert decode_distribution("a: 0.4\nA: 0.6", ("a", "A")).value == (0.4, 0.6)


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
    [
        "Yes\nNo",
        "Can decide: Yes",
        "Can decide: Yes\nDecision: Maybe",
        "Can decide: Yes\nDecision: not Yes",
        "Can decide: Yes\nDecision: Yes\nDecision: No",
        "Can decide: \nDecision: ",
        "Can decide: Yes or No\nDecision: No",
    ],
)
def test_no_action_is_guessed(text):
    assert decode_decision(text).value is None
    assert decode_decision(text).status == "unparsed"


@pytest.mark.parametrize(
    ("text", "action", "repair"),
    [
        ("Can decide: yes\nDecision: no", "no", "spelling"),
        ("Can decide: Yes.\nDecision: No.", "no", "punctuation"),
        ("Decision: No\nCan decide: Yes", "no", "layout"),
        ("**Can decide:** Yes\n**Decision:** No", "no", "markup"),
        ("CAN DECIDE: NO\nDECISION: YES", "defer", "spelling"),
    ],
)
def test_repaired_actions(text, action, repair):
    decoded = decode_decision(text)
    assert (decoded.value, decoded.status) == (action, f"repaired:{repair}")


@pytest.mark.parametrize(
    ("text", "option", "status"),
    [
        ("wait", "wait", "ok"),
        (" treat now\n", "treat now", "ok"),
        ("Treat now", "treat now", "repaired:spelling"),
        ("wait.", "wait", "repaired:punctuation"),
        ("`wait`", "wait", "repaired:markup"),
        ("My answer: **Wait.**", "wait", "repaired:words"),
        ("I choose treat now", "treat now", "repaired:words"),
        ("wait or treat now", None, "unparsed"),
        ("do not wait", None, "unparsed"),
        ("treat", None, "unparsed"),
        ("", None, "unparsed"),
        ("I can't choose.", None, "refused"),
    ],
)
def test_choices(text, option, status):
    decoded = decode_choice(text, ("wait", "treat now"))
    assert (decoded.value, decoded.status) == (option, status)


def test_worst_follows_the_declared_order():
    assert worst(["ok"]) == "ok"
    assert worst(["unparsed", "out_of_range", "ok"]) == "unparsed"
    assert worst(["unparsed", "refused"]) == "refused"


@pytest.mark.parametrize(
    ("sum_of_all", "status"),
    [(0.98, "ok"), (1.02, "ok"), (0.979, "sum_not_one"), (1.021, "sum_not_one")],
)
def test_two_numbers_may_miss_a_sum_of_one_by_two_hundredths(sum_of_all, status):
    decoded = decode_belief(f"No: 0.5\nYes: {sum_of_all - 0.5:.3f}")
    assert decoded.status == status
    assert decoded.residual == pytest.approx(sum_of_all - 1)


@pytest.mark.parametrize(("last", "status"), [("0.175", "ok"), ("0.176", "sum_not_one")])
def test_many_numbers_may_miss_it_by_half_a_hundredth_each(last, status):
    """Seven labels: .035, where two hundredths would not do."""
    labels = tuple("abcdefg")
    text = "\n".join(f"{label}: 0.143" for label in labels[:-2]) + f"\nf: 0.145\ng: {last}"
    assert decode_distribution(text, labels).status == status


def test_the_residual_of_what_is_out_of_range_is_told_and_infinite_beyond_floats():
    assert decode_belief("No: -0.30\nYes: 1.50").residual == pytest.approx(0.2)
    assert decode_belief(f"No: 0.3\nYes: {'9' * 400}").residual == math.inf
    assert math.isnan(decode_belief("No idea").residual)
    assert math.isnan(decode_belief("Yes: 0.7").residual)


@pytest.mark.parametrize("phrase", REFUSALS)
def test_every_phrase_of_a_refusal_is_known_in_any_letters_and_with_either_apostrophe(phrase):
    for spelled in (phrase, phrase.upper(), phrase.replace("'", "\u2019")):
        assert decode_belief(f"Well, {spelled} say.").status == "refused"
        assert decode_decision(f"Well, {spelled} say.").status == "refused"
        assert decode_choice(f"Well, {spelled} say.", ("a", "b")).status == "refused"
        assert decode_belief(f"{spelled} say", form="number").status == "refused"
        assert decode_distribution(f"{spelled} say", ("a", "b")).status == "refused"


def test_the_one_number_of_yes_is_no_distribution():
    assert decode_distribution("Yes: 0.7", ("No", "Yes")).status == "unparsed"
    assert decode_distribution("0.7", ("No", "Yes")).status == "unparsed"


@pytest.mark.parametrize(
    ("text", "action", "status"),
    [
        ("Can decide: yes\nDecision: No.", "no", "repaired:punctuation"),
        ("Can decide: Yes.\nDecision: no", "no", "repaired:punctuation"),
        ("can decide: No\nDecision: Yes", "defer", "repaired:spelling"),
        ("Can decide: Maybe\nDecision: Yes", None, "unparsed"),
        ("I cannot: Yes\nDecision: Yes", None, "refused"),
        ("Can decide:Yes\nDecision:\t No", "no", "ok"),
    ],
)
def test_the_graver_repair_of_two_lines_counts(text, action, status):
    decoded = decode_decision(text)
    assert (decoded.value, decoded.status) == (action, status)


def test_only_line_feeds_end_a_line_and_only_ascii_blanks_are_ignored():
    assert decode_belief("No: 0.30\r\nYes: 0.70\r").status == "ok"
    for separator in ("\x0b", "\x0c", "\x85", "\u2028"):
        assert decode_belief(f"No: 0.30{separator}Yes: 0.70").status != "ok"
    assert decode_choice("\u00a0wait", ("wait", "go")).status == "repaired:characters"
    assert decode_belief("0.7\u00a0", form="number").status == "repaired:characters"
    assert decode_belief("-0.0", form="number") == Decoded(0.0, "ok")


# Whole-text readers written apart from the decoder: what an `ok` may mean at most.
_NUMBER = r"(-?(?:\d+\.?\d*|\.\d+))"
_BELIEF = re.compile(rf"\s*No:[ \t]*{_NUMBER}\s*\n\s*Yes:[ \t]*{_NUMBER}\s*", re.ASCII)
_DECISION = re.compile(
    r"\s*Can decide:[ \t\r]*(Yes|No)\s*\n\s*Decision:[ \t\r]*(Yes|No)\s*", re.ASCII
)
_PIECES = [
    *(
        "No: ",
        "Yes: ",
        "0.",
        "1.0",
        "7",
        "%",
        ",",
        "\n",
        "\r\n",
        " ",
        "\t",
        "-",
        "+",
        "e",
        ":",
        "no",
        "Decision: ",
        "Can decide: ",
    ),
    *(
        "\u00a0",
        "\u2028",
        "\x00",
        "I can't",
        "\U0001f642",
        "**",
        "```",
        "0.70",
        "\u0667",
        "nan",
        "inf",
    ),
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


def _numbers(text):
    """Every way to read a digit string, percentage or fraction: a repaired value is among them."""
    plain = "".join(
        str(unicodedata.decimal(c)) if unicodedata.category(c) == "Nd" else c for c in text
    ).replace(",", ".")
    numbers = {
        float(number) * scale
        for number in re.findall(r"(?=(\d+\.?\d*|\.\d+))", plain, re.ASCII)
        for scale in (1, 0.01)
    }
    numbers |= {
        float(m) * 10.0 ** int(e)
        for m, e in re.findall(r"(\d*\.?\d+)[eE]([+-]?\d{1,3})", plain, re.ASCII)
    }
    return numbers | {
        int(a) / int(b)
        for a, b in re.findall(r"(\d+)\s*(?:/|out of|in)\s*(\d+)", plain, re.ASCII)
        if int(b)
    }


@pytest.mark.parametrize("seed", range(4))
def test_mutated_answers_never_raise_and_never_give_a_wrong_value(seed):
    rng = np.random.default_rng(seed)
    read = repaired = 0
    for _ in range(1000):
        hundredths = int(rng.integers(101))
        text = _mutated(rng, f"No: {(100 - hundredths) / 100:.2f}\nYes: {hundredths / 100:.2f}")
        decoded = decode_belief(text)
        assert decoded.status in STATUSES
        assert (decoded.value is not None) == (decoded.status in READABLE)
        if decoded.status == "ok":
            read += 1
            no, yes = map(float, _BELIEF.fullmatch(text).groups())
            assert decoded.value == yes
            assert abs(no + yes - 1) < 0.0201
        elif decoded.value is not None:
            repaired += 1
            assert not _BELIEF.fullmatch(text)
            # No alone says Yes as well.
            stated = (decoded.value, 1 - decoded.value) if "single" in decoded.status else ()
            assert any(
                math.isclose(value, number, rel_tol=1e-9)
                for number in _numbers(text)
                for value in stated or (decoded.value,)
            ), (text, decoded)
        text = _mutated(rng, "Can decide: Yes\nDecision: No")
        action = decode_decision(text)
        assert (action.value is not None) == (action.status in READABLE)
        if action.status == "ok":
            able, decision = _DECISION.fullmatch(text).groups()
            assert action.value == ("defer" if able == "No" else decision.lower())
    assert read > 20  # the mutations must leave some answers readable, or nothing was tested
    assert repaired > 20


@settings(max_examples=300, deadline=None)
@given(st.text(), st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_any_text_and_any_labels_are_survived(text, labels):
    decoded = decode_distribution(text, labels)
    assert (decoded.value is not None) == (decoded.status in READABLE)
    assert decode_decision(text).status in STATUSES
    assert decode_choice(text, labels).status in STATUSES
    for form in ("lines", "number"):
        belief = decode_belief(text, form=form)
        assert (belief.value is not None) == (belief.status in READABLE)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789.,%/-+e YesNo:*\n()½٣−０", max_size=40))
def test_texts_of_numbers_alone_are_survived(text):
    belief = decode_belief(text)
    assert belief.value is None or 0 <= belief.value <= 1
    assert (belief.status == "ok") == bool(belief.value is not None and _BELIEF.fullmatch(text))
