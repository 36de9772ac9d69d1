from coherence.report.tables.cells import Cell, Column, PaperTable


def table_of(notes):
    rows = tuple((Cell("x", note=note),) for note in notes)
    return PaperTable("t", "T", "T", "", (Column("x", "x"),), rows)


def test_equal_notes_share_a_mark_and_marks_go_on_after_z():
    marks = table_of(["first", "", "second", "first"]).notes
    assert marks == {"first": "a", "second": "b"}
    assert list(table_of(map(str, range(29))).notes.values())[24:] == ["y", "z", "aa", "ab", "ac"]


def test_neighbours_of_a_group_are_counted_together_and_others_apart():
    columns = tuple(Column("", "", group) for group in ("", "", "A", "A", "B", "A"))
    groups = PaperTable("t", "T", "T", "", columns, ()).groups
    assert groups == [("", 2), ("A", 2), ("B", 1), ("A", 1)]
