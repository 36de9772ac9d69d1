"""Repairs: breaks if one gives another value than the answer states, or any where in doubt."""

import re
from fractions import Fraction

import numpy as np
import pytest

from coherence.decoding.decode import decode_belief
from coherence.decoding.repairs import (
    REPAIR_MEANINGS,
    UnreadableError,
    read_choice,
    read_number,
    read_probabilities,
)
from coherence.table.schema import READABLE, REPAIRS

_NUMBER = r"(-?(?:\d+\.?\d*|\.\d+))"
_BELIEF = re.compile(rf"\s*No:[ \t]*{_NUMBER}\s*\n\s*Yes:[ \t]*{_NUMBER}\s*", re.ASCII)

REPAIRED = [
    ("no: 0.30\nyes: 0.70", 0.7, "spelling"),
    ("No : 0.30\nYes : 0.70", 0.7, "spelling"),
    ("No = 0.30\nYes = 0.70", 0.7, "spelling"),
    ("No: 30%\nYes: 70%", 0.7, "percent"),
    ("No: 30 %\nYes: 70 %", 0.7, "percent"),
    ("No: 30 percent\nYes: 70 percent", 0.7, "percent"),
    ("No: 0,30\nYes: 0,70", 0.7, "comma"),
    ("No: 12,5%\nYes: 87,5%", 0.875, "percent"),
    ("No: 0.30.\nYes: 0.70.", 0.7, "punctuation"),
    ("No: 0.30,\nYes: 0.70", 0.7, "punctuation"),
    ("No: 3e-1\nYes: 7e-1", 0.7, "notation"),
    ("No: +0.30\nYes: +0.70", 0.7, "notation"),
    ("No: 3/10\nYes: 7/10", 0.7, "fraction"),
    ("No: 3 out of 10\nYes: 7 out of 10", 0.7, "fraction"),
    ("No: 1 in 4\nYes: 3 in 4", 0.75, "fraction"),
    ("No: ¼\nYes: ¾", 0.75, "fraction"),
    ("No: 0.\u0663\u0660\nYes: 0.70", 0.7, "characters"),
    ("No：０.３０\nYes：０.７０", 0.7, "characters"),
    ("No:\u00a00.30\nYes:\u00a00.70", 0.7, "characters"),
    ("**No: 0.30**\n**Yes: 0.70**", 0.7, "markup"),
    ("**No:** 0.30\n**Yes:** 0.70", 0.7, "markup"),
    ("- No: 0.30\n- Yes: 0.70", 0.7, "markup"),
    ("```\nNo: 0.30\nYes: 0.70\n```", 0.7, "markup"),
    ("```text\nNo: 0.30\nYes: 0.70\n```", 0.7, "markup"),
    ('"No: 0.30\nYes: 0.70"', 0.7, "markup"),
    ('{"No": 0.3, "Yes": 0.7}', 0.7, "json"),
    ('```json\n{"No": 0.3, "Yes": 0.7}\n```', 0.7, "json"),
    ("Yes: 0.70\nNo: 0.30", 0.7, "layout"),
    ("No: 0.30 Yes: 0.70", 0.7, "layout"),
    ("No: 0.30, Yes: 0.70", 0.7, "layout"),
    ("Sure!\nNo: 0.30\nYes: 0.70", 0.7, "words"),
    ("No: 0.30 (30%)\nYes: 0.70 (70%)", 0.7, "words"),
    ("P(No) = 0.3\nP(Yes) = 0.7", 0.7, "words"),
    ("0.7", 0.7, "single"),
    ("0,7", 0.7, "single"),
    ("70 %", 0.7, "single"),
    (".7", 0.7, "single"),
    ("7/10", 0.7, "single"),
    ("Yes: 70%", 0.7, "single"),
    ("0.7.", 0.7, "single"),
    ("Probability: **0.7**", 0.7, "words"),
    ("The probability is 0.7.", 0.7, "words"),
    ("70% chance", 0.7, "words"),
    ("No: 0.30\nYes: 0.70\n\nThe X-ray decides it.", 0.7, "passage"),
    ("There is a 70% chance that this patient has a cold.", 0.7, "sentence"),
]


