import re

import pytest
from rich.text import Text

from coherence.report.columns import aligned, render_lines


def test_columns_are_as_wide_as_their_widest_cell_and_two_apart():
    rows = [["status", "answers", "note"], ["ok", "997", ""], ["refused", "3", "x"]]
    assert aligned(rows, right=(1,)) == [
        "status   answers  note",
        "ok           997",
        "refused        3  x",
    ]
    assert aligned([]) == []


def test_a_table_without_limit_is_never_wrapped_or_cut():
    (line,) = aligned([["w " * 400 + "end", "x"]])
    assert line == "w " * 400 + "end  x"


@pytest.mark.parametrize(
    "name", ["[red]x[/red]", "[/]", "[link=http://x]y[/link]", ":smile:", "\\[b]", "http://x.y/1"]
)
def test_markup_and_emoji_codes_in_a_cell_are_text(name):
    assert aligned([[name, "1"]]) == [f"{name}  1"]
    assert "".join(render_lines([Text(name)], color=True)) == name


def test_wide_and_combining_characters_count_in_terminal_cells():
    wide, combining, plain = aligned([["決", "1"], ["e\u0301", "2"], ["ab", "3"]])
    assert (wide, combining, plain) == ("決  1", "e\u0301   2", "ab  3")


def test_styles_become_codes_only_on_request_and_no_line_ends_in_blanks(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # what the environment wishes is the caller's to weigh
    parts = [Text("ab  ", style="bold")]
    assert render_lines(parts) == ["ab"]
    (line,) = render_lines(parts, color=True)
    assert line.startswith("\x1b[1mab")
    assert re.sub(r"\x1b\[\d*m", "", line) == "ab"
