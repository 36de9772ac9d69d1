"""What a message proposes for a stranger's file is typed, and gives the table that was meant."""

import re

import numpy
import pandas
import pandas as pd
import pytest

from coherence import SchemaError, analyze, cmi_test, read_runs
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


@pytest.mark.parametrize(
    ("column", "cells", "options", "meant", "said"),
    [
        ("cost", -3 * AMOUNTS, STAKES, 3 * AMOUNTS, "-3 (rows 0, 1"),  # -9 is one of them
    ],
)
def test_a_line_of_pandas_gives_what_was_meant(tmp_path, column, cells, options, meant, said):
    path = written(tmp_path, **{column: cells})
    message = refusal(path, **options)
    assert (said in message, "--missing" in message) == (True, False)
    fixed = in_pandas(message, path)
    numpy.testing.assert_allclose(fixed[column], meant, atol=1e-9)
    read_runs(fixed, **{"columns": NAMED, **options})


def test_beliefs_a_little_above_1_are_no_percentages(tmp_path):
    """Breaks if .5 to 1.2 is divided by 100, in files or as arrays."""
    path = written(tmp_path, belief=(BELIEF * 1.3).round(2))
    message = refusal(path)
    assert "must hold probabilities in [0, 1]; " in message
    assert ("percent" in message, "Correct these values" in message) == (False, True)
    with pytest.raises(InputError, match="Correct these values"):
        cmi_test(BELIEF * 1.3, ACTION, TRUTH)
    assert "--percent" in refusal(written(tmp_path, belief=(100 * BELIEF).round()))


def test_rounded_states_are_read_alike_from_tables_and_arrays():
    """Breaks if .33 three times is a distribution in a file, and none in an array."""
    rng = numpy.random.default_rng(0)
    shares = rng.dirichlet([1, 1, 1], N).round(2)
    shares[0] = [0.33, 0.33, 0.33]
    states = pd.DataFrame(shares, columns=["p_a", "p_b", "p_c"])
    truth = [*"abc"] * (N // 3)
    runs = states.assign(action=ACTION, theta=truth, context=range(N))
    report = analyze(runs, checks=["cmi"], rng=1)
    beliefs = states.set_axis([*"abc"], axis=1)
    result = cmi_test(beliefs, ACTION, truth, rng=1)
    assert report.results["estimate"].tolist() == [pytest.approx(result.estimate)]


def test_shares_of_actions_are_divided_as_the_error_says():
    given = table(action_treat=3 * BELIEF, action_wait=3 - 3 * BELIEF).drop(columns="decision") / 1
    given[["action_treat", "action_wait"]] /= 4
    named = {"belief": "belief", "truth": "outcome", "context": "id"}
    with pytest.raises(SchemaError, match="must sum to 1") as caught:
        read_runs(given, columns=named)
    line = re.search(r"in pandas: (.*)\.(?: \||$)", str(caught.value))[1]
    names = {"table": given.copy()}
    exec(line, names)  # noqa: S102
    read_runs(names["table"], columns=named)
    with pytest.raises(InputError, match=r"shape \(n,\), one a row"):
        cmi_test(BELIEF, [["a", "b", "c"]] * N, TRUTH)


def test_turns_of_a_case_that_count_as_repetitions_are_said():
    """Breaks if five turns of an episode are five repetitions in silence."""
    turns = pd.concat([table(turn=at) for at in range(3)], ignore_index=True)
    said = [str(note) for note in analyze(turns, columns=NAMED, rng=1).evaluations[0].notes]
    assert any("--where 'turn == 2'" in each and "--rep turn" in each for each in said)


def test_ids_that_each_group_numbers_anew_have_both_remedies(tmp_path):
    """Breaks if hospitals whose patients have the same numbers can only be persons."""
    named = NAMED | {"group": "hospital"}
    path = written(tmp_path, id=numpy.arange(N) % 15, hospital=numpy.arange(N) // 15)
    message = refusal(path, columns=named)
    assert "--person hospital in place of --group" in message
    for typed in re.findall(r"anew \w+ each group: --context (\S+)", message):
        runs = read_runs(path, columns=named | {"context": typed.strip(".")})
        assert runs.groupby("context")["group"].nunique().tolist() == [1] * N


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


def test_ids_that_a_spreadsheet_shortened_are_refused():
    """Breaks if 108 episodes become 36 in silence."""
    shortened = [f"1,2345678901{case:04d}E+18" for case in range(30)]
    table = pd.DataFrame({"id": shortened, "p": 0.5, "action": ["yes", "no"] * 15})
    with pytest.raises(SchemaError, match=r"ids with all their digits; 30 of 30.*as text"):
        read_runs(table, columns={"context": "id"})
    kept = [*["1.5E+1"] * 10, *["1E+05"] * 10, *["1.23456E+3"] * 10]  # no digit is lost
    assert len(read_runs(table.assign(id=kept), columns={"context": "id"})) == 30
