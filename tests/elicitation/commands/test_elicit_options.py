"""What options of a session mean. Breaks if an option does not reach the questions."""

import pytest

from coherence import InputError
from coherence.cli.main import build_parser, main
from elicitation.commands.elicit_options import (
    design_of,
    load_model,
    named_model,
    plan_of,
    source_of,
)
from elicitation.commands.study.options import parse


def options(**said):
    return parse("elicit", {"agent": "leaky", "task": "asia", "contexts": 6, **said})


def test_options_become_a_design():
    design = design_of(options(reps=3, prompts=["mse"], no_lie=True, temperature=0.5, seed=4))
    assert (design.n_reps, tuple(design.prompts), design.iterated) == (3, ("mse",), False)
    assert (design.temperature, design.seed) == (0.5, 4)


def test_prompts_of_a_file_take_its_place_in_the_list(tmp_path):
    file = tmp_path / "own.toml"
    text = "A patient {description}. Will they {question}? A number from 0 to 1:"
    file.write_text(f'[belief.blunt]\nform = "number"\ntext = "{text}"\n', encoding="utf-8")
    design = design_of(options(prompts=["standard", str(file)]))
    assert tuple(design.prompts) == ("standard", "blunt")
    said = options(prompts=[str(file)], reps=1, no_lie=True)
    plan = plan_of(said, source_of(said), design_of(said))
    assert plan.questions[0].text.endswith("A number from 0 to 1:")


def test_cases_are_of_the_task_and_questions_of_the_file(tmp_path):
    source = source_of(options())
    assert (len(source.cases), source.subject.name) == (6, "asia")
    said = options(reps=1, prompts=["standard"], no_lie=True)
    assert len(plan_of(said, source, design_of(said)).questions) == 12
    file = tmp_path / "own.csv"
    file.write_text("context,belief_question\na,Rain?\n", encoding="utf-8")
    own = parse("elicit", {"model": "m", "questions": str(file), "reps": 2})
    source = source_of(own)
    assert source.subject is None
    plan = plan_of(own, source, design_of(own))
    # Four framings, twice.
    assert len(plan.questions) == 8


def test_who_is_asked_has_a_name_before_it_is_loaded(tmp_path):
    assert named_model(options()) == "leaky"
    served = parse("elicit", {"model": "GPT", "server": "http://a", "task": "asia"})
    assert named_model(served) == "GPT"


def test_an_agent_knows_the_cases(tmp_path):
    said = options(reps=1)
    source = source_of(said)
    model = load_model(said, source)
    draws = plan_of(said, source, design_of(said)).questions
    assert len(model.generate([draws[0].request])) == 1
    with pytest.raises(InputError, match="model must be a folder"):
        load_model(parse("elicit", {"model": str(tmp_path / "no"), "task": "asia"}), source)


def test_the_command_has_about_thirty_options_and_a_study_file_all():
    parser = build_parser("elicit")
    (actions,) = (each.choices for each in parser._actions if each.dest == "command")
    shown = {word for each in actions["elicit"]._actions for word in each.option_strings}
    assert len({each for each in shown if not each.startswith("--no-")}) <= 33
    hidden = {"timeout", "resume", "prefill", "min_mass", "draws", "dtype"}
    assert not hidden & {word.strip("-").replace("-", "_") for word in shown}
    assert hidden <= set(vars(options()))


def test_settings_reach_a_session_as_values_of_their_kinds(tmp_path, capsys):
    words = ["elicit", "--agent", "leaky", "--task", "asia", "--contexts", "4", "--dry-run"]
    words += ["--out", str(tmp_path / "runs.parquet")]
    assert main([*words, "--reps", "1", "--belief", "sampled", "--set", "draws=3"]) == 0
    few = capsys.readouterr().out
    assert main([*words, "--reps", "1", "--belief", "sampled", "--set", "draws=6"]) == 0
    assert capsys.readouterr().out != few
    for wrong, named in (("draws=x", "draws"), ("resume=maybe", "resume"), ("nope=1", "--set")):
        assert main([*words, "--set", wrong]) == 2
        assert named in capsys.readouterr().err
