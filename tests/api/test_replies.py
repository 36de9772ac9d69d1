"""Decoding: breaks if a word around a statement gives or takes away a value, or anything raises."""

import json
import math
import re
import time
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coherence.decoding.decode import (
    PARSED,
    STATUSES,
    decode_belief,
    decode_choice,
    decode_decision,
    decode_distribution,
)
from coherence.decoding.statements import REFUSALS

GOOD = "No: 0.30\nYes: 0.70"
DOCS = Path(__file__).parents[2] / "docs/eliciting.md"

PASSAGE = "\n\nThe population prevalence is about 5%."
PARSED_LINES = {  # of which the value is .7
    "ok": [
        *(GOOD, "  No:  0.30 \r\n\r\nYes: 0.70\r\n", "No:0.3\nYes:.7", "No: 0.31\nYes: 0.70"),
        # What a tag holds at the beginning is thinking, unless it is one of answers.
        *(f"<think>Yes: 0.2</think>\n{GOOD}", f"<analysis>Yes: 0.2</analysis>\n{GOOD}"),
        *(
            f"<|START_THINKING|>Yes: 0.2<|END_THINKING|>{GOOD}",
            f"<think >Yes: 0.2</think >\n{GOOD}",
        ),
    ],
    "repaired:markup": [
        *(f"{GOOD}<|eot_id|>", "**No:** 0.30\n**Yes:** 0.70", f"```\n{GOOD}\n```"),
        "1. No: 0.3\n2. Yes: 0.7",
    ],
    "repaired:characters": ["No: ０.３０\nYes: ０.７０"],
    "repaired:spelling": [
        *("no = 0.30\nyes = 0.70", "No 0.30\nYes 0.70", "| No | Yes |\n|---|---|\n| 0.3 | 0.7 |"),
        "| No | 0.3 |\n| Yes | 0.7 |",
    ],
    "repaired:punctuation": ["No: 0.30.\nYes: 0.70."],
    "repaired:notation": ["No: 3e-1\nYes: +0.7"],
    "repaired:comma": ["No: 0,3\nYes: 0,7"],
    "repaired:percent": ["No: 30%\nYes: 70 %", '{"probabilities": {"no": "30%", "yes": "70%"}}'],
    "repaired:fraction": ["No: 3/10\nYes: 7 out of 10"],
    "repaired:words": [
        *("No: 0.30 (30%)\nYes: 0.70 (70%)", "P(Yes) = 0.7\nP(No) = 0.3", "Probability: 0.7"),
        "Answer: No: 0.30, Yes: 0.70",
    ],
    "repaired:layout": [
        *("Yes: 0.70\nNo: 0.30", "No: 0.30, Yes: 0.70", "70% Yes, 30% No", "No:\n0.3\nYes:\n0.7"),
        *(f"{GOOD}\n\nYes: 0.703", f"{GOOD}\n\n{GOOD}"),  # statements agree within rounding
    ],
    "repaired:json": [
        '{"No": 0.3, "Yes": 0.7}',
        '<|channel|>final <|constrain|>json<|message|>{"No": 0.3, "Yes": 0.7}',
    ],
    "repaired:single": ["Yes: 70%", "No: 0.30", "0.7", '{"label": "Yes", "probability": 0.7}'],
    # The words around are never read, whatever they say.
    "repaired:passage": [
        *(f"{GOOD}\n\nSo rain is unlikely.", f"{GOOD}\n\nI can't say more than that."),
        *(f"{GOOD}{PASSAGE}", f"Actually a nice question! The generic drug is safe.\n{GOOD}"),
        f"<response>\n{GOOD}\n</response>",
    ],
}
NOT_PARSED = {
    "unparsed": [
        *("The probability that it rains is 0.7.", "There is a 70% chance that it rains."),
        "Had the X-ray been normal I would say No: 0.95, Yes: 0.05.",
        # Statements must agree.
        *(f"{GOOD}\n\nYes: 0.71", f"{GOOD}\n\nFinal answer: 0.6"),
        '{"No": 0.3, "Yes": 0.7, "Yes": 0.2}',
        # A number beside No, or false, may be that of No.
        *("Answer: No\nProbability: 0.8", "Verdict: No\nProbability: 0.8"),
        *('{"label": "No", "probability": 0.8}', '{"rain": false, "probability": 0.8}'),
        *('{"answer": {"label": "No", "probability": 0.8}}', "<No>: 0.85\n<Yes>: 0.15"),
        # Approximations, ranges and half a pair.
        *("", "  \n", "~0.7", "About 70%.", "0.7-0.8", "0.7 to 0.8", "> 0.9", "1,000", "1½"),
        *("0.7x", "5**2", "70 percentage points", "Yes, 70%", "Yes", "0.3 0.7", "0."),
        *("No: \nYes: 0.70", "No: about 0.3\nYes: 0.7", "No: 0.30\nYes: 0.", "No: nan\nYes: 1"),
        *("Not yes: 0.7", "Yes/No: 0.7", "70% chance of No", '{"No": true, "Yes": [0.7]}'),
        *("{" * 2000, "0.\u200b7", "\u202e7.0", "7/0", "\ud800"),
    ],
    "out_of_range": [
        *("70", "No: 30\nYes: 70", "No: -0.30\nYes: 1.30", f"No: 0.30\nYes: {'9' * 5000}"),
    ],
    "sum_not_one": ["No: 0.30\nYes: 0.60", "No: 30%\nYes: 60%"],
    "truncated": [f"<pondering>{GOOD}"],
    "refused": ["I can\u2019t help with that.\nPlease ask a doctor."],
}
LINES = [("No: 1.0\nYes: -0.0", 0.0, "ok")]
LINES += [(text, 0.7, status) for status, texts in PARSED_LINES.items() for text in texts]
LINES += [(text, None, status) for status, texts in NOT_PARSED.items() for text in texts]

