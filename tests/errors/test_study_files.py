"""Study files that cannot mean anything: breaks if one passes, or is told without its place."""

import re

import pytest

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
    f'{MODEL}agent = "noisy"\nname = "a\\nb"\n': "name must be a text of one line",
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
