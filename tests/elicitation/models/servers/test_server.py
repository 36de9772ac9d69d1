"""Models behind servers: breaks if an answer is another request's, or a bound becomes a number."""

import os
import sqlite3

import numpy as np
import pytest

from coherence.decoding.decode import BELIEF_LABELS
from coherence.errors import InputError
from elicitation.models.base import Request
from elicitation.models.servers.dispatch import ServersError
from elicitation.models.servers.server import connect_servers
from elicitation.reading.belief import ask_labels, token_belief

from .fake_server import (
    QUICK,
    Fake,
    after_opening,
    answer,
    connected,
    echo_text,
    listing,
    raw,
    requests,
    serving,
)


def test_answers_come_in_order_with_what_was_asked():
    fake = Fake(lambda body, n: answer(f"{body['messages'][0]['content']} {body['seed']}"))
    with connected(fake, concurrency=3) as model:
        answers = model.generate([*requests(20, temperature=0.5), Request("Cold?", 0, 5, 0.0)])
    assert [reply.text for reply in answers[:20]] == [
        f"Question {i}? {i}" for i in range(20)
    ]  # the lower 31 bits of the seed
    assert {reply.n_tokens for reply in answers} == {3}
    assert {reply.logprob for reply in answers} == {None}
    path, body = next(
        (path, body) for path, body in fake.asked if body["messages"][0]["content"] == "Question 4?"
    )
    assert path == "/v1/chat/completions"
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Question 4?"}],
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 1.0,
        "seed": 4,
    }
    assert fake.asked[-1][1]["temperature"] == 0.0 or any(
        body["temperature"] == 0.0 for _, body in fake.asked
    )
    assert not any("Authorization" in headers for headers in fake.headers)
    with connected(fake) as model:
        assert model.generate([]) == []


def test_completions_send_the_text_as_it_is():
    fake = Fake()
    with connected(fake, api="completions") as model:
        assert model.generate(requests(1))[0].text == "fine"
    path, body = fake.asked[-1]
    assert (path, body["prompt"]) == ("/v1/completions", "Question 0?")
    assert "messages" not in body


def test_a_system_message_opens_every_chat():
    fake = Fake(echo_text)
    with (
        connected(fake, system="Be brief.", identity="lab") as model,
        connected(fake, identity="lab") as plain,
    ):
        fake.reply = lambda body, n: answer(body["messages"][0]["content"])
        assert model.generate(requests(1))[0].text == "Be brief."
        assert fake.asked[-1][1]["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Question 0?"},
        ]
        assert model.fingerprint != plain.fingerprint


@pytest.mark.parametrize(
    ("addresses", "options", "message"),
    [
        ([], {}, "one or more different servers; received none"),
        (["http://a", "http://a:80/v1/"], {}, "one or more different servers"),
        ("http://a", {"concurrency": 0}, "concurrency must be from 1 to 256"),
        ("http://a", {"concurrency": 257}, "concurrency must be from 1 to 256"),
        ("http://a", {"api": "responses"}, "api must be one of chat, completions"),
        ("http://a", {"api": "completions", "system": "Be brief."}, "system needs the chat API"),
        ("http://a", {"model": ""}, "model must be the name"),
    ],
)
def test_options_out_of_range(addresses, options, message):
    with pytest.raises(InputError, match=message):
        connect_servers(addresses, **{"model": "m", **options})


def test_answers_are_keyed_by_first_address_model_and_api():
    with serving(Fake(models=["m", "n"])) as first, serving(Fake(models=["m"])) as second:

        def key(addresses, name="m", **options):
            return connect_servers(addresses, name, limits=QUICK, **options).fingerprint

        alone = key(first)
        assert (
            key([first, second]) == alone == key(first + "/v1/")
        )  # more of the same does not change who answers
        assert (
            len(
                {
                    alone,
                    key(second),
                    key(first, "n"),
                    key(first, api="completions"),
                    key(first, identity="lab"),
                }
            )
            == 5
        )
        assert key(second, identity="lab") == key(first, identity="lab")


