from coherence.plots.row_axes import name_rows, note_missing


def test_the_first_name_is_on_top_and_none_is_mathematics(ax):
    name_rows(ax, ["first", "$second$"], letters=6.5)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["first", "$second$"]
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert {label.get_fontsize() for label in ax.get_yticklabels()} == {6.5}
    assert ax.get_yticks().tolist() == [0, 1]
    assert ax.yaxis_inverted()


def test_a_row_without_a_number_says_so(ax):
    note_missing(ax, [1, 3])
    assert [(note.get_text(), note.xy[1]) for note in ax.texts] == [
        ("not estimated", 1),
        ("not estimated", 3),
    ]
