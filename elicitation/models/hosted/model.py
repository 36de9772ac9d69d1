"""A model behind a service or server: what it is asked, and what it answers.

Inspect calls it, waits where it is busy, and tries again what failed in passing. Every draw is a
call of its own, with its own seed and temperature; whether equal seeds give equal answers is the
provider's affair. A list of the most likely tokens yields bounds, never a zero for what it leaves
out.

Inspect's clients are asynchronous, and their connections belong to one event loop. One loop runs in
a thread of its own as long as the process, so that callers need none, and a notebook, where a loop
runs already, keeps its own.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import json
import os
import threading
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import finalize

from coherence.errors import InputError, MissingExtraError
from coherence.inputs import whole_number
from elicitation.models.base import (
    PROVIDERS,
    Answer,
    Request,
    completing,
    first_lines,
    is_completing,
    provider_of,
    require_requests,
    require_texts,
)
from elicitation.models.hosted.protocol import (
    FILTERED,
    HostedError,
    ReplyError,
    address_of,
    answer_of,
    likely_tokens,
    line_of,
    read_lists_of_chats,
    schema_of,
    without_key,
    written,
)
from elicitation.spelling.forms import AnswerForm, LabelBounds, bound_labels, check_labels

if TYPE_CHECKING:
    import inspect_ai.model
    from inspect_ai.model import ModelOutput


Result = TypeVar("Result")
_SECONDS_TO_END = 10.0  # of what a call does by itself, such as importing its client


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    # A daemon: a call that never ends must not keep the program from ending.
    thread = threading.Thread(target=loop.run_forever, name="hosted models", daemon=True)
    thread.start()

    async def stop() -> None:
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for call in under_way:
            call.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        loop.stop()

    def end() -> None:
        # Compiled code that a thread is in when the interpreter goes away aborts the process.
        start(stop())
        thread.join(_SECONDS_TO_END)

    atexit.register(end)
    return loop


def start(call: Coroutine[Any, Any, Result]) -> Future[Result]:
    """Let a call run; nobody need wait for it."""
    return asyncio.run_coroutine_threadsafe(call, _loop())


def wait_for(call: Coroutine[Any, Any, Result]) -> Result:
    """Return what a call brings; Ctrl-C ends it."""
    future = start(call)
    try:
        return future.result()
    finally:
        future.cancel()


# Some servers keep seeds in 32 bits and take the largest for "draw one": the lower 31 bits pass
# everywhere.
_SEED_BITS = (1 << 31) - 1
# llama.cpp lists as many as are asked for; others at most 20 in chats, or 5 in completions.
_LIST_LENGTHS = (1000, 100, 20, 5)
# A service that failed so often in a row, with no answer between, is taken to be gone.
_FAILURES_IN_A_ROW = 6
# Long enough for a server that loads a model with its first call.
_OPENING_SECONDS = 60
# Short and harmless; a model that thinks first is refused a single token by some servers.
_PROBE = Request("Say one word.", 0, 16)
_NO_KEY = "none"  # where Inspect wants a key and a server of one's own has none


def connect(
    model: str,
    *,
    server: str | None = None,
    chat: bool | None = None,
    system: str | None = None,
    server_name: str | None = None,
    max_connections: int = 8,
    max_retries: int | None = None,
    timeout: int = 600,
    api_key_env: str | None = None,
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
    server, chat, system, server_name, max_connections, timeout, api_key_env, ...
        As the options of ``coherence elicit``, see docs/servers.md.
    max_retries : int or None
        How often a call is tried again after too many requests, errors of the server and broken
        connections; None tries until `timeout`.

    Returns
    -------
    HostedModel
        Ready to answer.

    Raises
    ------
    InputError
        An option is outside its range, or the model is refused.
    CoherenceError
        The model is not there.

    Examples
    --------
    A server that runs ``small`` is ``connect("small", server="http://localhost:8000")``; a name
    alone says nothing of where it is.

    >>> connect("small")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    InputError: model must be PROVIDER/NAME, such as openai/gpt-4o
    """
    whole_number(max_connections, "max_connections", 1)
    whole_number(timeout, "timeout", 1)
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
    key = None if server is None else _NO_KEY
    if api_key_env is not None:
        key = os.environ.get(api_key_env, "").strip()
        if not key:
            raise InputError(
                "api_key_env (--api-key-env) must be the name of an environment variable that "
                "holds the API key; what was given is not set, and is not shown, since it may be "
                "the key itself. Put the key into a variable, and give the variable's name."
            )
    try:
        from inspect_ai.model import GenerateConfig, get_model
    except ImportError:
        raise MissingExtraError("elicit", "Asking a hosted model") from None
    fields = {"reasoning_effort": reasoning_effort, "chat_template_kwargs": chat_template_kwargs}
    try:
        asked = get_model(
            full,
            config=GenerateConfig(
                max_connections=max_connections, max_retries=max_retries, timeout=timeout
            ),
            base_url=address,
            api_key=key,
            memoize=False,
        )
        GenerateConfig.model_validate({"reasoning_effort": reasoning_effort})
    # Whatever a provider raises: a package or a key that is missing, a name that it does not know.
    except Exception as error:
        raise InputError(f"{full} cannot be asked: {line_of(error)}.") from error
    hosted = HostedModel(
        asked,
        name=model if server is not None else None,
        system=system,
        server_name=server_name or address,
        max_connections=max_connections,
        extra={**(extra_body or {}), **{n: value for n, value in fields.items() if value}},
        timeout=timeout,
    )
    hosted.open()
    return hosted


