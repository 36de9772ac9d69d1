"""``--dry-run`` of the commands that ask: how much, and what it may cost.

No model is loaded, nothing is asked, and nothing is written.
"""

from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from elicitation.commands.model_options import (
    connect_to,
    device_map_of,
    is_hosted,
    name_in_store,
    require_empty,
)
from elicitation.options import ModelOptions

if TYPE_CHECKING:
    from elicitation.asking.overview import Preview
    from elicitation.models.local.causal import Prompting
    from elicitation.questions.question import Question


_QUICKLY_READ = 8 << 30
"""Bytes of weights that are read, in seconds, to tell whose answers a store has."""
BY_NAME = (
    "answers in the store are counted by the model's name: those under other settings or of "
    "other weights are not told apart"
)


def check_prices(options: ModelOptions) -> None:
    """Raise for prices that nothing is made of."""
    from coherence.errors import InputError

    for name in ("price_in", "price_out"):
        if getattr(options, name) is not None and not options.dry_run:
            raise InputError(f"{name} belongs to --dry-run. Add that, or leave the price out.")


@dataclass(frozen=True)
class PlannedAnswers:
    """What one model would be asked."""

    names: tuple[str, ...]  # of the model in the store
    questions: "Sequence[Question]"
    # those that are put to it only if it can answer them, which nobody knows without asking
    perhaps: "Sequence[Question]" = ()
    count: "Callable[[Question], int] | None" = (
        None  # tokens of a question; None where it is estimated
    )
    # fingerprints under which the store is asked for its answers; None where they are not known
    kept_as: "Callable[[], Collection[str] | None]" = lambda: None

    def condition(self, options: ModelOptions, store: str) -> str:
        """Return how many are asked under which condition; nothing where all are asked."""
        looks = [self.preview(options, store, sure=sure) for sure in (False, True) if self.perhaps]
        number = looks[0].n_left - looks[1].n_left if looks else 0
        only = f", {number} of them only where the server continues texts and lists likely tokens"
        return only if number else ""

    def preview(self, options: ModelOptions, store: str, *, sure: bool = False) -> "Preview":
        """Count the questions that the store has no answer to, or those that are sure."""
        from elicitation.asking.overview import preview

        return preview(
            [*self.questions, *(() if sure else self.perhaps)],
            model_name=self.names,
            # Weights are read for it, and Inspect is loaded: not where nothing is stored.
            fingerprints=self.kept_as() if Path(store).exists() else None,
            store=store,
            system=options.system,
            count=self.count,
        )


def planned_answers(
    options: ModelOptions,
    place: str,
    questions: "Sequence[Question]",
    *,
    perhaps: "Sequence[Question]" = (),
    plain: "Container[str]" = (),
    continuing: bool = False,
) -> PlannedAnswers:
    """Return what a model would be asked; `continuing` where it goes on from texts as well."""
    ways = (False, True) if continuing else (False,)
    return PlannedAnswers(
        tuple(dict.fromkeys(name_in_store(options, place, continuing=way) for way in ways)),
        questions,
        perhaps,
        count=_token_counter(options, place, plain),
        kept_as=partial(fingerprints_of, options, place, continuing=continuing),
    )


def fingerprints_of(
    options: ModelOptions, model: str, *, continuing: bool = False
) -> "Collection[str] | None":
    """Return what the answers of a model are kept under, those `continuing` texts included.

    None where that is not known: no key is there to connect with, a model is not at hand, or so
    large that reading its weights would take minutes.
    """
    from coherence.errors import CoherenceError

    ways = (False, True) if continuing else (False,)
    try:
        if is_hosted(options):
            connected = [connect_to(options, model, continuing=way, opening=False) for way in ways]
            return {each.fingerprint for each in connected}
        if not _at_hand(model, options.revision):
            return None
        said = False if continuing else options.chat, options.system, options.prefill
        placed = options.dtype, options.device, options.device_map, options.quantization
        mine = _fingerprint(model, options.revision, *said, *placed)
        if mine is None:
            return None
        reader = _reader(model, options.revision, None, None, "") if continuing else None
    except CoherenceError:  # said when it is loaded or connected to
        return None
    if reader is None or not reader.chat:
        return {mine}
    from elicitation.batteries.revealed.reading import in_chat_fingerprint

    return {mine, in_chat_fingerprint(mine, reader)}


