"""What a server can do: has it the model, and does it list likely tokens.

Servers differ in what they ignore in silence, so each is asked for something small and its response
is looked at.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from coherence.errors import InputError
from elicitation.models.base import Request
from elicitation.models.servers.completions import (
    PATHS,
    Api,
    payload,
    read_answer,
    read_likely_tokens,
)
from elicitation.models.servers.dispatch import Job, RefusedError, ServersError, run
from elicitation.models.servers.http import CallError
from elicitation.models.servers.site import Site

logger = logging.getLogger(__name__)

# What servers allow at most, by default: 20 in chats and at vLLM, 5 in completions elsewhere.
_LIST_LENGTHS = (20, 5)
# Short and harmless; a model that thinks first is refused a single token by some servers.
_PROBE = Request("Say one word.", 0, 16)
_ONE_TOKEN = Request("Say one word.", 0, 1)
_OPENING_ATTEMPTS = 3
_NAMES_SHOWN = 10

Result = TypeVar("Result")


@dataclass(frozen=True)
class Abilities:
    """What servers were seen to do beyond answering."""

    # likely tokens that they list with their log-probabilities, 0 if they give none
    n_likely_tokens: int


def probe(site: Site, model: str, api: Api, *, extra: Mapping[str, Any] | None = None) -> Abilities:
    """Find out whether a server has a model, and what it can do with it."""
    address = site.address
    server = _Opening(site, extra)
    names = server.names()
    try:
        # Not the first failure counts: a server that has just been started is still loading.
        job = PATHS[api], payload(api, model, _PROBE, extra=extra)
        server.ask(job, partial(read_answer, api), attempts=_OPENING_ATTEMPTS)
    except (RefusedError, ServersError) as error:
        fault = _fault_of(error)
        # A chat without a template ends in 500 at some servers: that never passes.
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
    # No error: some servers answer to aliases, or to any name at all.
    if names and model not in names:
        logger.warning(
            "server %s answers to model %r without listing it.%s", address, model, _listing(names)
        )
    n_likely = next((n for n in _LIST_LENGTHS if server.lists(api, model, n)), 0)
    return Abilities(n_likely)


class _Opening:
    """A server that is asked a few small things before the work begins, whatever it replies."""

    def __init__(self, site: Site, extra: Mapping[str, Any] | None) -> None:
        self.site, self.extra = site, extra

    def ask(
        self, job: Job, read: Callable[[dict[str, Any]], Result], *, attempts: int = 1
    ) -> Result:
        # A standing of its own for each question: what fails here says nothing about the work.
        site = self.site.afresh(attempts)
        ((_, result),) = run([site], [job], read, concurrency=1)
        return result

    def able(self, job: Job, read: Callable[[dict[str, Any]], Result]) -> Result | None:
        try:
            return self.ask(job, read)
        except (RefusedError, ServersError):
            return None

    def lists(self, api: Api, model: str, n_likely: int) -> bool:
        body = payload(api, model, _ONE_TOKEN, n_logprobs=n_likely, extra=self.extra)
        likely = self.able((PATHS[api], body), partial(read_likely_tokens, api))
        # A single token is the drawn one: the server ignores how many were asked for.
        return likely is not None and len(likely) > 1

    def names(self) -> list[str]:
        """Return the models that a server lists; some have no such list, or fail to make one."""
        try:
            return self.ask(("/models", None), _model_names)
        except (RefusedError, ServersError) as error:
            fault = _fault_of(error)
            if fault.status in (401, 403):
                raise InputError(f"server {self.site.address} refuses access: {fault}.") from error
            if fault.status is None:  # nothing that speaks HTTP is there
                raise
            return []


def _fault_of(error: RefusedError | ServersError) -> CallError:
    return error.fault if isinstance(error, RefusedError) else next(iter(error.faults.values()))


def _model_names(data: dict[str, Any]) -> list[str]:
    entries = data.get("data")
    entries = entries if isinstance(entries, list) else []
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    return [name for name in names if isinstance(name, str)]


def _listing(names: list[str]) -> str:
    if not names:
        return ""
    # Names come from outside, and a public server may list hundreds.
    shown = ", ".join(repr(name[:200]) for name in names[:_NAMES_SHOWN])
    return f" It lists {shown}{', and others' if len(names) > _NAMES_SHOWN else ''}."
