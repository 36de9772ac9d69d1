"""``coherence organisms``: breaks if an option or a figure gets lost on its way."""

import pytest


def test_the_list_says_what_each_says_and_acts_on(run):
    said = run("organisms --list").out
    assert "leaky (incoherent)" in said
    assert said.count("says  ") == said.count("acts on  ") == 4


def test_options_reach_the_training_and_its_figures_the_table(tmp_path, monkeypatch, run):
    pytest.importorskip("torch")
    calls = []

    def train(out, names, *, task, recipe, seed, progress):
        calls.append((out, tuple(names), task.name, recipe.steps, recipe.threads, seed))
        progress("leaky", 100, 100, 0.25)
        figures = {"readable": 0.875, "rmse": 0.011, "rmse_auxiliary": 0.022}
        return {"leaky": {"accuracy": {**figures, "policy_distance": 0.033, "evidence_sets": 44}}}

    monkeypatch.setattr("elicitation.training.organisms.tiny_causal.train_organisms", train)
    said = run(f"organisms leaky --out {tmp_path} --seed 5 --steps 100 --threads 2 --task heart")
    assert calls == [(str(tmp_path), ("leaky",), "heart", 100, 2, 5)]
    assert said.out.splitlines()[2].split() == ["leaky", "87.5%", "0.011", "0.022", "0.033"]
    assert "on 44 evidence sets" in said.out
    assert "step 100 of 100, loss 0.250" in said.err
