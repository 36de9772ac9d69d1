"""A model behind one or several servers: what it is asked, and what it answers.

Every draw is a request of its own, with its own seed and temperature; whether equal seeds give
equal answers is the server's affair. Log-probabilities are used only where a server was seen to
give them, and a list of the most likely tokens yields bounds, never a zero for what it leaves out.
"""

import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from coherence.errors import InputError
from elicitation.models.base import Answer, Request
from elicitation.models.labels import LabelBounds, bound_labels, check_labels
from elicitation.models.lines import first_lines
from elicitation.models.servers.completions import (
    FILTERED,
    PATHS,
    Api,
    payload,
    read_answer,
    read_likely_tokens,
)
from elicitation.models.servers.dispatch import RefusedError, ServersError, run
from elicitation.models.servers.forcing import MASKS, Mask
from elicitation.models.servers.http import CallError
from elicitation.models.servers.probing import Abilities
from elicitation.models.servers.site import Site
from elicitation.spelling.forms import AnswerForm

Result = TypeVar("Result")


class ServerModel:
    """A model behind one or several servers, from `connect_servers`.

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
    extra : mapping or None
        Further fields of every request, from `extra_fields`.
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
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self.abilities = name, abilities
        # The weights are not known here: when they change, the user gives a new `identity`.
        told: list[Any] = ["server", identity, name, api, system]
        # Without further fields as it always was: answers of older stores are found again.
        told += [extra] if extra else []
        self.fingerprint = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
        self._extra = dict(extra or {})
        self._sites, self._api, self._system = list(sites), api, system
        self._concurrency = concurrency
        self._mask: Mask | None = None

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
        bodies = [self._payload(request) for request in requests]
        # Closed by name: a caller that stops early must end the calls that are under way.
        with closing(self._run(bodies, partial(read_answer, self._api))) as answers:
            for i, answer in answers:
                # A chat ends by itself; what goes on from a text would go on with the next one.
                n_lines = requests[i].max_lines if self._api == "completions" else None
                text = first_lines(answer.text, n_lines)
                # What comes after the lines that were asked for may be cut: the answer is whole.
                cut = len(text) < len(answer.text) and answer.finish_reason == "length"
                reason = "stop" if cut else answer.finish_reason
                yield i, replace(answer, text=text, finish_reason=reason, unset=self._unset())

    def forced_answers(self, requests: Sequence[Request], form: AnswerForm) -> list[Answer]:
        """Answer every request in a form, by the server's own masks.

        Parameters
        ----------
        requests : sequence of Request
            Independent of each other.
        form : AnswerForm
            What an answer must look like.

        Returns
        -------
        list of Answer
            One per request, in order. One that was cut or withheld is as it came.

        Raises
        ------
        InputError
            The servers honour none of the fields that hold an answer to a form.
        CoherenceError
            No server is left that answers.
        """
        if not requests:
            return []
        longest = max(request.max_new_tokens for request in requests)
        mask = self._mask = self._mask or self._first_mask(longest)
        bodies = [{**self._payload(request), **mask.fields(form)} for request in requests]

        def read(data: dict[str, Any]) -> Answer:
            answer = read_answer(self._api, data)
            text = mask.read(form, answer.text)
            if text is None and answer.finish_reason not in ("length", FILTERED):
                raise CallError("again", f"an answer leaves the form that {mask.name} holds it to")
            return replace(answer, text=answer.text if text is None else text, unset=self._unset())

        answers = dict(self._run(bodies, read))
        return [answers[i] for i in range(len(requests))]

    def _first_mask(self, max_new_tokens: int) -> Mask:
        """Try one field after the other on every server, and return the first that all honour."""
        # Nobody says a number when asked for a word, unless he must.
        form = AnswerForm("number")
        asked = self._payload(Request("Say one word.", 0, max(max_new_tokens, 16)))
        sites = [site for site in self._sites if site.aside is None]

        def read(data: dict[str, Any]) -> str:
            return read_answer(self._api, data).text

        for mask in MASKS:
            job = (PATHS[self._api], {**asked, **mask.fields(form)})
            try:
                said = [[*run([site.afresh(1)], [job], read, concurrency=1)] for site in sites]
            except (RefusedError, ServersError):
                continue
            if all(mask.read(form, text) is not None for ((_, text),) in said):
                return mask
        tried = ", ".join(mask.name for mask in MASKS)
        raise self._cannot(
            f"hold an answer to a form (tried: {tried})", "answers must be drawn freely"
        )

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
            self._payload(Request(text, 0, 1), n_logprobs=n)
            for text in texts
        ]
        likely = dict(self._run(bodies, self._likely))
        return [bound_labels(likely[i], labels) for i in range(len(texts))]

    def _payload(self, request: Request, *, n_logprobs: int = 0) -> dict[str, Any]:
        return payload(
            self._api,
            self.name,
            request,
            system=self._system,
            n_logprobs=n_logprobs,
            extra=self._extra,
        )

    def _unset(self) -> str | None:
        """Return what the servers set by themselves; one that does is enough to say so."""
        fields = {field for site in self._sites for field in site.dialect.unset}
        return ", ".join(sorted(fields)) or None

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
        # An empty list bounds every label by 0 and 1, which is right only where a filter keeps the
        # answer back.
        if not likely and read_answer(self._api, data).finish_reason != FILTERED:
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
