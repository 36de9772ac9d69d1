import json

from elicitation.models.stored_rows import (
    CELLS,
    as_text,
    details_of,
    digest_of_row,
    is_readable,
    is_sound,
)

ROW = ("k", "m", "f", "t", "{}", 0, 7, "an answer", json.dumps({"n_tokens": 3}), "2026-01-01")


def test_a_change_of_any_cell_changes_the_digest():
    digests = {digest_of_row(ROW)}
    for place, cell in enumerate(ROW):
        changed = cell + 1 if isinstance(cell, int) else cell + " "
        digests.add(digest_of_row([*ROW[:place], changed, *ROW[place + 1 :]]))
    assert len(digests) == 1 + len(CELLS)


def test_the_digest_stays_what_it_was():
    """A changed digest would make every store of the past look damaged."""
    assert digest_of_row(ROW).startswith("458ee469eb5f012f")


def test_a_row_is_sound_with_its_own_digest_and_with_no_other():
    assert is_sound(ROW, digest_of_row(ROW))
    assert not is_sound(ROW, digest_of_row([*ROW[:-1], "2026-01-02"]))
    assert not is_sound(ROW, None)
    assert not is_sound([*ROW[:7], b"bytes", *ROW[8:]], digest_of_row(ROW))


def test_a_row_of_the_first_layout_need_only_be_readable():
    assert is_readable(ROW)
    for place, cell in ((5, "0"), (7, b"bytes"), (7, None), (8, "{"), (8, "[]")):
        assert not is_readable([*ROW[:place], cell, *ROW[place + 1 :]])
    assert not is_readable([*ROW[:7], as_text(b"a\xff"), *ROW[8:]])


def test_a_computed_answer_must_be_json():
    for settings in ('{"labels": ["No"]}', '{"answers": "exact", "form": "x"}'):
        row = [*ROW[:4], settings, *ROW[5:]]
        assert not is_readable(row)
        assert is_readable([*row[:7], "[0.5]", *row[8:]])


def test_what_an_older_store_does_not_say_is_none():
    known = details_of(ROW[8])
    assert (known["n_tokens"], known["logprob"], known["about"]) == (3, None, "")
