"""Eight kinds of servers as data, each with its oddities, for one fake that plays any of them.

What they refuse and in which words follows their documentation and error reports of their users;
what they would answer is decided by a function of the test.
"""

import json
import re
from dataclasses import dataclass, field, replace

from .fake_server import Fake, raw


@dataclass(frozen=True)
class Shape:
    """How a server departs from the common form.

    `refused` has fields with the status, code and words of their refusal; `mask` is the field that
    holds an answer to a form, `thinking` the one that thoughts come in, `serves` what the response
    says of the weights. `strict` servers refuse fields that they do not know.
    """

    name: str
    path: str = "/v1"
    refused: dict = field(default_factory=dict)
    strict: str = ""
    limit: str = "max_tokens"
    mask: str | None = None
    thinking: str | None = None
    thinks: bool = False
    logprobs: bool = False
    streams: bool = False
    ends: str = "stop"
    serves: dict = field(default_factory=dict)
    extras: dict = field(default_factory=dict)
    lists_models: bool = True


KNOWN = {
    "model", "messages", "prompt", "max_tokens", "max_completion_tokens", "temperature", "top_p",
    "seed", "stream", "stream_options", "logprobs", "top_logprobs", "response_format",
    "reasoning_effort",
}  # fmt: skip

MAX_TOKENS = (
    400,
    "unsupported_parameter",
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead.",
)


def unsupported(name):
    words = f"Unsupported parameter: '{name}' is not supported with this model."
    return 400, "unsupported_parameter", words