@pytest.mark.parametrize("name", [name for name in REPAIRS if not name.endswith("layout")])
def test_what_a_repair_covers_is_said_with_an_example_that_it_repairs(name):
    examples = re.findall(r"'([^']+)'", REPAIR_MEANINGS[name])
    statuses = {decode_belief(text, form="number").status for text in examples}
    statuses |= {decode_belief(text).status for text in examples}
    # Of "Yes" alone any spelling is one number for two.
    statuses |= {decode_belief(f"No = 0.3\n{text}").status for text in examples}
    assert name in statuses


@pytest.mark.parametrize(("text", "value", "repair"), REPAIRED)
def test_a_repair_keeps_the_value_and_bears_its_name(text, value, repair):
    decoded = decode_belief(text)
    assert (decoded.value, decoded.status) == (value, f"repaired:{repair}")
    assert decoded.readable


def test_every_repair_is_in_the_schema_and_has_an_example():
    assert tuple(REPAIR_MEANINGS) == REPAIRS
    assert {f"repaired:{repair}" for _, _, repair in REPAIRED} == set(REPAIRS)


# Spellings of a number that a reader would take for this number and no other, or would refuse;
# (spelling, is it to be read).
_SPELLINGS = [
    (lambda h: f"{h / 100:.2f}", True),
    (lambda h: f"{h / 100:.2f}.", True),
    (lambda h: f"{h}%", True),
    (lambda h: f"{h} %", True),
    (lambda h: f"{h} percent", True),
    (lambda h: f"0,{h:02d}" if h < 100 else "1,0", True),
    (lambda h: f"{h}/100", True),
    (lambda h: f"{h} out of 100", True),
    (lambda h: f"**{h / 100:.2f}**", True),
    (lambda h: f"+{h / 100:.2f}", True),
    (lambda h: f"{h}e-2", True),
    (lambda h: f"{h / 100:.2f} ({h}%)", True),
    (lambda h: "".join(chr(0x0660 + int(c)) if c.isdigit() else c for c in f"{h / 100:.2f}"), True),
    (lambda h: f"about {h / 100:.2f}", False),
    (lambda h: f"not {h / 100:.2f}", False),
    (lambda h: f"{h / 100:.2f} or {h / 100 + 0.01:.2f}", False),
    (lambda h: f"{h / 100:.2f}-{h / 100 + 0.05:.2f}", False),
    (lambda h: f"<{h / 100:.2f}", False),
    (lambda h: f"{h / 100:.2f}?", False),
    (lambda h: f"{h + 2}", False),
    (lambda h: f"-{h / 100 + 0.01:.2f}", False),
    (lambda h: f"{h}%%", False),
    (lambda h: f"${h / 100:.2f}", False),
]
_FRAMES = [
    "No: {no}\nYes: {yes}",
    "no: {no}\nYES : {yes}",
    "Yes: {yes}\nNo: {no}",
    "- No: {no}\n- Yes: {yes}",
    "```\nNo: {no}\nYes: {yes}\n```",
    "Here is my answer:\n\nNo: {no}\nYes: {yes}",
    "Yes: {yes}",
    "{yes}",
    "Probability: {yes}",
    "I would say the probability is {yes}",
]


def test_two_thousand_oddities_give_the_stated_value_or_none():
    rng = np.random.default_rng(11)
    readable = 0
    for _ in range(2000):
        hundredths = int(rng.integers(101))
        spell, fair = _SPELLINGS[rng.integers(len(_SPELLINGS))]
        frame = _FRAMES[rng.integers(len(_FRAMES))]
        text = frame.format(no=spell(100 - hundredths), yes=spell(hundredths))
        decoded = decode_belief(text)
        if fair:
            assert decoded.value == pytest.approx(hundredths / 100, abs=1e-12), text
            assert decoded.status in READABLE
            readable += 1
        else:
            assert decoded.value is None, text
        if decoded.status == "ok":
            assert _BELIEF.fullmatch(text), text
    assert 800 < readable < 1500


