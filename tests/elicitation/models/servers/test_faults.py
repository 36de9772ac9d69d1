"""Words of refusals: breaks if a field is dropped that was not refused, or a cause is not shown."""

import json

import pytest

from elicitation.models.servers.faults import plain_line, read_refusal

from .fake_server import Fake, after_opening, connected, raw, requests

SENT = ("max_tokens", "temperature", "top_p", "seed")


def refused(body):
    return read_refusal(json.dumps(body).encode()).refused(SENT)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (
            {"error": {"message": "x", "param": "seed", "code": "unsupported_parameter"}},
            {"seed"},
        ),
        ({"error": {"message": "Unrecognized request argument supplied: seed"}}, {"seed"}),
        (
            {"error": {"message": "'temperature' does not support 0.2 with this model. Only the "
             "default (1) value is supported.", "param": "temperature"}},
            {"temperature"},
        ),
        ({"error": "Input validation error: `top_p` must be > 0.0 and < 1.0"}, {"top_p"}),
        (
            {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"],
             "msg": "Extra inputs are not permitted"}]},
            {"seed"},
        ),
        ({"detail": "Unexpected fields in the request: {'seed', 'top_p'}"}, {"seed", "top_p"}),
        ({"object": "error", "message": "seed is not supported by this engine"}, {"seed"}),
        # Not the fields, but their values, or something else altogether.
        ({"error": {"message": "temperature must be at most 2", "param": "temperature"}}, set()),
        (
            {"error": {"message": "This model's maximum context length is 4096 tokens. However, "
             "'max_tokens' or 'max_completion_tokens' is too large: 5000."}},
            set(),
        ),
        (
            {"error": {"message": "max_tokens is too large: 100000. This model supports at most "
             "16384 completion tokens."}},
            set(),
        ),
        (
            {"error": {"message": "Unsupported value: 'messages[0].role' does not support "
             "'system' with this model.", "param": "messages[0].role",
             "code": "unsupported_value"}},
            set(),
        ),
        ({"error": {"message": "The model `x` does not exist", "code": "model_not_found"}}, set()),
        ({"error": {"message": "Unknown template of seedling_7"}}, set()),
        ([1, 2], set()),
        ("temperature", set()),
    ],
)  # fmt: skip
def test_only_what_is_refused_is_dropped(body, fields):
    assert refused(body) == fields


def test_filters_and_empty_accounts_are_told_from_other_refusals():
    inner = {"innererror": {"code": "ResponsibleAIPolicyViolation"}}
    assert read_refusal(json.dumps({"error": {"message": "x", **inner}}).encode()).filtered
    assert read_refusal(b'{"error": {"message": "x", "code": "content_filter"}}').filtered
    assert not read_refusal(b'{"error": {"message": "no content_filter here"}}').filtered
    assert read_refusal(b'{"error": {"message": "x", "type": "insufficient_quota"}}').spent
    assert not read_refusal(b'{"error": {"message": "x", "code": "rate_limit_exceeded"}}').spent


PAGE = (
    b"<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title><style>b {color: red}</style>"
    b"</head><body><!-- padding -->\n<center><h1>502 Bad Gateway</h1></center><hr>"
    b"<center>nginx/1.25 &amp; co</center><script>alert(1)</script></body></html>"
)


def test_a_page_of_html_is_one_plain_line():
    assert plain_line(PAGE.decode()) == "502 Bad Gateway: 502 Bad Gateway nginx/1.25 & co"
    assert plain_line("2 < 3 and <b>") == "2 < 3 and <b>"
    fake = Fake(after_opening(lambda body, n: raw(400, PAGE, {"Content-Type": "text/html"})))
    with connected(fake) as model, pytest.raises(Exception, match="nginx/1.25 & co") as caught:
        model.generate(requests(1))
    assert "<" not in str(caught.value)
    assert "\n" not in str(caught.value)
