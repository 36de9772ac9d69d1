"""What servers can do: breaks if a fault at the start is not named, or a list is assumed."""

import pytest

from coherence.errors import InputError
from elicitation.models.servers.dispatch import ServersError
from elicitation.models.servers.server import connect_servers

from .fake_server import QUICK, Fake, answer, connected, listing, raw, requests, serving


def test_opening_says_what_is_wrong():
    with pytest.raises(
        ServersError, match=r"http://127\.0\.0\.1:9/v1: no usable response: .*refused"
    ):
        connect_servers("http://127.0.0.1:9", "m", limits=QUICK)
    with pytest.raises(ServersError, match=r"http://a\.\.b:80/v1: no usable response"):
        connect_servers("http://a..b", "m", limits=QUICK)
    unknown = Fake(lambda body, n: raw(404, b"no such model"), models=["llama", "qwen"])
    absent = (
        r"does not answer as model 'm' in the chat API: HTTP 404 Not Found: no such model\. "
        r"It lists 'llama', 'qwen'\."
    )
    for fake, error, message in (
        (unknown, InputError, absent),
        (
            Fake(lambda *_: raw(500)),
            InputError,
            "HTTP 500 .*If the model has no chat template, use the completions API",
        ),
        (Fake(lambda *_: raw(401)), InputError, "HTTP 401.*a key is sent only if"),
        (Fake(lambda *_: raw(503, b"loading")), ServersError, "HTTP 503"),
    ):
        with serving(fake) as address, pytest.raises(error, match=message):
            connect_servers(address, "m", limits=QUICK)


def test_opening_bears_what_servers_do(caplog):
    with connected(Fake(models=None)) as model:  # a list of models that fails
        assert model.generate(requests(1))[0].text == "fine"
    with connected(Fake(models=["llama"])):
        assert "answers to model 'm' without listing it. It lists 'llama'." in caplog.text
    loading = Fake(lambda body, n: raw(503, b"loading") if n == 0 else answer("fine"))
    with connected(loading) as model:
        assert model.generate(requests(1))[0].text == "fine"
    with serving(Fake()) as alive:
        model = connect_servers(["http://127.0.0.1:9", alive], "m", limits=QUICK)
        assert "server http://127.0.0.1:9/v1 is set aside" in caplog.text
        assert model.generate(requests(2))[1].text == "fine"


def test_a_shorter_list_is_taken_where_the_long_one_is_refused():
    def reply(body, n):
        k = body.get("top_logprobs", 0)
        return (
            raw(400, b"at most 5")
            if k > 5
            else listing({"Yes": 0.5, "No": 0.25})
            if k
            else answer("Yes")
        )

    with connected(Fake(reply)) as model:
        assert model.abilities.n_likely_tokens == 5
