import io
import logging
import sys
import time

from coherence.cli import progress
from coherence.cli.progress import answer_progress, step_progress
from coherence.statistics.parallel import run_calls


class Screen(io.StringIO):
    """A terminal as far as bars can tell."""

    def isatty(self):
        return True


def test_what_takes_long_shows_its_name_and_moves_though_nobody_calls(monkeypatch):
    """Breaks if a step that takes minutes looks like a program that hangs."""
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_TICKS", 0.01)
    with step_progress(" steps", first="reading a\x1b[31m.csv") as show:
        assert "reading a.csv: 00:00" in screen.getvalue(), "at once"
        for running in ("loading the checks: 00:00", "0/2"):
            (show.stage if "loading" in running else lambda text: show(0, 2, text))(
                running.split(":")[0]
            )
            before = screen.getvalue().count(running)
            time.sleep(0.2)
            assert screen.getvalue().count(running) > before + 2
    ended = screen.getvalue()
    time.sleep(0.05)
    assert screen.getvalue() == ended, "no bar is drawn behind what follows"


def test_lines_that_are_printed_meanwhile_stand_whole_above_the_bar(monkeypatch):
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    with step_progress(" steps", first="reading") as show:
        print("12 cells are missing", file=sys.stderr)
        logging.lastResort.emit(logging.makeLogRecord({"msg": "a note"}))  # as without handlers
        show(1, 2, "cmi")
    lines = [line.rpartition("\r")[2] for line in screen.getvalue().split("\n")]
    assert lines[:2] == ["12 cells are missing", "a note"]
    assert sys.stderr is screen


def test_the_step_that_runs_is_named_before_it_ends():
    """Breaks if the label is that of the step that is over."""
    seen = []
    outcomes = list(
        run_calls(
            lambda name: seen.append(name) or name,
            [("one",), ("two",)],
            progress=lambda *of: seen.append(of),
            labels=["one", "two"],
        )
    )
    assert outcomes == ["one", "two"]
    assert seen == [(0, 2, "one"), "one", (1, 2, "two"), "two", (2, 2, "two")]


def test_elsewhere_than_on_a_terminal_a_line_comes_at_once_at_the_end_and_now_and_then(
    capsys, monkeypatch
):
    clock = iter([0.0, 1.0, 20.0, 20.0, 21.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock, 30.0))
    with answer_progress("m\x1b[31m") as show:
        show(1, 4)  # at once, for the next may come after minutes
        show(2, 4)
        show(4, 4)
    assert capsys.readouterr().err == (
        "m: 1 of 4 answers\nm: 2 of 4 answers, about 40 seconds left\nm: 4 of 4 answers\n"
    )
