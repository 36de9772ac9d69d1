"""What a server can do: has it the model, does it list likely tokens, does it echo prompts.

Servers differ in what they ignore in silence, so each is asked for something small and its response
is looked at.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from coherence.errors import InputError
from elicitation.models.base import Request
from elicitation.models.servers.address import Address, Limits
from elicitation.models.servers.completions import (
    PATHS,
    Api,
    echo_payload,
    payload,
    read_answer,
    read_echo,
    read_likely_tokens,
)
from elicitation.models.servers.dispatch import RefusedError, ServersError, Site, run

logger = logging.getLogger(__name__)

# What servers allow at most, by default: 20 in chats and at vLLM, 5 in completions elsewhere.
_LIST_LENGTHS = (20, 5)
_PROBE = Request("Say one word.", 0, 1)
_OPENING_ATTEMPTS = 3
_NAMES_SHOWN = 10

Result = TypeVar("Result")


@dataclass(frozen=True)
class Abilities:
    """What servers were seen to do beyond answering.

    Parameters
    ----------
    n_likely_tokens : int
        Likely tokens that they list with their log-probabilities, 0 if they give none.
    echo : bool
        Whether they give the log-probabilities of a prompt's own tokens.
    """

    n_likely_tokens: int
    echo: bool


def probe(address: Address, model: str, api: Api, *, limits: Limits, key: str | None) -> Abilities:
    """Find out whether a server has a model, and what it can do with it.

    Parameters
    ----------
    address : Address
        The server.
    model : str
        Name of the model.
    api : {"chat", "completions"}
        Which of the two will be used.
    limits : Limits
        Timeouts; at most three attempts are made.
    key : str or None
        API key.

    Returns
    -------
    Abilities
        What was seen.

    Raises
    ------
    InputError
        The server responds, but not as this model.
    ServersError
        It does not respond.
    """

    def ask(
        path: str,
        body: dict[str, Any] | None,
        read: Callable[[dict[str, Any]], Result],
        attempts: int = 1,
    ) -> Result:
        site = Site(
            address,
            limits=replace(limits, attempts=min(attempts, limits.attempts)),
            key=key,
            announce=False,
        )
        ((_, result),) = run([site], [(path, body)], read, concurrency=1)
        return result

    def able(
        path: str, body: dict[str, Any], read: Callable[[dict[str, Any]], Result]
    ) -> Result | None:
        try:
            return ask(path, body, read)
        except (RefusedError, ServersError):
            return None

    names = _names_at(ask)
    try:
        ask(
            PATHS[api],
            payload(api, model, _PROBE),
            lambda data: read_answer(api, data),
            _OPENING_ATTEMPTS,
        )
    except (RefusedError, ServersError) as error:
        fault = (
            error.fault if isinstance(error, RefusedError) else next(iter(error.faults.values()))
        )
        if fault.kind == "again" and fault.status != 500:
            raise
        hint = (
            " If the model has no chat template, use the completions API: --no-chat, or chat=False."
            if api == "chat"
            else ""
        )
        raise InputError(
            f"server {address} does not answer as model {model!r} in the {api} API: {fault}."
            f"{_listing(names)}{hint}"
        ) from error
    if names and model not in names:
        logger.warning(
            "server %s answers to model %r without listing it.%s", address, model, _listing(names)
        )
    n_likely = 0
    for n in _LIST_LENGTHS:
        if not n_likely:
            likely = able(
                PATHS[api],
                payload(api, model, _PROBE, n_logprobs=n),
                lambda data: read_likely_tokens(api, data),
            )
            n_likely = n if likely and len(likely) > 1 else 0
    echo = (
        able(PATHS[api], echo_payload(model, _PROBE.text), read_echo)
        if api == "completions"
        else None
    )
    return Abilities(n_likely, bool(echo))


def _names_at(ask: Callable[..., list[str]]) -> list[str]:
    """Return the models that a server lists; some have no such list, or fail to make one."""
    try:
        return ask("/models", None, _model_names)
    except RefusedError:
        return []
    except ServersError as error:
        (fault,) = error.faults.values()
        if fault.status in (401, 403):
            raise InputError(
                f"server {next(iter(error.faults))} refuses access: {fault}."
            ) from error
        if fault.status is None:
            raise
        return []


def _model_names(data: dict[str, Any]) -> list[str]:
    entries = data.get("data")
    entries = entries if isinstance(entries, list) else []
    return [
        entry["id"]
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    ]


def _listing(names: list[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(repr(name[:200]) for name in names[:_NAMES_SHOWN])
    return f" It lists {shown}{', and others' if len(names) > _NAMES_SHOWN else ''}."
