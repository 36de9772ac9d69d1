import json

import pandas as pd
import pytest

import coherence
from coherence import CheckResult, Interval, Report
from coherence.report.evaluation import EvaluationReport
from coherence.report.verdicts import NOT_TESTED


@pytest.fixture
def runs(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("conf,choice,y,case,llm\n.2,no,0,a,m\n.8,yes,1,b,m\n.6,yes,1,c,m\n")
    return path


@pytest.fixture
def analyze(monkeypatch):
    """Replace the analysis by one that records its arguments and returns a small report."""
    calls = []

    def fake(runs, **options):
        calls.append((runs, options))
        result = CheckResult("cmi", "independence", 0.02, "nats", Interval(0.01, 0.03), 0.004, 3, 3)
        return Report(
            (EvaluationReport("task\x1b[31m", "model", (result,), ("The verdict.",), NOT_TESTED),),
            {"seed": options["rng"], "published": options["published"]},
        )

    monkeypatch.setattr("coherence.analysis.analyze.analyze", fake)
    return calls


MAPPING = ["--belief", "conf", "--action", "choice", "--truth", "y", "--context", "case"]
MAPPING += ["--model-column", "llm"]


def test_columns_and_options_reach_the_analysis(runs, analyze, run):
    words = "--seed 7 --n-jobs 2 --published --strict --positive Yes --positive hit"
    words += " --reference mse --state realised --checks"
    status, out, err = run("analyze", runs, *MAPPING, *words.split(), "cmi, calibration")
    assert status == 0
    read, options = analyze[0]
    assert callable(options.pop("progress"))
    frame = read.table
    assert set(frame.columns) == {"p", "action", "theta", "context", "model"}
    assert frame["p"].tolist() == [0.2, 0.8, 0.6]
    assert options == {
        "checks": ["cmi", "calibration"],
        "published": True,
        "full": False,
        "strict": True,
        "positive": ["Yes", "hit"],
        "reference": "mse",
        "state": "realised",
        "margin": None,
        "n_jobs": 2,
        "rng": 7,
    }
    assert "0.0200 nats" in out
    assert "\x1b" not in out
    assert err == "", "no progress where stderr is no terminal"


@pytest.mark.parametrize(
    ("option", "name"),
    [("--out", "report.html"), ("--figures", "figures.csv"), ("--tables", "tables.md")],
)
def test_a_file_of_somebody_else_is_refused_before_the_analysis(
    option, name, runs, analyze, tmp_path, run
):
    (tmp_path / name).write_text("mine")
    status, _, err = run("analyze", str(runs), *MAPPING, option, str(tmp_path))
    assert status == 2
    assert f"{name} would be overwritten, and was not written by" in err
    (tmp_path / name).unlink()
    (tmp_path / "files.sha256").write_text(f"{'0' * 64}  mine.csv\n")
    status, _, err = run("analyze", str(runs), *MAPPING, option, str(tmp_path))
    assert status == 2
    assert "files.sha256 must be the list that an earlier call wrote" in err
    assert analyze == []


def test_conditions_decide_the_status_and_say_what_meets_them(runs, analyze, run):
    unit = "task 'task\\x1b[31m', model 'model': "
    for conditions, said in (
        (["pvalue<.01"], [f"--fail-on 'pvalue<.01' holds: {unit}cmi: pvalue is 0.004"]),
        (["pvalue<.001"], []),
        (
            ["cmi.estimate>.5", "cmi.interval_low>0", "rows<10"],
            [
                f"--fail-on 'cmi.interval_low>0' holds: {unit}cmi: interval_low is 0.01",
                f"--fail-on 'rows<10' holds: {unit}cmi: rows is 3",
            ],
        ),
    ):
        options = [word for text in conditions for word in ("--fail-on", text)]
        status, out, err = run("analyze", str(runs), *MAPPING, *options)
        assert (status, err.splitlines()) == (int(bool(said)), said)
        assert "(cmi)" in out


def test_a_condition_that_nothing_can_meet_is_an_error_and_no_pass(runs, analyze, tmp_path, run):
    options = ["--fail-on", "holm<.05", "--fail-on", "pvalue<.01", "--out", str(tmp_path)]
    status, _, err = run("analyze", str(runs), *MAPPING, *options)
    assert status == 2
    assert "'pvalue<.01' holds" in err
    assert "--fail-on 'holm<.05' had nothing to compare" in err
    assert f"report.html to {tmp_path}" in err
    assert (tmp_path / "results.json").exists(), "the analysis is done and must not be lost"


def test_json_is_all_that_standard_output_gets(runs, analyze, tmp_path, run):
    words = ["analyze", str(runs), *MAPPING, "--out", str(tmp_path), "--fail-on", "pvalue<.01"]
    status, out, err = run(*words, "--json", "-")
    assert status == 1
    assert out == (tmp_path / "results.json").read_text()
    assert "(cmi)" in err
    assert "holds: " in err
    status, out, _ = run("analyze", runs, *MAPPING, "--json", tmp_path / "r.json")
    assert (status, "(cmi)" in out) == (0, True)
    assert json.loads((tmp_path / "r.json").read_text())["settings"]["seed"] == 0


@pytest.mark.lengthy
def test_answers_and_figures_are_written_and_the_command_says_how(tmp_path, run):
    folder, figures, path = tmp_path / "out", tmp_path / "figures", tmp_path / "my runs.parquet"
    table = coherence.simulate("rational", n_contexts=20, n_reps=2, rng=0)
    table.loc[[0, 5], ["p", "status"]] = [None, "refused"]
    table.to_parquet(path)
    options = ["analyze", str(path), "--checks", "calibration", "--where", "rep >= 0"]
    status, _, err = run(*options, "--out", str(folder), "--figures", str(figures))
    assert status == 0
    count = sum(path.suffix == ".pdf" for path in figures.iterdir())
    assert count == sum(path.suffix == ".svg" for path in figures.iterdir()) > 0
    assert f"wrote {count} figures" in err
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "--where=rep &gt;= 0" in page
    settings = json.loads((folder / "results.json").read_text())["settings"]
    assert (settings["data"]["rows"], settings["reading"]) == (len(table), ["--where=rep >= 0"])
    assert "refused 2" in (folder / "answers" / "evaluation-1.html").read_text("utf-8")
    assert run(*options, "--out", str(folder), "--answers", "0")[0] == 0
    assert not (folder / "answers").exists()


def test_results_never_take_the_place_of_the_table(tmp_path, run):
    runs = coherence.simulate("rational", n_contexts=15, n_reps=1, rng=1)
    coherence.write_runs(runs, tmp_path / "results.parquet")
    before = (tmp_path / "results.parquet").read_bytes()
    command = ["analyze", str(tmp_path / "results.parquet"), "--checks", "calibration"]
    status, _, err = run(*command, "--out", str(tmp_path))
    assert status == 2
    assert "--out must not hold the table that is read" in err
    assert (tmp_path / "results.parquet").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["results.parquet"]


def test_a_table_of_which_nothing_could_be_parsed_ends_with_2(tmp_path, run):
    """Breaks if a program takes "nothing is known" for success, or the page is not written."""
    table = pd.DataFrame({"context": range(30), "p": None, "action": None, "theta": [0, 1] * 15})
    table.assign(status="unparsed").to_csv(tmp_path / "t.csv", index=False)
    code, out, err = run("analyze", tmp_path / "t.csv", "--out", tmp_path / "report")
    assert (code, "No check could be run" in out) == (2, True)
    assert "could be parsed" in err
    assert (tmp_path / "report" / "report.html").exists()


def test_where_no_model_is_named_the_file_is(tmp_path, run):
    path = tmp_path / "my answers.csv"
    table = coherence.simulate("leaky", n_contexts=30, n_reps=1, rng=1)
    table.drop(columns=["task", "model"]).to_csv(path, index=False)
    status, out, _ = run("analyze", path, "--checks", "sufficiency")
    assert (status, out.startswith("my answers.csv  ")) == (0, True)
