"""Study files. Breaks if a fault passes, or is told without its place and a remedy."""

import inspect
import json
import re
from pathlib import Path

import pytest

from coherence import InputError, analyze
from elicitation.commands.study.study_file import load_study
from elicitation.commands.study.units import units_of

ONE = '[[models]]\nagent = "leaky"\n[[tasks]]\ntask = "asia"\n'


def test_a_study_is_read(write):
    study = load_study(write())
    assert study.name == "study"
    assert [model.name for model in study.models] == ["leaky", "steady"]
    assert [task.name for task in study.tasks] == ["asia", "cancer, few"]
    assert (study.models[1].price_in, study.models[1].price_out) == (1.0, 4.0)
    assert study.usual["contexts"] == 12
    assert study.analysis == {"checks": ["residual_covariance"]}


def test_names_follow_from_what_is_asked(write, tmp_path):
    text = (
        '[[models]]\nmodel = "models/tiny"\n[[models]]\nmodel = "GPT-x"\nserver = "http://a"\n'
        '[[models]]\nmodel = "A/b"\nname = "mine"\n[[tasks]]\ntask = "asia"\ntarget = "smoke"\n'
        '[[tasks]]\nquestions = "data/own.csv"\n[[tasks]]\ntask = "nets/mine.bif"\n'
    )
    study = load_study(write(text))
    assert [model.name for model in study.models] == ["tiny", "GPT-x", "mine"]
    assert [task.name for task in study.tasks] == ["asia:smoke", "own", "mine"]
    assert study.tasks[1].options["questions"] == str(tmp_path / "data/own.csv")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", r"there is no \[\[models\]\]: nobody is asked. \| there is neither \[\[tasks\]\]"),
        ("[[model]]\n" + ONE, "model is unknown. .*found: 'models'"),
        (
            "[study]\ncontext = 5\n" + ONE,
            r"\[study\] context is unknown. .*found: 'contexts'",
        ),
        ("models = 3\n", r"models must be a list of tables, each headed \[\[models\]\]"),
        ("study = 3\n" + ONE, r"study must be one table: \[study\]"),
        (ONE + '[[models]]\nname = "x"\n', r"\[\[models\]\] x: needs either model"),
        (ONE + '[[models]]\nagent = "leaky"\nmodel = "m"\n', "needs either model"),
        (
            ONE + '[[models]]\nagent = "leaki"\n',
            r"2: agent must be one of .*found: 'leaky'",
        ),
        (ONE + '[[models]]\nagent = "noisy"\nchat = true\n', "chat belongs to a model"),
        (ONE + '[[models]]\nmodel = "m"\ntemprature = 1\n', "found: 'temperature'"),
        (ONE + '[[models]]\nmodel = "m"\nseed = 1\n', "seed is unknown"),
        (ONE + '[[models]]\nmodel = "m"\nprice_in = -1\n', "price_in must be a number, at least 0"),
        (ONE + '[[models]]\nmodel = "m"\nprice_in = "1"\n', "price_in must be a number"),
        (ONE + '[[models]]\nagent = "leaky"\n', r"name 'leaky' repeats an earlier one"),
        (ONE + '[[models]]\nagent = "noisy"\nname = "LEAKY"\n', "is too like 'leaky'"),
        (ONE + '[[models]]\nagent = "noisy"\nname = "a\\nb"\n', "name must be a text of one line"),
        (ONE + '[[models]]\nagent = "noisy"\nname = "x "\n', "without blanks around it"),
        (ONE + '[[models]]\nagent = "noisy"\nname = "\uff4ceaky"\n', "is too like 'leaky'"),
        (
            ONE + '[[tasks]]\ntask = "heart"\nname = "asia--x"\n'
            '[[models]]\nagent = "noisy"\nname = "x--leaky"\n',
            "would share the file 'asia--x--leaky'",
        ),
        (ONE + '[[tasks]]\nname = "x"\n', "needs either task"),
        (ONE + '[[tasks]]\nquestions = "q.csv"\n', "an agent answers about networks"),
        (ONE + '[[tasks]]\nquestions = "q.csv"\ncontexts = 3\n', "contexts belongs to task"),
        (ONE + '[[tasks]]\ntask = "asia"\n', "name 'asia' repeats"),
        (ONE + '[[batteries]]\nbattery = "dice"\n', "battery must be one of reveal, mix, bets"),
        (ONE + '[[batteries]]\nbattery = "mix"\ndraw = 5\n', "found: 'draws'"),
        (ONE + '[[batteries]]\nbattery = "mix"\nout = "x"\n', "out is unknown"),
        (ONE + '[[batteries]]\nbattery = "mix"\ndraws = "x"\n', "invalid int value"),
        (ONE + "[analysis]\nchecks = 3\n", r"\[analysis\] checks must be a list; received 3"),
        (ONE + "[analysis]\nseed = true\n", "seed must be a whole number; received True"),
        (ONE + '[analysis]\nchecks = ["calibratoin"]\n', "found: 'calibration'"),
        (ONE + "[analysis]\nchecks = []\n", "checks must name at least one check"),
        (ONE + "[analysis]\nseed = -1\n", "seed must be at least 0; received -1"),
        (ONE + "[analysis]\ntwins = 0\n", "twins must be at least 1; received 0"),
        (ONE + "[analysis]\npublished = 1\n", "published must be true or false; received 1"),
        (ONE + "[analysis]\npositive = 3\n", "positive must be a text or a list; received 3"),
        (ONE + '[analysis]\ncheck = "cmi"\n', "check is unknown"),
        (ONE + '[[batteries]]\nbattery = "mix"\n', "all of these are simulated agents"),
        ('[study]\nreps = "x"\n' + ONE, "leaky on task asia: .*--reps: invalid int value"),
        ("[study\n", "is not TOML"),
    ],
)
def test_faults_are_told_with_their_place(write, text, told):
    with pytest.raises(InputError, match=told):
        load_study(write(text))