@cache
def _fingerprint(
    model: str,
    revision: str | None,
    chat: bool | None,
    system: str | None,
    prefill: str | None,
    dtype: str,
    device: str,
    device_map: str | None,
    quantization: str | None,
) -> str | None:
    from elicitation.models.local.causal import causal_fingerprint
    from elicitation.models.local.loading import Placement, choose_device
    from elicitation.models.local.multiple_choice import choice_fingerprint, is_multiple_choice
    from elicitation.models.local.sources import find_source, without_network

    with without_network():
        source = find_source(model, revision=revision)
        chooses = is_multiple_choice(model, revision=revision)
    if sum(file.stat().st_size for file in source.files) > _QUICKLY_READ:
        return None
    placement = Placement(dtype, device, None, device_map_of(device_map), quantization)
    precision = choose_device(device, dtype)[1]
    if chooses:
        return choice_fingerprint(source, placement, precision)
    reader = _reader(model, revision, chat, system, prefill)
    return causal_fingerprint(source, placement, precision, reader)


def _token_counter(
    options: ModelOptions, model: str, plain: "Container[str]"
) -> "Callable[[Question], int] | None":
    """Return what counts the tokens of a question as a model that lies here reads it.

    None where its tokenizer is not at hand. Texts in `plain` go without the chat template.
    """
    from coherence.errors import InputError

    if is_hosted(options) or not _at_hand(model, options.revision):
        return None
    try:
        usual = _reader(model, options.revision, options.chat, options.system, options.prefill)
    except InputError:  # said when it is loaded
        return None

    @cache
    def number(text: str, chat: bool | None) -> int:
        reader = usual if chat is None else _reader(model, options.revision, chat, None, "")
        return len(reader.encode([text])[0])

    return lambda question: number(question.text, False if question.text in plain else None)


def _at_hand(model: str, revision: str | None) -> bool:
    from huggingface_hub import try_to_load_from_cache

    from elicitation.models.local.sources import is_hub_name

    if Path(model).exists():
        return True
    name = model.removeprefix("hf/")
    return is_hub_name(name) and isinstance(
        try_to_load_from_cache(name, "config.json", revision=revision), str
    )


@cache
def _reader(
    model: str, revision: str | None, chat: bool | None, system: str | None, prefill: str | None
) -> "Prompting":
    from elicitation.models.local.causal import load_prompting
    from elicitation.models.local.multiple_choice import is_multiple_choice

    if is_multiple_choice(model, revision=revision):  # it has neither template nor message
        chat, system = False, None
    return load_prompting(model, revision=revision, chat=chat, system=system, prefill=prefill or "")


def print_planned(options: ModelOptions, planned: PlannedAnswers, store: str) -> None:
    """Say what one model would be asked; raise where the run would for the store."""
    from elicitation.asking.store import read_store

    if not options.resume and Path(store).exists():
        require_empty(store, sum(1 for _ in read_store(store)))
    outlook = planned.preview(options, store)
    print(f"questions  {outlook.n_questions}, of which {outlook.n_distinct} differ")
    print(f"in store   {outlook.n_stored}")
    if outlook.by_name:
        print(f"note       {BY_NAME}")
    print(f"to ask     {outlook.n_left}{planned.condition(options, store)}")
    texts = f"{outlook.n_text_tokens:,.0f} in texts"
    said = texts if outlook.counted else f"about {texts} (by their length)"
    print(f"tokens     {said}, {_answer_tokens(outlook)}")
    if options.price_in is not None or options.price_out is not None:
        print(f"price      {_price(options, outlook)}")


def _answer_tokens(outlook: "Preview") -> str:
    most = f"at most {outlook.n_answer_tokens:,} in answers"
    if outlook.n_expected_tokens is None:
        return most
    return f"{most}, {outlook.n_expected_tokens:,.0f} if they are as long as those in the store"


def _price(options: ModelOptions, outlook: "Preview") -> str:
    per_text, per_answer = (options.price_in or 0.0) / 1e6, (options.price_out or 0.0) / 1e6
    texts, most = outlook.n_text_tokens * per_text, outlook.n_answer_tokens * per_answer
    about = "" if outlook.counted else "about "
    said = f"{about}{texts:,.2f} for texts, at most {most:,.2f} for answers"
    if outlook.n_expected_tokens is not None:
        usual = texts + outlook.n_expected_tokens * per_answer
        said += f", {usual:,.2f} if answers are as long as those in the store"
    return said
