"""What is learnt of a server: breaks if a refusal is forgotten, repeated, or taken too far."""

import json
import threading

import pytest

from elicitation.models.servers.address import Address
from elicitation.models.servers.dialect import Dialect
from elicitation.models.servers.faults import read_refusal
from elicitation.models.servers.http import CallError

BODY = {"model": "m", "max_tokens": 9, "temperature": 1.0, "top_p": 1.0, "seed": 4}


def fault(message, **error):
    body = json.dumps({"error": {"message": message, **error}}).encode()
    return CallError("request", message, status=400, refusal=read_refusal(body))


def dialect():
    return Dialect(Address.parse("http://host"))


def test_what_was_refused_is_left_out_for_good_and_said_once(caplog):
    learnt = dialect()
    assert learnt.adapted(BODY) == BODY
    refusal = fault("seed is not supported", param="seed")
    assert learnt.learn(refusal, BODY)
    # Another thread sent the same before it was known.
    assert learnt.learn(refusal, BODY)
    assert "seed" not in learnt.adapted(BODY)
    assert learnt.unset == ("seed",)
    assert not learnt.learn(refusal, learnt.adapted(BODY)), "an attempt that changes nothing"
    (warning,) = caplog.messages
    assert "the only record" in warning


def test_the_limit_changes_its_name_and_is_never_lifted(caplog):
    learnt = dialect()
    refusal = fault(
        "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'.",
        param="max_tokens",
    )
    assert learnt.learn(refusal, BODY)
    body = learnt.adapted(BODY)
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 9
    assert "max_completion_tokens in place of max_tokens" in caplog.text
    assert not dialect().learn(fault("max_tokens is not supported", param="max_tokens"), BODY)


def test_a_stream_is_asked_for_where_nothing_else_is_had():
    learnt = dialect()
    assert learnt.learn(fault("This model only support stream mode, enable the stream"), BODY)
    assert learnt.adapted(BODY)["stream"] is True
    assert learnt.adapted(BODY)["stream_options"] == {"include_usage": True}
    body = learnt.adapted(BODY)
    assert learnt.learn(fault("Unknown parameter: stream_options"), body)
    assert "stream_options" not in learnt.adapted(BODY)
    assert learnt.unset == ()


def test_faults_that_pass_teach_nothing():
    learnt = dialect()
    for kind in ("again", "busy", "address"):
        words = "seed is not supported"
        passing = CallError(kind, words, refusal=read_refusal(words.encode()))
        assert not learnt.learn(passing, BODY)
    assert not learnt.learn(CallError("request", "seed is not supported"), BODY)
    assert learnt.adapted(BODY) == BODY


def test_temperature_0_is_never_left_to_the_server():
    learnt = dialect()
    refusal = fault("temperature is not supported", param="temperature")
    with pytest.raises(CallError, match="refuses temperature 0") as caught:
        learnt.learn(refusal, {**BODY, "temperature": 0.0})
    assert caught.value.remedy == "Ask at --temperature 1."
    assert learnt.unset == ()
    assert learnt.learn(refusal, BODY)
    with pytest.raises(CallError, match="refuses temperature 0"):
        learnt.adapted({**BODY, "temperature": 0.0})


def test_threads_that_learn_together_say_it_once(caplog):
    learnt = dialect()
    refusal = fault("Unsupported: top_p, seed")
    threads = [threading.Thread(target=learnt.learn, args=(refusal, BODY)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(caplog.messages) == 2
    assert learnt.unset == ("seed", "top_p")