def test_every_option_of_the_analysis_may_be_said(write):
    known = set(inspect.signature(analyze).parameters) - {"runs", "rng", "n_jobs", "progress"}
    values = {
        "checks": ["cmi"],
        "published": True,
        "positive": "yes",
        "reference": "standard",
        "strict": True,
        "merge_labels": True,
        "twins": 50,
    }
    assert set(values) <= known
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
    assert load_study(write(f"{ONE}[analysis]\n{lines}seed = 3\n")).analysis == values | {"seed": 3}


@pytest.mark.parametrize("name", ["../../etc", "a/b", ".hidden", "..", "\\u202e", "-x"])
def test_tables_stay_in_their_folder_whatever_a_model_is_called(write, tmp_path, name):
    text = f'[[models]]\nagent = "leaky"\nname = "{name}"\n[[tasks]]\ntask = "asia"\n'
    if "u202e" in name:  # not printable
        with pytest.raises(InputError, match="name must be a text of one line"):
            load_study(write(text))
        return
    (unit,) = units_of(load_study(write(text)), tmp_path)
    assert unit.path.resolve().parent == tmp_path.resolve() / "runs"
    assert not unit.path.name.startswith(".")


def test_all_faults_are_told_at_once(write):
    text = '[[models]]\nagent = "x"\n[[tasks]]\n[analysis]\nseed = "a"\n'
    with pytest.raises(InputError, match="has 3 errors"):
        load_study(write(text))


def test_a_file_that_is_none(tmp_path, write):
    with pytest.raises(InputError, match="cannot be read"):
        load_study(tmp_path / "none.toml")
    with pytest.raises(InputError, match="must be smaller than 1 MB"):
        load_study(write("#" * (1 << 21)))


def test_files_of_the_documentation_are_studies(tmp_path):
    root = Path(__file__).parents[4]
    blocks = re.findall(r"```toml\n(.*?)```", (root / "docs/studies.md").read_text("utf-8"), re.S)
    assert len(blocks) == 3
    for number, block in enumerate(blocks):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        assert load_study(path).models
    for path in (root / "examples").glob("s*.toml"):
        assert load_study(path).tasks
