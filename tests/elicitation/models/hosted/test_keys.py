"""Keys: breaks if one reaches a message, a stored answer or a log, whoever repeats it."""

import json
import urllib.parse

import pytest

from coherence import CoherenceError, InputError
from elicitation import AnswerStore, Design, connect, elicit

from .fake_server import Fake, after_opening, answer, connected, raw, requests

KEY = "sk-Quite/secret+0123456789"


@pytest.mark.parametrize(
    "typed",
    [
        KEY,
        "gsk_0123456789abcdefABCDEF0123456789",
        "0123456789abcdef0123456789abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "hunter2",
    ],
)
def test_a_key_in_place_of_its_variable_is_not_repeated(typed, run, tmp_path):
    words = f"elicit --task asia --model m --contexts 2 --out {tmp_path}/runs.csv"
    said = run(f"{words} --server http://127.0.0.1:9 --api-key-env '{typed}'", status=2)
    assert "must be the name of an environment variable" in said.err
    assert typed not in said.out + said.err


@pytest.mark.parametrize(
    "address",
    [f"https://host/v1?key={KEY}", f"https://me:{KEY}@host/v1", f"https://host/v1#{KEY}", KEY],
)
def test_a_key_in_an_address_is_not_repeated(address, run, tmp_path):
    words = f"elicit --task asia --model m --contexts 2 --out {tmp_path}/runs.csv"
    said = run(f"{words} --server '{address}'", status=2).err
    assert "an address must look like" in said
    assert "secret" not in said


def test_a_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(InputError, match="environment variable MY_KEY must hold"):
        connect("m", server="http://127.0.0.1:9", key_variable="MY_KEY")


def escaped(key):
    """The key as it is, and as JSON and addresses may escape it."""
    return [
        key,
        json.dumps(key)[1:-1].replace("/", "\\/"),
        urllib.parse.quote(key, safe=""),
    ]


@pytest.mark.parametrize("number", range(len(escaped(KEY))))
def test_a_server_that_repeats_the_key_is_not_repeated(
    number, asia, cases, monkeypatch, caplog, tmp_path
):
    """In answers, thoughts and names of weights, and then in the error that ends the session."""
    monkeypatch.setenv("MY_KEY", KEY)
    said = escaped(KEY)[number]

    def reply(body, n):
        if n >= 6:
            return raw(400, f'{{"error": {{"message": "Bad key {said}."}}}}')
        whole = json.dumps(answer("@", message={"content": "@ Yes", "reasoning_content": "@"}))
        return raw(200, whole.replace("@", said).replace('"model": "m"', f'"model": "{said}"'))

    caplog.set_level("DEBUG")
    path = tmp_path / "answers.sqlite"
    design = Design(reps=1, iterated=False)
    with (
        connected(Fake(after_opening(reply)), key_variable="MY_KEY") as model,
        AnswerStore(path) as store,
    ):
        with pytest.raises(CoherenceError, match=r"Bad key \*\*\*\.") as caught:
            elicit(model, asia, cases, store, design=design, keep_going=True)
        rows = store._database.execute("SELECT answer, extra FROM answers").fetchall()
    assert rows
    kept = str(rows) + str(caught.value) + caplog.text
    for spelling in escaped(KEY):
        assert spelling not in kept
    assert "secret" not in kept
    assert all(text == "*** Yes" for text, _ in rows)


@pytest.mark.parametrize(("key", "said"), [("0", "No: 0.30"), ("EMPTY", "EMPTY")])
def test_a_placeholder_is_a_word_like_any_other(key, said, monkeypatch):
    """A local server takes any key: "0" struck out of answers would change every number."""
    monkeypatch.setenv("MY_KEY", key)
    with connected(Fake(lambda body, n: answer(said)), key_variable="MY_KEY") as model:
        assert model.generate(requests(1))[0].text == said


def test_a_key_is_sent_as_a_bearer_token_and_nowhere_else(monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    fake = Fake()
    with connected(fake, key_variable="MY_KEY") as model:
        model.generate(requests(1))
    sent = [{name.lower(): value for name, value in each.items()} for each in fake.headers]
    assert {headers["authorization"] for headers in sent} == {f"Bearer {KEY}"}
    assert not any(KEY in f"{body}{path}" for path, body in fake.asked)


def test_a_placeholder_is_a_word_of_the_message():
    """Breaks if "none" is struck out where no key was sent."""
    none = raw(400, '{"error": {"message": "none of the models is loaded"}}')
    with (
        connected(Fake(after_opening(lambda body, n: none))) as model,
        pytest.raises(CoherenceError, match="none of the models is loaded"),
    ):
        model.generate(requests(1))
