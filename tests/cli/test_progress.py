import io
import time

from coherence.cli import progress
from coherence.cli.progress import answer_progress, step_progress, time_left


def test_elsewhere_than_on_a_terminal_a_line_comes_at_the_end_and_now_and_then(capsys, monkeypatch):
    clock = iter([0.0, 1.0, 20.0, 20.0, 21.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock, 30.0))
    with answer_progress("m\x1b[31m") as show:
        show(1, 4)  # one second in: too early for a line
        show(2, 4)
        show(4, 4)
    assert capsys.readouterr().err == (
        "m: 2 of 4 answers, about 40 seconds left\nm: 4 of 4 answers\n"
    )


def test_answers_that_were_at_hand_are_done_and_not_fast(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with answer_progress("m") as show:
        show(500, 1000)
        assert "500/1000" in screen.getvalue()
        assert "500/1000 [00:00<?" in screen.getvalue(), "no speed is made of what was at hand"
    assert progress.SECONDS_BETWEEN_LINES > 1


def test_the_time_left_follows_from_what_came_now():
    assert time_left(50, 950, 10.0) == ", about 3 minutes left"
    for nothing in ((0, 10, 5.0), (10, 0, 5.0), (3, 3, 0.0)):
        assert time_left(*nothing) == ""


def test_elsewhere_than_on_a_terminal_a_line_now_and_then_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    with step_progress(" studies") as show:
        show(1, 4, "leaky")
        show(4, 4, "leaky")
    assert capsys.readouterr().err.startswith("1 of 4 studies")


def test_progress_is_drawn_on_a_terminal_without_commands_from_labels(monkeypatch):
    class Terminal:
        def __init__(self):
            self.written = ""

        def isatty(self):
            return True

        def write(self, text):
            self.written += text

        def flush(self):
            pass

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with step_progress(" checks") as progress:
        progress(1, 4, "label\x1b[31m")
    assert "label:" in terminal.written
    assert "1/4" in terminal.written
    assert "\x1b[31m" not in terminal.written
