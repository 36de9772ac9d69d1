"""The OpenAI-shaped JSON of chat and completion servers: what is sent, and how it is read.

Only fields that all common servers share are sent. What comes back is checked before use: a
response of another shape is a `CallError`, so that it is asked for again and never becomes an empty
answer.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

from elicitation.models.base import Answer, Request
from elicitation.models.servers.http import CallError

Api = Literal["chat", "completions"]
PATHS: dict[Api, str] = {"chat": "/chat/completions", "completions": "/completions"}
# Some servers keep seeds in 32 bits and take the largest for "draw one": the lower 31 bits pass
# everywhere.
_SEED_BITS = (1 << 31) - 1
# Rounding in the log-probabilities of half-precision servers.
_SLACK = 0.02


@dataclass(frozen=True)
class EchoedToken:
    """A token of a prompt as a server read it.

    Parameters
    ----------
    text : str
        The token.
    logprob : float or None
        Log-probability given the tokens before it; None for the first.
    """

    text: str
    logprob: float | None


def payload(
    api: Api, model: str, request: Request, *, system: str | None = None, n_logprobs: int = 0
) -> dict[str, Any]:
    """Make the body of a request.

    Parameters
    ----------
    api : {"chat", "completions"}
        Which of the two.
    model : str
        Name of the model at the server.
    request : Request
        What is asked.
    system : str or None
        System message, of a chat alone.
    n_logprobs : int
        Likely tokens to list at each place, 0 for none.

    Returns
    -------
    dict
        To be sent as JSON.
    """
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
    }


def echo_payload(model: str, prompt: str) -> dict[str, Any]:
    """Make the body of a request for a prompt's own log-probabilities, for a completion server.

    Parameters
    ----------
    model : str
        Name of the model at the server.
    prompt : str
        The text.

    Returns
    -------
    dict
        To be sent as JSON.
    """
    # One token is generated, and left out: servers differ on whether they accept none.
    return {**payload("completions", model, Request(prompt, 0, 1), n_logprobs=1), "echo": True}


def read_answer(api: Api, data: dict[str, Any]) -> Answer:
    """Read the text of a response.

    Parameters
    ----------
    api : {"chat", "completions"}
        Which of the two.
    data : dict
        The response.

    Returns
    -------
    Answer
        All of it, without a log-probability. An answer that the server withholds (content null) is
        the server's words of refusal where it gives them, else empty.

    Raises
    ------
    CallError
        The response has another shape.
    """
    choice = _choice(data)
    # A missing content is a fault; one that is null is an answer that was withheld.
    if api == "chat":
        message = choice.get("message")
        if not isinstance(message, dict) or "content" not in message:
            raise CallError("again", "the response has no choices[0].message.content")
        text = message["content"]
        if text is None:
            text = message.get("refusal") or ""
    else:
        text = choice.get("text")
    if not isinstance(text, str):
        raise CallError("again", f"the response's text is no string but {type(text).__name__}")
    usage = data.get("usage")
    n_tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    # Half of a surrogate pair is valid JSON and no valid text: no file would take it.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return Answer(text, None, n_tokens if type(n_tokens) is int else None)


def read_likely_tokens(api: Api, data: dict[str, Any]) -> dict[str, float]:
    """Read the likely first tokens of an answer.

    Parameters
    ----------
    api : {"chat", "completions"}
        Which of the two.
    data : dict
        The response.

    Returns
    -------
    dict of str to float
        Token -> probability; empty where the server gives none.

    Raises
    ------
    CallError
        They have another shape, or sum to more than 1.
    """
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


def read_echo(data: dict[str, Any]) -> list[EchoedToken]:
    """Read the tokens of a prompt that was sent with ``echo``, the generated ones left out.

    Parameters
    ----------
    data : dict
        Response of a completion server.

    Returns
    -------
    list of EchoedToken
        The first without a log-probability.

    Raises
    ------
    CallError
        The response does not echo the prompt with log-probabilities, or in another shape.
    """
    logprobs, usage = _choice(data).get("logprobs"), data.get("usage")
    missing = CallError("again", "the response does not echo the prompt with log-probabilities")
    if not isinstance(logprobs, dict) or not isinstance(usage, dict):
        raise missing
    try:
        n_prompt = int(usage["prompt_tokens"])
        tokens, values = logprobs["tokens"], logprobs["token_logprobs"]
        # A prompt's first token has nothing before it: one with a log-probability was generated.
        if not 0 < n_prompt <= len(tokens) == len(values) or values[0] is not None:
            raise missing
        rest = zip(tokens[1:n_prompt], values[1:n_prompt], strict=True)
        return [
            EchoedToken(str(tokens[0]), None),
            *(EchoedToken(str(token), _logprob(value)) for token, value in rest),
        ]
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise CallError(
            "again", f"the response's echo has another shape ({type(error).__name__}: {error})"
        ) from error


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
