"""JSON of servers: breaks if a response of another shape becomes an answer, or a zero."""

import contextlib
import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation.models.base import Request
from elicitation.models.servers.completions import (
    payload,
    read_answer,
    read_likely_tokens,
)
from elicitation.models.servers.http import CallError

from .fake_server import Fake, after_opening, answer, connected, listing, requests


def test_odd_answers_keep_their_text():
    texts = ["", "  \n", "Ja, \u00fc \U0001f642 \u202e \x00", "a\u2028b"]
    fake = Fake(
        after_opening(
            lambda body, n: answer(
                texts[int(body["messages"][0]["content"].split()[1][:-1])], finish_reason="length"
            )
        )
    )
    with connected(fake) as model:
        assert [reply.text for reply in model.generate(requests(4))] == texts
    assert read_answer("chat", answer(None)).text == ""
    refusal = {
        "choices": [
            {
                "message": {"content": None, "refusal": "I cannot help with that."},
                "finish_reason": "content_filter",
            }
        ]
    }
    assert read_answer("chat", refusal).text == "I cannot help with that."
    # Half of a surrogate pair is valid JSON, and no file takes it.
    assert (
        read_answer("chat", json.loads('{"choices": [{"message": {"content": "a\\ud83d"}}]}')).text
        == "a\ufffd"
    )
    assert (
        read_answer(
            "completions", json.loads('{"choices": [{"text": "\\ud83d\\ude42"}], "usage": null}')
        ).text
        == "\U0001f642"
    )


def test_log_probabilities_of_another_shape_are_no_zeros():
    tokens = [
        {"token": "Yes"},
        *(
            {"token": "Yes", "logprob": value, "top_logprobs": []}
            for value in ("high", 0.7, float("nan"), True, None)
        ),
    ]
    for logprobs in ({"content": 7}, [1], *({"content": [token]} for token in tokens)):
        with pytest.raises(CallError, match="another shape"):
            read_likely_tokens("chat", answer("Yes", logprobs=logprobs))
    with pytest.raises(CallError, match="sum to 1.4"):
        read_likely_tokens("chat", listing({"Yes": 0.7, "No": 0.7}))
    for empty in (None, {"content": []}, {"content": None}):
        assert read_likely_tokens("chat", answer("Yes", logprobs=empty)) == {}
    # The drawn token is known even where it is not among the likely ones.
    assert set(
        read_likely_tokens("chat", listing({"Yes": 0.5, "No": 0.2}, drawn=("Well", 0.01)))
    ) == {"Yes", "No", "Well"}
    old = answer(
        "x",
        logprobs={
            "tokens": [" Yes"],
            "token_logprobs": [-0.5],
            "top_logprobs": [{" Yes": -0.5, " No": -1.5}],
            "text_offset": [0],
        },
    )
    assert read_likely_tokens("completions", old) == pytest.approx(
        {" Yes": np.exp(-0.5), " No": np.exp(-1.5)}
    )


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.just(-(10**400)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["content", "token", "tokens", "logprob", "top_logprobs", "token_logprobs", "text"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    logprobs=JSON,
    message=JSON,
    usage=JSON | st.fixed_dictionaries({"prompt_tokens": JSON, "completion_tokens": JSON}),
)
def test_a_response_of_any_shape_is_an_answer_or_a_fault(logprobs, message, usage):
    data = {
        "choices": [{"message": message, "text": message, "logprobs": logprobs}],
        "usage": usage,
    }
    readers = [
        partial(read, api)
        for read in (read_answer, read_likely_tokens)
        for api in ("chat", "completions")
    ]
    for read in readers:
        with contextlib.suppress(CallError):
            read(data)


def test_payloads_differ_by_api_alone():
    request = Request("Well?", 5, 9, 0.25)
    chat, plain = (
        payload("chat", "m", request, n_logprobs=4),
        payload("completions", "m", request, n_logprobs=4),
    )
    assert (chat.pop("messages"), chat.pop("logprobs"), chat.pop("top_logprobs")) == (
        [{"role": "user", "content": "Well?"}],
        True,
        4,
    )
    assert (plain.pop("prompt"), plain.pop("logprobs")) == ("Well?", 4)
    assert chat == plain
