"""Looking at a study. Breaks if it costs more than was said, or counts what it does not have."""

import pytest

from coherence.cli.main import main
from elicitation.commands.study.outlook import look_at, price_of
from elicitation.commands.study.study_file import ModelEntry, load_study
from elicitation.commands.study.units import units_of


def test_before_and_after(write, tmp_path, capsys):
    path = str(write())
    assert main(["study", "run", path, "--dry-run"]) == 0
    before = capsys.readouterr().out
    assert not (tmp_path / "study").exists()
    assert "0 of 4 finished; 176 answers to ask" in before
    assert main(["study", "run", path, "--no-report"]) == 0
    capsys.readouterr()
    assert main(["study", "status", path]) == 0
    after = capsys.readouterr().out
    assert "4 of 4 finished; 0 answers to ask" in after
    assert "48 (100% readable)" in after
    assert "time" not in after.splitlines()[-1]


def test_what_is_said_to_be_asked_is_asked(write, tmp_path):
    units = units_of(load_study(write()), tmp_path / "study")
    outlooks = look_at(units)
    assert [outlook.n_left for outlook in outlooks] == [48, 40, 48, 40]
    assert {outlook.state for outlook in outlooks} == {"not begun"}
    # Prices of tokens: what is asked at most, by hand.
    steady = outlooks[2]
    texts, answers = steady.tokens
    assert steady.price == pytest.approx((texts * 1.0 + answers * 4.0) / 1e6)
    assert outlooks[0].price is None


def test_prices_of_what_was_not_counted_are_not_made_up():
    model = ModelEntry("m", {}, price_in=1.0, price_out=2.0)
    assert price_of(model, None, 1e6) is None
    assert price_of(model, 1e6, 1e6) == pytest.approx(3.0)
    assert price_of(ModelEntry("m", {}, price_out=2.0), None, 1e6) == pytest.approx(2.0)
    assert price_of(ModelEntry("m", {}), 1e6, 1e6) is None


@pytest.mark.lengthy
def test_half_of_the_answers_are_seen(write, tmp_path, capsys):
    path = write()
    assert main(["study", "run", str(path), "--no-report"]) == 0
    for table in (tmp_path / "study" / "runs").glob("asia--leaky.*"):
        table.unlink()
    (first, *_) = look_at(units_of(load_study(path), tmp_path / "study"))
    assert (first.state, first.n_left) == ("answered, no table yet", 0)
    text = path.read_text(encoding="utf-8").replace("reps = 2", "reps = 3")
    path.write_text(text, encoding="utf-8")
    (first, *_) = look_at(units_of(load_study(path), tmp_path / "study"))
    assert (first.state, first.n_left) == ("begun", 24)
