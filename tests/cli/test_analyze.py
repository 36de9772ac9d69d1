import io
import json
import re
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import coherence
import coherence.analysis.analyze
from coherence import CheckResult, Interval, Report
from coherence.cli import analyze as command
from coherence.cli.main import main
from coherence.report.unit import Unit


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
            (Unit("task\x1b[31m", "model", (result,), ("The verdict.",)),),
            {"seed": options["rng"], "published": options["published"]},
        )

    monkeypatch.setattr(coherence.analysis.analyze, "analyze", fake)
    return calls


MAPPING = [
    "--belief",
    "conf",
    "--action",
    "choice",
    "--truth",
    "y",
    "--context",
    "case",
    "--model-column",
    "llm",
]


def test_columns_and_options_reach_the_analysis(runs, analyze, capsys):
    assert (
        main(
            [
                "analyze",
                str(runs),
                *MAPPING,
                "--seed",
                "7",
                "--n-jobs",
                "2",
                "--published",
                "--strict",
                "--positive",
                "Yes",
                "--positive",
                "hit",
                "--reference",
                "mse",
                "--no-merge-labels",
                "--checks",
                "cmi, calibration",
            ]
        )
        == 0
    )
    read, options = analyze[0]
    frame = read.table
    assert set(frame.columns) == {"p", "action", "theta", "context", "model"}
    assert frame["p"].tolist() == [0.2, 0.8, 0.6]
    assert options == {
        "checks": ["cmi", "calibration"],
        "published": True,
        "strict": True,
        "positive": ["Yes", "hit"],
        "reference": "mse",
        "merge_labels": False,
        "twins": None,
        "margin": None,
        "n_jobs": 2,
        "rng": 7,
        "progress": None,
    }
    out, err = capsys.readouterr()
    assert "0.0200 nats" in out
    assert "\x1b" not in out
    assert err == "", "no progress where stderr is no terminal"


def test_out_writes_three_readable_files_and_says_where(runs, analyze, tmp_path, capsys):
    folder = tmp_path / "new" / "results"
    assert main(["analyze", str(runs), *MAPPING, "--out", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "files.sha256",
        "report.html",
        "results.json",
        "results.parquet",
    ]
    assert (
        json.loads((folder / "results.json").read_text())["units"][0]["results"][0]["pvalue"]
        == 0.004
    )
    assert pd.read_parquet(folder / "results.parquet")["statistic"].tolist() == [0.02]
    HTMLParser().feed((folder / "report.html").read_text(encoding="utf-8"))
    assert str(folder) in capsys.readouterr().err


def test_files_of_an_earlier_run_are_replaced_and_others_kept(runs, analyze, tmp_path, capsys):
    words = ["analyze", str(runs), *MAPPING, "--out", str(tmp_path)]
    (tmp_path / "mine.txt").write_text("kept")
    assert main(words) == 0
    first = (tmp_path / "results.json").read_text()
    assert "in place of" not in capsys.readouterr().err
    assert main([*words, "--seed", "7"]) == 0
    assert (tmp_path / "results.json").read_text() != first
    assert (tmp_path / "mine.txt").read_text() == "kept"
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith(f"report.html to {tmp_path}, in place of those of an earlier call")


@pytest.mark.parametrize(
    ("option", "name"),
    [("--out", "report.html"), ("--figures", "figures.csv"), ("--tables", "tables.md")],
)
def test_a_file_of_somebody_else_is_refused_before_the_analysis(
    option, name, runs, analyze, tmp_path, capsys
):
    (tmp_path / name).write_text("mine")
    assert main(["analyze", str(runs), *MAPPING, option, str(tmp_path)]) == 2
    assert f"{name} would be overwritten, and was not written by" in capsys.readouterr().err
    (tmp_path / name).unlink()
    (tmp_path / "files.sha256").write_text(f"{'0' * 64}  mine.csv\n")
    assert main(["analyze", str(runs), *MAPPING, option, str(tmp_path)]) == 2
    assert "files.sha256 must be the list that an earlier call wrote" in capsys.readouterr().err
    assert analyze == []


def test_a_link_that_leads_nowhere_is_refused(tmp_path, capsys):
    coherence.write_runs(
        coherence.simulate("rational", n_contexts=8, n_reps=1, rng=1), tmp_path / "r.csv"
    )
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "answers").symlink_to(tmp_path / "gone")
    words = ["analyze", str(tmp_path / "r.csv"), "--checks", "calibration"]
    assert main([*words, "--out", str(folder)]) == 2
    err = capsys.readouterr().err
    assert f"{folder}/answers is a link that leads nowhere" in err
    assert err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["answers"]


