"""Raw answers in cells. Breaks if a long one fills a page, or an untrusted one becomes markup."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

from coherence.report.raw_answers import BEGINNING, FOLDED_FROM, RAW_LIMIT, raw_markup

NUMBERS = {f"{at / 100:.2f}": 1 / (at + 7) ** 3 for at in range(101)}


def summary_of(text):
    found = re.fullmatch(
        r'<details class="long"><summary>(.*)</summary><div>(.*)</div></details>',
        str(raw_markup(text)),
        flags=re.DOTALL,
    )
    assert found is not None
    return html.unescape(found[1]), html.unescape(found[2])


@pytest.mark.parametrize("value", [None, float("nan"), pd.NA, np.nan, pd.NaT])
def test_what_is_missing_is_a_dash(value):
    assert str(raw_markup(value)) == "–"


def test_short_answers_stand_as_they_are():
    text = "Yes: 30%\n" + "x" * (FOLDED_FROM - 9)
    assert str(raw_markup(text)) == text


def test_long_answers_are_folded_under_their_beginning_with_the_whole_within():
    text = "I think\nthat " * 40
    summary, whole = summary_of(text)
    assert summary.startswith("I think that I think that")
    assert summary.endswith(f"… ({len(text)} characters)")
    assert len(summary) < BEGINNING + 25
    assert whole == text


def test_a_distribution_shows_its_most_probable_answers_rounded():
    text = json.dumps({"No": dict(reversed(NUMBERS.items()))})
    summary, whole = summary_of(text)
    assert summary == (
        "No: 0.00 (0.00292), 0.01 (0.00195), 0.02 (0.00137), 0.03 (0.001) … of 101 answers"
    )
    assert whole == text


def test_every_part_is_named_and_one_without_a_name_has_none():
    parts = dict.fromkeys(("low", "high"), NUMBERS)
    assert re.fullmatch(r"low: .* of 101 answers; high: .*", summary_of(json.dumps(parts))[0])
    decisions = {f"Can decide: {at}\nDecision: {'Yes ' * 15}": at / 10 for at in range(4)}
    summary = summary_of(json.dumps(decisions))[0]
    assert summary.startswith("Can decide: 3 Decision: Yes")
    assert "(0.3), Can decide: 2" in summary
    assert summary.endswith("(0)")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"No": NUMBERS})[:-9],
        json.dumps({"No": NUMBERS | {"0.50": 7}}),
        json.dumps({"No": NUMBERS | {"0.50": float("nan")}}),
        json.dumps({"No": NUMBERS | {"0.50": True}}),
        json.dumps({"No": NUMBERS, "Yes": "0.3"}),
        json.dumps({"reason": "x" * 300, "p": 0.3}),
        json.dumps([NUMBERS]),
        '{"a": ' + "9" * 5000 + "}",
        '{"a":' * 100_000,
        "{}" + " " * 300,
    ],
    ids=["cut", "not_at_most_1", "nan", "bool", "mixed", "text", "list", "digits", "deep", "more"],
)
def test_what_is_no_distribution_is_text(text):
    assert summary_of(text)[0].endswith(f"… ({len(text)} characters)")


def test_the_cut_is_said_and_hides_no_distribution():
    parts = {f"label {at}": NUMBERS for at in range(30)}
    text = json.dumps(parts)
    summary, whole = summary_of(text)
    assert summary.startswith("label 0: 0.00 (0.00292)")
    assert len(summary) <= 400
    assert whole.endswith(f"(cut after {RAW_LIMIT} of {len(text)} characters)")


@pytest.mark.parametrize("wrap", [str, lambda evil: json.dumps({evil: NUMBERS})])
@pytest.mark.parametrize("filler", ["", "x" * FOLDED_FROM])
def test_untrusted_text_stays_text(wrap, filler):
    shown = str(raw_markup(wrap("</summary><script>alert(1)</script>{0}{x}\x1b[31m") + filler))
    assert set(re.findall(r"<[^>]+>", shown)) <= {
        '<details class="long">',
        "<summary>",
        "</summary>",
        "<div>",
        "</div>",
        "</details>",
    }
    assert "\x1b" not in shown
