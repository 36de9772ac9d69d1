"""Breaks if an answer of a batch is joined to another request, or a failed one passes for one."""

import pandas as pd
import pytest

from coherence import InputError
from tests.api.importing.conftest import imported, write_lines


def request(name, **metadata):
    asked = {"model": "gpt-x", "messages": [{"role": "user", "content": "How likely?"}]}
    body = asked | {"metadata": metadata}
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}


def answer(name, *contents, reason="stop", refusal=None):
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": content, "refusal": refusal},
            "finish_reason": reason,
        }
        for index, content in enumerate(contents)
    ]
    body = {"object": "chat.completion", "created": 1767614400, "model": "gpt-x-2026"}
    response = {"status_code": 200, "body": body | {"choices": choices}}
    return {"custom_id": name, "response": response, "error": None}


def test_answers_with_their_choices_and_endings(tmp_path):
    error = {"message": "Invalid 'messages'", "code": None}
    refused = {"status_code": 400, "body": {"error": error}}
    expired = {"code": "batch_expired", "message": "This request could not be executed in time."}
    path = write_lines(
        tmp_path / "batch_output.jsonl",
        [
            answer("b", "0.25", "0.5"),
            answer("a", "0.6", reason="length"),
            {"custom_id": "c", "response": refused, "error": None},
            answer("d", None, refusal="I cannot say."),
            {"custom_id": "e", "response": None, "error": expired},
        ],
    )
    study_log = imported(path)
    runs = study_log.runs
    assert runs["context"].tolist() == ["b", "b", "a", "c", "d", "e"]
    assert runs["rep"].tolist() == [0, 1, 0, 0, 0, 0]
    assert runs["p"].tolist()[:2] == [0.25, 0.5]
    statuses = ["ok", "ok", "truncated", "unparsed", "refused", "unparsed"]
    assert runs["status"].tolist() == statuses
    assert runs["raw_belief"].tolist()[2] == "0.6"
    assert set(runs["model"]) == {"gpt-x-2026"}
    assert runs["created"][0] == "2026-01-05T12:00:00+00:00"
    (note,) = study_log.notes
    assert note.startswith("batch_output.jsonl: requests that ended in an error: 2; ")
    assert note.endswith("The most frequent error (1): Invalid 'messages'")
    by_path = imported(path, mapping={"p": "response.body.choices.0.message.content"}).runs
    assert by_path["p"].tolist()[0] == 0.25


def test_requests_bring_facts_and_show_what_was_not_answered(tmp_path):
    asked = write_lines(
        tmp_path / "in.jsonl",
        [
            request("a", p_true="0.3", x_age="40", theta="1"),
            request("b", p_true="0.6", x_age="50", theta="0"),
        ],
    )
    answered = write_lines(tmp_path / "out.jsonl", [answer("b", "0.5")])
    study_log = imported(asked, answered)
    runs = study_log.runs.set_index("context")
    assert runs.loc["b", ["p", "p_true", "theta", "x_age"]].tolist() == [0.5, 0.6, 0, 50]
    assert pd.isna(runs.loc["a", "p"])
    assert runs.loc["a", ["status", "p_true"]].tolist() == ["unparsed", 0.3]
    assert study_log.notes == ["out.jsonl: requests without an answer in the file: 1"]
    with pytest.raises(InputError, match="requests of a batch. Give the file of its answers"):
        imported(asked)
    with pytest.raises(InputError, match="custom_id 'z' is none of in.jsonl"):
        imported(asked, write_lines(tmp_path / "other.jsonl", [answer("z", "0.5")]))
    more = write_lines(tmp_path / "more.jsonl", [answer("a", "0.5")])
    with pytest.raises(InputError, match="one file of requests for each file of answers"):
        imported(asked, answered, more)
    for second, said in (("a", "custom_id 'a' occurs more than once"), (3, "that is a text")):
        with pytest.raises(InputError, match=said):
            imported(write_lines(answered, [answer("a", "0.1"), answer(second, "0.2")]))


def test_beliefs_and_actions_of_two_batches_are_joined(tmp_path):
    beliefs = write_lines(tmp_path / "beliefs.jsonl", [answer("a", "0.2"), answer("b", "0.7")])
    actions = write_lines(tmp_path / "actions.jsonl", [answer("b", "go"), answer("a", "stay")])
    runs = imported(beliefs, actions, belief=["beliefs"], actions=("go", "stay")).runs
    assert runs["action"].tolist() == ["stay", "go"]
    assert runs["status"].tolist() == ["ok", "ok"]


def test_the_responses_interface_and_several_models(tmp_path):
    def response(name, text, **more):
        said = {"type": "message", "content": [{"type": "output_text", "text": text}]}
        body = {"object": "response", "created_at": 1767614400, "model": f"m-{name}", **more}
        body["output"] = [{"type": "reasoning", "summary": []}, said]
        return {"custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}

    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    replies = [response("a", "0.7"), response("b", "0.1", **cut)]
    runs = imported(write_lines(tmp_path / "out.jsonl", replies)).runs
    assert runs["status"].tolist() == ["ok", "truncated"]
    assert runs["model"].tolist() == ["m-a", "m-b"]


def test_a_reply_in_parts_is_joined_and_its_thinking_kept_apart(tmp_path):
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "0.9, say"}]}
    parts = [thought, {"type": "text", "text": "0."}, {"type": "text", "text": "3"}]
    replies = [answer("a", parts), answer("b", [{"type": "image_url"}])]
    runs = imported(write_lines(tmp_path / "out.jsonl", replies)).runs
    assert (runs["raw_belief"][0], runs["p"][0]) == ("0.3", 0.3)
    assert runs["status"].tolist() == ["ok", "unparsed"]
