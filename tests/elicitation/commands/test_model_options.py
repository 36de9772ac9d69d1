"""Options of models and stores: breaks if two commands mean different things by one option."""

import argparse
import importlib
import json

import pytest

from coherence import InputError
from coherence.cli.main import MODULES, main
from elicitation import Answer, AnswerStore
from elicitation.commands import model_options
from elicitation.questions.question import Question

COMMANDS = ("elicit", "reveal", "bets", "mix")
SHARED = ("dtype", "device", "threads", "batch_size", "store", "resume", "keep_going")


def options(command, *words):
    """Return the options of a command, with what its --set takes."""
    parser = argparse.ArgumentParser()
    importlib.import_module(MODULES[command]).declare(parser, parser)
    return parser.parse_args(words)


def test_all_commands_that_ask_have_the_same_options_and_defaults():
    defaults = [{name: getattr(options(command), name) for name in SHARED} for command in COMMANDS]
    assert defaults == [
        {
            "dtype": "auto",
            "device": "auto",
            "threads": None,
            "batch_size": None,
            "store": None,
            "resume": True,
            "keep_going": False,
        }
    ] * len(COMMANDS)
    for command in ("elicit", "mix", "bets"):
        assert options(command, "--server", "http://a", "--system", "s", "--no-chat").chat is False


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--store", "s.sqlite", "train", "--modality", "coin"], "--store"),
        (["--no-chat", "transfer"], "--chat"),
        (["--set", "system=s", "questions"], "--system"),
    ],
)
def test_an_action_of_bets_has_no_use_for_options_of_asking(words, option, tmp_path, capsys):
    assert main(["bets", *words, "--out", str(tmp_path / "out")]) == 2
    assert f"{option} does not belong to 'coherence bets " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_training_keeps_its_own_batch_size_and_resumption():
    train = ["train", "--modality", "coin", "--out", "x"]
    args = options("bets", *train, "--batch-size", "8", "--no-resume")
    assert (args.update_size, args.batch_size, args.resume) == (8, None, False)
    assert options("bets", *train).resume is True


def draw(text):
    return Question.of(text, 0, base_seed=0, temperature=1.0, max_new_tokens=9, max_lines=1)


def keep(store, text="a text"):
    store.put([draw(text)], [Answer("a")], model="m", fingerprint="f")


def kept(args, usual):
    with model_options.answer_store(args, usual) as store:
        return len(store)


def test_ctrl_c_says_what_is_kept_and_where(tmp_path):
    args, usual = argparse.Namespace(store=None, resume=True), tmp_path / "usual.sqlite"
    interrupted = pytest.raises(KeyboardInterrupt, match="1 answer is kept in .*usual.sqlite")
    with interrupted as caught, model_options.answer_store(args, usual) as store:
        keep(store)
        raise KeyboardInterrupt
    assert str(caught.value).endswith("The same command resumes.")
    # What was asked for goes on from there; --no-resume does not.
    assert kept(args, usual) == 1
    args.resume = False
    with pytest.raises(InputError, match=r"--no-resume needs a new store; .* has 1 answer\."):
        kept(args, usual)
    args.store = str(tmp_path / "new.sqlite")
    assert kept(args, usual) == 0
    assert (tmp_path / "new.sqlite").exists()


@pytest.mark.parametrize("command", ["reveal", "bets", "mix"])
def test_no_resume_refuses_a_store_with_answers(command, tmp_path, capsys):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"architectures": ["X"]}), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    with AnswerStore(tmp_path / "mine.sqlite") as store:
        keep(store)
    words = ["--model", str(folder), "--out", str(tmp_path / "out"), "--no-resume"]
    assert main([command, *words, "--store", str(tmp_path / "mine.sqlite")]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert f"{tmp_path / 'mine.sqlite'} has 1 answer. Name another --store" in errors


@pytest.mark.parametrize("kind", ["ForMultipleChoice", "ForCausalLM"])
def test_a_folder_is_loaded_as_what_it_says_it_is(kind, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from elicitation.models.local import causal, multiple_choice

    (tmp_path / "config.json").write_text(json.dumps({"architectures": [kind]}), encoding="utf-8")
    loaded = []
    for module, name in (
        (causal, "load_causal_model"),
        (multiple_choice, "load_multiple_choice_model"),
    ):
        monkeypatch.setattr(
            module, name, lambda folder, name=name, **settings: loaded.append((name, settings))
        )
    words = ["--dtype", "float32", "--device", "cpu", "--threads", "2", "--no-chat"]
    model_options.load_local(options("bets", *words), tmp_path)
    model_options.load_local(options("bets", *words, "--batch-size", "7"), tmp_path)
    local = {"dtype": "float32", "device": "cpu", "threads": 2}
    if kind == "ForMultipleChoice":
        name = "load_multiple_choice_model"
        assert loaded == [(name, local), (name, {**local, "batch_size": 7})]
    else:
        local |= {"chat": False, "system": None, "prefill": ""}
        name = "load_causal_model"
        assert loaded == [(name, {**local, "batch_size": size}) for size in (None, 7)]
