import importlib
import statistics
import subprocess
import sys
import time
import types

import pytest

from coherence import InputError
from coherence.cli import main as entry

COMMAND = [sys.executable, "-W", "error", "-m", "coherence"]


@pytest.fixture
def fake_command(monkeypatch):
    """Replace the module of 'simulate' by one that runs a function of the test's choice."""

    def install(run):
        module = types.SimpleNamespace(add_arguments=lambda parser: None, run=run)
        monkeypatch.setattr(importlib, "import_module", lambda name: module)

    return install


def test_help_is_fast_and_names_every_command():
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
        seconds.append(time.perf_counter() - start)
    assert all(name in done.stdout for name in entry.COMMANDS)
    assert statistics.median(seconds) < 1.0


def test_help_of_no_command_loads_anything_heavy():
    code = (
        "import sys; from coherence.cli.main import COMMANDS, main; "
        "words = [[name] for name in COMMANDS] + [['networks', 'show'], ['bets', 'train']]; "
        "assert [main([*each, '--help']) for each in words] == [0] * len(words); "
        "heavy = {'numpy', 'pandas', 'scipy', 'matplotlib', 'rich', 'torch', 'catboost', 'pgmpy'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for option in ("--published", "--target POWER", "--variable", "--belief-task"):
        assert option in done.stdout


def test_unknown_command_suggests_the_closest(capsys):
    assert entry.main(["analyse", "runs.csv"]) == 2
    assert (
        capsys.readouterr().err
        == "coherence: there is no command 'analyse'. Did you mean 'analyze'?\n"
    )
    assert entry.main(["qqqq"]) == 2
    assert "The commands are analyze" in capsys.readouterr().err


def test_wrong_usage_ends_with_2_and_abbreviations_are_refused(capsys):
    assert entry.main(["analyze"]) == 2
    assert "RUNS" in capsys.readouterr().err
    assert entry.main(["analyze", "runs.csv", "--publ"]) == 2
    said = "there is no option --publ. Did you mean --published? 'coherence analyze --help' lists"
    assert said in capsys.readouterr().err
    assert entry.main(["--nonsense"]) == 2
    assert "coherence: there is no option --nonsense. 'coherence --help'" in capsys.readouterr().err
    assert entry.main(["analyze", "runs.csv", "--belif=p"]) == 2
    assert "no option --belif. Did you mean --belief?" in capsys.readouterr().err
    assert entry.main(["analyze", "runs.csv", "--qqqq", "p"]) == 2
    assert "no option --qqqq. 'coherence analyze --help'" in capsys.readouterr().err
    assert entry.main(["analyze", "runs.csv", "more\x1b[31m.csv"]) == 2
    err = capsys.readouterr().err
    assert "received 2 files" in err
    assert "\x1b" not in err
    assert entry.main(["schema", "more\x1b[31m.csv"]) == 2
    err = capsys.readouterr().err
    assert "is one argument too many" in err
    assert "\x1b" not in err


def test_several_faults_stand_on_a_line_each(tmp_path, capsys):
    table = tmp_path / "mine.csv"
    table.write_text("confidence,choice\n85,a\nn/a,b\n")
    assert entry.main(["analyze", str(table), "--belief", "confidence", "--truth", "x"]) == 2
    opening, *faults = capsys.readouterr().err.splitlines()
    assert opening == f"coherence analyze: {table} has 3 errors:"
    assert [fault[:4] for fault in faults] == ["  - "] * 3
    assert "no column 'x'" in faults[0]
    assert "Leave the cell empty where there is no number" in faults[1]


def test_no_command_prints_the_help(capsys):
    assert entry.main([]) == 0
    assert "COMMAND" in capsys.readouterr().out


def test_version(capsys):
    assert entry.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("coherence")


def test_the_first_word_is_the_command_even_if_a_later_one_is_a_command_name(capsys):
    assert entry.main(["simulate", "analyze"]) == 2
    assert capsys.readouterr().err.startswith("coherence simulate: there is no agent 'analyze'")


def test_known_error_is_one_clean_line(fake_command, capsys):
    def run(options):
        raise InputError("value is '\x1b[31m'\nsecond line")

    fake_command(run)
    assert entry.main(["simulate"]) == 2
    assert capsys.readouterr().err == "coherence simulate: value is '' second line\n"


def test_failure_of_the_system_is_one_line(fake_command, capsys):
    def run(options):
        raise OSError(28, "No space left on device", "out.json")

    fake_command(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            entry, "discard_output", lambda: None
        )  # pytest's own descriptor must stay open
        assert entry.main(["simulate"]) == 2
    assert capsys.readouterr().err == "coherence simulate: No space left on device: out.json\n"


def test_a_bug_is_not_hidden(fake_command):
    def run(options):
        raise ZeroDivisionError

    fake_command(run)
    with pytest.raises(ZeroDivisionError):
        entry.main(["simulate"])


def test_interrupt_is_quiet(fake_command, capsys):
    def run(options):
        raise KeyboardInterrupt

    fake_command(run)
    assert entry.main(["simulate"]) == 130
    assert capsys.readouterr().err == "\ncoherence simulate: interrupted\n"


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--list"]])
def test_closed_pipe_ends_quietly(arguments):
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()  # the reader leaves before the first line
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 0


def test_characters_that_the_output_cannot_encode_do_not_crash():
    code = (
        "import coherence.cli.main as entry, coherence.cli.simulate as command; "
        "command.run = lambda options: print('\\u2500 \\u6c7a'); "
        "raise SystemExit(entry.main(['simulate']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, b"- \\u6c7a")
