"""Asking. Breaks if one model's fault costs another's answers, or an answer is asked twice."""

import pytest

from coherence.cli.main import main
from elicitation import AnswerStore
from elicitation.commands.study.study_file import load_study
from elicitation.commands.study.units import ask_units, check_units, units_of
from elicitation.models.hosted.replies import HostedError

from ...models.hosted.fake_server import Fake, answer, serving


@pytest.fixture
def asked(write, tmp_path):
    """Ask the units of a study file with a store in memory of its own, or a given one."""
    (tmp_path / "study" / "runs").mkdir(parents=True)

    def ask(store, *text):
        units = units_of(load_study(write(*text)), tmp_path / "study")
        check_units(units)
        return units, ask_units(units, store)

    return ask


def test_what_is_finished_is_not_asked_again(asked):
    with AnswerStore(":memory:") as store:
        units, done = asked(store)
        number = len(store)
        assert (done.finished, done.found, done.failures) == (4, 0, [])
        assert number > 0
        units, again = asked(store)
        assert (again.finished, again.found, len(store)) == (0, 4, number)
        # A lost table comes from the store.
        units[0].path.unlink()
        _, again = asked(store)
        assert (again.finished, again.found, len(store)) == (0, 4, number)
        assert units[0].path.exists()


@pytest.mark.lengthy
def test_a_new_model_is_the_only_one_that_is_asked(asked, small):
    with AnswerStore(":memory:") as store:
        asked(store)
        number = len(store)
        third = small.replace("[[tasks]]", '[[models]]\nagent="noisy"\n[[tasks]]', 1)
        _, done = asked(store, third)
        assert (done.finished, done.found) == (2, 4)
        assert len(store) == number * 3 / 2


def test_a_model_that_cannot_be_loaded_stops_only_itself(asked):
    text = (
        '[study]\ncontexts=8\nreps=1\nprompts=["standard"]\nno_lie=true\n'
        '[[models]]\nmodel="nowhere"\n[[models]]\nagent="leaky"\n'
        '[[tasks]]\ntask="asia"\n[[tasks]]\ntask="cancer"\n'
    )
    with AnswerStore(":memory:") as store:
        _, done = asked(store, text)
    assert done.finished == 2
    assert [label for label, _ in done.failures] == ["nowhere on asia", "nowhere on cancer"]
    assert "nowhere" in done.failures[0][1]


def test_tables_bear_the_names_of_the_file_and_no_times(asked):
    import pandas as pd

    with AnswerStore(":memory:") as store:
        units, _ = asked(store)
        runs = pd.read_parquet(units[3].path)
        assert set(runs["model"]) == {"steady"}
        assert set(runs["task"]) == {"cancer, few"}
        assert runs["context"].nunique() == 10
        assert "created" not in runs


def test_counts_of_a_unit_are_those_of_its_answers(asked, tmp_path):
    with AnswerStore(tmp_path / "study" / "answers.sqlite") as store:
        units, _ = asked(store)
        found = units[0].finished()
        # 12 contexts, 2 repetitions, a belief and a decision.
        assert (found.n_answers, found.n_readable) == (48, 48)
        assert found.tokens_in is None
        assert found.tokens_out > 48


def test_an_unfinished_study_ends_with_1_and_says_why(write, capsys):
    text = '[[models]]\nmodel="nowhere"\n[[tasks]]\ntask="asia"\n'
    assert main(["study", "run", str(write(text))]) == 1
    assert "not finished: nowhere on asia: model must be a folder" in capsys.readouterr().err


def test_servers_that_are_gone_are_not_waited_for_again(asked, monkeypatch):
    tried = []

    def ask(unit, model, store):
        tried.append(unit.label)
        raise HostedError("gone")

    monkeypatch.setattr("elicitation.commands.study.units.Unit.ask", ask)
    with AnswerStore(":memory:") as store:
        _, done = asked(store)
    assert tried == ["leaky on asia", "steady on asia"]
    assert len(done.failures) == 4


def questions(fake):
    """Return the calls that ask; a model that is loaded is first asked for one word."""
    return [body for _, body in fake.asked if body["messages"][-1]["content"] != "Say one word."]


@pytest.mark.lengthy
def test_a_served_model_is_asked_once_and_its_tokens_are_paid_for(write, tmp_path, capsys):
    def reply(body, number):
        return {
            **answer("No: 0.6\nYes: 0.4"),
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }

    fake = Fake(reply)
    with serving(fake) as address:
        path = write(
            '[study]\ncontexts=10\nreps=1\nprompts=["standard"]\nno_lie=true\n[[models]]\n'
            f'model="m"\nserver="{address}"\nprice_in=2e3\nprice_out=5e3\n'
            '[[tasks]]\ntask="asia"\n'
        )
        assert main(["study", "run", str(path), "--no-report"]) == 0
        number = len(questions(fake))
        assert main(["study", "run", str(path), "--no-report"]) == 0
    assert len(questions(fake)) == number
    (unit,) = units_of(load_study(path), tmp_path / "study")
    done = unit.finished()
    assert (done.n_answers, done.tokens_in, done.tokens_out) == (20, 2000, 200)
    capsys.readouterr()
    assert main(["study", "status", str(path)]) == 0
    # 2,000 tokens at 2,000 and 200 at 5,000 a million.
    assert "price taken by what is finished: 5.00" in capsys.readouterr().out
