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

import coherence
from coherence import decode_belief, decode_choice, decode_decision, decode_distribution
from coherence.decoding.reply import REFUSALS
from coherence.table.schema import PARSED, STATUSES

GOOD = "No: 0.30\nYes: 0.70"
DOCS = Path(__file__).parents[2] / "docs/statuses.md"

LINES = [
    # The form.
    (GOOD, 0.7, "ok"),
    ("  No:  0.30 \r\n\r\nYes: 0.70\r\n", 0.7, "ok"),
    ("No:0.3\nYes:.7", 0.7, "ok"),
    ("No: 1.0\nYes: -0.0", 0.0, "ok"),
    ("No: 0.31\nYes: 0.70", 0.7, "ok"),
    ("<think>Yes: 0.2</think>\nNo: 0.30\nYes: 0.70", 0.7, "ok"),
    # Statements in other spellings.
    ("No: 0.30\nYes: 0.70<|eot_id|>", 0.7, "repaired:markup"),
    ("**No:** 0.30\n**Yes:** 0.70", 0.7, "repaired:markup"),
    ("```\nNo: 0.30\nYes: 0.70\n```", 0.7, "repaired:markup"),
    ("1. No: 0.3\n2. Yes: 0.7", 0.7, "repaired:markup"),
    ("No: ０.３０\nYes: ０.７０", 0.7, "repaired:characters"),
    ("no = 0.30\nyes = 0.70", 0.7, "repaired:spelling"),
    ("No: 0.30.\nYes: 0.70.", 0.7, "repaired:punctuation"),
    ("No: 3e-1\nYes: +0.7", 0.7, "repaired:notation"),
    ("No: 0,3\nYes: 0,7", 0.7, "repaired:comma"),
    ("No: 30%\nYes: 70 %", 0.7, "repaired:percent"),
    ("No: 3/10\nYes: 7 out of 10", 0.7, "repaired:fraction"),
    ("No: 0.30 (30%)\nYes: 0.70 (70%)", 0.7, "repaired:words"),
    ("No 0.30\nYes 0.70", 0.7, "repaired:spelling"),
    ("Yes: 0.70\nNo: 0.30", 0.7, "repaired:layout"),
    ("No: 0.30, Yes: 0.70", 0.7, "repaired:layout"),
    ("70% Yes, 30% No", 0.7, "repaired:layout"),
    ("| No | Yes |\n|---|---|\n| 0.3 | 0.7 |", 0.7, "repaired:spelling"),
    ("| No | 0.3 |\n| Yes | 0.7 |", 0.7, "repaired:spelling"),
    ("No:\n0.3\nYes:\n0.7", 0.7, "repaired:layout"),
    ('{"No": 0.3, "Yes": 0.7}', 0.7, "repaired:json"),
    ('{"probabilities": {"no": "30%", "yes": "70%"}}', 0.7, "repaired:percent"),
    ("P(Yes) = 0.7\nP(No) = 0.3", 0.7, "repaired:words"),
    ("Answer: No: 0.30, Yes: 0.70", 0.7, "repaired:words"),
    ("Yes: 70%", 0.7, "repaired:single"),
    ("No: 0.30", 0.7, "repaired:single"),
    ("0.7", 0.7, "repaired:single"),
    ("Probability: 0.7", 0.7, "repaired:words"),
    # The words around are never read, whatever they say.
    *(
        (f"{GOOD}\n\n{remark}", 0.7, "repaired:passage")
        for remark in (
            "So rain is likely.",
            "So rain is unlikely.",
            "I can't say more than that.",
            "Sorry I can't be more precise.",
            "The population prevalence is about 5%.",
        )
    ),
    (f"Actually a nice question! The generic drug is safe.\n{GOOD}", 0.7, "repaired:passage"),
    ("The probability that it rains is 0.7.", None, "unparsed"),
    ("The probability that the firm defaults is 0.7.", None, "unparsed"),
    ("Had the X-ray been normal I would say No: 0.95, Yes: 0.05.", None, "unparsed"),
    ("There is a 70% chance that it rains.", None, "unparsed"),
    # Statements must agree, within rounding.
    (f"{GOOD}\n\nYes: 0.703", 0.7, "repaired:layout"),
    (f"{GOOD}\n\nYes: 0.71", None, "unparsed"),
    (f"{GOOD}\n\nFinal answer: 0.6", None, "unparsed"),
    (f"{GOOD}\n\n{GOOD}", 0.7, None),
    ("Answer: No\nProbability: 0.8", None, "unparsed"),
    ('{"No": 0.3, "Yes": 0.7, "Yes": 0.2}', None, "unparsed"),
    # A number beside No, or false, may be that of No.
    ("Verdict: No\nProbability: 0.8", None, "unparsed"),
    ('{"label": "No", "probability": 0.8}', None, "unparsed"),
    ('{"rain": false, "probability": 0.8}', None, "unparsed"),
    ('{"answer": {"label": "No", "probability": 0.8}}', None, "unparsed"),
    ('{"label": "Yes", "probability": 0.7}', 0.7, "repaired:single"),
    # What a tag of another name holds at the beginning is thinking, unless it is one of answers.
    (f"<analysis>Yes: 0.2</analysis>\n{GOOD}", 0.7, "ok"),
    ("<No>: 0.85\n<Yes>: 0.15", None, "unparsed"),
    (f"<|START_THINKING|>Yes: 0.2<|END_THINKING|>{GOOD}", 0.7, "ok"),
    (f"<think >Yes: 0.2</think >\n{GOOD}", 0.7, "ok"),
    (f"<pondering>{GOOD}", None, "truncated"),
    (f"<response>\n{GOOD}\n</response>", 0.7, "repaired:passage"),
    ('<|channel|>final <|constrain|>json<|message|>{"No": 0.3, "Yes": 0.7}', 0.7, "repaired:json"),
    # Approximations, ranges and half a pair.
    *(
        (text, None, "unparsed")
        for text in (
            *("", "  \n", "~0.7", "About 70%.", "0.7-0.8", "0.7 to 0.8", "> 0.9", "1,000", "1½"),
            *("0.7x", "5**2", "70 percentage points", "Yes, 70%", "Yes", "0.3 0.7", "0."),
            *("No: \nYes: 0.70", "No: about 0.3\nYes: 0.7", "No: 0.30\nYes: 0.", "No: nan\nYes: 1"),
            *("Not yes: 0.7", "Yes/No: 0.7", "70% chance of No", '{"No": true, "Yes": [0.7]}'),
            *("{" * 2000, "0.\u200b7", "\u202e7.0", "7/0", "\ud800"),
        )
    ),
    # Numbers that are no probabilities.
    ("70", None, "out_of_range"),
    ("No: 30\nYes: 70", None, "out_of_range"),
    ("No: -0.30\nYes: 1.30", None, "out_of_range"),
    (f"No: 0.30\nYes: {'9' * 5000}", None, "out_of_range"),
    ("No: 0.30\nYes: 0.60", None, "sum_not_one"),
    ("No: 30%\nYes: 60%", None, "sum_not_one"),
    # A refusal names the status of what is unparsed.
    ("I can\u2019t help with that.\nPlease ask a doctor.", None, "refused"),
]

