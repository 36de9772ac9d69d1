"""Units. Breaks if a finished table is made again, or an outdated one passes for finished."""

import json

import pandas as pd
import pytest

from coherence import InputError
from coherence.cli.main import main
from elicitation import Answer
from elicitation.commands.study import units as units_module
from elicitation.commands.study.study_file import load_study
from elicitation.commands.study.units import by_model, check_units, units_of


@pytest.fixture
def finished(write, tmp_path):
    """The small study, asked and not analysed."""
    assert main(["study", "run", str(write()), "--no-report"]) == 0
    return tmp_path / "study"


@pytest.fixture
def units(write, small, tmp_path):
    """Return the units of the small study, some text of it replaced."""

    def make(old="", new=""):
        assert old in small
        return units_of(load_study(write(small.replace(old, new))), tmp_path / "study")

    return make


def states(found):
    return [unit.finished() is not None for unit in found]


def test_units_are_every_model_on_every_task(units):
    found = units()
    assert [unit.label for unit in found] == [
        "leaky on asia",
        "leaky on cancer, few",
        "steady on asia",
        "steady on cancer, few",
    ]
    assert [model.name for model, own in by_model(found) for _ in own] == [
        *("leaky", "leaky"),
        *("steady", "steady"),
    ]
    assert found[1].path.name == "cancer__few--leaky.parquet"
    # Cases are drawn once: all models are asked about the same ones.
    assert found[0].source().cases is found[2].source().cases


def test_only_what_a_change_touches_is_made_again(units, finished):
    assert states(units()) == [True] * 4
    changed = units("contexts = 10", "contexts = 11")
    assert states(changed) == [True, False, True, False]
    # Neither prices nor how the results are analysed change an answer.
    same = units("price_in = 1.0", "price_in = 2.0")
    assert states(same) == [True] * 4
    assert states(units("reps = 2", "reps = 3")) == [False] * 4


@pytest.mark.parametrize("column", ["theta", "x_smoke"])
def test_a_table_of_other_cases_is_not_finished(units, finished, column):
    """Breaks if only questions count: states and evidence may change beside texts that stay."""
    path = units()[0].path
    table = pd.read_parquet(path)
    other = {0: 1, 1: 0, "yes": "no", "no": "yes"}
    changed = table["context"] == table.loc[table[column].notna(), "context"].iloc[0]
    table[column] = table[column].where(~changed, table[column].map(other))
    table.to_parquet(path)
    assert states(units()) == [False, True, True, True]


@pytest.mark.parametrize("damage", ["table", "record", "half", "no table"])
def test_damage_is_seen(units, finished, damage):
    first = units()[0]
    if damage == "table":
        first.path.write_bytes(first.path.read_bytes()[:-1])
    elif damage == "record":
        first.record.write_text(json.dumps({"digest": "x"}), encoding="utf-8")
    elif damage == "half":
        first.record.write_text(first.record.read_text(encoding="utf-8")[:20], encoding="utf-8")
    else:
        first.path.unlink()
    assert states(units()) == [False, True, True, True]


def test_a_question_that_was_changed_has_no_table(tmp_path, write, monkeypatch):
    prompts = tmp_path / "own.toml"
    text = "A patient {description}. Will they {question}? A number:"
    prompts.write_text(f'[belief.own]\nform = "number"\ntext = "{text}"\n', encoding="utf-8")
    study = (
        '[study]\ncontexts=8\nreps=1\nno_lie=true\n[[models]]\nmodel="m"\n'
        '[[tasks]]\ntask="asia"\nprompts="own.toml"\n'
    )

    class Steadfast:
        name, fingerprint = "m", "f"

        def generate(self, requests):
            return [Answer("0.5") for _ in requests]

    monkeypatch.setattr(units_module, "load_model", lambda options, source: Steadfast())
    path = write(study)
    assert main(["study", "run", str(path), "--no-report"]) == 0
    (unit,) = units_of(load_study(path), tmp_path / "study")
    assert unit.finished()
    prompts.write_text(
        f'[belief.own]\nform = "number"\ntext = "{text} Please."\n', encoding="utf-8"
    )
    (unit,) = units_of(load_study(path), tmp_path / "study")
    assert unit.finished() is None


def test_what_is_asked_about_is_checked_before_anyone_is_asked(tmp_path, write):
    text = '[[models]]\nmodel = "m"\n[[tasks]]\ntask = "asai"\n[[tasks]]\nquestions = "no.csv"\n'
    found = units_of(load_study(write(text)), tmp_path / "s")
    with pytest.raises(InputError, match="has 2 errors: m on asai: task must be one of"):
        check_units(found)
