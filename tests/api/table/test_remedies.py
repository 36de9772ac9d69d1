"""What a message proposes for a stranger's file is typed, and gives the table that was meant."""

import re

import numpy
import pandas
import pandas as pd
import pytest

from coherence import SchemaError, analyze, read_runs
from coherence.errors import InputError

N = 60
BELIEF = numpy.arange(5, 5 + N) / 70
TRUTH = (numpy.arange(N) * 7 % 11 < 5).astype(int)
ACTION = numpy.where(numpy.arange(N) % 3 == 0, "wait", "treat")


def table(**columns):
    base = {"id": range(N), "belief": BELIEF, "decision": ACTION, "outcome": TRUTH}
    return pd.DataFrame(base | columns)


NAMED = {"belief": "belief", "action": "decision", "truth": "outcome", "context": "id"}


def refusal(path, **options):
    with pytest.raises((InputError, SchemaError)) as caught:
        read_runs(path, **{"columns": NAMED, **options})
    return str(caught.value)


def in_pandas(message, path):
    """Run the line of pandas that a message proposes on the table as pandas reads it."""
    line = re.search(r"in pandas: (.*)\.(?: \||$)", message)[1]
    names = {"table": pd.read_csv(path), "pandas": pandas, "numpy": numpy}
    exec(line, names)  # noqa: S102
    return names["table"]


def written(tmp_path, **columns):
    path = tmp_path / "mine.csv"
    table(**columns).to_csv(path, index=False)
    return path


AMOUNTS = numpy.arange(N) % 4 + 1
STAKES = {"columns": {**NAMED, "penalty": "cost"}, "acts": "treat"}
SPELLINGS = [["No", "no ", "FALSE", "0", "n"], ["Yes", "YES", "TRUE", "1", "y"]]
SPELLED = [SPELLINGS[state][at % 5] for at, state in enumerate(TRUTH)]


@pytest.mark.parametrize(
    ("column", "cells", "options", "meant", "said"),
    [
        ("belief", numpy.log(BELIEF), {}, BELIEF, "log-probabilities"),
        ("belief", [f"$ {each}" for each in BELIEF], {}, BELIEF, "'$ "),
        ("cost", [f"€ {each}" for each in AMOUNTS], STAKES, AMOUNTS, "'€ 1' (rows 0, 1"),
        ("cost", [f"{each}\u00a0€" for each in AMOUNTS], STAKES, AMOUNTS, "(rows 0, 1"),
        ("cost", -3 * AMOUNTS, STAKES, 3 * AMOUNTS, "-3 (rows 0, 1"),  # -9 is one of them
        ("cost", [f"{a},5 €" for a in AMOUNTS], STAKES | {"decimal": ","}, AMOUNTS + 0.5, "€"),
        ("outcome", SPELLED, {}, TRUTH, "'No' ("),
        ("decision", SPELLED, {}, TRUTH, "'TRUE' ("),
    ],
)
def test_a_line_of_pandas_gives_what_was_meant(tmp_path, column, cells, options, meant, said):
    path = written(tmp_path, **{column: cells})
    message = refusal(path, **options)
    assert (said in message, "--missing" in message) == (True, False)
    fixed = in_pandas(message, path)
    numpy.testing.assert_allclose(fixed[column], meant, atol=1e-9)
    read_runs(fixed, **{"columns": NAMED, **options})


def test_ids_that_each_group_numbers_anew_have_both_remedies(tmp_path):
    """Breaks if hospitals whose patients have the same numbers can only be persons."""
    named = NAMED | {"group": "hospital"}
    path = written(tmp_path, id=numpy.arange(N) % 15, hospital=numpy.arange(N) // 15)
    message = refusal(path, columns=named)
    assert "--person hospital in place of --group" in message
    for typed in re.findall(r"anew \w+ each group: --context (\S+)", message):
        runs = read_runs(path, columns=named | {"context": typed.strip(".")})
        assert runs.groupby("context")["group"].nunique().tolist() == [1] * N


def test_tasks_may_spell_no_and_yes_in_ways_of_their_own():
    several = table(task=["a", "b"] * (N // 2)).astype({"outcome": object})
    several.loc[1::2, "outcome"] = several["outcome"][1::2].map({0: "no", 1: "yes"})
    assert set(read_runs(several, columns=NAMED)["theta"].astype(str)) == {"0", "1", "no", "yes"}


def test_an_empty_action_beside_one_label_is_asked(tmp_path):
    path = written(tmp_path, decision=numpy.where(ACTION == "treat", "treat", None))
    message = refusal(path)
    assert "'treat' or nothing" in message
    first, second = re.findall(r"table\['\w+'\] = .*?(?=[;.](?: |$))", message)
    for line, column in ((first, "decision"), (second, "status")):
        names = {"table": pd.read_csv(path)}
        exec(line, names)  # noqa: S102
        runs = read_runs(names["table"], columns=NAMED)
        assert runs["action"].isna().sum() == (0 if column == "decision" else N // 3)
    # Whoever says which actions are missing has answered, and a prompt may ask for beliefs alone.
    marked = table(decision=numpy.where(ACTION == "treat", "treat", "-"))
    assert read_runs(marked, columns=NAMED, missing=["-"])["action"].isna().sum() == N // 3
    prompts = pd.concat([marked[marked["decision"] == "treat"].assign(prompt="standard")] * 2)
    prompts.iloc[len(prompts) // 2 :, [2, 4]] = [None, "short"]
    assert read_runs(prompts, columns=NAMED)["action"].isna().sum() == len(prompts) // 2


@pytest.mark.parametrize("column", ["id", "outcome", "gold"])
def test_ids_that_floats_have_damaged_are_refused(tmp_path, column):
    ids = 1_234_567_890_123_456_700 + numpy.arange(N)
    options = {"prediction": "id", "gold": "gold"} if column == "gold" else {}
    named = {"belief": "belief"} if column == "gold" else NAMED
    frame = table(gold=range(N)).assign(**{column: ids.astype(float)})
    message = refusal(frame, columns=named, **options)
    assert f"column {column!r} must hold ids with all their digits" in message
    path = written(tmp_path, id=ids)
    assert read_runs(path, columns=NAMED)["context"].nunique() == N


def test_a_tab_file_is_one_of_tabs_and_a_text_file_is_renamed(tmp_path):
    path = tmp_path / "mine.tab"
    table().to_csv(path, index=False, sep="\t")
    assert read_runs(path, columns=NAMED)["action"].tolist() == ACTION.tolist()
    assert "Rename it to .csv" in refusal(path.rename(tmp_path / "mine.txt"))


def test_few_cases_are_said_with_one_minimum():
    for n in (8, 15):
        report = analyze(read_runs(table().head(n), columns=NAMED), checks=["sufficiency"], rng=1)
        assert report.results["reason"].tolist() == [f"{n} contexts are fewer than 20"]


def test_ids_that_a_spreadsheet_shortened_are_refused():
    """Breaks if 108 episodes become 36 in silence."""
    shortened = [f"1,2345678901{case:04d}E+18" for case in range(30)]
    table = pd.DataFrame({"id": shortened, "p": 0.5, "action": ["yes", "no"] * 15})
    with pytest.raises(SchemaError, match=r"ids with all their digits; 30 of 30.*as text"):
        read_runs(table, columns={"context": "id"})
    kept = [*["1.5E+1"] * 10, *["1E+05"] * 10, *["1.23456E+3"] * 10]  # no digit is lost
    assert len(read_runs(table.assign(id=kept), columns={"context": "id"})) == 30
