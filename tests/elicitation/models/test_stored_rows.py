import json

from elicitation.models.stored_rows import CELLS, as_text, details_of, digest_of_row, is_sound

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


def test_a_row_is_sound_with_its_own_digest_or_without_any_if_it_can_be_read():
    assert is_sound(ROW, digest_of_row(ROW))
    assert not is_sound(ROW, digest_of_row([*ROW[:-1], "2026-01-02"]))
    assert is_sound(ROW, None)
    for place, cell in ((5, "0"), (7, b"bytes"), (7, None), (8, "{"), (8, "[]")):
        assert not is_sound([*ROW[:place], cell, *ROW[place + 1 :]], None)
    assert not is_sound([*ROW[:7], as_text(b"a\xff"), *ROW[8:]], None)


def test_a_computed_answer_must_be_json():
    for settings in ('{"labels": ["No"]}', '{"answers": "exact", "form": "x"}'):
        row = [*ROW[:4], settings, *ROW[5:]]
        assert not is_sound(row, None)
        assert is_sound([*row[:7], "[0.5]", *row[8:]], None)


def test_what_an_older_store_does_not_say_is_none():
    known = details_of(ROW[8])
    assert (known["n_tokens"], known["logprob"], known["about"]) == (3, None, "")