NUMBERS = [
    ("0.7", 0.7, "ok"),
    (" .7\n", 0.7, "ok"),
    ("1", 1.0, "ok"),
    ("0.", None, "unparsed"),
    ("70%", 0.7, "repaired:percent"),
    ("0,7", 0.7, "repaired:comma"),
    ("7/10", 0.7, "repaired:fraction"),
    ("50/50", None, "unparsed"),
    ("0.7.", 0.7, "repaired:punctuation"),
    ("\\boxed{0.7}", 0.7, "repaired:words"),
    ("<answer>0.7</answer>", 0.7, "repaired:words"),
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
    ("\u22120.2", None, "out_of_range"),
    ("101%", None, "out_of_range"),
]

CHOICES = [
    ("wait", "wait", "ok"),
    (" treat now\n", "treat now", "ok"),
    ("Treat now", "treat now", "repaired:spelling"),
    ("wait.", "wait", "repaired:punctuation"),
    ("`wait`", "wait", "repaired:markup"),
    ("(wait)", "wait", "repaired:markup"),
    ("My answer: **Wait.**", "wait", "repaired:words"),
    ("Decision: wait", "wait", "repaired:words"),
    ("I choose treat now", "treat now", "repaired:words"),
    ('{"choice": "wait"}', "wait", "repaired:json"),
    ("Wait.\n\nTreating now would be wrong.", "wait", "repaired:passage"),
    ("wait or treat now", None, "unparsed"),
    ("do not wait", None, "unparsed"),
    ("I would rather wait here.", None, "unparsed"),
    ("wait\ntreat now", None, "unparsed"),
    ("[ ] wait\n[x] treat now", None, "unparsed"),
    ("", None, "unparsed"),
    ("I can't choose.", None, "refused"),
]

DECISIONS = [
    ("Can decide: Yes\nDecision: Yes", "yes", "ok"),
    ("Can decide:Yes\nDecision:\t No", "no", "ok"),
    ("Can decide: No\nDecision: Yes", "defer", "ok"),
    ("Can decide: No", "defer", "repaired:layout"),
    ("Can decide: No\nDecision: None", "defer", "repaired:passage"),
    ("Decision: No\nCan decide: Yes", "no", "repaired:layout"),
    ("**Can decide:** Yes\n**Decision:** No", "no", "repaired:markup"),
    ("CAN DECIDE: NO\nDECISION: N/A", "defer", "repaired:passage"),
    ('{"Can decide": "Yes", "Decision": "No"}', "no", "repaired:json"),
    ("Yes\nNo", None, "unparsed"),
    ("Can decide: Yes", None, "unparsed"),
    ("Can decide: Yes\nDecision: Maybe", None, "unparsed"),
    ("Can decide: Yes\nDecision: Yes\nFinal decision: No", None, "unparsed"),
    ("Can decide: Yes or No\nDecision: No", None, "unparsed"),
]


@pytest.mark.parametrize(("text", "value", "status"), LINES)
def test_two_lines(text, value, status):
    decoded = decode_belief(text)
    assert decoded.value == value
    assert decoded.status == (status or decoded.status)
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
        ("A: 0.4\na: 0.6", ("a", "A"), None),
        ("a: 0.4", ("a", "b"), None),
        ("aa: 0.4\nb: 0.6", ("a", "b"), None),
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


@settings(max_examples=200, deadline=None)
@given(st.text(), st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_any_text_and_any_labels_are_survived(text, labels):
    decoded = decode_distribution(text, labels)
    assert (decoded.value is not None) == (decoded.status in PARSED)
    assert decode_decision(text).status in STATUSES
    assert decode_choice(text, labels).status in STATUSES


@settings(max_examples=300, deadline=None)
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
    return coherence.decode_belief(row["text"], form=form, **ended)


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
