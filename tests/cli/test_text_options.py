"""Breaks if a command that reads a user's file does not pass the user's word about it on."""

import pytest


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_analyze_reads_a_table_from_a_german_spreadsheet(tmp_path, run):
    lines = [f"{10 * case + 5},5 %;{case % 2}" for case in range(9)]
    table = tmp_path / "mine.csv"
    table.write_bytes("\n".join(["Überzeugung;theta", *lines]).encode("latin-1"))
    options = ["analyze", str(table), "--belief", "Überzeugung", "--out", str(tmp_path / "out")]
    for wanted, value in (("encoding", "latin-1"), ("decimal", ",")):
        status, _, err = run(*options)
        assert status == 2
        assert f"--{wanted}" in err
        options += [f"--{wanted}", value]
    status, out, _ = run(*options)
    assert status == 0
    assert "9 rows in 9 contexts" in " ".join(out.split())
