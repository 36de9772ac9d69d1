"""What is printed of names and numbers. Breaks if a name can command a terminal."""

import pandas as pd
import pytest

from coherence.printable import clean, odds, spreadsheet_safe
from coherence.runs.write import write_table


def test_clean_removes_what_a_terminal_would_obey():
    for dirty, expected in (
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("\x1b]0;new title\x07name", "name"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jname", "name"),
        ("\x1bcname", "name"),
        ("two\r\nlines\tand tab", "two lines and tab"),
        ("abc\u202edef\u200b", "abcdef"),
        ("half \ud800 pair", "half  pair"),
        ("nul\x00l\x7f\x08", "null"),
        ("日本 é ✓", "日本 é ✓"),
    ):
        assert clean(dirty) == expected
    assert clean("x" * 30, limit=10) == "x" * 9 + "…"


def test_no_cell_is_a_formula_to_a_spreadsheet():
    for text, written in {
        **{"=1+2": "'=1+2", " @cmd": "' @cmd", "-yes": "'-yes", "-0.5": "-0.5", "yes": "yes"},
        **{"a\x1b[31m\rb": "a[31mb", -0.5: -0.5, None: None},
    }.items():
        assert spreadsheet_safe(text) == written


def test_tables_that_people_open_are_guarded_and_others_keep_their_texts(tmp_path):
    table = pd.DataFrame({"model": ["=HYPERLINK(1)", None], "value": [-0.5, 1.0]})
    write_table(table, tmp_path / "a.csv")
    write_table(table, tmp_path / "a.parquet")
    assert pd.read_csv(tmp_path / "a.csv")["model"][0] == "'=HYPERLINK(1)"
    assert pd.read_csv(tmp_path / "a.csv")["value"].tolist() == [-0.5, 1.0]
    assert pd.read_parquet(tmp_path / "a.parquet")["model"][0] == "=HYPERLINK(1)"


def test_odds_are_read_back_as_the_belief_from_which_acting_pays():
    for stake in (0.0, 0.001, 0.1, 0.25, 0.5, 2 / 3, 0.9, 0.9999):
        loss, gain = (float(each.replace(",", "")) for each in odds(stake).split(":"))
        assert loss / (loss + gain) == pytest.approx(stake, rel=5e-3)
    assert odds(1.0) == "a loss alone"