def test_out_that_cannot_be_a_folder_is_refused_before_the_analysis(
    runs, analyze, tmp_path, capsys
):
    assert main(["analyze", str(runs), *MAPPING, "--out", str(runs)]) == 2
    assert "--out must be a folder; " in capsys.readouterr().err
    assert main(["analyze", str(runs), *MAPPING, "--out", str(runs / "below")]) == 2
    assert "--out must be a folder that can be made" in capsys.readouterr().err
    assert analyze == []


def test_folder_without_permission_is_refused(runs, analyze, tmp_path, capsys, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    # The mode of a folder does not stop a superuser, so the refusal itself is simulated.
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert main(["analyze", str(runs), *MAPPING, "--out", str(tmp_path)]) == 2
    assert "(Permission denied). Choose another." in capsys.readouterr().err


def test_unknown_check_names_the_closest(runs, capsys):
    assert main(["analyze", str(runs), *MAPPING, "--checks", "cmi,monotone"]) == 2
    err = capsys.readouterr().err
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
def test_wrong_options_end_with_2_and_one_line(runs, capsys, arguments, message):
    assert main(["analyze", str(runs), *MAPPING, *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.lengthy
def test_labels_of_ones_own_need_a_word(tmp_path, capsys):
    """The hidden shift has the sign of the state that was named, whatever the alphabet says."""
    runs = coherence.simulate("leaky", n_contexts=60, n_reps=1, prompts=("standard",), rng=1)
    runs = runs[runs["z_state"].isna()][["context", "p", "action", "theta"]]
    path = tmp_path / "own.csv"
    runs.assign(theta=runs["theta"].map({0: "incorrect", 1: "correct"})).to_csv(path, index=False)
    options = ["analyze", str(path), "--checks", "residual_covariance,calibration"]
    assert main(options) == 2
    assert "(--positive correct or --positive incorrect)" in capsys.readouterr().err
    briers = {}
    for label in ("correct", "incorrect"):
        out = tmp_path / label
        assert main([*options, "--positive", label, "--out", str(out)]) == 0
        assert f"--positive {label}" in (out / "report.html").read_text(encoding="utf-8")
        table = pd.read_parquet(out / "results.parquet").set_index("check")["statistic"]
        briers[label] = table["calibration:brier"]
    expected = ((runs["p"] - runs["theta"]) ** 2).mean()
    assert briers["correct"] == pytest.approx(expected)
    assert briers["incorrect"] > 2 * expected


def test_columns_and_labels_that_are_nearly_right_end_with_2(tmp_path, capsys):
    runs = coherence.simulate("leaky", n_contexts=30, n_reps=1, prompts=("standard",), rng=1)
    runs = runs[runs["z_state"].isna()][["context", "p", "action", "theta"]]
    path = tmp_path / "own.csv"
    runs.rename(columns={"action": "acton"}).to_csv(path, index=False)
    options = ["analyze", str(path), "--checks", "calibration"]
    assert main(options) == 2
    assert "--ignore acton" in capsys.readouterr().err
    assert main([*options, "--ignore", "acton"]) == 0
    assert main([*options, "--action", "acton"]) == 0
    runs.loc[runs.index[:3], "action"] = runs["action"].str.upper() + " "
    runs.to_csv(path, index=False)
    capsys.readouterr()
    assert main(options) == 2
    assert "merge them (--merge-labels" in capsys.readouterr().err
    assert main([*options, "--merge-labels"]) == 0
    assert "labels of 'action' were merged" in capsys.readouterr().out
    assert main([*options, "--no-merge-labels"]) == 0


def test_missing_file_ends_with_2(capsys, tmp_path):
    assert main(["analyze", str(tmp_path / "nowhere.parquet")]) == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.lengthy
def test_equal_seeds_write_equal_bytes_for_one_and_two_jobs(tmp_path, capsys):
    table = tmp_path / "runs.parquet"
    assert main(f"simulate leaky --contexts 40 --reps 2 --seed 3 --out {table}".split()) == 0
    checks = "monotone_choice,prompt_consistency,iterated_expectation,calibration"
    for jobs in ("1", "2"):
        assert (
            main(
                [
                    "analyze",
                    str(table),
                    "--checks",
                    checks,
                    "--n-jobs",
                    jobs,
                    "--out",
                    str(tmp_path / jobs),
                ]
            )
            == 0
        )
    for name in ("results.json", "report.html"):
        assert Path(tmp_path / "1" / name).read_bytes() == Path(tmp_path / "2" / name).read_bytes()


@pytest.fixture
def terminal(monkeypatch):
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
            assert main(arguments) == 0
        return screen.getvalue()

    return printed


def test_emphasis_is_for_terminals_that_want_it(runs, analyze, terminal):
    arguments = ["analyze", str(runs), *MAPPING]
    assert re.search(r"\x1b\[1m[^\n]*\(cmi\)", terminal(arguments))
    assert "\x1b" not in terminal(arguments, NO_COLOR="1")
    assert "\x1b" not in terminal(arguments, TERM="dumb")


def test_the_width_is_that_of_the_terminal(runs, analyze, terminal):
    arguments = ["analyze", str(runs), *MAPPING]
    for columns in ("80", "110"):
        text = terminal(arguments, NO_COLOR="1", COLUMNS=columns)
        assert max(map(len, text.splitlines())) <= int(columns)


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
    runs, analyze, conditions, status, said, capsys
):
    options = [word for text in conditions for word in ("--fail-on", text)]
    assert main(["analyze", str(runs), *MAPPING, *options]) == status
    out, err = capsys.readouterr()
    unit = "task 'task\\x1b[31m', model 'model': "
    assert err.splitlines() == [line.format(unit=unit) for line in said]
    assert "(cmi)" in out


def test_a_condition_that_nothing_can_meet_is_an_error_and_no_pass(runs, analyze, tmp_path, capsys):
    options = ["--fail-on", "holm<.05", "--fail-on", "pvalue<.01", "--out", str(tmp_path)]
    assert main(["analyze", str(runs), *MAPPING, *options]) == 2
    err = capsys.readouterr().err
    assert "'pvalue<.01' holds" in err
    assert "--fail-on 'holm<.05' had nothing to compare" in err
    assert (tmp_path / "results.json").exists(), "the analysis is done and must not be lost"


def test_conditions_are_checked_before_anything_is_read(analyze, capsys):
    assert main(["analyze", "no such file", "--fail-on", "p<.05"]) == 2
    assert "names the quantity 'p', which is none" in capsys.readouterr().err
    assert analyze == []


def test_a_reader_that_leaves_does_not_hide_the_status(runs, analyze, monkeypatch):
    def leave(*_):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(command, "_print_report", leave)
    monkeypatch.setattr(command, "discard_output", lambda: None)  # pytest's descriptor stays open
    assert main(["analyze", str(runs), *MAPPING, "--fail-on", "pvalue<.01"]) == 1
    assert main(["analyze", str(runs), *MAPPING, "--fail-on", "pvalue<.001"]) == 0


def test_json_is_all_that_standard_output_gets(runs, analyze, tmp_path, capsys):
    words = ["analyze", str(runs), *MAPPING, "--out", str(tmp_path), "--fail-on", "pvalue<.01"]
    assert main([*words, "--json", "-"]) == 1
    out, err = capsys.readouterr()
    assert out == (tmp_path / "results.json").read_text()
    assert json.loads(out)["units"][0]["results"][0]["pvalue"] == 0.004
    assert "(cmi)" in err
    assert "holds: " in err
    assert str(tmp_path) in err


def test_json_goes_to_a_file_as_well(runs, analyze, tmp_path, capsys):
    assert main(["analyze", str(runs), *MAPPING, "--json", str(tmp_path / "r.json")]) == 0
    assert json.loads((tmp_path / "r.json").read_text())["settings"]["seed"] == 0
    assert "(cmi)" in capsys.readouterr().out


def test_a_json_file_that_cannot_be_written_is_refused_before_the_analysis(
    runs, analyze, tmp_path, capsys
):
    for file in (tmp_path / "nowhere" / "r.json", tmp_path):
        assert main(["analyze", str(runs), *MAPPING, "--json", str(file)]) == 2
        assert "--json must be a file in a folder" in capsys.readouterr().err
    assert analyze == []


def test_runs_come_from_standard_input(runs, analyze, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(runs.read_bytes())))
    assert main(["analyze", "-", *MAPPING]) == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert main(["analyze", "-", *MAPPING]) == 2
    assert "standard input: nothing came (0 bytes)" in capsys.readouterr().err
    (read, _), *_ = analyze
    assert read.table["p"].tolist() == [0.2, 0.8, 0.6]


@pytest.mark.parametrize(
    ("words", "twins"), [([], None), (["--twin"], 200), (["--twin", "60"], 60)]
)
def test_twins_are_drawn_when_asked_for_and_200_where_no_number_is_said(
    runs, analyze, words, twins
):
    assert main(["analyze", str(runs), *MAPPING, *words]) == 0
    ((_, options),) = analyze
    assert options["twins"] == twins


def test_a_number_of_twins_that_is_none_is_refused(runs, analyze, capsys):
    assert main(["analyze", str(runs), *MAPPING, "--twin", "many"]) == 2
    assert analyze == []
    assert "invalid int value: 'many'" in capsys.readouterr().err


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
def test_many_models_are_summed_up_and_shown_in_full_on_request(simulated, capsys):
    options = ["analyze", str(simulated), "--checks", "residual_covariance,calibration"]
    assert main(options) == 0
    brief = capsys.readouterr().out
    assert brief.startswith("4 units (task · model)")
    assert main([*options, "--full"]) == 0
    full = capsys.readouterr().out
    assert full.count("calibration:brier") > 4 > brief.count("calibration:brier")


@pytest.mark.lengthy
def test_answers_and_figures_are_written_and_the_command_says_how(simulated, tmp_path, capsys):
    folder, figures = tmp_path / "out", tmp_path / "figures"
    options = ["analyze", str(simulated), "--checks", "calibration", "--ignore", "x_1"]
    assert main([*options, "--out", str(folder), "--figures", str(figures)]) == 0
    err = capsys.readouterr().err
    count = sum(path.suffix == ".pdf" for path in figures.iterdir())
    assert f"wrote {count} figures" in err
    assert count == sum(path.suffix == ".svg" for path in figures.iterdir()) > 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "my runs.parquet" in page
    assert "--ignore=x_1 --seed 0 --checks calibration" in page
    settings = json.loads((folder / "results.json").read_text())["settings"]
    assert settings["data"]["rows"] == len(pd.read_parquet(simulated))
    assert settings["reading"] == ["--ignore=x_1"]
    index = (folder / "answers" / "unit-1.html").read_text(encoding="utf-8")
    assert "Status refused" in index
    assert main([*options, "--out", str(folder), "--answers", "0"]) == 0
    assert not (folder / "answers").exists()
    assert main([*options, "--answers", "-1"]) == 2
    assert "--answers must be at least 0; received -1." in capsys.readouterr().err


def test_tables_are_written_beside_the_figures(simulated, tmp_path, capsys):
    options = ["--checks", "calibration", "--tables", str(tmp_path / "t")]
    assert main(["analyze", str(simulated), *options]) == 0
    assert "wrote 8 tables" in capsys.readouterr().err
    assert (tmp_path / "t" / "results-1.tex").read_text(encoding="utf-8").startswith("% Needs")


def test_results_never_take_the_place_of_the_table(tmp_path, capsys):
    runs = coherence.simulate("rational", n_contexts=15, n_reps=1, rng=1)
    coherence.write_runs(runs, tmp_path / "results.parquet")
    before = (tmp_path / "results.parquet").read_bytes()
    for table in ("results.parquet", "."):
        command = ["analyze", str(tmp_path / table), "--checks", "calibration"]
        assert main([*command, "--out", str(tmp_path)]) == 2
        assert "--out must not hold the table that is read" in capsys.readouterr().err
    assert (tmp_path / "results.parquet").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["results.parquet"]
