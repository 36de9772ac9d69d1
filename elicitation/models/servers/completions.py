"""The OpenAI-shaped JSON of chat and completion servers: what is sent, and how it is read.

Only fields that all common servers share are sent. What comes back is checked before use: a
response of another shape is a `CallError`, so that it is asked for again and never becomes an empty
answer.
"""

import math
from collections.abc import Mapping
from typing import Any, Literal

from coherence.importing.openai_batch import text_and_thinking
from elicitation.models.base import Answer, Request
from elicitation.models.servers.http import CallError

Api = Literal["chat", "completions"]
PATHS: dict[Api, str] = {"chat": "/chat/completions", "completions": "/completions"}
# Some servers keep seeds in 32 bits and take the largest for "draw one": the lower 31 bits pass
# everywhere.
_SEED_BITS = (1 << 31) - 1
FILTERED = "content_filter"
_REASONS = {
    **dict.fromkeys(("stop", "eos", "eos_token", "stop_sequence", "end_turn"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens"), "length"),
}
# DeepSeek, SGLang, llama.cpp and older vLLM; newer vLLM, Ollama and gateways.
_THINKING = ("reasoning_content", "reasoning", "thinking")
_LONGEST_NAME = 200
# Rounding in the log-probabilities of half-precision servers.
_SLACK = 0.02


def payload(
    api: Api,
    model: str,
    request: Request,
    *,
    system: str | None = None,
    n_logprobs: int = 0,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Make the body of a request."""
    text: dict[str, Any]
    logprobs: dict[str, Any]
    if api == "chat":
        opening = [] if system is None else [{"role": "system", "content": system}]
        text = {"messages": [*opening, {"role": "user", "content": request.text}]}
        logprobs = {"logprobs": True, "top_logprobs": n_logprobs}
    else:
        text, logprobs = {"prompt": request.text}, {"logprobs": n_logprobs}
    return {
        "model": model,
        **text,
        "max_tokens": request.max_new_tokens,
        "temperature": float(request.temperature),
        # Spelt out because servers take their own default from the model's files.
        "top_p": 1.0,
        "seed": request.seed & _SEED_BITS,
        **(logprobs if n_logprobs else {}),
        **(extra or {}),
    }


def text_of(body: Mapping[str, Any]) -> str:
    """Return all texts of the body of a request."""
    messages = body.get("messages", ())
    return "\n".join([str(body.get("prompt", "")), *(str(one["content"]) for one in messages)])


def usage_of(data: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return how many tokens a server counts in the prompt and in the answer of a response."""
    usage = data.get("usage")
    counts = [
        usage.get(name) if isinstance(usage, dict) else None
        for name in ("prompt_tokens", "completion_tokens")
    ]
    # True is an integer to Python.
    n_prompt, n_answer = (n if type(n) is int and n >= 0 else None for n in counts)
    return n_prompt, n_answer


def read_answer(api: Api, data: dict[str, Any]) -> Answer:
    """Read a response."""
    choice = _choice(data)
    reason = _finish_reason(choice)
    thinking = None
    if api == "chat":
        message = choice.get("message")
        message = message if isinstance(message, dict) else {}
        thinking = next(
            (message[name] for name in _THINKING if isinstance(message.get(name), str)), None
        )
        # A missing content is a fault, unless something else says why; one that is null is an
        # answer that was withheld, or that thinking left no room for.
        if "content" not in message and thinking is None and reason != FILTERED:
            raise CallError("again", "the response has no choices[0].message.content")
        text = message.get("content")
        if isinstance(text, list):
            text, apart = text_and_thinking(text)
            thinking = apart if thinking is None else thinking
        if text is None:
            text = message.get("refusal") or ""
    else:
        text = choice.get("text")
    if not isinstance(text, str):
        raise CallError("again", f"the response's text is no string but {type(text).__name__}")
    n_prompt_tokens, n_tokens = usage_of(data)
    return Answer(
        _valid(text),
        None,
        n_tokens,
        reason,
        _valid(thinking) if thinking else None,
        n_prompt_tokens,
        _served_by(data),
    )


def _finish_reason(choice: Mapping[str, Any]) -> str | None:
    """Return why an answer ended in OpenAI's words, whatever words the server has for it."""
    said = choice.get("finish_reason")
    if not isinstance(said, str):
        return None
    # Part of an answer must not pass for the whole of one.
    if said in ("abort", "error"):
        raise CallError("again", f"the server broke the answer off (finish_reason {said!r})")
    # Some say in the same place what was found: "content_filter: PROHIBITED_CONTENT".
    if said.lower().startswith((FILTERED, "safety")):
        return FILTERED
    return _REASONS.get(said.lower())


def _served_by(data: Mapping[str, Any]) -> str | None:
    names = [data.get(name) for name in ("model", "system_fingerprint")]
    said = " ".join(_valid(name)[:_LONGEST_NAME] for name in names if name and type(name) is str)
    return said or None


def _valid(text: str) -> str:
    # Half of a surrogate pair is valid JSON and no valid text: no file would take it.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_likely_tokens(api: Api, data: dict[str, Any]) -> dict[str, float]:
    """Read the likely first tokens of an answer."""
    logprobs = _choice(data).get("logprobs")
    if logprobs is None:
        return {}
    try:
        if api == "chat":
            content = logprobs["content"]
            if not content:
                return {}
            first = content[0]
            listed = [(item["token"], item["logprob"]) for item in first.get("top_logprobs") or []]
            drawn = (first["token"], first["logprob"])
        else:
            if not logprobs["tokens"]:
                return {}
            listed = list(((logprobs.get("top_logprobs") or [None])[0] or {}).items())
            drawn = (logprobs["tokens"][0], logprobs["token_logprobs"][0])
        likely: dict[str, float] = {}
        for token, logprob in listed:
            # Two tokens may look the same where only part of a character is shown.
            likely[str(token)] = likely.get(str(token), 0.0) + _probability(logprob)
        # The token that was drawn has a probability too, and need not be among the likely ones.
        likely.setdefault(str(drawn[0]), _probability(drawn[1]))
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise CallError(
            "again", f"the response's logprobs have another shape ({type(error).__name__}: {error})"
        ) from error
    # Scores before the softmax, or of another temperature, would pass as numbers one by one.
    total = math.fsum(likely.values())
    if total > 1 + _SLACK:
        raise CallError(
            "again",
            f"the response's log-probabilities are none: the listed tokens sum to {total:.3f}",
        )
    return likely


def _choice(data: dict[str, Any]) -> dict[str, Any]:
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise CallError("again", "the response has no choices")
    return choices[0]


def _logprob(value: Any) -> float:
    # JSON readers take NaN for a number; it is not below the slack, and refused with the rest.
    if isinstance(value, bool) or not isinstance(value, int | float) or not value <= _SLACK:
        raise TypeError(f"{value!r} is no log-probability")
    return min(float(value), 0.0)


def _probability(value: Any) -> float:
    return math.exp(_logprob(value))
