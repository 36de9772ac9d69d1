"""Keys: breaks if one reaches a message, a stored answer or a log, whoever repeats it."""

import json
import urllib.parse

import pytest

from coherence import InputError
from coherence.cli.main import main
from elicitation import AnswerStore, Design, elicit
from elicitation.models.hosted.keys import KeyMask, read_key, without_keys
from elicitation.models.hosted.replies import HostedError

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
def test_a_key_in_place_of_its_variable_is_not_repeated(typed, tmp_path, capsys):
    with pytest.raises(InputError, match="must be the name of an environment variable") as caught:
        read_key(typed)
    assert typed not in str(caught.value)
    words = ["--server", "http://127.0.0.1:9", "--model", "m", "--task", "asia"]
    out = ["--out", str(tmp_path / "runs.csv"), "--contexts", "2"]
    assert main(["elicit", *words, *out, "--api-key-env", typed]) == 2
    printed = capsys.readouterr()
    assert typed not in printed.out + printed.err


def test_a_variable_that_is_not_set_is_named(monkeypatch):
    for name in ("MY_KEY", "OPENAI_API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
        with pytest.raises(InputError, match=f"environment variable {name} must hold"):
            read_key(name)
    monkeypatch.setenv("lower_case", KEY)
    assert read_key("lower_case") == KEY


@pytest.mark.parametrize(
    "address",
    [f"https://host/v1?key={KEY}", f"https://me:{KEY}@host/v1", f"https://host/v1#{KEY}", KEY],
)
def test_a_key_in_an_address_is_not_repeated(address, tmp_path, capsys):
    words = ["--server", address, "--model", "m", "--task", "asia", "--contexts", "2"]
    assert main(["elicit", *words, "--out", str(tmp_path / "runs.csv")]) == 2
    printed = capsys.readouterr().err
    assert "an address must look like" in printed
    assert "secret" not in printed


def escaped(key):
    """The key as it is, and as JSON, URLs and HTML may escape it."""
    return [
        key,
        json.dumps(key)[1:-1].replace("/", "\\/"),
        "".join(f"\\u{ord(c):04x}" for c in key),
        "".join(f"\\\\u{ord(c):04X}" for c in key),
        urllib.parse.quote(key, safe=""),
        "".join(f"&#{ord(c)};" for c in key),
        "".join(f"&#x{ord(c):X};" for c in key),
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
        with pytest.raises(HostedError, match=r"Bad key \*\*\*\.") as caught:
            elicit(model, asia, cases, store, design=design, keep_going=True)
        rows = store._database.execute("SELECT answer, extra FROM answers").fetchall()
    assert rows
    kept = str(rows) + str(caught.value) + caplog.text
    for spelling in escaped(KEY):
        assert spelling not in kept
    assert "secret" not in kept
    assert all(text == "*** Yes" for text, _ in rows)


def test_a_placeholder_is_a_word_like_any_other():
    """A local server takes any key: "0" struck out of answers would change every number."""
    assert KeyMask("0").answer("No: 0.30") == "No: 0.30"
    assert KeyMask("EMPTY").answer("EMPTY") == "EMPTY"
    assert KeyMask(None).words(KEY) == KEY
    # Of an error nothing is read: there it is struck out all the same.
    assert KeyMask("EMPTY").words("key EMPTY is wrong") == "key *** is wrong"


def test_what_looks_like_a_key_is_struck_out_of_what_a_user_typed():
    for text in ("http://localhost:8000/v1", "Qwen/Qwen3-8B", "meta-llama-3.1-70b"):
        assert without_keys(text) == text
    for key in ("sk-proj-abcdef123456", "0123456789abcdef0123456789abcdef"):
        assert without_keys(f"ftp://{key}") == "ftp://***"


def test_a_key_is_sent_as_a_bearer_token_and_nowhere_else(monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    fake = Fake()
    with connected(fake, key_variable="MY_KEY") as model:
        model.generate(requests(1))
    sent = [{name.lower(): value for name, value in each.items()} for each in fake.headers]
    assert {headers["authorization"] for headers in sent} == {f"Bearer {KEY}"}
    assert not any(KEY in f"{body}{path}" for path, body in fake.asked)
