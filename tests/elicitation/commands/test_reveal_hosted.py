"""The battery of a hosted model: breaks if what a server cannot do is asked, or left out unsaid."""

import math

import pandas as pd
import pytest

from coherence.cli.main import main

from ..models.hosted.fake_server import Fake, answer, raw, serving

COINS = ["--where", "scenario=coins", "--where", "variant=single", "--where", "n=2"]
WORDS = ["--where", "scenario=preference", "--where", "variant=single"]


def letters(text):
    """Right in stated questions of coins as far as A is, and for every bet."""
    yes = [line[0] for line in text.split("\n") if line.endswith(". Yes")]
    return f"**({yes[0] if yes else 'A'})**"


def reply(body, n):
    if "messages" in body:
        return answer(letters(body["messages"][-1]["content"]), finish_reason="stop")
    if not body.get("logprobs"):
        return answer("Heads")
    listed = {" Heads": 0.6, " heads": 0.1, " Tails": 0.298, " the": 0.001}
    values = {token: math.log(p) for token, p in listed.items()}
    first = {"tokens": [" Heads"], "token_logprobs": [values[" Heads"]], "top_logprobs": [values]}
    return answer("Heads", logprobs=first)


def chat_only(body, n):
    return reply(body, n) if "messages" in body else raw(404, b"no such route")


def test_stated_answers_and_bets_need_words_alone(tmp_path, capsys):
    out = tmp_path / "out"
    with serving(Fake(chat_only)) as address:
        words = ["--server", address, "--model", "m", "--out", str(out), "--reps", "2"]
        assert main(["reveal", *words, *COINS]) == 0
    printed = capsys.readouterr()
    assert "Beliefs about numbers need the model's files" in printed.err
    bets = pd.read_csv(out / "bets.csv")
    assert set(bets["share"]) == {1.0}
    stated = pd.read_csv(out / "stated.csv")
    assert set(stated.loc[stated["letter"] == "A", "mass"]) == {1.0}
    assert not (out / "runs.parquet").exists()


@pytest.mark.lengthy
def test_beliefs_about_words_are_read_where_there_are_log_probabilities(tmp_path, capsys):
    out = tmp_path / "out"
    where = [*WORDS, "--labels", "Heads/Tails"]
    with serving(Fake(reply)) as address:
        words = ["--server", address, "--model", "m", "--out", str(out), *where]
        assert main(["reveal", *words, "--only-revealed"]) == 0
    beliefs = pd.read_csv(out / "beliefs.csv")
    heads = beliefs[beliefs["outcome"] == "Heads"]
    assert heads["mass"].tolist() == pytest.approx([0.7] * len(heads))
    assert "Beliefs about" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "m", "--only-revealed", *COINS], "--only-revealed leaves nothing to ask"),
        (["--base", "a", "--instruct", "b"], "--server needs --model"),
        (["--model", "m", "--model", "m"], "--model must name different models"),
        (["--model", "m", "--max-new-tokens", "0"], "--max-new-tokens must be at least 1"),
    ],
)
def test_what_cannot_be_asked_is_said_before(words, message, tmp_path, capsys):
    fake = Fake(chat_only)
    with serving(fake) as address:
        code = main(["reveal", "--server", address, "--out", str(tmp_path / "out"), *words])
    assert code == 2
    assert message in capsys.readouterr().err
    assert not any("die" in str(body) for _, body in fake.asked)


def test_tokens_of_drawn_answers_belong_to_hosted_models(tmp_path, capsys):
    words = ["--model", "m", "--out", str(tmp_path / "out"), "--max-new-tokens", "9"]
    assert main(["reveal", *words]) == 2
    assert "--max-new-tokens belongs to hosted models" in capsys.readouterr().err
