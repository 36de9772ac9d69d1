"""Connecting to a hosted model: one call that shows whether it is there, and what it takes."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from coherence.errors import InputError, MissingExtraError
from elicitation.models.base import Request
from elicitation.models.hosted.background import wait_for
from elicitation.models.hosted.keys import NO_KEY, read_key
from elicitation.models.hosted.model import HostedModel
from elicitation.models.hosted.names import (
    PROVIDERS,
    address_of,
    completing,
    is_completing,
    provider_of,
    require_address,
    takes_client,
)
from elicitation.models.hosted.replies import (
    HostedError,
    answer_of,
    line_of,
)

if TYPE_CHECKING:
    import inspect_ai.model

logger = logging.getLogger(__name__)

# Calls of this many at once gain nothing: servers queue what they cannot batch.
MAX_CONCURRENCY = 256
# Long enough for a server that loads a model with its first call.
_OPENING_SECONDS = 60
# Short and harmless; a model that thinks first is refused a single token by some servers.
_PROBE = Request("Say one word.", 0, 16)
# In this order where a refusal names several: the first two change least. top_p is sent as 1, which
# leaves nothing out, and the limit has another name.
_MEANINGS = {
    "top_p": "it may leave improbable tokens out by a rule of its own, which narrows the spread of "
    "the draws",
    "max_tokens": "max_completion_tokens takes its place, and what a model thinks before its "
    "answer counts towards --max-new-tokens",
    "seed": "draws follow no seed: to ask again would give other answers, and those in the store "
    "are the only record",
    "temperature": "draws come at a temperature of its own, whatever temperature was asked for",
}
"""Settings that can be left out, and what that does to the answers."""
# Set for every request by itself: one value for all would contradict what is recorded.
_TAKEN = {
    "model": "--model",
    "messages": "--set system or --prompts",
    "prompt": "--prompts",
    "max_tokens": "--max-new-tokens",
    "max_completion_tokens": "--max-new-tokens",
    "temperature": "--temperature",
    "seed": "--seed",
    "n": "--reps",
    "best_of": "--reps",
    "logprobs": "--belief token",
    "top_logprobs": "--belief token",
    "echo": "--no-chat",
    "stream": "nothing: answers come whole",
    "reasoning_effort": "--reasoning-effort",
    "chat_template_kwargs": "--set chat_template_kwargs",
}


def connect(
    model: str,
    *,
    server: str | None = None,
    chat: bool | None = None,
    system: str | None = None,
    identity: str | None = None,
    concurrency: int = 8,
    max_retries: int | None = None,
    timeout: int = 600,
    key_variable: str | None = None,
    reasoning_effort: str | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    extra_body: Mapping[str, Any] | None = None,
) -> HostedModel:
    """Connect to a model behind a service or server, through Inspect, and call it once.

    Parameters
    ----------
    model : str
        Inspect's name, such as ``openai/gpt-4o``, ``anthropic/...`` or ``ollama/...``; with
        `server` the model's name there.
    server : str or None
        Address of an OpenAI-compatible server, such as ``http://localhost:8000``; ``/v1`` is added
        where there is no path. A provider elsewhere than usual is named by its own variable of the
        environment, such as VLLM_BASE_URL.
    chat : bool or None
        False sends the text as it is, for models without a chat template.
    system : str or None
        System message of every chat.
    identity : str or None
        Stands for the address in the keys of stored answers, for servers whose address changes
        from day to day.
    concurrency : int
        Calls under way, 1 to 256.
    max_retries : int or None
        How often a call is tried again after too many requests, errors of the server and broken
        connections; None tries until `timeout`.
    timeout : int
        Seconds for a question with all its tries, positive.
    key_variable : str or None
        Environment variable that holds the API key; None takes the provider's usual one, and for
        `server` none.
    reasoning_effort, chat_template_kwargs, extra_body
        Further fields of every request; part of the keys of stored answers.

    Returns
    -------
    HostedModel
        Ready to answer.

    Raises
    ------
    InputError
        An option is outside its range, or the model is refused or not there.

    Examples
    --------
    A server that runs ``small`` is ``connect("small", server="http://localhost:8000")``; a name
    alone says nothing of where it is.

    >>> connect("small")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    InputError: model must be PROVIDER/NAME, such as openai/gpt-4o
    """
    _check_options(model, concurrency=concurrency, max_retries=max_retries, timeout=timeout)
    address = address_of(server) if server is not None else None
    full = model if server is None else f"openai-api/server/{model}"
    if provider_of(full) is None:
        raise InputError(
            "model must be PROVIDER/NAME, such as openai/gpt-4o, or a model's name with server "
            f"(--server); received {model!r}. Providers: {', '.join(PROVIDERS)}."
        )
    if chat is False:
        full = completing(full)
    # Left out in silence, its answers would be taken for those of the model with the message.
    if system is not None and is_completing(full):
        raise InputError(
            "system needs a chat; where texts are continued there is no system message. "
            "Leave system out, or put it into the templates."
        )
    require_address(full)
    extra = _extra_fields(full, reasoning_effort, chat_template_kwargs, extra_body)
    key = read_key(key_variable) or (NO_KEY if server is not None else None)
    hosted = HostedModel(
        _model_of_inspect(full, address, key, concurrency, max_retries, timeout),
        name=model if server is not None else None,
        system=system,
        identity=identity or address,
        concurrency=concurrency,
        extra=extra,
        timeout=timeout,
    )
    _open(hosted, has_key=key not in (None, NO_KEY), seconds=min(timeout, _OPENING_SECONDS))
    return hosted


def _check_options(model: str, *, concurrency: int, max_retries: int | None, timeout: int) -> None:
    if not isinstance(model, str) or not model:
        raise InputError(f"model must be the name of a model; received {model!r}.")
    if not 1 <= concurrency <= MAX_CONCURRENCY:
        raise InputError(
            f"concurrency (--set max_connections) must be from 1 to {MAX_CONCURRENCY}; received "
            f"{concurrency}."
        )
    if max_retries is not None and max_retries < 0:
        raise InputError(f"max_retries must be at least 0; received {max_retries}.")
    if not 1 <= timeout < float("inf"):
        raise InputError(f"timeout (--set timeout) must be at least 1 second; received {timeout}.")


def _extra_fields(
    model: str,
    reasoning_effort: str | None,
    chat_template_kwargs: Mapping[str, Any] | None,
    extra_body: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Gather further fields of every request."""
    fields = dict(extra_body or {})
    for name in fields:
        if name in _TAKEN:
            raise InputError(
                "extra_body (--set extra_body) must hold fields that have no option of their own; "
                f"{name!r} has one. Use {_TAKEN[name]}."
            )
    if is_completing(model) and (reasoning_effort, chat_template_kwargs) != (None, None):
        raise InputError(
            "reasoning_effort and chat_template_kwargs need a chat; where texts are continued "
            "there is no template. Leave them out, or ask in chats."
        )
    efforts = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    if reasoning_effort is not None:
        if reasoning_effort not in efforts:
            raise InputError(
                f"reasoning_effort (--reasoning-effort) must be one of {', '.join(efforts)}; "
                f"received {reasoning_effort!r}."
            )
        fields["reasoning_effort"] = reasoning_effort
    if chat_template_kwargs is not None:
        fields["chat_template_kwargs"] = dict(chat_template_kwargs)
    try:
        json.dumps(fields, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"extra_body (--set extra_body) must be JSON: {error}.") from error
    return fields