OPENAI = Shape(
    "openai",
    refused={
        "max_tokens": MAX_TOKENS,
        "temperature": unsupported("temperature"),
        "top_p": unsupported("top_p"),
        "logprobs": (403, None, "You are not allowed to request logprobs from this model"),
    },
    strict="Unrecognized request argument supplied: {}",
    limit="max_completion_tokens",
    mask="response_format",
    thinks=True,
    serves={"model": "o4-mini-2025-04-16", "system_fingerprint": None},
)
AZURE = Shape(
    "azure",
    path="/openai/deployments/m",
    refused={"seed": (400, None, "Unrecognized request argument supplied: seed")},
    strict="Unrecognized request argument supplied: {}",
    mask="response_format",
    serves={"model": "gpt-4o-2024-11-20", "system_fingerprint": "fp_ee1d74bde0"},
    extras={"prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]},
    lists_models=False,
)
VLLM = Shape(
    "vllm",
    mask="structured_outputs",
    thinking="reasoning",
    thinks=True,
    logprobs=True,
    serves={"model": "Qwen/Qwen3-8B", "system_fingerprint": None},
    extras={"prompt_logprobs": None, "kv_transfer_params": None},
)
SGLANG = Shape(
    "sglang",
    mask="regex",
    thinking="reasoning_content",
    thinks=True,
    logprobs=True,
    serves={"model": "Qwen/Qwen3-8B"},
    extras={"metadata": {"weight_version": "default"}},
)
LLAMA = Shape(
    "llama.cpp",
    mask="grammar",
    thinking="reasoning_content",
    logprobs=True,
    serves={"model": "model.gguf", "system_fingerprint": "b6112-ae92c188"},
    extras={"timings": {"prompt_n": 20, "predicted_n": 8, "predicted_per_second": 61.2}},
)
OLLAMA = Shape(
    "ollama",
    mask="response_format",
    thinking="reasoning",
    serves={"model": "qwen3:8b", "system_fingerprint": "fp_ollama"},
)
TGI = Shape(
    "tgi",
    refused={
        "top_p": (422, "tgi", "Input validation error: `top_p` must be > 0.0 and < 1.0"),
    },
    ends="eos_token",
    serves={"model": "meta-llama/Llama-3.1-8B", "system_fingerprint": "3.3.4-native"},
)
TRANSFORMERS = Shape(
    "transformers serve",
    strict="Unexpected fields in the request: {{'{}'}}",
    serves={"model": "models/reader@main"},
)
SHAPES = (OPENAI, AZURE, VLLM, SGLANG, LLAMA, OLLAMA, TGI, TRANSFORMERS)
# Answers in streams alone, as some models of DashScope do.
STREAMED = replace(
    VLLM,
    name="streamed",
    streams=True,
    refused={
        "": (
            400,
            "invalid_parameter_error",
            "This model only support stream mode, please enable the stream parameter.",
        )
    },
)


class Shaped(Fake):
    """A fake of one shape; `said` takes a body and returns what the model would say."""

    def __init__(self, shape, said=lambda body: "fine", *, poison=None):
        super().__init__(self.respond)
        self.models = ("m",) if shape.lists_models else None
        self.shape, self.said, self.poison = shape, said, poison

    def respond(self, body, n):
        shape = self.shape
        refusal = self.refusal(body)
        if refusal is not None:
            return refusal
        text = body.get("prompt") or body["messages"][-1]["content"]
        if self.poison and self.poison in text:
            return error(
                400,
                "content_filter",
                "The response was filtered due to the prompt triggering the content management "
                "policy. Please modify your prompt and retry.",
                param="prompt",
                innererror={"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}},
            )
        masked = self.masked(body)
        words = self.said(body) if masked is None else masked
        tokens = len(words.split()) + (40 if shape.thinks else 0)
        cut = tokens > body[shape.limit] and masked is None
        message = {"role": "assistant", "content": words}
        if shape.thinks:
            # What thinking leaves no room for does not come.
            message["content"] = None if cut else words
        if shape.thinking:
            message[shape.thinking] = "Let me think. 0.9? No." if shape.thinks else None
        choice = {
            "index": 0,
            "message": message,
            "text": words,
            "finish_reason": "length" if cut else shape.ends,
            "logprobs": None,
        }
        if shape.logprobs and body.get("logprobs"):
            listed = [{"token": t, "logprob": p} for t, p in ((" Yes", -0.5), ("No", -1.0))]
            choice["logprobs"] = {"content": [{**listed[0], "top_logprobs": listed}]}
        usage = {"prompt_tokens": len(text.split()), "completion_tokens": tokens}
        response = {"id": "x", **shape.serves, "choices": [choice], "usage": usage, **shape.extras}
        return stream(response) if body.get("stream") else response

    def refusal(self, body):
        """The first thing that the server has against a request, in its own words."""
        shape = self.shape
        for name, (status, code, words) in shape.refused.items():
            if name in body or (not name and not body.get("stream")):
                if code == "tgi":
                    return raw(status, json.dumps({"error": words, "error_type": "validation"}))
                return error(status, code, words, param=name or None)
        unknown = sorted(set(body) - KNOWN - {shape.mask})
        if shape.strict and unknown:
            words = shape.strict.format(unknown[0])
            if shape is TRANSFORMERS:
                return raw(422, json.dumps({"detail": words}))
            return error(400, None, words)
        if shape is OPENAI and body["max_completion_tokens"] < 16:
            return error(
                400,
                None,
                "Could not finish the message because max_tokens or model output limit was "
                "reached. Please try again with higher max_tokens.",
            )
        return None

    def masked(self, body):
        """What a server says that holds its answer to a form, None where it does not."""
        told = body.get(self.shape.mask) if self.shape.mask else None
        if told is None:
            return None
        if self.shape.mask == "response_format":
            properties = told["json_schema"]["schema"]["properties"]
            middle = {name: len(one["enum"]) // 2 for name, one in properties.items()}
            return json.dumps({name: properties[name]["enum"][n] for name, n in middle.items()})
        if self.shape.mask == "grammar":
            listed = [json.loads(word) for word in re.findall(r'"(?:[^"\\]|\\.)*"', told)]
        else:
            pattern = told["regex"] if isinstance(told, dict) else told
            listed = [re.sub(r"\\(.)", r"\1", one) for one in pattern[1:-1].split("|")]
        return listed[len(listed) // 2]


def error(status, code, message, **further):
    inside = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return raw(status, json.dumps({"error": {**inside, **further}}))


def stream(response):
    """The same response in pieces, with a comment between them and the usage at the end."""
    (choice,) = response["choices"]
    head = {name: response.get(name) for name in ("id", "model", "system_fingerprint")}
    pieces = [{"delta": {"role": "assistant", "content": ""}}]
    for name, text in choice["message"].items():
        if name != "role" and text is not None:
            half = len(text) // 2
            pieces += [{"delta": {name: part}} for part in (text[:half], text[half:])]
    pieces.append({"delta": {}, "finish_reason": choice["finish_reason"]})
    events = [{**head, "choices": [{"index": 0, **piece}]} for piece in pieces]
    events.append({**head, "choices": [], "usage": response["usage"]})
    lines = [": keep-alive", *(f"data: {json.dumps(event)}" for event in events), "data: [DONE]"]
    body = "\n\n".join(lines) + "\n\n"
    return raw(200, body, {"Content-Type": "text/event-stream"})
