"""The organisms command: breaks if an option or a figure gets lost on its way."""

import pytest

from coherence.cli.main import main
from elicitation.training.organisms.catalog import ORGANISMS


def test_the_list_says_what_each_says_and_acts_on(capsys):
    assert main(["organisms", "--list"]) == 0
    output = capsys.readouterr().out
    for organism in ORGANISMS.values():
        assert f"{organism.name} ({'coherent' if organism.coherent else 'incoherent'})" in output
        assert f"says     {organism.says}\n    acts on  {organism.acts_on}\n" in output


def test_a_folder_is_needed(capsys):
    assert main(["organisms", "leaky"]) == 2
    assert "--out DIR is missing" in capsys.readouterr().err


def test_options_reach_the_training_and_its_figures_the_table(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    from elicitation.training.organisms import reader

    calls = []

    def train(out, names, *, task, recipe, seed, progress):
        calls.append((out, tuple(names), task.name, recipe.steps, recipe.threads, seed))
        for step in range(1, 101):
            progress("leaky", step, 100, 0.25)
        figures = {
            "readable": 0.875,
            "rmse": 0.011,
            "rmse_auxiliary": 0.022,
            "policy_distance": 0.033,
            "evidence_sets": 44,
        }
        return {"leaky": {"accuracy": figures}}

    monkeypatch.setattr(reader, "train_organisms", train)
    words = ["leaky", "--out", str(tmp_path), "--seed", "5", "--steps", "100", "--threads", "2"]
    words += ["--task", "heart"]
    assert main(["organisms", *words]) == 0
    assert calls == [(str(tmp_path), ("leaky",), "heart", 100, 2, 5)]
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].split() == ["leaky", "87.5%", "0.011", "0.022", "0.033"]
    assert "on 44 evidence sets that no lesson was about" in printed.out
    assert printed.err == "leaky: step 100 of 100, loss 0.250\n"
