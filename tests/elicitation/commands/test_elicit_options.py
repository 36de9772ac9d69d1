"""What options of a session mean. Breaks if an option does not reach the questions."""

from coherence.cli.main import main
from elicitation.commands.elicit_options import (
    design_of,
)
from elicitation.commands.study.options import parse


def options(**said):
    return parse("elicit", {"agent": "leaky", "task": "asia", "contexts": 6, **said})


def test_options_become_a_design():
    design = design_of(options(reps=3, prompts=["mse"], no_lie=True, temperature=0.5, seed=4))
    assert (design.n_reps, tuple(design.prompts), design.iterated) == (3, ("mse",), False)
    assert (design.temperature, design.seed) == (0.5, 4)


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
