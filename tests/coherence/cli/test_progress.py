import io
import time

from coherence.cli import progress
from coherence.cli.progress import answer_progress


def test_elsewhere_than_on_a_terminal_a_line_comes_at_the_end_and_now_and_then(capsys, monkeypatch):
    clock = iter([0.0, 1.0, 20.0, 20.0, 21.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock, 30.0))
    with answer_progress("m\x1b[31m") as show:
        show(1, 4)  # one second in: too early for a line
        show(2, 4)
        show(4, 4)
    assert capsys.readouterr().err == "m: 2 of 4 answers\nm: 4 of 4 answers\n"


def test_without_a_label_the_numbers_stand_alone(capsys):
    with answer_progress() as show:
        show(3, 3)
    assert capsys.readouterr().err == "3 of 3 answers\n"


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
