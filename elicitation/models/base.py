"""What can be asked of a model, as types that are checked at run time.

Every model has a name, a fingerprint, and answers to a batch of texts (`Model`); a local
transformer, a server, a simulated agent, or any object of your own will do. What else it can do is
said by further protocols: hand out answers as they come (`StreamingModel`), hold them to a form
(`ConstrainedModel`), and know how probable the answers in a form are (`DistributionModel`).
``isinstance(model, DistributionModel)`` is the one way to ask.

A request carries its own seed, and a model that draws must draw from that seed alone, so that an
answer depends neither on its neighbours in the batch nor on their order.
"""

from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from coherence.errors import InputError

if TYPE_CHECKING:
    from elicitation.spelling.forms import AnswerForm, Distribution, LabelBounds


PROVIDERS = (
    *("openai", "openai-api", "openai-api-completions", "anthropic", "google", "mistral", "grok"),
    *("groq", "together", "fireworks", "moonshot", "meta", "deepseek", "sambanova", "openrouter"),
    *("perplexity", "cloudflare", "azureai", "bedrock", "sagemaker", "hf-inference-providers"),
    *("litellm-proxy", "vllm", "vllm-completions", "sglang", "ollama", "llama-cpp-python"),
    "mockllm",
)
"""Of Inspect, those that ask over a network; those that load weights here are left out."""
_COMPLETIONS = {"openai-api": "openai-api-completions", "vllm": "vllm-completions"}


def provider_of(model: str) -> str | None:
    """Return the provider that a name begins with; None where it is no hosted model's.

    A folder of this name goes first. A model of the hub whose owner is also a provider, such as
    openai/gpt-oss-20b, is named hf/openai/gpt-oss-20b, as in Inspect.
    """
    provider, slash, rest = model.partition("/")
    if not slash or not rest or provider not in PROVIDERS or Path(model).exists():
        return None
    return provider


def is_completing(model: str) -> bool:
    """Return whether a name stands for a model that continues texts, without a chat template."""
    return provider_of(model) in _COMPLETIONS.values()


def completing(model: str) -> str:
    """Return the name under which the same model continues texts instead of answering in chats."""
    provider = str(provider_of(model))
    if provider in _COMPLETIONS.values():
        return model
    if provider not in _COMPLETIONS:
        raise InputError(
            f"{provider} answers in chats alone; texts are continued by "
            f"{', '.join(f'{name}/...' for name in _COMPLETIONS.values())} and by --server. "
            "Leave --no-chat (chat=False) out."
        )
    return model.replace(provider, _COMPLETIONS[provider], 1)


@dataclass(frozen=True)
class Request:
    """One text to be answered.

    Parameters
    ----------
    text : str
        The question, as the user of a chat would type it.
    seed : int
        Seed of this answer alone, at least 0; not used at temperature 0.
    max_new_tokens : int
        The answer is cut after so many tokens, positive.
    temperature : float
        Divisor of the logits, at least 0; 0 takes the most probable token each time.
    max_lines : int or None
        Of a model that goes on from the text instead of answering it (no chat template, a
        completion server): the answer ends once so many lines with visible characters are complete,
        for what follows would be more text of the same kind. A chat model ends its answer itself,
        and all of it is kept: what it says further on may take back what it said first. None lets
        every model end it.
    form : AnswerForm or None
        What the answer must look like; see `ConstrainedModel`.
    """

    text: str
    seed: int
    max_new_tokens: int
    temperature: float = 1.0
    max_lines: int | None = None
    form: "AnswerForm | None" = None


def end_of_lines(text: str, max_lines: int | None) -> int | None:
    """Return where so many lines with visible characters end."""
    if max_lines is None:
        return None
    position = n_visible = 0
    # What follows the last line break is no complete line: a model may go on with it.
    for line in text.split("\n")[:-1]:
        position += len(line) + 1
        n_visible += bool(line.strip())
        if n_visible == max_lines:
            return position
    return None


