"""Batteries of a study. Breaks if one is asked twice, or put to whom it cannot be put."""

import pytest

from coherence import InputError
from coherence.cli.main import main
from elicitation import AnswerStore
from elicitation.commands.study.study_file import load_study
from elicitation.commands.study.units import battery_units

DIE = """
[[models]]
name = "exact"
model = "{folder}"
answers = "exact"
threads = 1

[[models]]
name = "drawn"
model = "{folder}"
temperature = 0.5
threads = 1

[[models]]
agent = "leaky"

[[batteries]]
battery = "reveal"
name = "die"
where = ["scenario=dice", "variant=single", "n=1"]
faces = "4"
only_revealed = true
"""


def test_a_battery_asks_each_model_once_and_not_again(write, model_folder, tmp_path, capsys):
    path = write(DIE.format(folder=model_folder))
    # What the two entries differ in is not heeded by this battery, and agents answer none.
    (unit,) = battery_units(load_study(path), tmp_path / "study")
    assert unit.label == "exact, die"
    assert main(["study", "status", str(path)]) == 0
    assert "exact, die: to ask, in no sum above" in capsys.readouterr().out
    assert main(["study", "run", str(path)]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "1 finished now, 0 finished before" in told.err
    assert (unit.folder / "scores.csv").exists()
    assert (unit.folder / "summary.txt").read_text(encoding="utf-8")
    page = (tmp_path / "study" / "study.html").read_text(encoding="utf-8")
    assert 'href="batteries/' in page
    assert main(["study", "status", str(path)]) == 0
    assert "exact, die: finished" in capsys.readouterr().out
    # The store is that of the study.
    assert (tmp_path / "study" / "answers.sqlite").exists()
    assert not (unit.folder / "answers.sqlite").exists()
    before = (unit.folder / "scores.csv").read_bytes()
    with AnswerStore(tmp_path / "study" / "answers.sqlite") as store:
        number = len(store)
    assert main(["study", "run", str(path)]) == 0
    assert "0 finished now, 1 finished before" in capsys.readouterr().err
    (unit.folder / "summary.txt").unlink()
    assert main(["study", "status", str(path)]) == 0
    assert "exact, die: to ask" in capsys.readouterr().out
    assert (unit.folder / "scores.csv").read_bytes() == before
    with AnswerStore(tmp_path / "study" / "answers.sqlite") as store:
        assert len(store) == number


def test_what_a_battery_heeds_tells_entries_apart(write, model_folder, tmp_path):
    text = DIE.format(folder=model_folder).replace("temperature = 0.5", 'dtype = "bfloat16"')
    units = battery_units(load_study(write(text)), tmp_path / "study")
    assert [unit.label for unit in units] == ["exact, die", "drawn, die"]
    chosen = text + '\nmodels = ["drawn"]\n'
    units = battery_units(load_study(write(chosen)), tmp_path / "study")
    assert [unit.label for unit in units] == ["drawn, die"]
    with pytest.raises(InputError, match=r"die: there is no model 'x'. Found: 'exact', 'drawn'"):
        load_study(write(text + '\nmodels = ["x"]\n'))


def test_a_battery_that_fails_stops_nothing_else(write, model_folder, tmp_path, capsys):
    text = DIE.format(folder=model_folder).replace("scenario=dice", "scenario=cards")
    assert main(["study", "run", str(write(text))]) == 1
    assert "not finished: exact, die:" in capsys.readouterr().err
