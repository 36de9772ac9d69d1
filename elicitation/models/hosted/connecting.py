"""Connecting to a hosted model: its options, and one call that shows whether it is there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
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
)
from elicitation.models.hosted.replies import HostedError, answer_of, line_of

if TYPE_CHECKING:
    import inspect_ai.model

# Calls of this many at once gain nothing: servers queue what they cannot batch.
MAX_CONCURRENCY = 256
# Long enough for a server that loads a model with its first call.
_OPENING_SECONDS = 60
# Short and harmless; a model that thinks first is refused a single token by some servers.
_PROBE = Request("Say one word.", 0, 16)
# Set for every request by itself: one value for all would contradict what is recorded.
_TAKEN = {
    *("model", "messages", "prompt", "max_tokens", "max_completion_tokens", "temperature", "seed"),
    *("n", "best_of", "logprobs", "top_logprobs", "echo", "stream", "response_format"),
    *("reasoning_effort", "chat_template_kwargs"),
}
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


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
    for option, value, least, most in (
        ("concurrency (--set max_connections)", concurrency, 1, MAX_CONCURRENCY),
        ("max_retries", max_retries or 0, 0, float("inf")),
        ("timeout (--set timeout)", timeout, 1, 1e9),
    ):
        if not least <= value <= most:
            raise InputError(f"{option} must be from {least} to {most:g}; received {value}.")
    address = address_of(server) if server is not None else None
    full = model if server is None else f"openai-api/server/{model}"
    if not isinstance(model, str) or not model or provider_of(full) is None:
        raise InputError(
            "model must be PROVIDER/NAME, such as openai/gpt-4o, or a model's name with server "
            f"(--server); received {model!r}. Providers: {', '.join(PROVIDERS)}."
        )
    if chat is False:
        full = completing(full)
    # Left out in silence, its answers would be taken for those of the model with the message.
    if is_completing(full) and (system, reasoning_effort, chat_template_kwargs) != (None,) * 3:
        raise InputError(
            "system, reasoning_effort and chat_template_kwargs need a chat; where texts are "
            "continued there is none. Leave them out, or put the message into the templates."
        )
    require_address(full)
    fields = {"reasoning_effort": reasoning_effort, "chat_template_kwargs": chat_template_kwargs}
    extra = _extra_fields(extra_body or {}, fields)
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


def _extra_fields(body: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Gather further fields of every request."""
    if taken := sorted(_TAKEN & set(body)):
        raise InputError(
            "extra_body (--set extra_body) must hold fields that have no option of their own; "
            f"{taken[0]!r} has one. Leave it out."
        )
    if fields["reasoning_effort"] not in (None, *_EFFORTS):
        raise InputError(
            f"reasoning_effort (--reasoning-effort) must be one of {', '.join(_EFFORTS)}; "
            f"received {fields['reasoning_effort']!r}."
        )
    extra = {**body, **{name: value for name, value in fields.items() if value is not None}}
    try:
        json.dumps(extra, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"extra_body (--set extra_body) must be JSON: {error}.") from error
    return extra


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
        raise MissingExtraError("elicit", "Asking a hosted model") from None
    config = GenerateConfig(
        max_connections=concurrency, max_retries=max_retries, timeout=int(timeout)
    )
    try:
        return get_model(name, config=config, base_url=address, api_key=key, memoize=False)
    # Whatever a provider raises: a package or a key that is missing, a name that it does not know.
    except Exception as error:
        hub = (
            f" A model of the hub with this name is hf/{name}."
            if provider_of(name) in ("openai", "google")
            else ""
        )
        raise InputError(f"{name} cannot be asked: {line_of(error)}.{hub}") from error


def _open(model: HostedModel, *, has_key: bool, seconds: float) -> None:
    """Call a model once, without further tries; one that is busy is there."""
    try:
        answer_of(wait_for(asyncio.wait_for(model.call(_PROBE, retry=False), seconds)))
    except TimeoutError:
        raise HostedError(
            f"{model.name} did not answer within {seconds:g} seconds. "
            "Check the address, or wait until the server has loaded the model."
        ) from None
    except InputError:
        raise
    except Exception as error:
        status = getattr(error, "status_code", None)
        said = model.shown(error)
        if status == 429 and "quota" not in said and "billing" not in said:
            return
        hint = ""
        if status in (401, 403):
            hint = (
                " A key was sent."
                if has_key or not model.is_server
                else " No key was sent: name the variable that holds it (--api-key-env)."
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
