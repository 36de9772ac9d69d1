from coherence.cli.report_folder import write_figures, write_report, write_tables
from coherence.report.report import Report
from coherence.report.unit import Unit


class Pages(Report):
    """A report that renders what a test says."""

    def to_files(self, *, answers=None):
        return self.settings["pages"]


def test_pages_of_an_earlier_report_go_and_other_files_stay(tmp_path):
    unit = Unit("t", "m", (), ())
    first = [(f"units/unit-{n}.html", "u") for n in (1, 2)] + [("answers/unit-1.html", "a")]
    write_report(Pages((unit,), {"pages": [*first, ("report.html", "r")]}), tmp_path)
    (tmp_path / "units" / "notes.html").write_text("mine")
    second = [("units/unit-1.html", "new"), ("report.html", "s")]
    write_report(Pages((unit,), {"pages": second}), tmp_path)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert left == {
        *("units/unit-1.html", "units/notes.html", "report.html"),
        *("results.json", "results.parquet", "files.sha256"),
    }
    assert not (tmp_path / "answers").exists()
    assert (tmp_path / "units" / "unit-1.html").read_text() == "new"


def test_figures_of_an_earlier_report_go(tmp_path):
    (tmp_path / "unit-9-pair-1.svg").write_text("old")
    (tmp_path / "mine.svg").write_text("mine")
    assert write_figures(Report((Unit("t", "m", (), ()),), {}), tmp_path) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"mine.svg", "figures.csv", "files.sha256"}


def test_tables_of_an_earlier_report_go(tmp_path):
    for name in ("results-9.csv", "answers-9.tex", "mine.csv"):
        (tmp_path / name).write_text("old")
    assert write_tables(Report((Unit("t", "m", (), ()),), {}), tmp_path) == 1
    assert {path.name for path in tmp_path.iterdir()} == {
        "files.sha256",
        "mine.csv",
        "results-1.csv",
        "results-1.md",
        "results-1.tex",
        "tables.md",
    }