NUMBERS = [
    ("0.7", 0.7, "ok"),
    ("1", 1.0, "ok"),
    ("0.", None, "unparsed"),
    ("70%", 0.7, "repaired:percent"),
    ("0,7", 0.7, "repaired:comma"),
    ("7/10", 0.7, "repaired:fraction"),
    ("0.7.", 0.7, "repaired:punctuation"),
    ("\\boxed{0.7}", 0.7, "repaired:words"),
    ("The answer is 0.7.", 0.7, "repaired:words"),
    ("My final answer: **0.7**", 0.7, "repaired:words"),
    ("0.7\n\nI may be wrong.", 0.7, "repaired:passage"),
    ("1.\nSmoking is a risk factor.", None, "unparsed"),
    ("Yes: 0.7", 0.7, "repaired:words"),
    ("No: 0.7", None, "unparsed"),
    ('{"probability": 0.7}', 0.7, "repaired:json"),
    ('{"verdict": "No", "probability": 0.7}', None, "unparsed"),
    ("24/7", None, "out_of_range"),
    ("3/4/2024", None, "unparsed"),
    ("-0.2", None, "out_of_range"),
]

CHOICES = [
    ("wait", "wait", "ok"),
    (" treat now\n", "treat now", "ok"),
    ("Treat now", "treat now", "repaired:spelling"),
    ("wait.", "wait", "repaired:punctuation"),
    ("`wait`", "wait", "repaired:markup"),
    ("My answer: **Wait.**", "wait", "repaired:words"),
    ("I choose treat now", "treat now", "repaired:words"),
    ('{"choice": "wait"}', "wait", "repaired:json"),
    ("Wait.\n\nTreating now would be wrong.", "wait", "repaired:passage"),
    ("wait or treat now", None, "unparsed"),
    ("I would rather wait here.", None, "unparsed"),
    ("[ ] wait\n[x] treat now", None, "unparsed"),
    ("", None, "unparsed"),
    ("I can't choose.", None, "refused"),
]

DECISIONS = [
    ("Can decide: Yes\nDecision: Yes", "yes", "ok"),
    ("Can decide: No\nDecision: Yes", "defer", "ok"),
    ("Can decide: No", "defer", "repaired:layout"),
    ("Decision: No\nCan decide: Yes", "no", "repaired:layout"),
    ("**Can decide:** Yes\n**Decision:** No", "no", "repaired:markup"),
    ('{"Can decide": "Yes", "Decision": "No"}', "no", "repaired:json"),
    ("Yes\nNo", None, "unparsed"),
    ("Can decide: Yes", None, "unparsed"),
    ("Can decide: Yes\nDecision: Maybe", None, "unparsed"),
    ("Can decide: Yes\nDecision: Yes\nFinal decision: No", None, "unparsed"),
]