@pytest.mark.parametrize(
    ("text", "number", "repair"),
    [
        ("1,5", Fraction(3, 2), "comma"),
        ("12,75", Fraction(51, 4), "comma"),
        ("0,125", Fraction(1, 8), "comma"),
        ("+0,5", Fraction(1, 2), "comma"),
        ("+0,125", Fraction(1, 8), "comma"),
        ("70.%", Fraction(7, 10), "percent"),
        ("1e0", Fraction(1), "notation"),
        ("5E-1", Fraction(1, 2), "notation"),
        ("1e-999", Fraction(1, 10**999), "notation"),
        ("70. %", Fraction(7, 10), "percent"),
        ("70 per cent", Fraction(7, 10), "percent"),
        ("1/3", Fraction(1, 3), "fraction"),
        ("1 / 3", Fraction(1, 3), "fraction"),
        ("2 in 3", Fraction(2, 3), "fraction"),
        ("½", Fraction(1, 2), "characters"),
        ("'0.5'", Fraction(1, 2), "markup"),
        ("__0.5__", Fraction(1, 2), "markup"),
        ("**`0.5`**", Fraction(1, 2), "markup"),
        ("~~~\n0.5\n~~~", Fraction(1, 2), "markup"),
        ("0.5!", Fraction(1, 2), "punctuation"),
        ("= 0.5", Fraction(1, 2), "words"),
        ("0.50 = 50%", Fraction(1, 2), "words"),
        ("0.50 50%", Fraction(1, 2), "words"),
        ("70％", Fraction(7, 10), "percent"),
        ("70٪", Fraction(7, 10), "percent"),
        ("0．5", Fraction(1, 2), "characters"),
        ("0٫5", Fraction(1, 2), "characters"),
        ("0，5", Fraction(1, 2), "comma"),
        ("1⁄2", Fraction(1, 2), "fraction"),
        ("＋0.5", Fraction(1, 2), "notation"),
        ("＝0.5", Fraction(1, 2), "words"),
        ("Yes：0.5", Fraction(1, 2), "words"),
        ("’0.5’", Fraction(1, 2), "markup"),
        ("−0.5", Fraction(-1, 2), "characters"),
        ("﹣0.5", Fraction(-1, 2), "characters"),
        ("－0.5", Fraction(-1, 2), "characters"),
    ],
)
def test_a_number_keeps_its_exact_value_and_the_repair_its_name(text, number, repair):
    value, status = read_number(text)
    assert value == number
    # A gentler repair may stand behind the one that names the answer.
    assert REPAIRS.index(status) >= REPAIRS.index(f"repaired:{repair}")


@pytest.mark.parametrize(
    "text",
    [
        "0.5",  # what has the form is no repair
        "1,234",
        "12,345",
        "1,000,000",
        "1e1000",
        "0.5 0.6",
        "0.5 or",
        "0.5?",
        "0.5^2",
        "5*2",
        "0.5-",
        "=0.5/",
        "1/0",
        "1 /2/ 3",
        "- 0.5",
        "0.5\nNo: 0.5",
        "No: 0.5",
        "0." + "1" * 39 + ".",
        " " * 2_000 + "0.5.",
    ],
)
def test_a_number_that_may_be_another_is_not_read(text):
    with pytest.raises(UnreadableError):
        read_number(text)


def test_the_longest_number_and_the_longest_answer_that_are_read():
    assert read_number("0." + "1" * 38 + ".")[1] == "repaired:punctuation"
    assert read_number(" " * 1_996 + "0.5.")[0] == Fraction(1, 2)


