"""Cells that were once read as something else than they say, in every kind of file: each is read
right, or refused with its place. Breaks if one of them is wrong without a word."""

import json

import numpy as np
import pandas as pd
import pytest

from coherence import CoherenceError, analyze, read_runs, write_runs
from coherence.runs.runs import Runs

READ = r"""
# what | lines, with / between | options | column | its cells | what is said of it
whole states under a comma | p;theta/0,5;1,0/0,2; | decimal=, | theta | [1, null] |
between thousands | p;theta;x_d/,5;1;2.472,5/,2;0;439 | decimal=, | x_d | [2472.5, 439] | points
a mark with a comma | p;theta/-99,0;1/0,2;0 | decimal=, missing=-99 | p | [null, 0.2] | with -99 is
other digits | p,theta,x/.5,1,٣/.2,0,3 | | x | ["٣", "3"] |
too large for a number | p,theta,x/.5,1,1e999/.2,0,3 | | x | ["1e999", "3"] |
signs in all cells | p,theta/70%,1/0.5 %,0 | | p | [0.7, 0.005] | read as percentages: 70% as 0.7
some signs and the word | p,theta/20%,1/30,0/0.5,0 | percent=1 | p | [0.2, 0.3, 0.005] |
below 1 | p;theta/0,7;1/70;0/0,4%;0 | decimal=, percent=1 | p | [0.007, 0.7, 0.004] | 0.7 as 0.7%
a rare state | p_a,p_b,theta/.5,99.5,a/.2,99.8,b | percent=1 | p_b | [0.995, 0.998] | 2 of 4 values
posteriors | p,p_true,truth_kind,theta/50,40,drawn,1/2,3,drawn,0 | percent=1 | p_true | [0.4, 0.03]|
posteriors, not | p,p_true,truth_kind,theta/50,.4,drawn,1 | percent=1 | p_true | [0.4] | in [0, 1]
quantiles | p,p_q05,p_q95,theta/50,40,60,1/20,10,30,0 | percent=1 | p_q95 | [0.6, 0.3] |
given z | p,z,z_state,p_z,theta/50,s,a,70,1/20,s,b,30,0 | percent=1 | p_z | [0.7, 0.3] |
a spread on a scale | p,p_sd,theta/4,1,1/6,2,0 | scale=0..10 | p_sd | [0.1, 0.2] | 5 as 0.5
a scale about 0 | p,theta/-1,0/0,1/1,1 | scale=-1..1 | p | [0, 0.5, 1] | -1 as 0, 0 as 0.5, 1 as 1
a scale of guesses | p,theta/1,0/4,1 | scale=1..4=.5..1 | p | [0.5, 1] | 1 as 0.5, 2.5 as 0.75
a scale downwards | p,theta/1,0/4,1/7,1 | scale=7..1 | p | [1, 0.5, 0] | 7 as 0
quotes behind a backslash | p,theta,said/.5,1,"a \"b\", c"/.2,0,"x" | | said | ["a \"b\", c", "x"] |
a quote within a cell | p,theta,said/.5,1,5" pipe/.2,0,"x" | | said | ["5\" pipe", "x"] |
a backslash at the end | p,theta,said/.5,1,"C:\"/.2,0,"d" | | said | ["C:\\", "d"] |
blanks around a name |  p ,theta/.5,1/.2,0 | | p | [0.5, 0.2] |
states of numbers | p_1.0,p_0.0,theta/.5,.5,1/.2,.8,0 | | p_1 | [0.5, 0.2] |
a condition | p;theta;k/,5;1;2,5/,2;0;1,5 | decimal=, where=k>2 | k | [2.5] | kept 1 of 2
a key within a text | {"p": 0.5, "theta": 1, "said": "\"p\": 1"} | | said | ["\"p\": 1"] |
digits | {"p": 0.5, "theta": 1, "rep": 9007199254740993}/{} | | rep | [9007199254740993, null]|
TRUE and a blank line | p,theta/7%,TRUE/5%,FALSE/, | | theta | [true, false] | 1 blank line was
NA of R | p,theta,action/NA,1,NA/.2,0,b | | p | [null, 0.2] | NA among numbers was read as a missing
NA as a label | p,theta,action/NA,1,NA/.2,0,b | | action | ["NA", "b"] |
NA as a mark | p,theta,action/NA,1,NA/.2,0,b | missing=NA | action | [null, "b"] | 2 cells with NA
"""
REFUSED = r"""
# what | lines | options | what is said
two decimal marks | p;theta;x_d/0,5;1;2.47/0,2;0;4,39 | decimal=, | '2.47' (row 0)
thousands beside points | p,theta,x_d/.5,1,"1,234" | | '1,234' (row 0). Say so
commas without the word | p;theta/0,5;1 | | 'p' has decimal commas, such as '0,5' (row 0). Say so
hexadecimal | p,theta/.5,1/0x1,0 | | '0x1' (row 1)
infinite | p,theta/.5,1/1e999,0 | | '1e999' (row 1)
text behind a quote | p,action,theta/.5,a,1/.2,"a"b,0 | | a closing quote in line 3
two ways of quoting | p,theta,said/.5,1,"a \"b\" c"/.2,0,"x ""y"" z" | | a closing quote in line 2
a name twice but for blanks | p, p,theta/.5,.6,1 | | 'p' occurs more than once
a key twice | {"p": 0.5, "theta": 1}/{"p": 0.5, "theta": 1, "p": 0.7} | | line 2 has the key 'p'
a key twice within | {"a": {"p": 0.5, "p" : 0.6}, "p": 1, "theta": 1} | | line 1 has the key 'p'
a field and one within | {"a.p": 0.5, "a": {"p": 0.6}, "theta": 1} | | row 0 has two fields
keys twice but for blanks | {"p": 0.5, " p": 0.6, "theta": 1} | | 'p' occurs more than once
a model beside none | p,theta,model/.5,1,m/.2,0, | | 'model' is empty in row 1
some signs | p,theta/70%,1/20,0 | | both percent signs, such as '70%', and numbers without one
probabilities | p,theta/.7,1/.9,0 | percent=1 | the largest of 2 values is 0.9
one slip | p,theta/.2,1/.7,0/95,0/.5,1 | percent=1 | 3 of 4 values lie between 0 and 1
one slip without a word | p,theta/.2,1/.7,0/95,0/.5,1 | | Correct these values
states that are none | p_a,p_b,theta/.4,.6,a | percent=1 | 'p_a, p_b' is said to hold percentages
off the scale | p,theta/1,0/7,1 | scale=1..6 | scale 1..6; 1 of 2 values do not, the first is 7
no scale | p,theta/1,0 | scale=1-7 | must be LOW..HIGH
a scale in percent | p,theta/1,0 | scale=0..100 percent=1 | percent is the scale 0..100
codes of labels | p,a,b/1,x,7/0,y,8/1,x,7/0,y,8 | prediction=a gold=b | 'b' holds 7, 8, and no
signs on a scale | p,theta/10%,0 | scale=0..10 | '10%', and a scale (--scale). Write a percent
points for decimals | p;theta/0.345;1/1.000;0 | decimal=, | '0.345' (row 0). Write
a name twice | p,theta,x,x/.5,1,2,3 | | 'x' occurs more than once
"""