def test_labels_outside_the_list_are_bounded_and_not_zero():
    values = {" Yes": 0.55, "Yes": 0.05, "No": 0.25, "The": 0.1}
    with connected(
        Fake(lambda body, n: listing(values) if body.get("logprobs") else answer("Yes"))
    ) as model:
        assert model.abilities.n_likely_tokens == 20
        (bounds,) = model.label_bounds(["Does it?"], ("No", "Yes"))
        (other,) = model.label_bounds(["Does it?"], ("Yes", "Perhaps"))
    assert bounds.status == "seen"
    np.testing.assert_allclose([bounds.seen, bounds.remaining, bounds.other], [0.95, 0.05, 0.1])
    np.testing.assert_allclose([bounds.lower, bounds.upper], [[0.25, 0.6], [0.3, 0.65]])
    np.testing.assert_allclose(bounds.share("Yes"), (0.6 / 0.9, 0.65 / 0.9))
    assert (other.status, other.lower[1]) == ("partly", 0.0)
    assert other.upper[1] == pytest.approx(0.05)
    np.testing.assert_allclose(other.share("Yes"), (0.6 / 0.65, 1.0))
    (asked,) = [
        body
        for _, body in [*model_requests(values)]
        if body["messages"][0]["content"] == "Does it?"
    ]
    assert (
        asked["logprobs"],
        asked["top_logprobs"],
        asked["max_tokens"],
        asked["temperature"],
    ) == (True, 20, 1, 1.0)


def model_requests(values):
    fake = Fake(lambda body, n: listing(values) if body.get("logprobs") else answer("Yes"))
    with connected(fake) as model:
        model.label_bounds(["Does it?"], ("No", "Yes"))
    return fake.asked


def test_a_belief_read_from_a_list_keeps_to_its_bounds():
    lists = {
        "Sure?": {"Yes": 0.985, "The": 0.01},
        "So so?": {"Yes": 0.55, "No": 0.44},
        "Perhaps?": {"Yes": 0.6, "The": 0.1},
        "What?": {"The": 0.9},
    }

    def reply(body, n):
        values = lists.get(body["messages"][0]["content"], {"Yes": 0.5, "No": 0.5})
        return listing(values) if body.get("logprobs") else answer("Yes")

    with connected(Fake(reply)) as model:
        bounds, answers = (
            model.label_bounds(list(lists), BELIEF_LABELS),
            ask_labels(model, list(lists)),
        )
    beliefs = [token_belief(reply.text) for reply in answers]
    for bound, belief in zip(bounds[:2], beliefs[:2], strict=True):
        low, high = bound.share("Yes")
        assert low <= belief.value <= high
    # Too much is on tokens that were not listed, or on none of the labels: no belief, and no zero.
    assert [belief.value for belief in beliefs[2:]] == [None, None]


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_server_without_log_probabilities_refuses_them(api):
    with connected(Fake(), api=api) as model:
        assert model.abilities.n_likely_tokens == 0
        with pytest.raises(
            InputError,
            match="do not list likely tokens with their log-probabilities for model 'm' "
            f"in the {api} API",
        ):
            model.label_bounds(["Does it?"], ("No", "Yes"))


def test_the_weakest_server_sets_what_can_be_asked():
    able = Fake(
        lambda body, n: listing({"Yes": 0.5, "No": 0.5}) if body.get("logprobs") else answer("Yes")
    )
    with connected(able, Fake()) as model:
        assert model.abilities.n_likely_tokens == 0


def test_a_session_with_servers_keeps_what_it_has(asia, cases, tmp_path):
    from elicitation.session.plan import Design
    from elicitation.session.session import elicit
    from elicitation.store import AnswerStore

    good = Fake(
        lambda body, n: answer(
            "No: 0.40\nYes: 0.60\n" if "Brier" in str(body) else "Can decide: Yes\nDecision: Yes"
        )
    )
    with AnswerStore(tmp_path / "answers.sqlite") as store:
        failing = Fake(
            after_opening(lambda body, n: good.reply(body, n) if n < 30 else raw(500, b"gone"))
        )
        with serving(failing) as address:
            model = connect_servers(address, "m", identity="lab", limits=QUICK)
            with pytest.raises(ServersError, match="gone"):
                elicit(
                    model, asia, cases, store, design=Design(reps=1, iterated=False), batch_size=10
                )
        kept = len(store)
        assert kept == 30
        with serving(good) as address:
            model = connect_servers(address, "m", identity="lab", limits=QUICK)
            runs, tally = elicit(model, asia, cases, store, design=Design(reps=1, iterated=False))
    assert (tally.reused, tally.asked) == (30, tally.total - 30)
    assert set(runs["model"]) == {"m"}
    assert set(runs.loc[runs["prompt"] == "mse", "p"]) == {0.6}
    database = sqlite3.connect(tmp_path / "answers.sqlite")
    assert database.execute("SELECT DISTINCT model FROM answers").fetchall() == [("m",)]
    database.close()
    assert os.path.getsize(tmp_path / "answers.sqlite") > 0
