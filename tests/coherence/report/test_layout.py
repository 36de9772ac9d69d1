import re
import textwrap
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence.report.layout import (
    GAP,
    Paragraph,
    Row,
    Rule,
    cell_width,
    render_lines,
    wrapped,
)

TEXTS = st.text(st.sampled_from("ab -:/·\n決🙂e\u0301\u0323ñ한"), max_size=40)


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("no sign of a shift", 100, ["no sign of a shift"]),
        ("no sign of a shift", 9, ["no sign", "of a", "shift"]),
        ("no sign of a shift", 7, ["no sign", "of a", "shift"]),
        ("a  b   c", 5, ["a  b", "c"]),
        ("  indented text", 10, ["  indented", "text"]),
        ("one\ntwo three\n", 5, ["one", "two", "three", ""]),
        ("", 5, [""]),
        ("   ", 5, [""]),
        ("a-b/c:d", 3, ["a-b", "/c:", "d"]),
    ],
)
def test_texts_are_wrapped_between_words(text, width, lines):
    assert wrapped(text, width) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("see residual", ["see", "resi", "dual"]),
        ("residuals of", ["resi", "dual", "s of"]),
        # No blank of the cut word is left at the start of the next line.
        ("residual of", ["resi", "dual", "of"]),
        ("決決決 a", ["決決", "決 a"]),
        ("a決決決", ["a決", "決決"]),
        ("e\u0301e\u0301e\u0301e\u0301e\u0301 a", ["e\u0301e\u0301e\u0301e\u0301", "e\u0301 a"]),
        ("\u0301 residual", ["\u0301", "resi", "dual"]),
    ],
)
def test_a_word_longer_than_a_line_is_cut_between_characters(text, lines):
    assert wrapped(text, 4) == lines


def test_a_character_wider_than_a_line_stands_alone():
    assert wrapped("決決", 1) == ["決", "決"]
    assert wrapped("ab", 0) == ["a", "b"]


@given(TEXTS, st.integers(2, 30))
def test_wrapping_loses_nothing_and_parts_no_accent(text, width):
    lines = wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(cell_width(line) <= width and line == line.rstrip() for line in lines)
    # No accent is parted from its letter, but where the text has one behind a blank.
    parted = [line for line in lines if line and unicodedata.combining(line[0])]
    assert len(parted) <= len(re.findall(r"(?:^|\s)[\u0301\u0323]", text))


@given(st.lists(st.text("ab-:.", min_size=1, max_size=9), min_size=1), st.integers(9, 30))
def test_lines_of_ascii_are_as_full_as_those_of_the_standard_library(words, width):
    text = " ".join(words)
    assert wrapped(text, width) == textwrap.wrap(text, width, break_on_hyphens=False)


def test_lines_after_the_first_are_indented_as_far_as_what_leads():
    sentence = "caution: reports scatter"
    assert render_lines([Paragraph(sentence, lead="· ")], width=18) == [
        "· caution: reports",
        "  scatter",
    ]
    assert render_lines([Paragraph(sentence, lead=" " * 4)], width=18) == [
        "    caution:",
        "    reports",
        "    scatter",
    ]


def test_cells_of_a_row_are_wrapped_beside_each_other():
    row = Row(["check:\n  pair", "0.1 nats", "0.5"], [8, 5, 6], right=(2,))
    assert render_lines([row], width=23) == ["check:    0.1       0.5", "  pair    nats"]


def test_a_row_wider_than_the_lines_takes_the_same_from_every_column():
    row = Row(["a" * 12, "b" * 12, "c" * 12], [12, 12, 12])
    assert render_lines([row], width=34) == [
        "a" * 10 + "  " + "b" * 10 + "  " + "c" * 10,
        "aa".ljust(12) + "bb".ljust(12) + "cc",
    ]
    # What does not come out even is taken from the columns at the left or right, never lost.
    for width in range(3 + 2 * GAP, 45):
        lines = render_lines([row], width=width)
        assert max(map(len, lines)) == min(width, 40)
        assert [sum(line.count(letter) for line in lines) for letter in "abc"] == [12] * 3


@given(st.lists(TEXTS, min_size=3, max_size=3), st.integers(2, 12))
def test_columns_stand_below_each_other_whatever_the_characters(cells, width):
    row = Row([*cells, "|"], [width] * 3 + [1], right=(1,))
    first, *others = render_lines([row])
    assert cell_width(first.removesuffix("|")) == 3 * (width + GAP)
    assert all(cell_width(line) <= 3 * width + 2 * GAP for line in others)


def test_a_rule_goes_across():
    assert render_lines([Rule()], width=5) == ["─" * 5]
    assert render_lines([Rule()], width=3, color=True) == ["\x1b[2m───\x1b[0m"]


def test_styles_become_codes_only_on_request_and_no_line_ends_in_blanks(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # what the environment wishes is the caller's to weigh
    parts = [Paragraph("ab  ", style="bold"), Row(["c", ""], [3, 4], style="dim"), Paragraph()]
    assert render_lines(parts) == ["ab", "c", ""]
    assert render_lines(parts, color=True) == ["\x1b[1mab\x1b[0m", "\x1b[2mc\x1b[0m", ""]
    two = render_lines([Paragraph("ab cd", style="bold")], width=3, color=True)
    assert two == ["\x1b[1mab\x1b[0m", "\x1b[1mcd\x1b[0m"]


@pytest.mark.parametrize("name", ["[red]x[/red]", "[/]", "[link=http://x]y[/link]", ":smile:"])
def test_markup_and_emoji_codes_are_text(name):
    assert render_lines([Paragraph(name)], color=True) == [name]


def test_no_text_brings_codes_or_moves_the_cursor():
    text = "\x1b[31ma\x07b\rc\td\x9be"
    assert render_lines([Paragraph(text), Row([text], [20])]) == ["[31mabc de"] * 2
