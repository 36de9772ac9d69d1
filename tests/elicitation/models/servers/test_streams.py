"""Streams: breaks if part of an answer passes for the whole, or a piece is lost or doubled."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation.models.servers.completions import read_answer
from elicitation.models.servers.streams import BrokenStreamError, assemble, is_stream

from .fake_server import Fake, after_opening, connected, raw, requests


def events(*pieces, end="data: [DONE]\n\n", newline="\n"):
    lines = [f"data: {json.dumps(piece)}{newline}{newline}" for piece in pieces]
    return ("".join(lines) + end).encode()


def piece(delta=None, **choice):
    return {"choices": [{"index": 0, "delta": delta or {}, **choice}]}


@given(
    text=st.text(max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=4),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_pieces_make_the_whole_wherever_they_are_cut(text, cuts, newline):
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    parts = [text[a:b] for a, b in pairwise(places)]
    body = events(
        *(piece({"content": part}) for part in parts), piece(finish_reason="stop"), newline=newline
    )
    answer = read_answer("chat", assemble(body))
    assert answer.text == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert answer.finish_reason == "stop"


def test_all_that_comes_in_a_stream_is_kept():
    body = events(
        {"model": "a", "choices": []},
        piece({"role": "assistant", "content": None}),
        piece({"reasoning_content": "Hm"}),
        piece({"reasoning_content": "m."}),
        piece({"content": "Y"}, logprobs={"content": [{"token": "Y", "logprob": -1.0}]}),
        piece({"content": "es"}, logprobs={"content": [{"token": "es", "logprob": -0.1}]}),
        piece(finish_reason="length"),
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 5}},
    )
    data = assemble(b": a comment\n\n" + body)
    answer = read_answer("chat", data)
    assert (answer.text, answer.thinking, answer.finish_reason) == ("Yes", "Hmm.", "length")
    assert (answer.n_prompt_tokens, answer.n_tokens, answer.served_by) == (3, 5, "a")
    assert len(data["choices"][0]["logprobs"]["content"]) == 2
    halves = ({"text": "a"}, {"text": "b", "finish_reason": "stop"})
    plain = events(*({"choices": [half]} for half in halves))
    assert read_answer("completions", assemble(plain)).text == "ab"


@pytest.mark.parametrize(
    "body",
    [
        events(piece({"content": "No: 0.4"}), end=""),
        events(end=""),
        events(),
        events(piece({"content": "No"}), end="data: {oops\n\n"),
        events(piece({"content": "No"}), end="data: 7\n\n"),
    ],
)
def test_a_stream_that_breaks_off_is_no_answer(body):
    with pytest.raises(BrokenStreamError):
        assemble(body)
    fake = Fake(
        after_opening(lambda _, n: raw(200, body if n == 0 else events(piece({"content": "Yes"}))))
    )
    with connected(fake, concurrency=1) as model:
        assert [answer.text for answer in model.generate(requests(2))] == ["Yes", "Yes"]


def test_an_error_within_a_stream_is_an_error():
    wrong = events(piece({"content": "No"}), {"error": {"message": "out of memory", "code": 500}})
    fake = Fake(after_opening(lambda _, n: raw(200, wrong)))
    with connected(fake) as model, pytest.raises(Exception, match="HTTP 500.*out of memory"):
        model.generate(requests(1))


def test_what_is_a_stream():
    assert is_stream("text/event-stream; charset=utf-8", b"")
    assert is_stream("application/json", b"\ndata: {}")
    assert not is_stream("application/json", b'{"data": []}')
