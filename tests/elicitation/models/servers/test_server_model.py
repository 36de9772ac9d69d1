"""Eight kinds of servers: breaks if one of them cannot be used, or if what it says is lost.

The other tests of models behind servers are in `test_server.py`.
"""

import json
import re

import pytest

from coherence.errors import InputError
from elicitation.models.base import ForcingModel, Request
from elicitation.models.servers.server import connect_servers
from elicitation.session.plan import Design
from elicitation.session.session import elicit
from elicitation.spelling.forms import AnswerForm
from elicitation.store import AnswerStore

from .fake_server import QUICK, requests, serving
from .server_shapes import AZURE, OPENAI, SGLANG, SHAPES, STREAMED, TGI, VLLM, Shaped

KEY = "sk-Quite/secret+0123456789"
DESIGN = Design(reps=2, prompts=("standard",), iterated=False, max_new_tokens=200)
IDS = [shape.name for shape in (*SHAPES, STREAMED)]


def says(body):
    return (
        "No: 0.40\nYes: 0.60" if "Can decide" not in str(body) else "Can decide: Yes\nDecision: No"
    )


def address_of(address, shape):
    return address + shape.path + ("?api-version=2024-10-21" if shape is AZURE else "")


def connecting(fake, address, monkeypatch=None, **options):
    if monkeypatch:
        monkeypatch.setenv("MY_KEY", KEY)
        options["key_variable"] = "MY_KEY"
    return connect_servers(address_of(address, fake.shape), "m", limits=QUICK, **options)


@pytest.mark.parametrize("shape", [*SHAPES, STREAMED], ids=IDS)
def test_every_kind_of_server_is_served_and_read_at_100_percent(
    shape, asia, cases, monkeypatch, caplog
):
    fake = Shaped(shape, says)
    with serving(fake) as address, AnswerStore(":memory:") as store:
        model = connecting(fake, address, monkeypatch)
        runs, tally = elicit(model, asia, cases.head(3), store, design=DESIGN)
        (row,) = store._database.execute("SELECT extra FROM answers LIMIT 1").fetchall()
    assert tally.readable == tally.total == 12
    assert set(runs["p"]) == {0.6}
    assert set(runs["action"]) == {"no"}
    kept = json.loads(row[0])
    assert kept["finish_reason"] == "stop"
    assert kept["n_prompt_tokens"] > 20
    assert kept["n_tokens"] >= (40 if shape.thinks else 4)
    assert kept["served_by"] == " ".join(filter(None, shape.serves.values()))
    assert kept.get("thinking") == (
        "Let me think. 0.9? No." if shape.thinks and shape.thinking else None
    )
    # A refused field is learnt once: one refusal and one warning for each, and no further request
    # has any of them.
    refused = set(shape.refused) - {"logprobs"}
    assert not any(refused & set(body) for _, body in fake.asked[len(refused) :])
    for name in refused & {"seed", "temperature", "top_p"}:
        said = [one for one in caplog.records if f"refuses {name}," in one.message]
        assert len(said) == 1
    drawn = ", ".join(sorted(set(shape.refused) & {"seed", "temperature", "top_p"}))
    assert kept.get("unset") == (drawn or None)
    header = "api-key" if shape is AZURE else "Authorization"
    assert {headers.get(header) for headers in fake.headers} == {
        KEY if shape is AZURE else f"Bearer {KEY}"
    }
    query = "?api-version=2024-10-21" if shape is AZURE else ""
    assert {path for path, _ in fake.asked} == {f"{shape.path}/chat/completions{query}"}
    assert KEY not in caplog.text


def test_a_model_that_thinks_longer_than_it_may_is_cut_and_not_misread():
    for shape in (OPENAI, VLLM, SGLANG, STREAMED):
        fake = Shaped(shape, says)
        with serving(fake) as address:
            (answer,) = connecting(fake, address).generate([Request("Well?", 1, 8)])
        assert (answer.text, answer.finish_reason) == ("", "length")


