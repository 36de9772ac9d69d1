"""A model behind a service or server: what it is asked, and what it answers.

Inspect calls it, waits where it is busy, and tries again what failed in passing. Every draw is a
call of its own, with its own seed and temperature; whether equal seeds give equal answers is the
provider's affair. A list of the most likely tokens yields bounds, never a zero for what it leaves
out.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import finalize

from coherence.errors import InputError
from elicitation.models.base import Answer, Request, first_lines, require_requests, require_texts
from elicitation.models.hosted.background import as_they_come, start, wait_for
from elicitation.models.hosted.keys import without_key
from elicitation.models.hosted.names import is_completing
from elicitation.models.hosted.replies import (
    FILTERED,
    HostedError,
    ReplyError,
    answer_of,
    likely_tokens,
    line_of,
    read_lists_of_chats,
)
from elicitation.models.hosted.schemas import schema_of, written
from elicitation.models.labels import LabelBounds, bound_labels, check_labels
from elicitation.spelling.forms import AnswerForm

if TYPE_CHECKING:
    import inspect_ai.model
    from inspect_ai.model import ModelOutput

# Some servers keep seeds in 32 bits and take the largest for "draw one": the lower 31 bits pass
# everywhere.
_SEED_BITS = (1 << 31) - 1
# llama.cpp lists as many as are asked for; others at most 20 in chats, or 5 in completions.
_LIST_LENGTHS = (1000, 100, 20, 5)
# A service that failed so often in a row, with no answer between, is taken to be gone.
_FAILURES_IN_A_ROW = 6


class HostedModel:
    """A model behind a service or server, from `connect`.

    Parameters
    ----------
    model : inspect_ai.model.Model
        The model as Inspect knows it, from its ``get_model``.
    name : str or None
        Value of the `model` column; None takes Inspect's name.
    system : str or None
        System message of every chat.
    identity : str or None
        Stands for the place in the keys of stored answers; None takes address or provider.
    concurrency : int
        Calls under way, positive.
    extra : mapping or None
        Further settings of every call that change answers: ``reasoning_effort``, and others that
        go into the body of the request.
    timeout : float or None
        Seconds that an answer may take, with all waits and tries; None sets no end.
    """

    def __init__(
        self,
        model: inspect_ai.model.Model,
        *,
        name: str | None = None,
        system: str | None = None,
        identity: str | None = None,
        concurrency: int = 8,
        extra: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> None:
        full = str(model)
        self.name = name or full
        self.unset: tuple[str, ...] = ()
        """Settings that Inspect sends none of, since the service sets them by itself."""
        self.is_server = full.startswith(("openai-api/server/", "openai-api-completions/server/"))
        self._model, self._full = model, full
        self._completes = is_completing(full)
        self._system, self._concurrency = system, concurrency
        self._extra = dict(extra or {})
        self._timeout = timeout
        self._key: str | None = getattr(model.api, "api_key", None)
        self._holds_forms = False
        if self._completes:
            read_lists_of_chats(model.api)
        # Connections are open as long as the model is in use, and no longer.
        finalize(self, _close, model).atexit = False
        # The weights are not known here: when they change, the user gives a new `identity`.
        api = "completions" if self._completes else "chat"
        place = identity or model.api.base_url or full.partition("/")[0]
        told = ["server", place, self.name, api, system, self._extra]
        self.fingerprint = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer every request, as `stream_answers`, in their order; without log-probabilities."""
        answers = dict(self.stream_answers(requests))
        return [answers[i] for i in range(len(requests))]

    def stream_answers(
        self, requests: Sequence[Request]
    ) -> Generator[tuple[int, Answer], None, None]:
        """Answer every request and hand the answers out as they come, to be kept at once.

        A request with a form is held to it by the provider's structured output.

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
        CoherenceError
            A request is refused, or the model answers no more.
        """
        require_requests(requests, forms=True)

        async def ask(request: Request) -> Answer:
            if request.form is not None:
                return await self._in_form(request, request.form)
            answer = self._kept(await self.call(request))
            # A chat ends by itself; what goes on from a text would go on with the next one.
            text = first_lines(answer.text, request.max_lines if self._completes else None)
            # What comes after the lines that were asked for may be cut: the answer is whole.
            cut = len(text) < len(answer.text) and answer.finish_reason == "length"
            return replace(answer, text=text, finish_reason="stop" if cut else answer.finish_reason)

        yield from self._all(requests, ask)

    constrains_tokens = True

    async def _in_form(self, request: Request, form: AnswerForm) -> Answer:
        """Ask by the provider's structured output; what was cut or withheld is as it came."""
        answer = self._kept(await self.call(request, **_held_to(form)))
        text = written(form, answer.text)
        if text is None and answer.finish_reason not in ("length", FILTERED):
            if self._holds_forms:
                raise ReplyError("an answer leaves the schema that it was to be held to")
            raise InputError(
                f"{self._full} does not hold an answer to a JSON schema (response_format), so "
                "answers must be drawn freely (--answers drawn). Use a service or server that does "
                "(docs/servers.md names some), or the model's files."
            )
        self._holds_forms |= text is not None
        return replace(answer, text=answer.text if text is None else text)

    @cached_property
    def n_likely_tokens(self) -> int:
        """How many likely first tokens are listed with their log-probabilities; 0 for none."""
        # Short and harmless; the first length that is answered with a list counts.
        for n in _LIST_LENGTHS:
            try:
                output = wait_for(self.call(Request("Say one word.", 0, 1), **_listing(n)))
                # A single token is the drawn one: how many were asked for is ignored.
                if len(likely_tokens(output)) > 1:
                    return n
            except Exception:  # whatever it is: nothing is listed in this way
                continue
        return 0

    answer_kinds = ("labels", "outcomes")

    def distributions(
        self, questions: Sequence[tuple[str, AnswerForm]]
    ) -> Generator[tuple[int, LabelBounds], None, None]:
        """Bound the probabilities of labels as an answer's first token, at temperature 1.

        Labels are two or more words, none of which begins another; else as `DistributionModel`.

        Raises
        ------
        InputError
            No log-probabilities are to be had, or the labels cannot be told apart.
        CoherenceError
            A request is refused, or the model answers no more.
        """
        require_texts([text for text, _ in questions], "texts")
        for labels in {form.labels for _, form in questions}:
            check_labels(labels)
        n = self.n_likely_tokens
        if not n:
            raise InputError(
                f"{self._full} does not list likely tokens with their log-probabilities, so "
                "beliefs can be read from its words alone. Use a service or server that does "
                "(docs/servers.md names some), or the model's files."
            )

        async def ask(question: tuple[str, AnswerForm]) -> LabelBounds:
            text, form = question
            # At temperature 1: some servers scale the list by the temperature of the request.
            output = await self.call(Request(text, 0, 1), **_listing(n))
            likely = likely_tokens(output)
            # An empty list bounds every label by 0 and 1, which is right only where a filter keeps
            # the answer back.
            if not likely and answer_of(output).finish_reason != FILTERED:
                raise ReplyError("the reply lists no likely tokens, though others did before")
            return bound_labels(likely, form.labels)

        yield from self._all(questions, ask)

    async def call(self, request: Request, *, retry: bool = True, **more: Any) -> ModelOutput:
        """Ask once, or as often as it takes; `more` are further fields of Inspect's config."""
        from inspect_ai.model import (
            ChatMessage,
            ChatMessageSystem,
            ChatMessageUser,
            GenerateConfig,
        )

        if "temperature" in self.unset and request.temperature == 0:
            # One answer stands for all repetitions there: random ones would look certain.
            raise InputError(
                f"{self._full} draws at a temperature of its own, so that one answer cannot stand "
                "for all. Ask at --temperature 1."
            )
        body = {name: value for name, value in self._extra.items() if name != "reasoning_effort"}
        config = GenerateConfig(
            max_tokens=request.max_new_tokens,
            temperature=float(request.temperature),
            seed=request.seed & _SEED_BITS,
            reasoning_effort=self._extra.get("reasoning_effort"),
            extra_body=body or None,
            **more,
        )
        messages: list[ChatMessage] = [ChatMessageUser(content=request.text)]
        if self._system is not None:
            messages.insert(0, ChatMessageSystem(content=self._system))
        if retry:
            # Inspect looks at its own timeout between tries, and not while it waits for one.
            try:
                async with asyncio.timeout(self._timeout):
                    return await self._model.generate(messages, config=config)
            except TimeoutError as error:
                raise ReplyError(
                    f"no answer within {self._timeout:g} seconds (--set timeout)"
                    if self._timeout is not None
                    else line_of(error)
                ) from error
        # The provider beneath: it makes one call, and says what it sent.
        result = await self._model.api.generate(messages, [], "none", config)
        output, sent = result if isinstance(result, tuple) else (result, None)
        if isinstance(output, Exception):
            raise output
        if sent is not None:
            kept = _keys_in(sent.request)
            self.unset = tuple(sorted({"temperature", "seed"} - kept))
        return output

    def shown(self, error: BaseException) -> str:
        """Return what failed, in one line without the key."""
        return without_key(line_of(error), self._key)

    def _kept(self, output: ModelOutput) -> Answer:
        answer = answer_of(output)
        said = {name: getattr(answer, name) for name in ("text", "thinking", "served_by")}
        said = {name: text and without_key(text, self._key) for name, text in said.items()}
        return replace(answer, **said, unset=", ".join(self.unset) or None)

    def _all(self, items: Sequence[Any], ask: Any) -> Generator[tuple[int, Any], None, None]:
        """Yield what is answered; raise when the model is gone, or at the end for what failed."""
        first: Exception | None = None
        n_failed = in_a_row = 0
        # Closed by name: a caller that stops early must end the calls that are under way.
        with closing(as_they_come(items, ask, n_at_once=self._concurrency)) as results:
            for i, result in results:
                if not isinstance(result, Exception):
                    in_a_row = 0
                    yield i, result
                    continue
                if isinstance(result, InputError):
                    raise result
                first = first or result
                n_failed += 1
                in_a_row += 1
                if in_a_row >= _FAILURES_IN_A_ROW:
                    break
        if first is not None:
            what = (
                "does not answer any more"
                if in_a_row >= _FAILURES_IN_A_ROW or n_failed == len(items) > 1
                else f"did not answer {n_failed} of {len(items)} request{'s' * (len(items) > 1)}"
            )
            raise HostedError(
                f"{self.name} {what}: {self.shown(first)}. What was "
                "answered before is kept; the same command asks for the rest."
            ) from first


def _close(model: inspect_ai.model.Model) -> None:
    start(model.api.aclose())


def _held_to(form: AnswerForm) -> dict[str, Any]:
    from inspect_ai.model import ResponseSchema
    from inspect_ai.util import JSONSchema

    schema = JSONSchema.model_validate(schema_of(form))
    return {"response_schema": ResponseSchema(name="answer", json_schema=schema, strict=True)}


def _listing(n: int) -> dict[str, Any]:
    return {"logprobs": True, "top_logprobs": n}


def _keys_in(sent: Any) -> set[str]:
    """Return the names of all fields that are set in a request, at any depth."""
    if isinstance(sent, list):
        return set().union(*map(_keys_in, sent))
    if not isinstance(sent, dict):
        return set()
    named = {str(name) for name, value in sent.items() if value is not None}
    return named.union(*map(_keys_in, sent.values()))
