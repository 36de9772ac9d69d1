"""Hosted models: breaks if an answer is another request's, is lost, or is not what was said."""

import json
import time

import numpy as np
import pytest

from coherence import CoherenceError
from elicitation import AnswerForm, AnswerStore, Design, Request, connect, elicit

from .fake_server import (
    Fake,
    after_opening,
    answer,
    connected,
    keep,
    listing,
    probing,
    raw,
    requests,
    serving,
)

YES_NO = AnswerForm("labels", ("No", "Yes"))


def fault(status, message, headers=None, **more):
    return raw(status, json.dumps({"error": {"message": message, **more}}), headers)


def ask_one(reply, **options):
    """Ask one question of a server that replies so."""
    with connected(Fake(reply), **options) as model:
        (kept,) = model.generate(requests(1, temperature=0.5))
    return kept


def test_answers_come_in_order_with_what_was_asked():
    fake = Fake(lambda body, n: answer(f"{body['messages'][0]['content']} {body['seed']}"))
    with connected(fake, max_connections=3) as model:
        answers = model.generate([*requests(20, temperature=0.5), Request("Cold?", 0, 5, 0.0)])
        assert model.generate([]) == []
    # The lower 31 bits of the seed.
    assert [reply.text for reply in answers[:20]] == [f"Question {i}? {i}" for i in range(20)]
    for reply in answers:
        assert (reply.n_tokens, reply.logprob) == (3, None)
        assert (reply.served_by, reply.finish_reason) == ("m", "stop")
    assert fake.most_under_way <= 3
    path, body = next(asked for asked in fake.asked if "Question 4?" in str(asked))
    assert path == "/v1/chat/completions"
    said = [{"role": "user", "content": "Question 4?"}]
    limits = {"max_tokens": 7, "temperature": 0.5, "seed": 4}
    assert body == {"model": "m", "messages": said, **limits}
    assert [body["temperature"] for _, body in fake.asked if "Cold?" in str(body)] == [0.0]


@pytest.mark.parametrize(
    ("said", "max_lines", "kept", "ended"),
    [
        ("Yes\nQ: And\nA: No", None, "Yes\nQ: And\nA: No", "length"),
        ("Yes\nQ: And\nA: No", 1, "Yes\n", "stop"),  # what was asked for is whole
        ("Yes", 1, "Yes", "length"),
        ("\n \nNo: 1\n\nYes: 0\nbye", 2, "\n \nNo: 1\n\nYes: 0\n", "stop"),  # blanks are no lines
    ],
)
def test_a_model_without_a_template_goes_on_from_the_text(said, max_lines, kept, ended):
    fake = Fake(lambda body, n: answer(said, finish_reason="length"))
    with connected(fake, chat=False) as model:
        (reply,) = model.generate(requests(1, max_lines=max_lines))
    path, body = fake.asked[-1]
    assert (path, body["prompt"]) == ("/v1/completions", "Question 0?")
    assert "messages" not in body
    assert (reply.text, reply.finish_reason) == (kept, ended)


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (fault(401, "bad key"), "401.*bad key.*No key was sent"),
        (raw(404, b"<html><title>Nothing here</title></html>"), "Nothing here"),
        (raw(500, b"Oops"), "Oops"),
        (fault(400, "No chat template"), "No chat template.*--no-chat"),
        (raw(200, b'{"choices": null}'), "not of the shape"),
    ],
)
def test_a_server_that_does_not_answer_ends_in_one_line_and_seconds(reply, said):
    started = time.monotonic()
    with (
        serving(Fake(lambda body, n: reply)) as address,
        pytest.raises(CoherenceError, match=said) as caught,
    ):
        connect("m", server=address)
    assert time.monotonic() - started < 10
    assert "\n" not in str(caught.value)


THOUGHT = {"role": "assistant", "content": "Yes", "reasoning_content": "Let me see. No?"}
EMPTY = {"role": "assistant", "content": None, "reasoning_content": "Let me"}


@pytest.mark.parametrize(
    ("reply", "text", "reason", "thinking"),
    [
        (answer("", message=THOUGHT), "Yes", "stop", "Let me see. No?"),
        (answer("", message=EMPTY, finish_reason="length"), "", "length", "Let me"),
        (answer("<think>Hm.</think>\nNo"), "No", "stop", "Hm."),
        (answer("I can", finish_reason="content_filter"), "I can", "content_filter", None),
        (fault(400, "policy", code="content_filter"), "", "content_filter", None),
        (fault(400, "too long", code="context_length_exceeded"), "", "length", None),
        (answer("half \ud83d of a pair"), "half \ud83d of a pair", "stop", None),
    ],
)  # fmt: skip
def test_thinking_comes_apart_and_what_was_cut_or_withheld_is_said(reply, text, reason, thinking):
    kept = ask_one(after_opening(lambda body, n: reply))
    assert (kept.text.strip(), kept.finish_reason) == (text, reason)
    assert (kept.thinking or None) == thinking


def test_one_request_that_is_refused_keeps_no_other_and_a_server_that_is_gone_ends_it():
    kept = {}

    def refuse_one(body, n):
        text = body["messages"][0]["content"]
        return fault(400, "not this one") if "3?" in text else answer(text)

    with (
        connected(Fake(refuse_one)) as model,
        pytest.raises(CoherenceError, match="did not answer 1 of 12 requests: .*not this one"),
    ):
        keep(model.stream_answers(requests(12)), kept)
    assert sorted(kept) == [i for i in range(12) if i != 3]
    fake = Fake(after_opening(lambda body, n: answer("fine") if n < 20 else raw(500, b"gone")))
    kept.clear()
    with (
        connected(fake, max_connections=2) as model,
        pytest.raises(CoherenceError, match="does not answer any more: .*gone"),
    ):
        keep(model.stream_answers(requests(500)), kept)
    assert len(kept) == 20
    assert len(fake.asked) < 60


