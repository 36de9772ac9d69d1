"""Options of servers: breaks if a command drops one, or two commands mean different things."""

import pytest

from coherence.cli.main import build_parser, main
from coherence.errors import InputError
from elicitation.commands.server_options import SERVER_DEFAULTS, connect
from elicitation.models.servers.address import Limits

COMMANDS = ("elicit", "mix", "reveal", "bets")


def options(command, *words):
    return build_parser(command).parse_args([command, *words])


@pytest.fixture
def calls(monkeypatch):
    from elicitation.models.servers import server

    made = []
    monkeypatch.setattr(
        server, "connect_servers", lambda *words, **settings: made.append((words, settings))
    )
    return made


@pytest.mark.parametrize("command", COMMANDS)
def test_servers_get_all_options(command, calls):
    words = ["--server", "http://a, http://b,", "--server-name", "lab", "--concurrency", "3"]
    words += ["--api-key-env", "KEY", "--requests-per-minute", "60", "--tokens-per-minute", "9e4"]
    words += ["--max-wait", "30", "--reasoning-effort", "low", "--extra-body", '{"top_k": 5}']
    words += ["--chat-template-kwargs", '{"enable_thinking": false}']
    connect(options(command, *words), "m")
    ((positional, keywords),) = calls
    assert positional == (["http://a", "http://b"], "m")
    assert keywords == {
        "api": "chat",
        "identity": "lab",
        "system": None,
        "concurrency": 3,
        "key_variable": "KEY",
        "reasoning_effort": "low",
        "chat_template_kwargs": {"enable_thinking": False},
        "extra_body": {"top_k": 5},
        "requests_per_minute": 60.0,
        "tokens_per_minute": 9e4,
        "limits": Limits(max_wait=30.0),
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_not_said_is_as_it_always_was(command):
    assert {name: getattr(options(command), name) for name in SERVER_DEFAULTS} == SERVER_DEFAULTS


def test_texts_that_are_continued_have_neither_message_nor_template(calls):
    words = ["--server", "http://a", "--system", "Be brief.", "--reasoning-effort", "low"]
    connect(options("elicit", *words), "m", api="completions")
    connect(options("elicit", *words[:4], "--no-chat"), "m")
    connect(options("elicit", *words[:4]), "m")
    told = [(keywords["api"], keywords["system"]) for _, keywords in calls]
    # Of the second the user hears that it cannot be.
    assert told == [("completions", None), ("completions", "Be brief."), ("chat", "Be brief.")]
    assert calls[0][1]["reasoning_effort"] is None


@pytest.mark.parametrize("text", ["{", "[1]", "7", "top_k=5", "sk-0123456789abcdef"])
def test_fields_that_are_no_json_are_refused_and_not_repeated(text):
    for name in ("extra-body", "chat-template-kwargs"):
        with pytest.raises(InputError, match=f"--{name} must be a JSON object") as caught:
            connect(options("elicit", "--server", "http://a", f"--{name}", text), "m")
        assert "0123456789" not in str(caught.value)


def test_limits_out_of_range_are_refused(tmp_path, capsys):
    words = ["--task", "asia", "--contexts", "2", "--model", "m", "--server", "http://127.0.0.1:9"]
    for option in ("--max-wait", "--requests-per-minute", "--tokens-per-minute"):
        assert main(["elicit", *words, "--out", str(tmp_path / "r.csv"), option, "0"]) == 2
        assert "must be positive" in capsys.readouterr().err
