"""Messages: the closest name in two tellings, lists that end, and faults counted."""

import copy

import pytest

from coherence import CoherenceError, InputError, SchemaError
from coherence.errors import MissingExtraError, closest, listing, suggestion

MANY = [f"name{number}" for number in range(14)]


@pytest.mark.parametrize(
    ("name", "known", "sentence"),
    [
        ("smok", ["lung", "smoke"], "Closest name found: 'smoke'."),
        ("SMOKE", ["lung", "Smoke"], "Closest name found: 'Smoke'."),
        ("Smoke", ["smoke", "SMOKE"], "Closest name found: 'smoke'."),
        ("xyz", ["lung", "smoke"], "Found: 'lung', 'smoke'."),
        ("xyz", [], "Found: nothing."),
        ("qqq", MANY[:12], f"Found: {', '.join(map(repr, MANY[:12]))}."),
        ("qqq", MANY, f"Found: {', '.join(map(repr, MANY[:12]))}, ...."),
        (12, [21, 129], "Closest name found: '129'."),
    ],
)
def test_closest_names_one_or_lists_a_dozen(name, known, sentence):
    assert closest(name, known) == sentence


def test_suggestion_lists_all_names_beside_the_closest():
    assert suggestion("smok", ["smoke", "lung"]) == "Did you mean 'smoke'? Known: smoke, lung."
    assert suggestion("SMOKE", iter(["smoke"])) == "Did you mean 'smoke'? Known: smoke."
    assert suggestion("qqq", MANY) == f"Known: {', '.join(MANY)}."
    assert suggestion("qqq", []) == "Known: none."


@pytest.mark.parametrize(
    ("values", "limit", "text"),
    [
        (range(5), 5, "0, 1, 2, 3, 4"),
        (range(6), 5, "0, 1, 2, 3, 4 and 1 more"),
        (iter("abc"), 1, "a and 2 more"),
        ([], 5, ""),
    ],
)
def test_lists_end_after_their_limit(values, limit, text):
    assert listing(values, limit) == text
    if limit == 5:
        assert listing(values) == text


def test_faults_of_a_table_are_counted_and_kept():
    error = SchemaError(["p is missing.", "z is wrong."])
    assert str(error) == "runs table has 2 errors: p is missing. | z is wrong."
    assert error.errors == ("p is missing.", "z is wrong.")
    assert str(SchemaError(["p is missing."], "a.csv")) == "a.csv has 1 error: p is missing."


def test_every_error_is_one_of_ours_and_of_pythons():
    for kind, builtin in ((InputError, ValueError), (SchemaError, ValueError)):
        assert issubclass(kind, CoherenceError)
        assert issubclass(kind, builtin)
    error = MissingExtraError("elicit", "asking a model")
    assert isinstance(error, CoherenceError)
    assert isinstance(error, ImportError)
    assert str(error) == (
        "asking a model needs an extra that is not installed. Run: "
        "pip install 'belief-coherence[elicit]'"
    )


def test_several_faults_are_one_text_and_a_line_each_on_a_terminal():
    error = InputError.all_at_once("mine.csv has 2 errors", ["a.", "b."])
    assert str(error) == "mine.csv has 2 errors: a. | b."
    assert error.lines() == ["mine.csv has 2 errors:", "- a.", "- b."]
    assert InputError.all_at_once("", ["a.", "b."]).lines() == ["2 errors:", "- a.", "- b."]
    assert InputError.all_at_once("mine.csv", ["a."]).lines() == ["mine.csv: a."]
    assert InputError("plain").lines() == ["plain"]
    many = InputError.all_at_once("", [f"error {number}." for number in range(13)])
    assert many.lines()[10:] == ["- error 9.", "and 3 more"]
    assert len(many.errors) == 13


def test_errors_keep_their_faults_between_processes_and_under_another_name():
    """A SchemaError was once taken for a list of its letters where a process handed it on."""
    for error in (
        SchemaError(["a.", "b."], "x.csv"),
        InputError.all_at_once("x.csv", ["a.", "b."]),
        InputError("x.csv: a."),
    ):
        back = copy.copy(error)  # as pickle does
        assert str(back) == str(error)
        assert back.lines() == error.lines()
    renamed = InputError.all_at_once("x.csv", ["a of x.csv.", "b."]).renamed({"x.csv": "input"})
    assert renamed.lines() == ["input:", "- a of input.", "- b."]
    assert str(InputError("x.csv: a.").renamed({"x.csv": "input"})) == "input: a."
