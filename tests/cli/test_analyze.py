import io
import json
import re
import tempfile
from html.parser import HTMLParser

import pandas as pd
import pytest

import coherence
from coherence import CheckResult, Interval, Report
from coherence.report.evaluation import EvaluationReport


@pytest.fixture
def runs(tmp_path):
    path = tmp_path / "own.csv"
    frame = pd.DataFrame(
        {
            "conf": [0.2, 0.8, 0.6],
            "choice": ["no", "yes", "yes"],
            "y": [0, 1, 1],
            "case": ["a", "b", "c"],
            "llm": ["m"] * 3,
        }
    )
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def analyze(monkeypatch):
    """Replace the analysis by one that records its arguments and returns a small report."""
    calls = []

    def fake(runs, **options):
        calls.append((runs, options))
        result = CheckResult("cmi", "independence", 0.02, "nats", Interval(0.01, 0.03), 0.004, 3, 3)
        return Report(
            (EvaluationReport("task\x1b[31m", "model", (result,), ("The verdict.",)),),
            {"seed": options["rng"], "published": options["published"]},
        )

    monkeypatch.setattr("coherence.analysis.analyze.analyze", fake)
    return calls


MAPPING = ["--belief", "conf", "--action", "choice", "--truth", "y", "--context", "case"]
MAPPING += ["--model-column", "llm"]


def test_persons_and_ids_of_two_columns_reach_the_analysis(tmp_path, analyze, run):
    path = tmp_path / "panel.csv"
    rows = [(who, f"0{case}", 0.1 * case, case % 2) for who in (7, 8) for case in range(6)]
    pd.DataFrame(rows, columns=["who", "case", "p", "action"]).to_csv(path, index=False)
    assert run("analyze", path, "--context", "case", "--person", "who")[0] == 0
    assert run("analyze", path, "--context", "case,who", "--group", "who")[0] == 0
    crossed, alone = (read.table for read, _ in analyze)
    assert crossed["person"].tolist() == [7] * 6 + [8] * 6
    assert (alone["context"].iloc[0], alone["context"].nunique()) == ("00 / 7", 12)
    assert alone["group"].nunique() == 2


def test_questions_with_a_level_have_columns_of_other_names(tmp_path, analyze, run):
    path = tmp_path / "offers.csv"
    rows = [("a", 30, None, None, None, None), ("a", None, "event", 15, "event", "event")]
    rows += [("a", None, "lottery", 85, "complement", "lottery")]
    names = ["case", "said", "chosen", "chance", "side", "first"]
    pd.DataFrame(rows, columns=names).to_csv(path, index=False)
    typed = ["--context", "case", "--belief", "said", "--action", "chosen", "--percent"]
    typed += ["--level", "chance", "--frame", "side", "--order", "first"]
    assert run("analyze", path, *typed)[0] == 0
    ((read, _),) = analyze
    assert read.table["level"].tolist()[1:] == [0.15, 0.85]
    assert read.table["frame"].tolist()[1:] == ["event", "complement"]
    assert read.table["order"].tolist()[1:] == ["event", "lottery"]


def test_columns_and_options_reach_the_analysis(runs, analyze, run):
    words = "--seed 7 --n-jobs 2 --published --strict --positive Yes --positive hit"
    words += " --reference mse --state realised --no-merge-labels --checks"
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
        "merge_labels": False,
        "twins": None,
        "margin": None,
        "n_jobs": 2,
        "rng": 7,
    }
    assert "0.0200 nats" in out
    assert "\x1b" not in out
    assert err == "", "no progress where stderr is no terminal"


def test_out_writes_three_readable_files_and_says_where(runs, analyze, tmp_path, run):
    folder = tmp_path / "new" / "results"
    status, _, err = run("analyze", str(runs), *MAPPING, "--out", str(folder))
    assert status == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "files.sha256",
        "report.html",
        "results.json",
        "results.parquet",
    ]
    assert (
        json.loads((folder / "results.json").read_text())["evaluations"][0]["results"][0]["pvalue"]
        == 0.004
    )
    assert pd.read_parquet(folder / "results.parquet")["estimate"].tolist() == [0.02]
    HTMLParser().feed((folder / "report.html").read_text(encoding="utf-8"))
    assert str(folder) in err


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


