"""Keys as options. Breaks if a key says something else than the option of its name."""

import pytest

from coherence import InputError
from elicitation.commands.study.options import (
    beside_the_file,
    merged,
    words_of,
)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("chat", True, ["--chat"]),
        ("chat", False, ["--no-chat"]),
        ("no_lie", True, ["--no-lie"]),
        ("no_lie", False, []),
        ("prompts", ["standard", "mse"], ["--prompts=standard,mse"]),
        ("system", "--be brief", ["--system=--be brief"]),
        ("extra_body", {"top_k": 20}, ['--extra-body={"top_k": 20}']),
        ("temperature", 0.5, ["--temperature=0.5"]),
    ],
)
def test_values_become_words(key, value, words):
    assert words_of("elicit", key, value) == words


def test_lists_repeat_what_may_be_repeated():
    assert words_of("reveal", "where", ["n=1", "faces=6"]) == ["--where=n=1", "--where=faces=6"]
    assert words_of("bets", "pairs", 5) == ["--pairs=5"]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("chat", "yes", 'chat must be true or false; received "yes"'),
        ("reps", True, "reps must be a value, not true or false"),
        ("prompts", [], "prompts must be a text, a number or a list"),
        ("prompts", [["a"]], "prompts must be a text, a number or a list"),
    ],
)
def test_values_of_the_wrong_kind_are_named(key, value, told):
    with pytest.raises(InputError, match=told):
        words_of("elicit", key, value)


def test_paths_start_from_the_file(tmp_path):
    (tmp_path / "model").mkdir()
    table = {
        "model": "model",
        "questions": "q.csv",
        "task": "own.bif",
        "prompts": ["standard", "own.toml"],
    }
    assert beside_the_file(table, tmp_path) == {
        "model": str(tmp_path / "model"),
        "questions": str(tmp_path / "q.csv"),
        "task": str(tmp_path / "own.bif"),
        "prompts": ["standard", str(tmp_path / "own.toml")],
    }
    # The name of a model at a server, on the hub, or of a network is no path.
    for table in ({"model": "model", "server": "http://a"}, {"model": "A/b"}, {"task": "asia"}):
        assert beside_the_file(table, tmp_path) == table


def test_nearer_tables_win_and_two_near_ones_are_refused():
    usual = {"reps": 5, "temperature": 0.7, "prompts": ["standard"]}
    assert merged(usual, {"reps": 2}, {"task": "asia"}) == {
        "reps": 2,
        "temperature": 0.7,
        "prompts": ["standard"],
        "task": "asia",
    }
    with pytest.raises(InputError, match="reps is said by the model and by the task"):
        merged({}, {"reps": 2}, {"reps": 3})


def test_what_is_usual_for_draws_does_not_hold_where_nothing_is_drawn():
    usual = {"reps": 5, "temperature": 0.7}
    assert merged(usual, {"answers": "exact"}, {}) == {"answers": "exact"}
    # Said of this model, it is a mistake, which the session will name.
    assert merged({}, {"answers": "exact", "reps": 5}, {})["reps"] == 5