def first_lines(text: str, max_lines: int | None) -> str:
    r"""Cut a text after so many lines with visible characters."""
    return text[: end_of_lines(text, max_lines)]


@dataclass(frozen=True)
class Answer:
    """What a model said.

    Parameters
    ----------
    text : str
        The answer as it came, white space included; text from outside, to be read and never to be
        run.
    logprob : float or None
        Natural logarithm of the probability of the answer's tokens at temperature 1; None where the
        model does not give it.
    n_tokens : int or None
        Tokens of the answer, its end mark and its thinking included.
    finish_reason : str or None
        Why the answer ended, in the words of OpenAI's API: "stop", "length" (cut at
        `Request.max_new_tokens`), "content_filter" (withheld by a server); None where unknown.
    thinking : str or None
        What the model wrote before its answer for itself, where that came apart from the answer;
        kept and counted, and never read as an answer.
    served_by : str or None
        A server's own name for the weights that answered, such as a dated snapshot, with its
        fingerprint of them.
    answer_mass : float or None
        Of an answer drawn from those in a form: the probability that an answer has the form.
    seed, created : int, str or None
        Seed that was asked with, and the time (UTC) of the answer: set by the store that keeps it.
    """

    text: str
    logprob: float | None = None
    n_tokens: int | None = None
    finish_reason: str | None = None
    thinking: str | None = None
    served_by: str | None = None
    answer_mass: float | None = None
    seed: int | None = None
    created: str | None = None


def require_requests(requests: Sequence[Request], *, forms: bool = False) -> None:
    """Refuse what are not requests, and forms where a model cannot hold its answers to them."""
    if not isinstance(requests, Sequence) or not all(
        isinstance(request, Request) and isinstance(request.text, str) for request in requests
    ):
        raise InputError(
            f"requests must be a list of elicitation.Request, each with a text; received "
            f"{str(requests)[:60]!r}. Make them with Request(text, seed, max_new_tokens)."
        )
    if not forms and any(request.form is not None for request in requests):
        raise InputError(
            "requests must have no form: this model does not mask its tokens. Draw from its "
            "distributions."
        )


def require_texts(texts: Sequence[str], name: str) -> None:
    """Refuse what is not a list of texts."""
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise InputError(
            f"{name} must be a list of texts; received {str(texts)[:60]!r}. Put each in quotes."
        )


@runtime_checkable
class Model(Protocol):
    """Something that answers texts."""

    @property
    def name(self) -> str:
        """Name for the `model` column of the runs table."""
        ...

    @property
    def fingerprint(self) -> str:
        """Digest of all that shapes an answer besides the request, such as weights and template."""
        ...

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """Return an answer to every request, in their order; they are independent of each other."""
        ...


@runtime_checkable
class StreamingModel(Model, Protocol):
    """A model that hands out answers one by one, so that a session can keep each at once."""

    # Not `stream`: models that people bring have a method of that name for other things, and
    # `isinstance` sees names alone.
    def stream_answers(
        self, requests: Sequence[Request]
    ) -> Generator[tuple[int, Answer], None, None]:
        """Answer every request, in the order in which answers come."""
        ...


@runtime_checkable
class ConstrainedModel(Model, Protocol):
    """A model that masks its tokens one at a time, so that an answer has its request's form.

    What it draws is not what it would say if its answer had the form: masks favour beginnings that
    lead nowhere.
    """

    @property
    def constrains_tokens(self) -> bool:
        """Whether `generate` heeds the form of a request."""
        ...


@runtime_checkable
class DistributionModel(Protocol):
    """A model that knows how probable the answers in a form are, or bounds on that."""

    @property
    def answer_kinds(self) -> Collection[str]:
        """Kinds of forms whose answers it knows; see `AnswerForm`."""
        ...

    def distributions(
        self, questions: "Sequence[tuple[str, AnswerForm]]"
    ) -> "Iterable[tuple[int, Distribution | LabelBounds]]":
        """Return the position of every text with what is known of its answers, as it comes."""
        ...
