import pytest

from coherence.report.columns import aligned


def test_columns_are_as_wide_as_their_widest_cell_and_two_apart():
    rows = [["status", "answers", "note"], ["ok", "997", ""], ["refused", "3", "x"]]
    assert aligned(rows, right=(1,)) == [
        "status   answers  note",
        "ok           997",
        "refused        3  x",
    ]
    assert aligned([]) == []
    assert aligned([["a", "", "b"]]) == ["a    b"], "a column without any text has no width"


def test_control_characters_of_a_cell_are_dropped_and_move_no_column():
    assert aligned([["\x1b[31mab\x07", "1"], ["c\td", "2"]]) == ["[31mab  1", "c d     2"]


def test_a_table_without_limit_is_never_wrapped_or_cut():
    (line,) = aligned([["w " * 400 + "end", "x"]])
    assert line == "w " * 400 + "end  x"


@pytest.mark.parametrize(
    "name", ["[red]x[/red]", "[/]", "[link=http://x]y[/link]", ":smile:", "\\[b]", "http://x.y/1"]
)
def test_markup_and_emoji_codes_in_a_cell_are_text(name):
    assert aligned([[name, "1"]]) == [f"{name}  1"]


def test_wide_and_combining_characters_count_in_terminal_cells():
    wide, combining, plain = aligned([["決", "1"], ["e\u0301", "2"], ["ab", "3"]])
    assert (wide, combining, plain) == ("決  1", "e\u0301   2", "ab  3")
