"""Options of hosted models: breaks if a command drops one, or two commands mean others."""

import argparse
import importlib

import pytest

from coherence import InputError
from coherence.cli.main import MODULES, main
from elicitation.commands.model_options import connect_to, is_hosted

COMMANDS = ("elicit", "mix", "reveal", "bets")


def options(command, *words):
    """Return the options of a command, with what its --set takes."""
    parser = argparse.ArgumentParser()
    importlib.import_module(MODULES[command]).declare(parser, parser)
    return parser.parse_args(words)


@pytest.fixture
def calls(monkeypatch):
    from elicitation.models.hosted import connecting

    made = []
    monkeypatch.setattr(
        connecting, "connect", lambda *words, **settings: made.append((words, settings))
    )
    return made


@pytest.mark.parametrize("command", COMMANDS)
def test_hosted_models_get_all_options(command, calls):
    words = ["--server", "http://a", "--server-name", "lab", "--max-connections", "3"]
    words += ["--api-key-env", "KEY", "--max-retries", "2", "--timeout", "30"]
    words += ["--reasoning-effort", "low", "--extra-body", '{"top_k": 5}']
    words += ["--chat-template-kwargs", '{"enable_thinking": false}']
    connect_to(options(command, *words), "m")
    ((positional, keywords),) = calls
    assert positional == ("m",)
    assert keywords == {
        "server": "http://a",
        "base_url": None,
        "chat": None,
        "system": None,
        "identity": "lab",
        "concurrency": 3,
        "max_retries": 2,
        "timeout": 30,
        "key_variable": "KEY",
        "reasoning_effort": "low",
        "chat_template_kwargs": {"enable_thinking": False},
        "extra_body": {"top_k": 5},
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_is_hosted_by_its_name_or_its_address(command):
    assert is_hosted(options(command, "--model", "openai/gpt-4o"))
    assert is_hosted(options(command, "--model", "m", "--server", "http://a"))
    assert not is_hosted(options(command, "--model", "Qwen/Qwen3-8B"))
    assert not is_hosted(options(command))
    with pytest.raises(InputError, match="--base-url is the address of a provider"):
        is_hosted(options(command, "--model", "m", "--base-url", "http://a"))


@pytest.mark.parametrize("command", ["mix", "reveal", "bets"])
def test_hosted_models_are_asked_by_themselves(command):
    words = ["--model", "openai/gpt-4o", "--model", "folder"]
    with pytest.raises(InputError, match="Ask them in two commands"):
        is_hosted(options(command, *words))


def test_texts_that_are_continued_have_neither_message_nor_template(calls):
    words = ["--server", "http://a", "--system", "Be brief.", "--reasoning-effort", "low"]
    connect_to(options("elicit", *words), "m", continuing=True)
    connect_to(options("elicit", *words[:4], "--no-chat"), "m")
    connect_to(options("elicit", *words[:4]), "m")
    told = [(keywords["chat"], keywords["system"]) for _, keywords in calls]
    # Of the second the user hears that it cannot be.
    assert told == [(False, None), (False, "Be brief."), (None, "Be brief.")]
    assert calls[0][1]["reasoning_effort"] is None


@pytest.mark.parametrize("text", ["{", "[1]", "7", "top_k=5", "sk-0123456789abcdef"])
def test_fields_that_are_no_json_are_refused_and_not_repeated(text):
    for name in ("extra-body", "chat-template-kwargs"):
        with pytest.raises(InputError, match=f"--{name} must be a JSON object") as caught:
            connect_to(options("elicit", "--server", "http://a", f"--{name}", text), "m")
        assert "0123456789" not in str(caught.value)


def test_limits_out_of_range_are_refused(tmp_path, capsys):
    words = ["--task", "asia", "--contexts", "2", "--model", "m", "--server", "http://127.0.0.1:9"]
    for key, value in (("timeout", "0"), ("max_retries", "-1"), ("max_connections", "0")):
        assert (
            main(["elicit", *words, "--out", str(tmp_path / "r.csv"), "--set", f"{key}={value}"])
            == 2
        )
        option = f"--{key.replace('_', '-')}"
        assert f"({option}) must be" in capsys.readouterr().err