def test_a_filter_withholds_one_answer_and_the_session_goes_on():
    fake = Shaped(AZURE, lambda body: "Yes.", poison="Question 3?")
    with serving(fake) as address:
        answers = connecting(fake, address).generate(requests(6))
    reasons = [answer.finish_reason for answer in answers]
    assert reasons == ["content_filter" if i == 3 else "stop" for i in range(6)]
    assert [answer.text == "" for answer in answers] == [i == 3 for i in range(6)]


def test_temperature_0_is_not_replaced_by_draws():
    """One answer would stand for all repetitions of a question, though it was drawn."""
    fake = Shaped(OPENAI, says)
    with serving(fake) as address:
        model = connecting(fake, address)
        with pytest.raises(InputError, match="refuses temperature 0 .*Ask at --temperature 1"):
            model.generate(requests(2, temperature=0.0))
        assert len(model.generate(requests(2, temperature=0.5))) == 2


FORMS = (
    AnswerForm("lines", ("No", "Yes")),
    AnswerForm("lines", ("low", "middle", "high (all)")),
    AnswerForm("number"),
    AnswerForm("decision"),
    AnswerForm("choice", ("wait. See", "treat")),
)


@pytest.mark.parametrize("shape", [*SHAPES, STREAMED], ids=IDS)
def test_answers_keep_to_a_form_where_a_server_can_hold_them_to_it(shape):
    fake = Shaped(shape, lambda body: "I would rather not say.")
    with serving(fake) as address:
        model = connecting(fake, address)
        assert isinstance(model, ForcingModel)
        if shape.mask is None:
            with pytest.raises(InputError, match="do not hold an answer to a form .tried: struct"):
                model.forced_answers(requests(1), FORMS[0])
            return
        for form in FORMS:
            answers = model.forced_answers([Request("Well?", i, 100) for i in range(3)], form)
            assert all(re.fullmatch(form.pattern, answer.text) for answer in answers), answers
        before = len(fake.asked)
        model.forced_answers([Request("Well?", 1, 100)], FORMS[0])
        assert len(fake.asked) == before + 1, "what was found out is not tried again"
        # The two lines of a belief sum to 1, whatever the mask draws.
        (answer,) = model.forced_answers([Request("Well?", 1, 100)], FORMS[0])
        numbers = [float(line.split()[1]) for line in answer.text.split("\n")]
        assert sum(numbers) == pytest.approx(1)


def test_an_answer_that_leaves_its_form_is_no_answer():
    calls = []

    def masked(body):
        calls.append(body)
        return "0.50" if len(calls) < 2 else "well"

    fake = Shaped(VLLM)
    fake.masked = lambda body: masked(body) if "structured_outputs" in body else None
    with serving(fake) as address:
        model = connecting(fake, address)
        with pytest.raises(Exception, match="leaves the form that structured_outputs holds it to"):
            model.forced_answers([Request("Well?", 1, 100)], FORMS[2])


def test_further_fields_are_sent_and_are_part_of_who_answers():
    fake = Shaped(VLLM, says)
    with serving(fake) as address:
        plain = connecting(fake, address)
        told = connecting(
            fake,
            address,
            reasoning_effort="low",
            chat_template_kwargs={"enable_thinking": False},
            extra_body={"top_k": 20, "top_p": 0.9},
        )
        fake.asked.clear()
        told.generate(requests(1))
        other = connecting(fake, address, extra_body={"top_k": 20})
        assert len({plain.fingerprint, told.fingerprint, other.fingerprint}) == 3
        assert connecting(fake, address, extra_body={}).fingerprint == plain.fingerprint
    body = fake.asked[0][1]
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert (body["reasoning_effort"], body["top_k"], body["top_p"]) == ("low", 20, 0.9)


def test_top_p_that_is_out_of_range_is_left_out_and_nothing_else():
    fake = Shaped(TGI, says)
    with serving(fake) as address:
        connecting(fake, address).generate(requests(2))
    assert all({"seed", "temperature", "max_tokens"} <= set(body) for _, body in fake.asked)
