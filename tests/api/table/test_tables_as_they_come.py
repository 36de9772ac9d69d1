"""Tables in the shapes that other programs write give what pandas reads in them."""

import gzip
import json
import sys

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, SchemaError, analyze, read_runs
from coherence.errors import MissingExtraError
from coherence.runs.runs import Runs

COLUMNS = {"p": "confidence", "action": "decision", "theta": "correct", "context": "question"}


@pytest.fixture
def cases():
    rng = np.random.default_rng(0)
    p = rng.random(40).round(2)
    decision = np.where(p + rng.normal(0, 0.2, 40) > 0.5, "treat", "wait")
    table = {"question": [f"Q{at}" for at in range(40)], "confidence": p, "decision": decision}
    return pd.DataFrame({**table, "correct": (rng.random(40) < p).astype(int)})


def read(path, **options):
    return read_runs(path, **{"columns": COLUMNS, **options})


def written(tmp_path, table, name="mine.csv", **options):
    table.to_csv(tmp_path / name, index=False, **options)
    return tmp_path / name


def notes(table):
    return " ".join(map(str, Runs(table).notes))


@pytest.mark.parametrize("ending", [".xlsx", ".sav", ".dta", ".json"])
def test_every_kind_of_file_gives_the_same_table(tmp_path, cases, ending):
    """Breaks if a reader loses a row, a label, or the type of an id."""
    path = tmp_path / f"mine{ending}"
    if ending == ".xlsx":
        pytest.importorskip("openpyxl")
        cases.to_excel(path, index=False)
    elif ending == ".json":
        cases.to_json(path, orient="records")
    else:
        pyreadstat = pytest.importorskip("pyreadstat")
        writer = {".sav": "write_sav", ".dta": "write_dta"}[ending]
        labels = {"decision": {0: "wait", 1: "treat"}, "confidence": {0: "never", 1: "always"}}
        coded = cases.assign(decision=(cases["decision"] == "treat").astype(int))
        getattr(pyreadstat, writer)(coded, path, variable_value_labels=labels)
    if ending in (".xlsx", ".json"):  # packed, as others cannot be
        path.write_bytes(gzip.compress(path.read_bytes()))
    runs = read(path)
    expected = read(written(tmp_path, cases))
    pd.testing.assert_frame_equal(runs[list(expected)], expected, check_dtype=False)
    assert pd.api.types.is_integer_dtype(runs["theta"])


def test_a_sheet_is_named_where_several_hold_cells(tmp_path, cases):
    pytest.importorskip("openpyxl")
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"about": ["x"]}).to_excel(book, sheet_name="Read me", index=False)
        cases.to_excel(book, sheet_name="Data 1", index=False)
    with pytest.raises(InputError, match="--sheet 'Data 1'"):
        read(path)
    with pytest.raises(InputError, match="'Read me', 'Data 1'"):
        read(path, sheet="Data")
    assert len(read(path, sheet="Data 1")) == 40
    with pytest.raises(InputError, match="sheet is one of a workbook"):
        read(written(tmp_path, cases), sheet="Data 1")


def test_what_is_damaged_or_not_installed_is_one_line(tmp_path, monkeypatch):
    for ending, extra in ((".dta", "pyreadstat"), (".xlsx", "openpyxl")):
        pytest.importorskip(extra)
        path = tmp_path / f"mine{ending}"
        path.write_bytes(b"nothing of this kind")
        with pytest.raises(InputError, match="cannot be read as .* Check that it is complete"):
            read(path)
        monkeypatch.setitem(sys.modules, extra, None)
        with pytest.raises(MissingExtraError, match=rf"belief-coherence\[files\].*install {extra}"):
            read(path)


def test_further_header_lines_of_qualtrics_are_left_out(tmp_path, cases):
    """Breaks if a question is read as an answer, or percentages by the heading are not."""
    table = cases.assign(confidence=(100 * cases["confidence"]).astype(int))
    questions = ["Response ID", "How likely is it? - %", "What do you do?", "correct"]
    ids = [json.dumps({"ImportId": name}) for name in table]
    above = pd.DataFrame([questions, ids], columns=table.columns)
    runs = read(written(tmp_path, pd.concat([above, table])))
    np.testing.assert_allclose(runs["p"], table["confidence"] / 100)
    assert "2 further header lines of Qualtrics" in notes(runs)
    assert "as its heading 'How likely is it? - %' says" in notes(runs)
    # Without a heading that says so they stay refused: the option is the user's.
    with pytest.raises(SchemaError, match="--percent"):
        read(written(tmp_path, table))