def test_a_link_that_leads_nowhere_is_refused(tmp_path, run):
    coherence.write_runs(
        coherence.simulate("rational", n_contexts=8, n_reps=1, rng=1), tmp_path / "r.csv"
    )
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "answers").symlink_to(tmp_path / "gone")
    words = ["analyze", str(tmp_path / "r.csv"), "--checks", "calibration"]
    status, _, err = run(*words, "--out", str(folder))
    assert status == 2
    assert f"{folder}/answers is a link that leads nowhere" in err
    assert err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["answers"]


def test_out_that_cannot_be_a_folder_is_refused_before_the_analysis(runs, analyze, tmp_path, run):
    status, _, err = run("analyze", str(runs), *MAPPING, "--out", str(runs))
    assert status == 2
    assert "--out must be a folder; " in err
    status, _, err = run("analyze", str(runs), *MAPPING, "--out", str(runs / "below"))
    assert status == 2
    assert "--out must be a folder that can be made" in err
    assert analyze == []


def test_folder_without_permission_is_refused(runs, analyze, tmp_path, monkeypatch, run):
    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    # The mode of a folder does not stop a superuser, so the refusal itself is simulated.
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    status, _, err = run("analyze", str(runs), *MAPPING, "--out", str(tmp_path))
    assert status == 2
    assert "(Permission denied). Choose another." in err


def test_unknown_check_names_the_closest(runs, run):
    status, _, err = run("analyze", str(runs), *MAPPING, "--checks", "cmi,monotone")
    assert status == 2
    assert "'monotone'" in err
    assert "Closest name found: 'monotone_choice'" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", "-1"], "--seed must be at least 0; received -1."),
        (["--checks", " , "], "at least one check"),
        (["--n-jobs", "0"], "n_jobs"),
        (["--belief", "confid"], "Closest name found: 'conf'"),
    ],
)
def test_wrong_options_end_with_2_and_one_line(runs, arguments, message, run):
    status, _, err = run("analyze", str(runs), *MAPPING, *arguments)
    assert status == 2
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.lengthy
def test_labels_of_ones_own_need_a_word(tmp_path, run):
    """The hidden shift has the sign of the state that was named, whatever the alphabet says."""
    runs = coherence.simulate("leaky", n_contexts=60, n_reps=1, prompts=("standard",), rng=1)
    runs = runs[runs["z_state"].isna()][["context", "p", "action", "theta"]]
    path = tmp_path / "own.csv"
    runs.assign(theta=runs["theta"].map({0: "incorrect", 1: "correct"})).to_csv(path, index=False)
    options = ["analyze", str(path), "--checks", "residual_covariance,calibration"]
    status, _, err = run(*options)
    assert status == 2
    assert "(--positive correct or --positive incorrect)" in err
    briers = {}
    for label in ("correct", "incorrect"):
        out = tmp_path / label
        assert run(*options, "--positive", label, "--out", str(out))[0] == 0
        assert f"--positive {label}" in (out / "report.html").read_text(encoding="utf-8")
        table = pd.read_parquet(out / "results.parquet").set_index("check")["estimate"]
        briers[label] = table["calibration:brier"]
    expected = ((runs["p"] - runs["theta"]) ** 2).mean()
    assert briers["correct"] == pytest.approx(expected)
    reversed_ = ((1 - runs["p"] - runs["theta"]) ** 2).mean()
    assert briers["incorrect"] == pytest.approx(reversed_)
    assert reversed_ > expected


def test_columns_and_labels_that_are_nearly_right_end_with_2(tmp_path, run):
    runs = coherence.simulate("leaky", n_contexts=30, n_reps=1, prompts=("standard",), rng=1)
    runs = runs[runs["z_state"].isna()][["context", "p", "action", "theta"]]
    path = tmp_path / "own.csv"
    runs.rename(columns={"action": "acton"}).to_csv(path, index=False)
    options = ["analyze", str(path), "--checks", "calibration"]
    status, _, err = run(*options)
    assert status == 2
    assert "--ignore acton" in err
    assert run(*options, "--ignore", "acton")[0] == 0
    assert run(*options, "--action", "acton")[0] == 0
    runs.loc[runs.index[:3], "action"] = runs["action"].str.upper() + " "
    runs.to_csv(path, index=False)
    status, _, err = run(*options)
    assert status == 2
    assert "merge them (--merge-labels" in err
    status, out, _ = run(*options, "--merge-labels")
    assert status == 0
    assert "labels of 'action' were merged" in out
    assert run(*options, "--no-merge-labels")[0] == 0


