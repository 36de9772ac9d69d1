import pytest

from coherence import Report
from coherence.cli.report_folder import certain_files, write_figures, write_report, write_tables
from coherence.report.evaluation import EvaluationReport
from coherence.report.folder import FIGURES, OURS
from coherence.table.files import new_files


class Pages(Report):
    """A report that renders what a test says."""

    def to_files(self, *, answers=None):
        return self.settings["pages"]


def test_pages_of_an_earlier_report_go_and_other_files_stay(tmp_path):
    unit = EvaluationReport("t", "m", (), ())
    first = [(f"evaluations/evaluation-{n}.html", "u") for n in (1, 2)] + [
        ("answers/evaluation-1.html", "a")
    ]
    write_report(Pages((unit,), {"pages": [*first, ("report.html", "r")]}), tmp_path)
    (tmp_path / "evaluations" / "notes.html").write_text("mine")
    second = [("evaluations/evaluation-1.html", "new"), ("report.html", "s")]
    said = write_report(Pages((unit,), {"pages": second}), tmp_path)
    assert said == (
        f"wrote results.json, results.parquet and report.html to {tmp_path}, in place of those of "
        "an earlier call"
    )
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert left == {
        *("evaluations/evaluation-1.html", "evaluations/notes.html", "report.html"),
        *("results.json", "results.parquet", "files.sha256"),
    }
    assert not (tmp_path / "answers").exists()
    assert (tmp_path / "evaluations" / "evaluation-1.html").read_text() == "new"


def test_figures_of_an_earlier_report_go_and_others_of_such_a_name_stay(tmp_path):
    with new_files(tmp_path, OURS[FIGURES]) as new:
        (new / "evaluation-9-pair-1.svg").write_text("ours")
    (tmp_path / "evaluation-8-pair-1.svg").write_text("mine")
    said = write_figures(Report((EvaluationReport("t", "m", (), ()),), {}), tmp_path)
    assert said == f"wrote 0 figures to {tmp_path}, in place of those of an earlier call"
    assert {path.name for path in tmp_path.iterdir()} == {
        *("evaluation-8-pair-1.svg", "figures.csv", "files.sha256")
    }


@pytest.mark.parametrize("option", ["out", "figures", "tables"])
def test_what_is_surely_written_is_written(option, tmp_path):
    report = Pages((EvaluationReport("t", "m", (), ()),), {"pages": [("report.html", "r")]})
    writer = {"out": write_report, "figures": write_figures, "tables": write_tables}[option]
    assert "in place" not in writer(report, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= set(certain_files(option))
