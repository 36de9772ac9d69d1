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
    """Replace the module of 'simulate' by one that fails."""

    def install(error):
        def run(options):
            raise error

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
    for option in ("--published", "--cases N,N", "--variable", "--belief-task"):
        assert option in done.stdout


def test_wrong_usage_ends_with_2_and_abbreviations_are_refused(run):
    for words, said in (
        (["analyze"], "RUNS"),
        (["analyze", "runs.csv", "--publ"], "there is no option --publ. Did you mean --published?"),
        (["--nonsense"], "coherence: there is no option --nonsense. 'coherence --help'"),
        (["analyze", "runs.csv", "--belif=p"], "no option --belif. Did you mean --belief?"),
        (["analyze", "runs.csv", "--qqqq", "p"], "no option --qqqq. 'coherence analyze --help'"),
        (["analyze", "runs.csv", "more\x1b[31m.csv"], "received 2 files"),
        (["schema", "more\x1b[31m.csv"], "is one argument too many"),
        (["analyse", "runs.csv"], "there is no command 'analyse'. Did you mean 'analyze'?"),
        (["qqqq"], "The commands are analyze"),
        (["simulate", "analyze"], "coherence simulate: there is no agent 'analyze'"),
    ):
        status, _, err = run(*words)
        assert (status, said in err, "\x1b" in err) == (2, True, False), words


def test_what_fails_is_one_clean_line_and_a_bug_is_not_hidden(fake_command, capsys, monkeypatch):
    monkeypatch.setattr(entry, "discard_output", lambda: None)  # pytest's descriptor stays open
    full = OSError(28, "No space left on device", "out.json")
    for error, status, said in (
        (InputError("value is '\x1b[31m'\nsecond line"), 2, "value is '' second line\n"),
        (full, 2, "No space left on device: out.json\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ):
        fake_command(error)
        assert entry.main(["simulate"]) == status
        assert capsys.readouterr().err.lstrip("\n") == f"coherence simulate: {said}"
    fake_command(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        entry.main(["simulate"])


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--list"]])
def test_closed_pipe_ends_quietly(arguments):
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()  # the reader leaves before the first line
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 0
