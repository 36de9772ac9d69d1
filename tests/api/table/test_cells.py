"""A label is its text: breaks if two labels run together, or a format makes others of them."""

import json

import numpy as np
import pandas as pd
import pytest

from coherence import analyze, read_runs, write_runs
from coherence.runs.cells import labels

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
