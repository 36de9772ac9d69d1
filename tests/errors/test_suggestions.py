"""Messages: the closest name, and faults that are counted, kept and named by line."""

import copy

import pytest

import bayesnets
import coherence
import elicitation
from coherence import InputError, SchemaError
from coherence.errors import closest, suggestion

MANY = [f"name{number}" for number in range(14)]


def test_the_closest_name_is_proposed_and_names_are_listed_otherwise():
    for name, known, sentence in (
        ("smok", ["lung", "smoke"], "Closest name found: 'smoke'."),
        ("Smoke", ["smoke", "SMOKE"], "Closest name found: 'smoke'."),
        ("xyz", ["lung", "smoke"], "Found: 'lung', 'smoke'."),
        ("xyz", [], "Found: nothing."),
        ("qqq", MANY, f"Found: {', '.join(map(repr, MANY[:12]))}, ...."),
        (12, [21, 129], "Closest name found: '129'."),
    ):
        assert closest(name, known) == sentence
    assert suggestion("SMOKE", iter(["smoke"])) == "Did you mean 'smoke'? Known: smoke."
    assert suggestion("qqq", MANY) == f"Known: {', '.join(MANY)}."


def test_several_faults_are_one_text_and_a_line_each_on_a_terminal():
    error = InputError.all_at_once("mine.csv has 2 errors", ["a.", "b."])
    assert str(error) == "mine.csv has 2 errors: a. | b."
    assert error.lines() == ["mine.csv has 2 errors:", "- a.", "- b."]
    assert InputError.all_at_once("mine.csv", ["a."]).lines() == ["mine.csv: a."]
    many = InputError.all_at_once("", [f"error {number}." for number in range(13)])
    assert many.lines()[10:] == ["- error 9.", "and 3 more"]
    assert len(many.errors) == 13
    schema = SchemaError(["p is missing.", "z is wrong."])
    assert str(schema) == "runs table has 2 errors: p is missing. | z is wrong."
    assert schema.errors == ("p is missing.", "z is wrong.")


@pytest.mark.parametrize(
    "error", [SchemaError(["a.", "b."], "x.csv"), InputError.all_at_once("x.csv", ["a.", "b."])]
)
def test_errors_keep_their_faults_between_processes_and_under_another_name(error):
    """A SchemaError was once taken for a list of its letters where a process handed it on."""
    back = copy.copy(error)  # as pickle does
    assert str(back) == str(error)
    assert back.lines() == error.lines()


@pytest.mark.parametrize("package", [bayesnets, coherence, elicitation])
def test_a_package_proposes_its_own_names(package):
    for name in package.__all__[:3]:
        with pytest.raises(
            AttributeError, match=f"has no attribute '{name}_'.*name found: '{name}'"
        ):
            getattr(package, f"{name}_")
    with pytest.raises(AttributeError, match="has no attribute '__nothing__'$"):  # others ask
        _ = package.__nothing__