@pytest.mark.parametrize(("text", "value", "status"), LINES)
def test_two_lines(text, value, status):
    decoded = decode_belief(text)
    assert decoded.value == value
    assert decoded.status == status
    assert value is None or math.copysign(1, decoded.value) == 1  # -0.0 would print as such


def test_a_label_that_ends_like_another_is_the_longer_one():
    """Breaks if labels are looked through in the order of a set: another one in each process."""
    for labels in (("sun", "no sun"), ("no sun", "sun")):
        decoded = decode_distribution("20% sun, 80% no sun", labels)
        assert dict(zip(labels, decoded.value, strict=True)) == {"sun": 0.2, "no sun": 0.8}


@pytest.mark.parametrize(("text", "value", "status"), NUMBERS)
def test_a_number_alone(text, value, status):
    decoded = decode_belief(text, form="number")
    assert (decoded.value, decoded.status) == (value, status)


@pytest.mark.parametrize(("text", "value", "status"), CHOICES)
def test_choices(text, value, status):
    decoded = decode_choice(text, ("wait", "treat now"))
    assert (decoded.value, decoded.status) == (value, status)


@pytest.mark.parametrize("text", ["B", "(B)", "B.", "B) treat", "B: treat", "Option B", "treat"])
def test_a_letter_or_its_words(text):
    assert decode_choice(text, ("A", "B"), words=("wait", "treat")).value == "B"
    assert decode_choice(text, ("A", "B"), words=("treat", "treat")).value in ("B", "A", None)


@pytest.mark.parametrize(("text", "value", "status"), DECISIONS)
def test_decisions(text, value, status):
    decoded = decode_decision(text)
    assert (decoded.value, decoded.status) == (value, status)


@pytest.mark.parametrize(
    ("text", "labels", "value"),
    [
        ("a: 0.33\nb: 0.33\nc: 0.33", ("a", "b", "c"), (0.33, 0.33, 0.33)),
        ("a+b (c): 0.4\n[d]: 0.6", ("a+b (c)", "[d]"), (0.4, 0.6)),
        ("a: b: 0.4\na: 0.6", ("a: b", "a"), (0.4, 0.6)),
        ("b: 0.4\na: 0.6", ("a", "b"), (0.6, 0.4)),
        ("a: 0.4\nA: 0.6", ("a", "A"), (0.4, 0.6)),
        ("a: 0.4", ("a", "b"), None),
        ("x a: 0.4\nb: 0.6", ("a", "b"), None),
        ("Yes: 0.7", ("No", "Yes"), None),
    ],
)
def test_distributions_take_any_labels(text, labels, value):
    assert decode_distribution(text, labels).value == value


@pytest.mark.parametrize(("last", "status"), [("0.175", "ok"), ("0.176", "sum_not_one")])
def test_numbers_may_miss_a_sum_of_one_by_half_a_hundredth_each(last, status):
    labels = tuple("abcdefg")
    text = "\n".join(f"{label}: 0.143" for label in labels[:-2]) + f"\nf: 0.145\ng: {last}"
    assert decode_distribution(text, labels).status == status
    assert decode_belief("No: 0.31\nYes: 0.70").residual == pytest.approx(0.01)
    # So may two statements of one number miss each other.
    for other, value in (("0.705", 0.7), ("0.706", None)):
        assert decode_belief(f"{GOOD}\n\nYes: {other}").value == value


@pytest.mark.parametrize(
    ("text", "value", "status"),
    [
        ("No: 0.30\nYes: 0.6", None, "truncated"),
        ("No: 0.30\nYes: 0.70\nBec", 0.7, "ok"),
        ("Yes: 0.70\nNo: 0.", None, "truncated"),
        ("<think>Yes: 0.7\n", None, "truncated"),
        ('{"No": 0.3, "Yes": 0.', None, "truncated"),
    ],
)
def test_a_cut_reply_counts_only_with_what_is_complete(text, value, status):
    decoded = decode_belief(text, finish_reason="length")
    assert (decoded.value, decoded.status) == (value, status)