def bounds_of(reply, form=YES_NO, **options):
    """Bounds from a reply to what asks for likely tokens."""
    fake = Fake(lambda body, n: reply if body.get("logprobs") else answer("Yes"))
    with connected(fake, **options) as model:
        ((_, bounds),) = model.distributions([("Does it?", form)])
    return bounds, fake.asked[-1][1]


def test_labels_outside_the_list_are_bounded_and_not_zero():
    reply = listing({" Yes": 0.55, "Yes": 0.05, "No": 0.25, "The": 0.1})
    bounds, body = bounds_of(reply)
    np.testing.assert_allclose([bounds.lower, bounds.upper], [[0.25, 0.6], [0.3, 0.65]])
    np.testing.assert_allclose(bounds.share("Yes"), (0.6 / 0.9, 0.65 / 0.9))
    asked = {"logprobs": True, "top_logprobs": 1000, "max_tokens": 1, "temperature": 1.0}
    assert asked.items() <= body.items()
    other, _ = bounds_of(reply, AnswerForm("labels", ("Yes", "Perhaps")))
    assert (other.lower[0] > 0, other.lower[1]) == (True, 0.0)


@pytest.mark.parametrize(
    ("values", "drawn", "lower", "upper"),
    [
        # Drawn by its raw spelling and listed stripped: one token, and once too much above 1.
        ({"Yes": 0.3, "No": 0.3, "x": 0.05}, (" No", 0.3), (0.3, 0.3), (0.65, 0.65)),
        ({"Yes": 0.1, "No": 0.85}, (" No", 0.85), (0.85, 0.1), (0.9, 0.15)),
        # Less likely than all that are listed: another token.
        ({"Yes": 0.3, "No": 0.5, "x": 0.1}, (" No", 0.05), (0.55, 0.3), (0.6, 0.35)),
    ],
)
def test_a_token_that_is_spelt_otherwise_where_it_was_drawn_counts_once(
    values, drawn, lower, upper
):
    bounds, _ = bounds_of(listing(values, drawn=drawn))
    np.testing.assert_allclose([bounds.lower, bounds.upper], [lower, upper])


@pytest.mark.parametrize("n_allowed", [1000, 100, 20, 5])
def test_texts_that_are_continued_have_likely_tokens_in_either_layout(n_allowed):
    """llama.cpp lists them as in a chat; the longest list that a server allows is asked for."""
    values = {"No": 0.5, "Yes": 0.3, "x": 0.1}
    top = {token: float(np.log(p)) for token, p in values.items()}
    usual = {"tokens": ["No"], "token_logprobs": [top["No"]], "top_logprobs": [top]}
    read = []
    for listed in (usual, listing(values)["choices"][0]["logprobs"]):

        def reply(body, n, listed=listed):
            too_many = (body.get("logprobs") or 0) > n_allowed
            return fault(400, "too many") if too_many else answer("No", logprobs=listed)

        with connected(fake := Fake(reply), chat=False) as model:
            read += [bounds for _, bounds in model.distributions([("Does it?", YES_NO)])]
        assert fake.asked[-1][0] == "/v1/completions"
        assert fake.asked[-1][1]["logprobs"] == n_allowed
    np.testing.assert_allclose(read[0].lower, (0.5, 0.3))
    assert read[0] == read[1]


@pytest.mark.parametrize("logprobs", [{"Yes": 0.9, "No": 0.6}, {"Yes": float("nan"), "No": 0.1}])
def test_numbers_that_are_no_probabilities_are_no_beliefs(logprobs):
    def reply(body, n):
        if not body.get("logprobs"):
            return answer("Yes")
        return listing({"Yes": 0.5, "No": 0.4} if probing(body) else logprobs)

    with connected(Fake(reply)) as model, pytest.raises(CoherenceError, match="log-prob|shape"):
        next(model.distributions([("Does it?", YES_NO)]))


def held(body, n):
    """Keep to a schema as a server that masks tokens does."""
    if "response_format" not in body:
        return answer("I would rather not say.")
    schema = body["response_format"]["json_schema"]["schema"]
    said = {name: allowed["enum"][-1] for name, allowed in schema["properties"].items()}
    return answer(json.dumps(said))


def test_answers_keep_to_a_form_where_a_server_holds_them_to_it(asia, cases):
    """Breaks also if a server is believed that ignores the form."""
    design = Design(reps=1, answers="forced")
    for reply, message in (
        (lambda body, n: answer("fine"), "does not hold an answer to"),
        (lambda body, n: held(body, n) if n < 9 else answer("well"), "leaves the schema"),
        (lambda body, n: held(body, n) if n < 9 else answer('{"a": 2}'), "leaves the"),
    ):
        with (
            connected(Fake(reply), max_connections=1) as model,
            AnswerStore(":memory:") as store,
            pytest.raises(CoherenceError, match=message),
        ):
            elicit(model, asia, cases.head(2), store, design=design)
    with connected(Fake(held)) as model, AnswerStore(":memory:") as store:
        _, tally = elicit(model, asia, cases.head(2), store, design=design)
    assert tally.readable == tally.total > 10
