"""Reading by unit. Breaks if a unit's rows, their order or their types are not the table's."""

import pandas as pd
import pytest

from coherence import InputError, SchemaError, read_runs, scan_runs, simulate


@pytest.fixture(scope="module")
def runs():
    """Three tasks of two models; one task has a state that is not always known."""
    tables = []
    for number, task in enumerate(("asia", "cancer", "crying")):
        for model in ("rational", "leaky"):
            table = simulate(model, n_contexts=12, n_reps=2, rng=number)
            tables.append(table.assign(task=task))
    table = pd.concat(tables, ignore_index=True)
    unknown = (table["task"] == "cancer") & (table["context"] < "c0003")
    return table.assign(theta=table["theta"].mask(unknown).astype("Int64"))


def written(runs, folder, layout):
    """Write a table in one of the ways in which tables come."""
    path = folder / "runs"
    if layout == "mixed":
        path = folder / "runs.parquet"
        runs.sample(frac=1, random_state=1).to_parquet(path, row_group_size=40)
    elif layout == "partitioned":
        runs.to_parquet(path, partition_cols=["task", "model"])
    else:
        path.mkdir()
        for number, (_, rows) in enumerate(runs.groupby("task")):
            rows.to_parquet(path / f"part-{number}.parquet")
        (path / "_metadata").write_text("of somebody's writer")
    return path


@pytest.mark.parametrize("layout", ["mixed", "partitioned", "several files"])
def test_units_are_those_of_the_table_read_at_once(runs, tmp_path, layout):
    path = written(runs, tmp_path, layout)
    scan = scan_runs(path)
    whole = read_runs(path)
    assert scan.evaluations == sorted(set(zip(runs["task"], runs["model"], strict=True)))
    assert scan.n_rows == len(runs) == len(whole)
    for task, model in scan.evaluations:
        expected = whole[(whole["task"] == task) & (whole["model"] == model)]
        found = scan.read(task, model)
        pd.testing.assert_frame_equal(
            found, expected.reset_index(drop=True)[list(found)], check_dtype=False
        )
    states = scan.labels.dropna().groupby("task")["theta"].agg(lambda labels: sorted(set(labels)))
    assert states.to_dict() == {"asia": [0, 1], "cancer": [0, 1], "crying": [0, 1]}


def test_columns_by_other_names_are_found(runs, tmp_path):
    path = tmp_path / "mine.parquet"
    other = runs.rename(columns={"p": "conf", "task": "suite", "theta": "truth"})
    percent = {name: 100 * other[name] for name in ("conf", "p_z")}
    other.assign(**percent, note="x").to_parquet(path, row_group_size=60)
    columns = {"p": "conf", "task": "suite", "theta": "truth"}
    scan = scan_runs(path, columns=columns, percent=True, ignore=["note"])
    found = scan.read("asia", "leaky")
    expected = runs[(runs["task"] == "asia") & (runs["model"] == "leaky")]
    assert found["p"].tolist() == pytest.approx(expected["p"].tolist())
    assert "note" not in found.columns
    assert "p" in scan.columns


def test_whether_there_are_percentages_is_judged_from_all_units(tmp_path, caplog):
    """One that says 0 and 1 alone was once refused, and every unit was noted by itself."""
    units = {"sure": [0, 1, 1], "spread": [70, 20, 0.5], "wide": [90, 0.7, 0.2]}
    table = pd.concat(
        pd.DataFrame({"task": "t", "model": model, "conf": p, "p_note": 0.5, "theta": [0, 1, 1]})
        for model, p in units.items()
    )
    for number, (_, rows) in enumerate(table.groupby("model")):
        rows.to_parquet(tmp_path / f"{number}.parquet", row_group_size=2)
    said = {"columns": {"p": "conf"}, "percent": True}
    whole = read_runs(tmp_path, **said)
    at_once = [record.getMessage() for record in caplog.records]
    caplog.clear()
    scan = scan_runs(tmp_path, **said)
    for task, model in scan.evaluations:
        expected = whole.loc[whole["model"] == model, "p"].tolist()
        unit = scan.read(task, model)
        assert unit["p"].tolist() == expected
    assert [record.getMessage() for record in caplog.records] == at_once
    assert "3 of 9 values of 'conf' (mapped to 'p') are below 1" in at_once[0]


