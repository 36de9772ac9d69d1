"""Keys: breaks if one reaches a message, a stored answer or a log, whoever repeats it."""

import json
import urllib.parse

import pytest

from coherence import CoherenceError
from elicitation import AnswerStore, Design, elicit
from elicitation.models.base import provider_of

from .fake_server import Fake, after_opening, answer, connected, raw

KEY = "sk-Quite/secret+0123456789"
LOCAL = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("typed", "remedy"),
    [
        (f"--server {LOCAL} --api-key-env '{KEY}'", "the name of an environment variable"),
        (f"--server {LOCAL} --api-key-env hunter2/secret", "the name of an environment variable"),
        (f"--server {LOCAL} --api-key-env gsk_secret01234567890ABCDEFabcdef", "environment varia"),
        *((f"--server '{address}'", "an address must look like") for address in (
            f"https://host/v1?key={KEY}", f"https://me:{KEY}@host/v1", f"https://host/v1#{KEY}", KEY
        )),
    ],
)  # fmt: skip
def test_a_key_in_place_of_its_variable_or_in_an_address_is_not_repeated(
    typed, remedy, run, tmp_path
):
    words = f"elicit --task asia --model m --contexts 2 --out {tmp_path}/runs.csv"
    said = run(f"{words} {typed}", status=2)
    assert remedy in said.err
    assert "secret" not in said.out + said.err


@pytest.mark.parametrize(
    "escaped",
    [KEY, json.dumps(KEY)[1:-1].replace("/", "\\/"), urllib.parse.quote(KEY, safe="")],
    ids=["plain", "in JSON", "in an address"],
)
def test_a_server_that_repeats_the_key_is_not_repeated(
    escaped, asia, cases, monkeypatch, caplog, tmp_path
):
    """In answers, thoughts and names of weights, and then in the error that ends the session."""
    monkeypatch.setenv("MY_KEY", KEY)

    def reply(body, n):
        if n >= 6:
            return raw(400, f'{{"error": {{"message": "Bad key {escaped}."}}}}')
        whole = json.dumps(answer("@", message={"content": "@ Yes", "reasoning_content": "@"}))
        whole = whole.replace("@", escaped).replace('"model": "m"', f'"model": "{escaped}"')
        return raw(200, whole)

    caplog.set_level("DEBUG")
    fake, design = Fake(after_opening(reply)), Design(reps=1, iterated=False)
    with connected(fake, api_key_env="MY_KEY") as model, AnswerStore(":memory:") as store:
        with pytest.raises(CoherenceError, match=r"Bad key \*\*\*\.") as caught:
            elicit(model, asia, cases, store, design=design, keep_going=True)
        rows = store._database.execute("SELECT answer, extra FROM answers").fetchall()
    assert rows
    kept = str(rows) + str(caught.value) + caplog.text
    assert escaped not in kept
    assert "secret" not in kept
    assert all(text == "*** Yes" for text, _ in rows)
    # It is sent as a bearer token and nowhere else.
    sent = [{name.lower(): value for name, value in each.items()} for each in fake.headers]
    assert {headers["authorization"] for headers in sent} == {f"Bearer {KEY}"}
    assert not any(KEY in f"{body}{path}" for path, body in fake.asked)


# Names: breaks if a folder or a model of the hub is taken for a hosted one.


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("openai/gpt-4o", "openai"),
        ("openai-api/lab/Qwen/Qwen3-8B", "openai-api"),
        ("openai/mine", None),  # a folder goes first
        ("Qwen/Qwen3-8B", None),
        ("hf/openai/gpt-oss-20b", None),
        ("ollama", None),
        ("vllm/", None),
    ],
)
def test_a_hosted_model_begins_with_its_provider(name, provider, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "openai" / "mine").mkdir(parents=True)
    assert provider_of(name) == provider