def _model_of_inspect(
    name: str,
    address: str | None,
    key: str | None,
    concurrency: int,
    max_retries: int | None,
    timeout: int,
) -> inspect_ai.model.Model:
    try:
        from inspect_ai.model import GenerateConfig, get_model
    except ImportError:
        raise MissingExtraError("servers", "Asking a hosted model") from None
    config = GenerateConfig(
        max_connections=concurrency, max_retries=max_retries, timeout=int(timeout)
    )
    options: dict[str, Any] = {}
    if takes_client(name):
        from elicitation.models.hosted.lenient import LenientClient

        options["http_client"] = LenientClient(timeout)
    try:
        return get_model(
            name, config=config, base_url=address, api_key=key, memoize=False, **options
        )
    # Whatever a provider raises: a package or a key that is missing, a name that it does not know.
    except Exception as error:
        hub = (
            f" A model of the hub with this name is hf/{name}."
            if provider_of(name) in ("openai", "google")
            else ""
        )
        raise InputError(f"{name} cannot be asked: {line_of(error)}.{hub}") from error


def _open(model: HostedModel, *, has_key: bool, seconds: float) -> None:
    """Call a model once, without further tries, and leave out what it refuses by name."""
    while True:
        try:
            answer_of(wait_for(asyncio.wait_for(model.call(_PROBE, retry=False), seconds)))
            break
        except TimeoutError as error:
            raise HostedError(
                f"{model.name} did not answer within {seconds:g} seconds. "
                "Check the address, or wait until the server has loaded the model."
                f"{model.proxy_hint(error)}"
            ) from None
        except InputError:
            raise
        except Exception as error:
            field = _refused_field(error, model.settings(_PROBE))
            if field is None:
                _raise(model, error, has_key=has_key)
                break
            model.unset = tuple(sorted({*model.unset, field}))
    for field in model.unset:
        logger.warning(
            "%s sets %s by itself: %s. Answers are kept with this note",
            model.name,
            field,
            _MEANINGS[field],
        )


def _refused_field(error: Exception, sent: Collection[str]) -> str | None:
    """Return the setting that a refusal names, of those that were sent and can be left out."""
    if getattr(error, "status_code", None) not in (400, 422):
        return None
    said = line_of(error)
    named = [
        field
        for field in _MEANINGS
        if field in sent and re.search(rf"(?<![\w.]){field}(?!\w)", said)
    ]
    # "Use max_completion_tokens": a limit that is too large is refused too, and stays.
    if "max_tokens" in named and "max_completion_tokens" not in said:
        named.remove("max_tokens")
    return named[0] if named else None


def _raise(model: HostedModel, error: Exception, *, has_key: bool) -> None:
    """Say why the opening call failed; a service that is busy is there, and no failure."""
    status = getattr(error, "status_code", None)
    said = model.shown(error)
    if status == 429 and "quota" not in said and "billing" not in said:
        return
    hint = model.proxy_hint(error)
    if hint:
        pass  # before all else: what replied may be no server at all
    elif status in (401, 403):
        hint = (
            " A key was sent."
            if has_key or not model.is_server
            else " No key was sent: name the environment variable that holds it (--api-key-env)."
        )
    elif "template" in said:
        hint = " A model without a chat template is asked with --no-chat (chat=False)."
    elif status in (400, 404) and model.is_server:
        hint = " Check the model's name at the server."
    elif status is not None and status >= 500:
        hint = " The server's own log may say why."
    failure = HostedError(f"{model.name} does not answer: {said}.{hint}")
    # Inspect tells of a path that is not there in an error of its own.
    failure.status = status or getattr(error.__context__, "status_code", None)
    failure.said = said
    raise failure from error
