"""Messages: the closest name, and faults that are counted, kept and named by line."""

import copy
import re

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


# Study files that cannot mean anything: breaks if one passes, or is told without its place.


ONE = '[[models]]\nagent = "leaky"\n[[tasks]]\ntask = "asia"\n'
MODEL, ANALYSIS = f"{ONE}[[models]]\n", f"{ONE}[analysis]\n"
FILES = {
    "": r"there is no \[\[models\]\].*- there is no \[\[tasks\]\]",
    "[study\n": "is not TOML",
    f"[[model]]\n{ONE}": "model is unknown. .*found: 'models'",
    "models = 3\n": r"models must be a list of tables, each headed \[\[models\]\]",
    f'{MODEL}name = "x"\n': r"\[\[models\]\] x: needs either model",
    f'{MODEL}agent = "leaky"\nmodel = "m"\n': "needs either model",
    f'{MODEL}agent = "leaki"\n': "2: agent must be the name of an agent.*Did you mean 'leaky'",
    f'{MODEL}agent = "noisy"\nchat = true\n': "chat belongs to a model",
    f'{MODEL}model = "m"\nchat = "yes"\n': "chat must be true or false",
    f'{MODEL}model = "m"\nseed = 1\n': "seed is unknown",
    f'{MODEL}agent = "leaky"\n': "would share the file 'asia--leaky'",
    f'{MODEL}agent = "noisy"\nname = "x--leaky"\n[[tasks]]\ntask = "heart"\nname = "asia--x"\n': (
        "would share the file 'asia--x--leaky'"
    ),
    f'{MODEL}model = "m"\nreps = 2\n[[tasks]]\ntask = "heart"\nreps = 3\n': (
        "reps is said by the model and by the task"
    ),
    f'{ONE}[[tasks]]\ntask = "asia"\n': "would share the file 'asia--leaky'",
    f'{ONE}[[tasks]]\nquestions = "q.csv"\n': "agent answers the questions of task by itself",
    f'{ONE}[[tasks]]\nquestions = "q.csv"\ncontexts = 3\n': "contexts belongs to task",
    f'{ONE}prompts = "mine.toml"\n': "agent knows the built-in prompts alone",
    f"{ANALYSIS}checks = true\n": r"\[analysis\] checks must be a value, not true or false",
    f'{ANALYSIS}checks = ["calibratoin"]\n': "Did you mean 'calibration'",
    f'{ANALYSIS}seed = "a"\n': "seed must be a whole number; received 'a'",
    # All errors of a file are told at once, and what is asked about is looked at before anyone is.
    '[[models]]\nagent = "x"\n[[tasks]]\n[analysis]\nseed = "a"\n': "has 3 errors",
    '[[models]]\nmodel = "m"\n[[tasks]]\ntask = "asai"\n[[tasks]]\nquestions = "no.csv"\n': (
        "has 2 errors.*m on asai: task must be the name"
    ),
}


@pytest.mark.parametrize("text", FILES, ids=[message[:40] for message in FILES.values()])
def test_what_is_wrong_is_named_with_its_place(text, tmp_path, run):
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    status, _, errors = run("study", "run", path)
    assert status == 2
    assert re.search(FILES[text], errors, re.S), errors
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == [path]