def rows_of(table):
    return [
        pytest.param(*map(str.strip, row.split("|")[1:]), id=row.split("|")[0].strip())
        for row in table.strip().splitlines()
        if not row.startswith("#")
    ]


@pytest.fixture
def read(tmp_path):
    """Return a function that writes lines, of JSON or CSV, and reads them by options in words."""

    def of(lines, options):
        path = tmp_path / ("mine.jsonl" if lines.startswith("{") else "mine.csv")
        path.write_text(lines.replace("/", "\n") + "\n", encoding="utf-8")
        said = dict(word.split("=", 1) for word in options.split())
        return read_runs(path, **said | ({"percent": True} if "percent" in said else {}))

    return of


@pytest.mark.parametrize(("lines", "options", "name", "expected", "said"), rows_of(READ))
def test_cells_are_what_they_say(lines, options, name, expected, said, read):
    runs = read(lines, options)
    cells = [None if pd.isna(cell) else cell for cell in runs[name]]
    # 0.7 by 100 is 0.007 but for its last bit.
    assert [round(c, 15) if isinstance(c, float) else c for c in cells] == json.loads(expected)
    assert said in " ".join(map(str, Runs(runs).notes))


@pytest.mark.parametrize(("lines", "options", "said"), rows_of(REFUSED))
def test_what_is_ambiguous_is_refused_with_its_place(lines, options, said, read):
    with pytest.raises(CoherenceError) as refused:
        read(lines, options)
    assert said in str(refused.value)