ROWS = pd.DataFrame({"p": [0.1, 0.2, 0.3, 0.4, 0.5], "theta": [0, 1, 0, 1, 1]})
ROWS["type"] = ["binary", "numeric", "binary", None, "numeric"]
ROWS["id"] = pd.array([2**53 + 1, 2**53, None, 2**53 - 1, 1], dtype="Int64")
kinds = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
ROWS["kind"] = pd.Series(["low", "mid", "high", None, "high"], dtype=kinds)
ROWS["day"] = pd.to_datetime(
    pd.Series(["2026-01-05", "2026-02-01", None, "2025-12-31", "2026-03-01"])
)
ROWS["my score"] = [1.0, 2.0, np.nan, 4.0, 5.0]


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ('type == "binary"', [0, 2]),
        ("type != 'binary'", [1, 3, 4]),  # a missing cell is unequal to every literal
        ("type != None", [0, 1, 2, 4]),
        ('type in ("numeric",) and `my score` > 2', [4]),
        ('not type == "binary" or p <= .1', [0, 1, 3, 4]),
        ("1 < `my score` <= 4", [1, 3]),
        ('type not in ["binary", "numeric"]', [3]),
        (f"id == {2**53 + 1} or id < 2", [0, 4]),
        ('kind > "low" and kind != "high"', [1]),
        ('day in ("2026-01-05", "2026-02-01") or day < "2026-01-01"', [0, 1, 3]),
    ],
)
def test_rows_are_kept_by_a_condition(tmp_path, condition, kept):
    """Breaks if cells have another type than the file declares, or digits are lost."""
    ROWS.to_parquet(tmp_path / "rows.parquet")
    for source in (ROWS, tmp_path / "rows.parquet"):
        runs = read_runs(source, where=condition)
        assert runs["p"].tolist() == ROWS["p"][kept].tolist()
        assert f"where kept {len(kept)} of 5 rows" in notes(runs)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("__import__('os').getcwd() == 'x'", "names no column"),
        ("open('x')", r"open\('x'\) is no comparison"),
        ("type", "type is no comparison"),
        ("type = 'binary'", "by ==, !="),
        ("(p > .1) & (p < .3)", r"joined by and, or, not \(not & and"),
        ("type == binary", "is no literal .* texts stand in quotes"),
        ("type > 3", "'binary' is no number"),
        ("type > 'a'", "texts have no order"),
        ("kind > 'middle'", "compare it with one of"),
        ("day > 'May'", "compare it with a date"),
        ("p == 'x'", "compare it without quotes"),
        ("typ == 'binary'", "Closest name found: 'type'"),
        ("type == 'Binary'", "keeps none of 5 rows"),
        ("", "must be a condition"),
    ],
)
def test_what_is_no_condition_is_refused_with_the_way_to_write_it(condition, message):
    """Breaks if anything but comparisons of columns with literals is evaluated."""
    with pytest.raises(InputError, match=message):
        read_runs(ROWS, where=condition)


OUTCOMES = ["prob1_came", "probtie_came", "prob2_came"]


@pytest.fixture
def matches():
    beliefs = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    table = pd.DataFrame(beliefs, columns=["prob1", "probtie", "prob2"])
    came = (beliefs.cumsum(axis=1) > np.linspace(0.01, 0.95, 60)[:, None]).argmax(axis=1)
    table[OUTCOMES] = np.eye(3, dtype=int)[came]
    return table.assign(letter=np.array(["1", "tie", "2"])[came])


def test_beliefs_and_outcomes_in_several_columns_are_scored_as_pandas_does(matches):
    """Breaks if a belief goes with the outcome of another state."""
    beliefs = ["prob1", "probtie", "prob2"]
    gaps = matches[beliefs].to_numpy() - matches[OUTCOMES].to_numpy()
    for truth in (OUTCOMES, OUTCOMES[::-1], "letter"):
        report = analyze(matches, columns={"belief": beliefs, "truth": truth}, rng=1)
        assert report.scores["brier"].tolist() == [pytest.approx((gaps**2).sum(axis=1).mean())]


def test_outcomes_of_which_not_one_came_true_are_refused_with_their_row(matches):
    names = {"belief": "prob1,probtie,prob2", "truth": ",".join(OUTCOMES)}
    matches.loc[7, OUTCOMES] = [1, 0, 1]
    with pytest.raises(InputError, match="be 1 in one of them.*'1, 0, 1'.*row 7"):
        read_runs(matches, columns=names)
    matches["prob1"] = 0.9  # is said at once, whatever is wrong with the truth
    for truth, said in ((OUTCOMES[:2], "truth in 2 columns"), ("lettre", "'lettre' to use as")):
        with pytest.raises(InputError, match=f"{said}.*must sum to 1"):
            read_runs(matches, columns=names | {"truth": truth})


def test_a_column_of_beliefs_that_is_missing_is_told_so():
    beliefs = pd.DataFrame({"p_a": [0.5, 0.2] * 9, "p_b": 0.3, "theta": [*"abc"] * 6})
    with pytest.raises(SchemaError, match="(?!.*(--where|replace|div)).* is missing: add it"):
        read_runs(beliefs)


def test_beliefs_in_false_and_true_are_told_apart_by_words():
    """Breaks if prob_false and prob_true are beliefs in states called fals and tru."""
    beliefs = pd.DataFrame({"prob_false": [0.8, 0.3], "prob_true": [0.2, 0.7], "came": [0, 1]})
    runs = read_runs(beliefs, columns={"belief": "prob_false,prob_true", "truth": "came"})
    assert runs[["p_False", "p_True", "theta"]].iloc[1].tolist() == [0.3, 0.7, True]


@pytest.mark.parametrize("options", [("no", "yes"), ("a", "b", "c")])
def test_rows_of_each_option_are_refused_until_one_is_kept(options):
    """Breaks if beliefs in different states count as beliefs in the same one."""
    drawn = np.random.default_rng(0)
    shares = drawn.dirichlet([2] * len(options), 40).round(2)
    shares[:, -1] = 1 - shares[:, :-1].sum(axis=1)
    truths = np.repeat(drawn.choice(options, 40), len(options))
    columns = {"q": np.repeat(np.arange(40), len(options)), "option": [*options] * 40}
    table = pd.DataFrame({**columns, "p": shares.ravel(), "theta": truths})
    kept = "yes" if "yes" in options else "a"
    with pytest.raises(InputError, match="the beliefs sum to 1") as caught:
        read_runs(table, columns={"context": "q"})
    assert f"""--where 'option == "{kept}"'""" in str(caught.value)
    assert len(read_runs(table, columns={"context": "q"}, where=f'option == "{kept}"')) == 40
    table["p"] = drawn.uniform(size=len(table))
    assert len(read_runs(table, columns={"context": "q"})) == len(table)
