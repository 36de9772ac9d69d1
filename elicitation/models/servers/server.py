"""Answers from OpenAI-compatible servers: one or several addresses that serve the same model.

Every draw is a request of its own, with its own seed and temperature; whether equal seeds give
equal answers is the server's affair. Log-probabilities are used only where a server was seen to
give them, and a list of the most likely tokens yields bounds, never a zero for what it leaves out.
"""

import hashlib
import json
import logging
import math
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from coherence.errors import InputError
from elicitation.models.base import Answer, Request
from elicitation.models.labels import LabelBounds, bound_labels, check_labels
from elicitation.models.lines import first_lines
from elicitation.models.servers.address import Address, Limits, read_key
from elicitation.models.servers.completions import (
    PATHS,
    Api,
    EchoedToken,
    echo_payload,
    payload,
    read_answer,
    read_echo,
    read_likely_tokens,
)
from elicitation.models.servers.dispatch import ServersError, Site, run
from elicitation.models.servers.http import CallError
from elicitation.models.servers.probing import Abilities, probe

logger = logging.getLogger(__name__)

# A thread for each: more of them gain nothing, and servers queue what they cannot batch.
MAX_CONCURRENCY = 256

Result = TypeVar("Result")


def connect_servers(
    addresses: str | Sequence[str],
    model: str,
    *,
    api: Api = "chat",
    system: str | None = None,
    identity: str | None = None,
    concurrency: int = 8,
    key_variable: str | None = None,
    limits: Limits | None = None,
) -> "ServerModel":
    """Connect to servers of one model and find out what they can do.

    Parameters
    ----------
    addresses : str or sequence of str
        Such as ``http://localhost:8000``; ``/v1`` is added where there is no path. The first one
        names the model in the keys of stored answers, the others are taken to serve the same
        weights.
    model : str
        Its name at the servers.
    api : {"chat", "completions"}
        Chats go through the model's chat template; completions go on from the text as it is, for
        models that have no template.
    system : str or None
        System message of every chat.
    identity : str or None
        Stands for the first address in the keys of stored answers, for servers whose address
        changes from day to day.
    concurrency : int
        Requests under way at each address, 1 to 256.
    key_variable : str or None
        Environment variable that holds the API key; it is sent to all addresses. None sends none.
    limits : Limits or None
        Timeouts and attempts; None takes the usual ones.

    Returns
    -------
    ServerModel
        Ready to answer. Addresses that do not respond are set aside with a warning.

    Raises
    ------
    InputError
        An option is outside its range, or a server that responds does not serve the model.
    CoherenceError
        No server responds.
    """
    listed = [addresses] if isinstance(addresses, str) else list(addresses)
    parsed = [Address.parse(text) for text in listed]
    # The same server twice would get twice the concurrency that was asked for.
    if not parsed or len(set(parsed)) < len(parsed):
        raise InputError(
            "addresses must be one or more different servers; "
            f"received {', '.join(map(str, parsed)) or 'none'}."
        )
    if not model:
        raise InputError("model must be the name of a model at the servers; received an empty one.")
    if api not in PATHS:
        raise InputError(f"api must be one of {', '.join(PATHS)}; received {api!r}.")
    # Left out in silence, its answers would be taken for those of the model with the message.
    if system is not None and api != "chat":
        raise InputError(
            "system needs the chat API; completions have no system message. "
            "Leave system out, or put it into the templates."
        )
    if not 1 <= concurrency <= MAX_CONCURRENCY:
        raise InputError(
            f"concurrency must be from 1 to {MAX_CONCURRENCY}; received {concurrency}."
        )
    limits, key = limits or Limits(), read_key(key_variable)
    # One address that is down must not keep the others from working.
    sites, abilities = [], []
    for address in parsed:
        site = Site(address, limits=limits, key=key)
        try:
            abilities.append(probe(address, model, api, limits=limits, key=key))
        except ServersError as error:
            (site.aside,) = error.faults.values()
            logger.warning("server %s is set aside: %s", address, site.aside)
        sites.append(site)
    # With one that responds the work can begin; the others stay aside.
    if not abilities:
        raise ServersError({str(site.address): site.aside for site in sites if site.aside})
    return ServerModel(
        sites,
        model,
        api=api,
        system=system,
        identity=identity or str(parsed[0]),
        concurrency=concurrency,
        # Any of them may get any request: the weakest sets what can be asked.
        abilities=Abilities(
            min(seen.n_likely_tokens for seen in abilities), all(seen.echo for seen in abilities)
        ),
    )


