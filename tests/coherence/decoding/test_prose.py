"""Prose: breaks if markup hides an answer, or taking it away makes another number."""

import pytest

from coherence.decoding.numerals import RepairedText
from coherence.decoding.prose import plain_lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\n\n  b \r\n", ["a", "b"]),
        ("**No:** 0.3", ["No: 0.3"]),
        ("*No*: `0.3`", ["No: 0.3"]),
        ("## Answer\n> No", ["Answer", "No"]),
        ("```json\nx\n```", ["x"]),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", ["a | b", "1 | 2"]),
        ("<p>No: 0.3<br>Yes</p>", ["No: 0.3", "Yes"]),
        ("<tr><td>No</td><td>0.3</td></tr>", ["No |  | 0.3"]),
        ("\\boxed{0.3}", ["Answer: 0.3"]),
        ("$0.30$ and \\frac{1}{2}", ["0.30 and 1/2"]),
        ("\\text{No: } 30\\%", ["No:  30%"]),
        ("<|begin_of_box|>B<|end_of_box|>", ["Answer: B"]),
        ("\uff10\uff0e\uff13", ["0.3"]),
    ],
)
def test_markup_is_taken_away(text, lines):
    assert plain_lines(text, RepairedText(text)) == lines


@pytest.mark.parametrize(
    "text", ["5**2", "0.2```4", "a_b", "0.3<sup>2</sup>", "$0.30", "3 * 4 * 5", "x < 0.3"]
)
def test_no_number_is_made_of_two(text):
    assert plain_lines(text, RepairedText(text)) == [text]


def test_what_was_done_is_noted():
    reading = RepairedText("")
    plain_lines("plain\nlines", reading)
    assert reading.repairs == set()
    plain_lines("**\uff10**", reading)
    assert reading.repairs == {"repaired:markup", "repaired:characters"}