@pytest.fixture
def terminal(monkeypatch, run):
    """Replace stdout by a terminal that records what is written; return a function of it."""

    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return True

    def printed(arguments, encoding="utf-8", **environment):
        for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
            monkeypatch.delenv(name, raising=False)
        for name, value in ({"TERM": "xterm"} | environment).items():
            monkeypatch.setenv(name, value)
        screen = Terminal()
        screen.encoding = encoding
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", screen)
            assert run(*arguments)[0] == 0
        return screen.getvalue()

    return printed


def test_emphasis_is_for_terminals_that_want_it(runs, analyze, terminal):
    arguments = ["analyze", str(runs), *MAPPING]
    assert re.search(r"\x1b\[1m[^\n]*\(cmi\)", terminal(arguments))
    assert "\x1b" not in terminal(arguments, NO_COLOR="1")
    assert "\x1b" not in terminal(arguments, TERM="dumb")


def test_a_terminal_that_knows_ascii_alone_gets_no_codes_of_characters(runs, analyze, terminal):
    text = terminal(["analyze", str(runs), *MAPPING], encoding="ascii", NO_COLOR="1", COLUMNS="80")
    assert text.isascii()
    assert "-" * 80 in text


@pytest.mark.parametrize(
    ("conditions", "status", "said"),
    [
        (["pvalue<.01"], 1, ["--fail-on 'pvalue<.01' holds: {unit}cmi: pvalue is 0.004"]),
        (["pvalue<.001"], 0, []),
        (
            ["cmi.statistic>.5", "cmi.interval_low>0", "rows<10"],
            1,
            [
                "--fail-on 'cmi.interval_low>0' holds: {unit}cmi: interval_low is 0.01",
                "--fail-on 'rows<10' holds: {unit}cmi: rows is 3",
            ],
        ),
    ],
)
def test_conditions_decide_the_status_and_say_what_meets_them(
    runs, analyze, conditions, status, said, run
):
    options = [word for text in conditions for word in ("--fail-on", text)]
    found, out, err = run("analyze", str(runs), *MAPPING, *options)
    assert found == status
    unit = "task 'task\\x1b[31m', model 'model': "
    assert err.splitlines() == [line.format(unit=unit) for line in said]
    assert "(cmi)" in out


def test_a_condition_that_nothing_can_meet_is_an_error_and_no_pass(runs, analyze, tmp_path, run):
    options = ["--fail-on", "holm<.05", "--fail-on", "pvalue<.01", "--out", str(tmp_path)]
    status, _, err = run("analyze", str(runs), *MAPPING, *options)
    assert status == 2
    assert "'pvalue<.01' holds" in err
    assert "--fail-on 'holm<.05' had nothing to compare" in err
    assert (tmp_path / "results.json").exists(), "the analysis is done and must not be lost"


def test_conditions_are_checked_before_anything_is_read(analyze, run):
    status, _, err = run("analyze", "no such file", "--fail-on", "p<.05")
    assert status == 2
    assert "names the quantity 'p', which is none" in err
    assert analyze == []


def test_a_reader_that_leaves_does_not_hide_the_status(runs, analyze, monkeypatch, run):
    def leave(*_):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("coherence.cli.analyze._print_report", leave)
    # pytest's descriptor stays open
    monkeypatch.setattr("coherence.cli.analyze.discard_output", lambda: None)
    assert run("analyze", str(runs), *MAPPING, "--fail-on", "pvalue<.01")[0] == 1
    assert run("analyze", str(runs), *MAPPING, "--fail-on", "pvalue<.001")[0] == 0


