"""``coherence models`` and ``coherence organisms``: breaks if an option or figure gets lost."""


def test_lists(run):
    said = run("models list").out
    assert "smollm2: SmolLM2-135M-Instruct" in said
    assert "Apache-2.0; 93 MB to download, 542 MB on disk" in said
    said = run("organisms --list").out
    assert "leaky (incoherent)" in said
    assert said.count("says  ") == said.count("acts on  ") == 3


def test_fetch_says_whether_anything_was_made(monkeypatch, run):
    calls = []
    for made, word in ((True, "ready"), (False, "there already, complete")):
        fetch = lambda *words, made=made: calls.append(words) or made  # noqa: E731
        monkeypatch.setattr("elicitation.models.fetch.fetch_model", fetch)
        assert run("models fetch smollm2").out == f"models/smollm2: smollm2, {word}\n"
    run("models fetch smollm2 --out x")
    assert calls[1:] == [("smollm2", "models/smollm2"), ("smollm2", "x")]


def test_options_reach_the_training_and_its_figures_the_screen(tmp_path, monkeypatch, run):
    calls = []

    def train(out, names, *, recipe, seed, progress):
        calls.append((out, tuple(names), recipe.steps, seed))
        progress("leaky", 100, 100, 0.25)
        return {"leaky": {"loss": 0.0625}}

    monkeypatch.setattr("elicitation.training.organisms.train_organisms", train)
    said = run(f"organisms leaky --out {tmp_path} --seed 5 --steps 100")
    assert calls == [(str(tmp_path), ("leaky",), 100, 5)]
    assert said.out == "leaky: loss 0.062 of an answer, in nats\n"
    assert "step 100 of 100, loss 0.250" in said.err