@pytest.mark.parametrize(
    ("text", "labels", "shares", "repair"),
    [
        ("low: 1/4\nhigh: 3/4", ("low", "high"), (25, 75), "fraction"),
        ("LOW: .25\nhigh : .75", ("low", "high"), (25, 75), "spelling"),
        ("'low': .25\n'high': .75", ("low", "high"), (25, 75), "spelling"),
        ("low = .25; high = .75", ("low", "high"), (25, 75), "layout"),
        ("low: 25% high: 75%", ("low", "high"), (25, 75), "layout"),
        ("high: .75\nlow: .25", ("low", "high"), (25, 75), "layout"),
        ("a b: .25\na: .75", ("a", "a b"), (75, 25), "layout"),
        ('{"HIGH": "75%", "low": 0.25}', ("low", "high"), (25, 75), "layout"),
        ("My estimate is:\nlow: .25\nhigh: .75", ("low", "high"), (25, 75), "words"),
        ("Probability of No: .25\nProbability of Yes: .75", ("No", "Yes"), (25, 75), "words"),
    ],
)
def test_labels_name_their_numbers(text, labels, shares, repair):
    numbers, status = read_probabilities(text, labels)
    assert numbers == [Fraction(share, 100) for share in shares]
    assert status == f"repaired:{repair}"


@pytest.mark.parametrize(
    "text",
    [
        "low: .25",
        "low: .25\nhigh: .75\nmiddle: 0",
        "low: .25\nlow: .25\nhigh: .75",
        "small low: .25\nhigh: .75",
        "the low: .25\nhigh: .75",
        "low: .25\n.75",
        "low: .25\nhigh: .75\nperhaps",
        "low: .25 or so\nhigh: .75",
        '{"low": 0.25, "high": 0.75, "LOW": 0.25}',
        '{"low": 0.25, "middle": 0.75}',
        '{"low": {"x": 1}, "high": 0.75}',
        '{"low": NaN, "high": 0.75}',
        '{"low": 0.25, "high": 0.75',
        "low: .25\nhigh: .75",  # the form itself
    ],
)
def test_labels_that_are_missing_doubled_or_others_are_not_read(text):
    with pytest.raises(UnreadableError):
        read_probabilities(text, ("low", "high"))


def test_one_number_is_that_of_yes_only_where_no_and_yes_were_asked_for():
    assert read_probabilities("0.7", ("No", "Yes")) == ([Fraction(7, 10)], "repaired:single")
    assert read_probabilities("yes = 70%", ("No", "Yes")) == ([Fraction(7, 10)], "repaired:single")
    for labels in (("Yes", "No"), ("no", "maybe"), ("Yes",)):
        with pytest.raises(UnreadableError):
            read_probabilities("0.7", labels)


@pytest.mark.parametrize(
    ("text", "option", "repair"),
    [
        ("WAIT", "wait", "spelling"),
        ("wait!", "wait", "punctuation"),
        ("Wait .", "wait", "punctuation"),
        ("- wait", "wait", "markup"),
        ("My final answer is: wait;", "wait", "words"),
        ("I would choose stop.", "stop.", "words"),
        ("Stop.", "stop.", "spelling"),
        ("stop..", "stop.", None),
        ("I pick i wait", "wait", "words"),
        ("i wait", "I wait", "spelling"),
    ],
)
def test_a_choice_is_read_by_the_least_repair(text, option, repair):
    options = ("wait", "stop.", "I wait")
    if repair is None:
        with pytest.raises(UnreadableError):
            read_choice(text, options)
    else:
        assert read_choice(text, options) == (option, f"repaired:{repair}")


def test_options_that_differ_in_capitals_alone_are_told_apart_by_the_form_only():
    with pytest.raises(UnreadableError):
        read_choice("go.", ("go", "GO"))
    # One number would else be read as that of both.
    with pytest.raises(UnreadableError):
        read_probabilities('{"a": 0.5}', ("a", "A"))


def test_blanks_around_a_line_are_no_repair():
    assert read_probabilities(" **No:** .3 \t\r\n  **Yes:** .7\r", ("No", "Yes")) == (
        [Fraction(3, 10), Fraction(7, 10)],
        "repaired:markup",
    )
