import csv
import re

import pytest

from coherence.report.figure_files import CONTENTS, ENDINGS, NAMES, all_figures, write_figures


@pytest.fixture
def units(unit, choices):
    beliefs = choices(actions=("yes", "no"), n_contexts=40, n_reps=1)
    return [unit(model="../m<b>", results=(), verdicts=(), beliefs=beliefs)]


@pytest.mark.lengthy
def test_each_figure_is_written_in_every_format_and_listed(units, tmp_path):
    written = write_figures(units, tmp_path)
    assert sorted(written) == sorted(path.name for path in tmp_path.iterdir())
    with (tmp_path / CONTENTS).open(newline="") as file:
        listed = list(csv.DictReader(file))
    titles = [figure.title for _, figure in all_figures(units)]
    assert [row["title"] for row in listed] == titles
    assert {row["model"] for row in listed} == {"../m<b>"}
    starts = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
    for row in listed:
        for ending in ENDINGS:
            name = f"{row['file']}.{ending}"
            assert (tmp_path / name).read_bytes().startswith(starts[ending])
            assert re.fullmatch(NAMES, name)


@pytest.mark.lengthy
def test_equal_reports_give_equal_files(units, tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        write_figures(units, folder)
    first, second = ({p.name: p.read_bytes() for p in folder.iterdir()} for folder in folders)
    assert first == second