def test_what_may_be_struck_out_is_not_read():
    """<s> and </s> begin and end a turn, or strike out: before further words nobody knows."""
    assert decode_belief("<s>No: 0.1\nYes: 0.9</s>\nNo: 0.7\nYes: 0.3").value is None
    assert decode_choice("<s>A</s>\nB", ("A", "B")).value is None
    assert decode_belief("<s>No: 0.4\nYes: 0.6</s>").value == 0.6


def test_what_a_server_withheld_is_refused():
    assert decode_belief(GOOD, finish_reason="content_filter").status == "refused"


@pytest.mark.parametrize("phrase", REFUSALS)
def test_every_phrase_of_a_refusal_names_the_status(phrase):
    for spelled in (phrase, phrase.upper(), phrase.replace("'", "\u2019")):
        assert decode_belief(f"Well, {spelled} say.").status == "refused"
        assert decode_choice(f"Well, {spelled} say.", ("a", "b")).status == "refused"
        assert decode_belief(f"{GOOD}\n{spelled} say more.").value == 0.7


@pytest.mark.parametrize(
    "unit",
    [
        *('{"a":', "<think>", "\\boxed{", "$0 ", "**a", "No: 0.3, ", "0.7\n", "No\n0.3\n", "- 1. "),
        *("| No | Yes |\n", "Answer:\n", "the ", "0.7 (", "½", "0", " ", "\ud800", "I cannot "),
    ],
)
def test_time_is_linear_in_any_text(unit):
    text = unit * (100_000 // len(unit))
    started = time.process_time()
    assert decode_belief(text).status in STATUSES
    assert time.process_time() - started < 1  # about .2 s at most; squared time takes minutes


@settings(max_examples=100, deadline=None)
@given(st.text(), st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_any_text_and_any_labels_are_survived(text, labels):
    decoded = decode_distribution(text, labels)
    assert (decoded.value is not None) == (decoded.status in PARSED)
    assert decode_decision(text).status in STATUSES
    assert decode_choice(text, labels).status in STATUSES


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="0123456789.,%/-+e YesNo:*\n()½٣−０", max_size=40))
def test_ok_is_the_form_and_nothing_else(text):
    number = r"(-?(?:\d+(?:\.\d+)?|\.\d+))"
    form = re.compile(rf"\s*No:[ \t]*{number}\s*\n\s*Yes:[ \t]*{number}\s*", re.ASCII)
    for asked in ("lines", "number"):
        belief = decode_belief(text, form=asked)
        assert belief.value is None or 0 <= belief.value <= 1
        if belief.status == "ok":
            assert (form if asked == "lines" else re.compile(number)).fullmatch(text.strip(" \n"))


@cache
def _coded(name):
    text = (Path(__file__).parent / f"replies/{name}.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


def _read(row):
    ended = {"finish_reason": row["finish_reason"]}
    if row["form"] == "distribution":
        return decode_distribution(row["text"], row["labels"], **ended)
    if row["form"] == "decision":
        return decode_decision(row["text"], **ended)
    if row["form"] == "choice":
        return decode_choice(row["text"], row["options"], words=row.get("words", ()), **ended)
    form = row["form"].removeprefix("belief_")
    return decode_belief(row["text"], form=form, **ended)


@pytest.mark.parametrize("names", ["corpus held_out everyday fresh unseen", "nasty"])
def test_the_page_says_how_many_replies_are_read(names):
    """A measure and no target: the page's row is what the rules read today."""
    counts = Counter()
    replies = [row for name in names.split() for row in _coded(name)]
    for row in replies:
        value, coded = _read(row).value, row["value"]
        coded = tuple(coded) if isinstance(coded, list) else coded
        close = value == coded or (
            not isinstance(coded, str | None)
            and value is not None
            and value == pytest.approx(coded, abs=1e-9)
        )
        counts["codable"] += coded is not None
        counts["read"] += value is not None and close
        counts["taken back"] += value is not None and not close
    listed = ", ".join(f"`{name}`" for name in names.split())
    row = re.search(rf"\| {listed}[^|]*\|(.*)\|", DOCS.read_text(encoding="utf-8"))[1]
    assert [int(cell) for cell in row.split("|")] == [
        len(replies),
        counts["codable"],
        counts["read"],
        counts["taken back"],
    ]
