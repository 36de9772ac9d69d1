"""Ends of lines: breaks if an answer is cut too early, or differently by two kinds of models."""

import pytest

from elicitation.models.base import end_of_lines, first_lines


@pytest.mark.parametrize(
    ("text", "max_lines", "end"),
    [
        ("a\nb", 1, 2),
        ("a\nb", 2, None),
        ("a\nb\n", 2, 4),
        ("\n \na\nb\nc", 2, 7),
        ("a\nb\nc", None, None),
        ("", 1, None),
        ("\n\n", 1, None),
    ],
)
def test_an_answer_ends_after_its_lines(text, max_lines, end):
    assert end_of_lines(text, max_lines) == end


def test_white_space_alone_is_no_line_and_what_follows_the_last_one_is_cut():
    assert first_lines("\n \nNo: 1\n\nYes: 0\nbye", 2) == "\n \nNo: 1\n\nYes: 0\n"
    assert first_lines("No: 1\nYes: 0", 2) == "No: 1\nYes: 0"  # not complete: nothing is cut
