"""Further fields: breaks if one contradicts what is recorded of a request, or is lost."""

import pytest

from coherence.errors import InputError
from elicitation.models.servers.extras import extra_fields


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"extra_body": {"temperature": 0.2}}, "'temperature' has one. Use --temperature"),
        ({"extra_body": {"n": 5}}, "'n' has one. Use --reps"),
        ({"extra_body": {"messages": []}}, "'messages' has one"),
        ({"extra_body": {"reasoning_effort": "low"}}, "Use --reasoning-effort"),
        ({"extra_body": {"x": float("nan")}}, "extra_body must be JSON"),
        ({"extra_body": {"x": {1}}}, "extra_body must be JSON"),
        ({"api": "completions", "reasoning_effort": "low"}, "need the chat API"),
        ({"api": "completions", "chat_template_kwargs": {}}, "need the chat API"),
    ],
)
def test_fields_that_have_an_option_of_their_own_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        extra_fields(**{"api": "chat", **options})


def test_fields_are_gathered():
    assert extra_fields("completions") == {}
    assert extra_fields("chat", chat_template_kwargs={"enable_thinking": False}) == {
        "chat_template_kwargs": {"enable_thinking": False}
    }