def test_states_in_columns_are_judged_together_over_files(tmp_path):
    """One file lacks a column that another has; the rare state is below 1% throughout."""
    first = pd.DataFrame({"model": "a", "p_wet": [0.5, 0.2], "p_dry": [99.5, 99.8]})
    second = pd.DataFrame({"model": "b", "p_dry": [1.0, 0.0], "p_wet": [0.0, 1.0]})
    for name, rows in (("a", first), ("b", second)):
        rows.assign(theta=["wet", "dry"]).to_parquet(tmp_path / f"{name}.parquet")
    scan = scan_runs(tmp_path, percent=True)
    assert scan.read("", "a")["p_wet"].tolist() == [0.005, 0.002]


def test_what_cannot_be_scanned_is_said(runs, tmp_path):
    runs.to_csv(tmp_path / "t.csv")
    with pytest.raises(InputError, match="Write the table as parquet first"):
        scan_runs(tmp_path / "t.csv")
    with pytest.raises(InputError, match="no such file or folder"):
        scan_runs(tmp_path / "nowhere.parquet")
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        scan_runs(tmp_path / "torn.parquet")
    runs.head(0).to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(InputError, match="has no rows"):
        scan_runs(tmp_path / "empty.parquet")
    runs.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"there is no evaluation \('asia', 'x'\)"):
        scan_runs(tmp_path / "t.parquet").read("asia", "x")


def test_columns_that_some_files_lack_are_there_and_empty(runs, tmp_path):
    (tmp_path / "t").mkdir()
    for model, rows in runs[runs["task"] == "asia"].groupby("model"):
        kept = rows if model == "leaky" else rows.drop(columns="p_true").assign(note="x")
        kept.to_parquet(tmp_path / "t" / f"{model}.parquet")
    scan = scan_runs(tmp_path / "t", ignore=["note"])
    whole = read_runs(tmp_path / "t", ignore=["note"])
    for task, model in scan.evaluations:
        expected = whole[whole["model"] == model].reset_index(drop=True)
        found = scan.read(task, model)
        pd.testing.assert_frame_equal(found[list(expected)], expected, check_dtype=False)
    # A rule that the whole table breaks is broken by the unit as well.
    runs[runs["model"] == "rational"].drop(columns="context").to_parquet(
        tmp_path / "t" / "rational.parquet"
    )
    for read in (
        lambda: scan_runs(tmp_path / "t").read("asia", "rational"),
        lambda: read_runs(tmp_path / "t"),
    ):
        with pytest.raises(SchemaError, match="context"):
            read()


def test_damage_within_a_whole_frame_is_named(runs, tmp_path):
    """The end of the file, which is looked at first, is as it was."""
    path = tmp_path / "runs.parquet"
    runs.to_parquet(path)
    data = path.read_bytes()
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(b"PAR1" + b"\xff" * (end - 4) + data[end:])
    with pytest.raises(InputError, match="runs.parquet: rows cannot be read .* is complete"):
        scan_runs(path)


def test_percentages_stand_beside_an_exact_posterior_of_another_name(runs, tmp_path):
    """Breaks if the kind of truth that naming the posterior adds is looked for in the file."""
    path = tmp_path / "mine.parquet"
    percent = {name: 100 * runs[name] for name in ("p", "p_z")}
    other = runs.assign(**percent).drop(columns="truth_kind", errors="ignore")
    other.rename(columns={"p_true": "posterior"}).to_parquet(path)
    scan = scan_runs(path, columns={"exact": "posterior"}, percent=True)
    expected = runs[(runs["task"] == "asia") & (runs["model"] == "leaky")]
    assert scan.read("asia", "leaky")["p"].tolist() == pytest.approx(expected["p"].tolist())