class HostedModel:
    """A model behind a service or server, from `connect`, which says what its options mean.

    Its name is Inspect's where None is given, and its place address or provider where there is no
    `server_name`. `extra` are further settings of every call that change answers:
    ``reasoning_effort``, and others that go into the body of the request.
    """

    def __init__(
        self,
        model: inspect_ai.model.Model,
        *,
        name: str | None,
        system: str | None,
        server_name: str | None,
        max_connections: int,
        extra: dict[str, Any],
        timeout: float,
    ) -> None:
        full = str(model)
        self.name = name or full
        self._model, self._full, self._extra = model, full, extra
        self._completes = is_completing(full)
        self._system, self._n_at_once, self._timeout = system, max_connections, timeout
        self._key: str | None = getattr(model.api, "api_key", None)
        self._holds_forms = False
        if self._completes:
            read_lists_of_chats(model.api)
        # Connections are open as long as the model is in use, and no longer.
        finalize(self, lambda: start(model.api.aclose())).atexit = False
        # The weights are not known here: when they change, the user gives a new `server_name`.
        api = "completions" if self._completes else "chat"
        place = server_name or model.api.base_url or full.partition("/")[0]
        identity = ["server", place, self.name, api, system, self._extra]
        self.fingerprint = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()

    def open(self) -> None:
        """Call it once; one that is busy is there. Raise `CoherenceError` where none answers."""
        seconds = min(self._timeout, _OPENING_SECONDS)
        try:
            answer_of(wait_for(asyncio.wait_for(self.call(_PROBE, retry=False), seconds)))
        except TimeoutError:
            raise HostedError(
                f"{self.name} did not answer within {seconds:g} seconds. "
                "Check the address, or wait until the server has loaded the model."
            ) from None
        except InputError:
            raise
        except Exception as error:
            status, said = getattr(error, "status_code", None), self._shown(error)
            if status == 429:
                return
            hint = ""
            if status in (401, 403) and self._key in (None, _NO_KEY):
                hint = " No key was sent: name the variable that holds it (--api-key-env)."
            elif "template" in said:
                hint = " A model without a chat template is asked with --no-chat (chat=False)."
            raise HostedError(f"{self.name} does not answer: {said}.{hint}") from error

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer every request, as `stream_answers`, in their order; without log-probabilities."""
        answers = dict(self.stream_answers(requests))
        return [answers[i] for i in range(len(requests))]

    def stream_answers(
        self, requests: Sequence[Request]
    ) -> Generator[tuple[int, Answer], None, None]:
        """Answer every request and hand the answers out as they come, to be kept at once.

        They come with the positions of their requests, in any order. A request with a form is held
        to it by the provider's structured output. Raises `CoherenceError` where a request is
        refused, or the model answers no more.
        """
        require_requests(requests, forms=True)

        async def ask(request: Request) -> Answer:
            if request.form is not None:
                return await self._in_form(request, request.form)
            answer = answer_of(await self.call(request), self._key)
            # A chat ends by itself; what goes on from a text would go on with the next one.
            text = first_lines(answer.text, request.max_lines if self._completes else None)
            # What comes after the lines that were asked for may be cut: the answer is whole.
            cut = len(text) < len(answer.text) and answer.finish_reason == "length"
            return replace(answer, text=text, finish_reason="stop" if cut else answer.finish_reason)

        yield from self._all(requests, ask)

    constrains_tokens = True

    async def _in_form(self, request: Request, form: AnswerForm) -> Answer:
        """Ask by the provider's structured output; what was cut or withheld is as it came."""
        from inspect_ai.model import ResponseSchema
        from inspect_ai.util import JSONSchema

        schema = JSONSchema.model_validate(schema_of(form))
        held = ResponseSchema(name="answer", json_schema=schema, strict=True)
        answer = answer_of(await self.call(request, response_schema=held), self._key)
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
                output = wait_for(self.call(replace(_PROBE, max_new_tokens=1), **_listing(n)))
                # A single token is the drawn one: how many were asked for is ignored.
                if len(likely_tokens(output)) > 1:
                    return n
            except Exception:  # whatever it is: nothing is listed in this way
                continue
        return 0

    answer_kinds = ("labels",)

    def distributions(
        self, questions: Sequence[tuple[str, AnswerForm]]
    ) -> Generator[tuple[int, LabelBounds], None, None]:
        """Bound the probabilities of labels as an answer's first token, at temperature 1.

        Labels are two or more words, none of which begins another; else as `DistributionModel`.
        Raises `InputError` where no log-probabilities are to be had or the labels cannot be told
        apart, `CoherenceError` where a request is refused or the model answers no more.
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
                    f"no answer within {self._timeout} seconds (--set timeout)"
                ) from error
        # The provider beneath, which makes one call.
        result = await self._model.api.generate(messages, [], "none", config)
        output = result[0] if isinstance(result, tuple) else result
        if isinstance(output, Exception):
            raise output
        return output

    def _shown(self, error: BaseException) -> str:
        """Return what failed, in one line without the key."""
        said = without_key(line_of(error), self._key)
        # Of the program that reads the reply: it found something else than the protocol has there.
        strange = isinstance(error, TypeError | ValueError | AttributeError | LookupError)
        return f"the reply is not of the shape that the protocol says ({said})" if strange else said

    def _all(
        self, items: Sequence[Any], ask: Callable[[Any], Coroutine[Any, Any, Result]]
    ) -> Generator[tuple[int, Result], None, None]:
        """Yield position and answer of every item as it is there; raise when the model is gone.

        What failed besides is said at the end. No more calls than allowed are under way or wait to
        be taken: what waits, a killed process loses. Closing ends those that are under way.
        """
        first: Exception | None = None
        n_failed = in_a_row = 0
        left, under_way = iter(enumerate(items)), dict[Future[Result], int]()
        try:
            while in_a_row < _FAILURES_IN_A_ROW:
                for i, item in islice(left, self._n_at_once - len(under_way)):
                    under_way[start(ask(item))] = i
                if not under_way:
                    break
                future = next(iter(wait(under_way, return_when=FIRST_COMPLETED).done))
                position = under_way.pop(future)
                try:
                    result = future.result()
                except InputError:
                    raise
                except Exception as error:
                    first, n_failed, in_a_row = first or error, n_failed + 1, in_a_row + 1
                else:
                    in_a_row = 0
                    yield position, result
        finally:
            for future in under_way:
                future.cancel()
        if first is not None:
            gone = in_a_row >= _FAILURES_IN_A_ROW or n_failed == len(items) > 1
            what = f"did not answer {n_failed} of {len(items)} request{'s' * (len(items) > 1)}"
            raise HostedError(
                f"{self.name} {'does not answer any more' if gone else what}: "
                f"{self._shown(first)}. What was answered before is kept; the same command asks "
                "for the rest."
            ) from first


def _listing(n: int) -> dict[str, Any]:
    return {"logprobs": True, "top_logprobs": n}