def test_json_is_all_that_standard_output_gets(runs, analyze, tmp_path, run):
    words = ["analyze", str(runs), *MAPPING, "--out", str(tmp_path), "--fail-on", "pvalue<.01"]
    status, out, err = run(*words, "--json", "-")
    assert status == 1
    assert out == (tmp_path / "results.json").read_text()
    assert json.loads(out)["evaluations"][0]["results"][0]["pvalue"] == 0.004
    assert "(cmi)" in err
    assert "holds: " in err
    assert str(tmp_path) in err


def test_runs_come_from_standard_input(runs, analyze, monkeypatch, run):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(runs.read_bytes())))
    assert run("analyze", "-", *MAPPING)[0] == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    status, _, err = run("analyze", "-", *MAPPING)
    assert status == 2
    assert "standard input: nothing came (0 bytes)" in err
    (read, _), *_ = analyze
    assert read.table["p"].tolist() == [0.2, 0.8, 0.6]


@pytest.mark.parametrize(
    ("words", "twins"), [([], None), (["--twin"], 200), (["--twin", "60"], 60)]
)
def test_twins_are_drawn_when_asked_for_and_200_where_no_number_is_said(
    runs, analyze, words, twins, run
):
    assert run("analyze", str(runs), *MAPPING, *words)[0] == 0
    ((_, options),) = analyze
    assert options["twins"] == twins


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Return a table of four models, of whom one refuses now and then."""
    tables = [
        coherence.simulate("rational", n_contexts=20, n_reps=2, rng=at).assign(model=f"m{at}")
        for at in range(4)
    ]
    tables[0].loc[[0, 5], ["p", "status"]] = [None, "refused"]
    path = tmp_path_factory.mktemp("runs") / "my runs.parquet"
    pd.concat(tables, ignore_index=True).to_parquet(path)
    return path


@pytest.mark.lengthy
def test_answers_and_figures_are_written_and_the_command_says_how(simulated, tmp_path, run):
    folder, figures = tmp_path / "out", tmp_path / "figures"
    options = ["analyze", str(simulated), "--checks", "calibration", "--ignore", "x_1"]
    status, _, err = run(*options, "--out", str(folder), "--figures", str(figures))
    assert status == 0
    count = sum(path.suffix == ".pdf" for path in figures.iterdir())
    assert f"wrote {count} figures" in err
    assert count == sum(path.suffix == ".svg" for path in figures.iterdir()) > 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "my runs.parquet" in page
    assert "--ignore=x_1 --seed 0 --checks calibration" in page
    settings = json.loads((folder / "results.json").read_text())["settings"]
    assert settings["data"]["rows"] == len(pd.read_parquet(simulated))
    assert settings["reading"] == ["--ignore=x_1"]
    index = (folder / "answers" / "evaluation-1.html").read_text(encoding="utf-8")
    assert "Status refused" in index
    assert run(*options, "--out", str(folder), "--answers", "0")[0] == 0
    assert not (folder / "answers").exists()
    status, _, err = run(*options, "--answers", "-1")
    assert status == 2
    assert "--answers must be at least 0; received -1." in err


def test_results_never_take_the_place_of_the_table(tmp_path, run):
    runs = coherence.simulate("rational", n_contexts=15, n_reps=1, rng=1)
    coherence.write_runs(runs, tmp_path / "results.parquet")
    before = (tmp_path / "results.parquet").read_bytes()
    for table in ("results.parquet", "."):
        command = ["analyze", str(tmp_path / table), "--checks", "calibration"]
        status, _, err = run(*command, "--out", str(tmp_path))
        assert status == 2
        assert "--out must not hold the table that is read" in err
    assert (tmp_path / "results.parquet").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["results.parquet"]


def test_json_goes_to_a_file_that_can_be_written(runs, analyze, tmp_path, run):
    command = ["analyze", runs, *MAPPING, "--json"]
    for file in (tmp_path / "nowhere" / "r.json", tmp_path):
        status, _, err = run(*command, file)
        assert (status, "--json must be a file in a folder" in err) == (2, True)
    assert analyze == []
    status, out, _ = run(*command, tmp_path / "r.json")
    assert (status, "(cmi)" in out) == (0, True)
    assert json.loads((tmp_path / "r.json").read_text())["settings"]["seed"] == 0