class ServerModel:
    """A model behind one or several servers, see `connect_servers`.

    Parameters
    ----------
    sites : sequence of Site
        The servers.
    name : str
        Name of the model at the servers.
    api, system, identity, concurrency
        See `connect_servers`.
    abilities : Abilities
        What all of the servers can do.
    """

    def __init__(
        self,
        sites: Sequence[Site],
        name: str,
        *,
        api: Api,
        system: str | None = None,
        identity: str,
        concurrency: int,
        abilities: Abilities,
    ) -> None:
        self.name, self.abilities = name, abilities
        # The weights are not known here: when they change, the user gives a new `identity`.
        self.fingerprint = hashlib.sha256(
            json.dumps(["server", identity, name, api, system]).encode()
        ).hexdigest()
        self._sites, self._api, self._system = list(sites), api, system
        self._concurrency = concurrency

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer every request; `stream_answers` hands the same answers out as they come.

        Parameters
        ----------
        requests : sequence of Request
            Independent of each other.

        Returns
        -------
        list of Answer
            One per request, in the order of the requests; without log-probabilities.

        Raises
        ------
        InputError
            A server refuses a request for what it says.
        CoherenceError
            No server is left that answers.
        """
        answers = dict(self.stream_answers(requests))
        return [answers[i] for i in range(len(requests))]

    def stream_answers(
        self, requests: Sequence[Request]
    ) -> Generator[tuple[int, Answer], None, None]:
        """Answer every request and hand the answers out as they come, to be kept at once.

        Parameters
        ----------
        requests : sequence of Request
            Independent of each other.

        Yields
        ------
        tuple of int and Answer
            Position of the request, and its answer; each position once, in any order.

        Raises
        ------
        InputError
            A server refuses a request for what it says.
        CoherenceError
            No server is left that answers.
        """
        bodies = [
            payload(self._api, self.name, request, system=self._system) for request in requests
        ]
        # Closed by name: a caller that stops early must end the calls that are under way.
        with closing(self._run(bodies, partial(read_answer, self._api))) as answers:
            for i, answer in answers:
                # A chat ends by itself; what goes on from a text would go on with the next one.
                n_lines = requests[i].max_lines if self._api == "completions" else None
                yield i, replace(answer, text=first_lines(answer.text, n_lines))

    def label_bounds(self, texts: Sequence[str], labels: Sequence[str]) -> list[LabelBounds]:
        """Bound the probabilities of labels as an answer's first token, at temperature 1.

        Parameters
        ----------
        texts : sequence of str
            The questions.
        labels : sequence of str
            Two or more words, none of which begins another.

        Returns
        -------
        list of LabelBounds
            One per text.

        Raises
        ------
        InputError
            The servers give no log-probabilities, or the labels cannot be told apart.
        CoherenceError
            No server is left that answers.
        """
        check_labels(labels)
        n = self.abilities.n_likely_tokens
        if not n:
            raise self._cannot(
                "list likely tokens with their log-probabilities",
                "beliefs can be read from its words alone",
            )
        bodies = [
            # At temperature 1: some servers scale the list by the temperature of the request.
            payload(self._api, self.name, Request(text, 0, 1), system=self._system, n_logprobs=n)
            for text in texts
        ]
        likely = dict(self._run(bodies, self._likely))
        return [bound_labels(likely[i], labels) for i in range(len(texts))]

    def outcome_logprobs(
        self, texts: Sequence[str], outcomes: Sequence[str]
    ) -> list[tuple[float, ...]]:
        """Return the log-probabilities of whole continuations, as the server cuts them into tokens.

        Parameters
        ----------
        texts : sequence of str
            The texts before.
        outcomes : sequence of str
            Continuations, with the space that belongs before them.

        Returns
        -------
        list of tuple of float
            Per text, one natural logarithm per outcome.

        Raises
        ------
        InputError
            The servers do not echo prompts with log-probabilities, or an outcome melts into the
            text before it.
        CoherenceError
            No server is left that answers.
        """
        if not self.abilities.echo:
            raise self._cannot(
                "echo a prompt with log-probabilities",
                "continuations of several tokens cannot be scored",
            )
        if not outcomes or not all(outcomes):
            raise InputError(
                "outcomes must be one or more texts, none of them empty; "
                f"received {list(outcomes)}."
            )
        # By difference: the text with the outcome behind it, and the text alone.
        prompts = [text + end for text in texts for end in ("", *outcomes)]
        bodies = [echo_payload(self.name, prompt) for prompt in prompts]
        echoes = dict(self._run(bodies, read_echo))
        # Every text by itself, followed by itself with each outcome.
        width = 1 + len(outcomes)
        return [
            tuple(
                _continuation(echoes[start], echoes[start + k], outcome)
                for k, outcome in enumerate(outcomes, start=1)
            )
            for start in range(0, len(prompts), width)
        ]

    def _run(
        self, bodies: list[dict[str, Any]], read: Callable[[dict[str, Any]], Result]
    ) -> Generator[tuple[int, Result], None, None]:
        return run(
            self._sites,
            [(PATHS[self._api], body) for body in bodies],
            read,
            concurrency=self._concurrency,
        )

    def _likely(self, data: dict[str, Any]) -> dict[str, float]:
        likely = read_likely_tokens(self._api, data)
        # An empty list would bound every label by 0 and 1, and be stored as such.
        if not likely:
            raise CallError(
                "again", "the response has no log-probabilities, though the server gave some before"
            )
        return likely

    def _cannot(self, what: str, so: str) -> InputError:
        where = ", ".join(str(site.address) for site in self._sites)
        # What is lacking is said before anything is asked, with what will do instead.
        return InputError(
            f"servers {where} do not {what} for model {self.name!r} in the {self._api} API, "
            f"so {so}. Use servers that do (docs/servers.md names some), or the model's files."
        )


def _continuation(before: list[EchoedToken], whole: list[EchoedToken], outcome: str) -> float:
    n_before = len(before)
    # A tokenizer that joins the end of the text with the beginning of the outcome scores neither.
    if len(whole) <= n_before or [t.text for t in whole[:n_before]] != [t.text for t in before]:
        raise InputError(
            f"outcome {outcome!r} must begin with a token of its own; the server's tokenizer joins "
            "it with the end of the text. Move the space between them from one to the other."
        )
    return math.fsum(token.logprob for token in whole[n_before:] if token.logprob is not None)