def set_cell(place, value):
    return lambda sheet: setattr(sheet[place], "value", value)


def set_title(sheet):
    sheet.insert_rows(1)
    set_cell("A1", "Results")(sheet)
    sheet.merge_cells("A1:C1")


@pytest.mark.parametrize(
    ("change", "column", "expected", "said"),
    [
        (set_cell("D1", "x"), "theta", [1, 1, 0], ""),  # some were formatted as text
        (lambda sheet: sheet.merge_cells("A2:A3"), "context", list("aab"), "merged cells (1)"),
        (set_cell("B4", "#DIV/0!"), "p", [0.5, 0.25, None], "B4 (#DIV/0!)"),
        (
            lambda sheet: sheet.row_dimensions.group(3, hidden=True),
            "theta",
            [1, 1, 0],
            "hidden rows",
        ),
        (set_cell("B4", "=1/4"), "", [], "no program has computed (B4)"),
        (set_title, "", [], "it holds 'Results' alone"),
    ],
)
def test_sheets_are_read_as_people_see_them(change, column, expected, said, tmp_path):
    path, book = tmp_path / "mine.xlsx", pytest.importorskip("openpyxl").Workbook()
    for row in (["context", "p", "theta"], ["a", "0.5", 1], ["a", 0.25, "1"], ["b", 0.1, 0]):
        book.active.append(row)
    change(book.active)
    book.save(path)
    if not column:
        with pytest.raises(CoherenceError) as refused:
            read_runs(path)
        assert said in str(refused.value)
        return
    runs = read_runs(path)
    assert [None if pd.isna(cell) else cell for cell in runs[column]] == expected
    assert said in " ".join(map(str, Runs(runs).notes))


def test_two_codes_of_one_label_are_refused_where_the_column_is_read(tmp_path):
    pyreadstat, path = pytest.importorskip("pyreadstat"), tmp_path / "mine.dta"
    table = pd.DataFrame({"p": [0.1, 0.2, 0.3], "theta": [0, 1, 0], "other": [1, 2, 3]})
    labels = {"other": {1: "treat", 2: "wait", 3: "wait"}}
    pyreadstat.write_dta(table, str(path), variable_value_labels=labels)
    assert read_runs(path)["other"].tolist() == [1, 2, 3]
    with pytest.raises(CoherenceError, match="'wait' stands for"):
        read_runs(path, columns={"action": "other"})


def test_a_column_that_is_part_of_another_is_still_read():
    """Breaks if a part of an id is looked for where it has another name, or a role gets lost."""
    table = pd.DataFrame({"case": [*range(8)] * 2, "theta": ["sun", "rain"] * 8, "p_sun": 0.75})
    table = table.assign(p_rain=0.25, p_id=[0] * 8 + [1] * 8, is_sun=[1, 0] * 8, is_rain=[0, 1] * 8)
    table = table.assign(action_go=0.5, action_stay=0.5, empty=None)
    for columns in (
        {"context": "case,theta", "model": "empty"},
        {"context": ["case", "p_sun"]},
        {"person": "p_id"},
        {"theta": ["is_sun", "is_rain"], "group": "theta"},
    ):
        named = {"context": "case", "belief": ["p_sun", "p_rain"]} | columns
        assert {*named} - {"belief"} <= {*read_runs(table, columns=named)}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("role", ["group", "task"])
def test_what_the_user_named_stays_what_its_name_says(role, ending, tmp_path):
    """Breaks if a column is taken for one of somebody's own when the table is read again."""
    rng = np.random.default_rng(0)
    n = 40 if role == "group" else 6
    table = pd.DataFrame({"case": np.arange(n) // 2, "p": rng.random(n).round(2)})
    table["theta"] = (rng.random(n // 2) < 0.5).astype(int).repeat(2)
    # As few as the arms of an experiment, and as many as rows.
    table["mine"] = [f"h{at // 2 % 4}" if role == "group" else f"t{at}" for at in range(n)]
    runs = read_runs(table, columns={role: "mine", "context": "case"})
    path = tmp_path / f"mine.{ending}"
    write_runs(runs, path)
    for again in (runs, runs.copy(), read_runs(path)):
        assert list(again) == list(runs)
        report = analyze(again, checks=["calibration"], rng=1)
        assert "column of your own" not in report.to_json()
