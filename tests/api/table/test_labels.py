"""Labels that look like one: refused, with the lines of pandas that write or name them."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError, analyze, read_runs, write_runs
from coherence.analysis.reading import as_runs
from coherence.printable import clean, odds, spreadsheet_safe
from coherence.runs.cells import labels
from coherence.runs.columns import Reading
from coherence.runs.read import validate_runs
from coherence.runs.write import write_table


def test_labels_that_differ_by_more_are_let_be():
    for one, other in (("007", "7"), ("a-1", "a1"), (1, 2), ("1.5", "1"), (1, 1.0), (1, "1")):
        actions = pd.Series([one, other, one], dtype=object)
        validate_runs(pd.DataFrame({"p": 0.5, "theta": [0, 1, 0], "action": actions}))


def line_in(said):
    """Return the lines of pandas that write labels in one way."""
    return re.search(r"in pandas: (table.*?)\.$", said)[1]


@pytest.mark.parametrize(
    ("labels", "left"),
    [
        (["c1", "c1 ", "c2", "c2", "C2", "c1"], {"c1", "c2"}),
        (["Straße", "STRASSE", "not\u00a0 now", "not now", "caf\u00e9", "cafe\u0301"], None),
    ],
)
def test_the_lines_that_the_error_proposes_do_what_it_says_when_typed(labels, left):
    table = pd.DataFrame({"p": 0.5, "theta": [0, 1] * 3, "choice": pd.Series(labels, dtype=object)})
    columns = {"action": "choice"}
    with pytest.raises(SchemaError) as error:
        read_runs(table, columns=columns)
    names = {"table": table.copy()}
    exec(line_in(error.value.errors[0]), names)  # noqa: S102
    actions = read_runs(names["table"], columns=columns)["action"]
    assert set(actions.astype(str)) == left if left else actions.nunique() == 3
    if left:
        assert "'c1' (2 rows), 'c1 ' (1 row); 'c2' (2 rows), 'C2' (1 row)" in str(error.value)


def test_parts_of_a_context_are_written_in_one_way(tmp_path):
    table = pd.DataFrame({"day": ["a", "A", "b", "B"], "id": "x", "p": 0.5, "theta": [0, 0, 1, 1]})
    with pytest.raises(SchemaError) as error:
        read_runs(table, columns={"context": "day,id"})
    names = {"table": table}
    exec(line_in(error.value.errors[0]), names)  # noqa: S102
    assert read_runs(names["table"], columns={"context": "day,id"})["context"].nunique() == 2


def test_labels_of_different_tasks_are_not_compared_until_the_tasks_are_one():
    runs = pd.DataFrame({"p": 0.5, "theta": 1, "task": ["t", "u"], "context": ["a", "A"]})
    validate_runs(runs)
    with pytest.raises(SchemaError, match="column 'context' has labels"):
        validate_runs(runs.assign(task="t"))


@pytest.mark.parametrize(
    ("states", "truth", "expected"),
    [
        ("no yes", [0, 1.0], ["no", "yes"]),
        ("Rain dry", ["rain", "DRY"], ["Rain", "dry"]),
        ("0 1 2", [2, 0], [2, 0]),
        ("no yes other", [0, 1], "replace({'0': 'no', '1': 'yes'})"),
        ("win lose", ["win", "void"], "leave out the 1 row .* --where 'truth != \"void\"'"),
        ("win tie lose", ["win", "lost"], "replace({'lost': 'STATE'})"),
    ],
)
def test_truths_are_named_as_the_beliefs_are_or_refused(states, truth, expected):
    beliefs = {f"p_{state}": 1 / len(states.split()) for state in states.split()}
    table, named = pd.DataFrame({"truth": truth, **beliefs}), Reading({"truth": "truth"})
    if isinstance(expected, list):
        assert as_runs(table, named).table["theta"].tolist() == expected
        return
    with pytest.raises(SchemaError, match=re.escape(expected).replace(r"\.\*", ".*")):
        as_runs(table, named)


def test_an_action_that_says_that_there_is_none_is_missing_and_counted():
    runs = pd.DataFrame({"p": 0.5, "theta": [0, 1] * 3, "action": ["a", "b", "missing"] * 2})
    runs.loc[[0, 3], "action"] = ["Unparsed", " "]
    valid = validate_runs(runs)
    assert valid.table["action"].dropna().tolist() == ["b", "b"]
    assert "action: 3 cells with 'Unparsed', 'missing' are missing." in map(str, valid.notes)
    found = runs.assign(theta=["found", "missing"] * 3)
    assert (validate_runs(found).table["action"] == "missing").sum() == 2


# A label is its text: breaks if two labels run together, or a format makes others of them.


BIG = 1_700_000_000_000_000_000
KINDS = {
    "whole with a gap": pd.Series([3, None, 2, 3], dtype="Int64"),
    "many digits with a gap": pd.Series([BIG + 1, None, BIG + 2, BIG], dtype="Int64"),
    "sections": ["1.1", "1.10", "2.1", "2.10"],
    "zeros": ["7", "007", "07", "7"],
    "powers and codes": ["1e3", "1000", "0xa0", "160"],
    "signs": ["+1", "1", "-0", "1."],
    "fractions": [0.5, 0.25, 0.5, 1.5],
    "whole floats": [1.0, 2.0, 1.0, 0.0],
    "truths": [True, False, True, True],
    "words": ["NA", "nan", "None", "null"],
    "percent and currency": ["5%", "5 %", "$5", "5"],
    "dates and times": ["2024-01-05", "2024-1-5", "12:30", "12:30:00"],
    "other digits and signs": ["٣", "3", "👍", "👍🏽"],
    "more than 64 bits": ["123456789012345678901", "123456789012345678902", "1", "2"],
}


def sources(table, folder):
    """Return a table, and files of it in formats that keep what it holds."""
    table.to_csv(folder / "a.csv", index=False)
    table.to_parquet(folder / "a.parquet")
    cells = table.astype(object).where(table.notna(), None).to_dict("records")
    lines = [json.dumps(record, default=lambda cell: cell.item()) for record in cells]
    (folder / "a.jsonl").write_text("\n".join(lines) + "\n")
    return [table, *(folder / f"a.{ending}" for ending in ("csv", "parquet", "jsonl"))]


@pytest.mark.parametrize("kind", KINDS)
def test_no_labels_run_together_and_every_format_gives_the_same(kind, tmp_path):
    cells = pd.Series(KINDS[kind])
    table = pd.DataFrame({"p": [0.2, 0.4, 0.6, 0.8], "theta": [0, 1, 0, 1], "rep": cells})
    first, *others = (read_runs(each) for each in sources(table, tmp_path))
    write_runs(first, tmp_path / "again.csv")
    for each in (*others, read_runs(tmp_path / "again.csv")):
        pd.testing.assert_series_equal(each["rep"], first["rep"], check_names=False)
    assert first["rep"].nunique() == cells.map(str, na_action="ignore").nunique()
    assert first["rep"].tolist() == cells.tolist() or not isinstance(cells[0], str)


def test_a_label_of_any_type_is_its_text_or_a_whole_number():
    for cells, expected in (
        (pd.Series([0.1, 0.25, None], dtype="float32"), ["0.1", "0.25"]),
        (pd.Series(pd.Categorical(["b", "a"], categories=["a", "b", "c"])), ["b", "a"]),
        (pd.Series([1, "1", 2.0], dtype=object), [1, 1, 2]),
        (pd.Series(pd.to_datetime(["2024-01-05", None])), ["2024-01-05"]),
        (pd.Series([" 1", "1", " ", ""]), [" 1", "1"]),
    ):
        assert labels(cells).dropna().tolist() == expected


def test_results_and_fingerprint_do_not_depend_on_the_format(tmp_path):
    rng, case = np.random.default_rng(1), np.arange(120) // 2
    table = pd.DataFrame({"context": [f"{c // 12}.{c % 12}" for c in case], "p": rng.random(120)})
    table["theta"] = (rng.random(60) < 0.5)[case].astype(float)
    table.loc[case == 3, "theta"] = None
    first, *others = (
        analyze(read_runs(each), checks=["calibration"], rng=1) for each in sources(table, tmp_path)
    )
    assert first.results["n_contexts"].max() == 59
    for report in others:
        pd.testing.assert_frame_equal(report.results, first.results)
        assert report.settings["data"]["fingerprint"] == first.settings["data"]["fingerprint"]


# What is printed of names and numbers. Breaks if a name can command a terminal.


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
