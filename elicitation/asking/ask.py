"""How a question is asked: `ask`, the one place that puts questions to a model, for every battery.

The store says what has been answered. The rest is asked in three steps: distributions over the
answers in a form are read, each once per text; answers in a form are drawn from them; what a model
says itself comes last. Every answer goes to the store before it counts, those of one call of the
model together. An interruption, by Ctrl-C too, costs no answer that a model has given; a killed
process loses the call under way.

Where a model's probabilities of outcomes can be had, a stated belief need not be drawn and read:
its distribution given the form is known, and with it the mean, the spread and the action's shares.
What the form's answers have together is the answer mass, given how the form begins (the label of
the line). It says how far the rest is from what the model would say by itself.

A session of whose answers none can be read stops, instead of paying for thousands more. Fifty say
enough: had one in twenty a value, all of fifty would lack one in 8 of 100 sessions, and one in ten
in 1 of 200. Answers of earlier calls count, for they were given to the same questions by the same
model; those to another prompt or with another cut are other answers.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache
from itertools import chain, groupby
from typing import Any

import numpy as np

from coherence.errors import CoherenceError, InputError
from elicitation.asking.store import AnswerStore
from elicitation.models.base import (
    Answer,
    ConstrainedModel,
    DistributionModel,
    Model,
    StreamingModel,
)
from elicitation.questions.question import Question
from elicitation.spelling.forms import BY_LABEL, AnswerForm, Distribution, LabelBounds, Masses


def gives(model: object, form: AnswerForm | None) -> bool:
    """Return whether a model knows how probable the answers in a form are."""
    kinds = model.answer_kinds if isinstance(model, DistributionModel) else ()
    return form is not None and form.kind in kinds


def require_distributions(model: Model, forms: Iterable[AnswerForm]) -> DistributionModel:
    """Return a model that knows how probable the answers in all forms are; else raise."""
    for form in forms:
        if gives(model, form):
            continue
        if form.kind in BY_LABEL:
            raise InputError(
                "belief='token' needs a model that gives the probabilities of labels; "
                f"{model.name} does not. Take verbalised or sampled."
            )
        raise InputError(
            "exact answers need a model that gives the probabilities of outcomes over all "
            f"spellings, as a local causal model does; {model.name} does not. Take "
            "--answers drawn, or --answers forced if its server masks tokens."
        )
    assert isinstance(model, DistributionModel), "looked at form by form"
    return model


def stored(model: Model, form: AnswerForm | None, masses: Distribution | LabelBounds) -> Answer:
    """Write what a model knows of the answers to a text as an answer that can be stored."""
    assert form is not None, "nothing is known of answers in no form"
    if isinstance(masses, LabelBounds):
        # Lower bounds can be stored like masses; what they leave open is in the share.
        lower = dict(zip(masses.labels, map(float, masses.lower), strict=True))
        _require_sound(model, [lower])
        return Answer(json.dumps({**lower, "share": list(masses.share(masses.labels[-1]))}))
    # Of other kinds spellings overlap by intention.
    if form.kind == "labels" or form.kind not in BY_LABEL:
        _require_sound(model, masses.parts)
    return Answer(json.dumps(masses.parts[0] if form.kind in BY_LABEL else masses.parts))


def _require_sound(model: Model, parts: Iterable[Masses]) -> None:
    # Rounding aside: what a model gives goes into a store, and is not looked at again.
    for masses in parts:
        within = all(0 <= mass <= 1 + 1e-6 for mass in masses.values())
        if not within or math.fsum(masses.values()) > 1 + 1e-5:
            raise CoherenceError(
                f"model {model.name} gave {masses!r} as the probabilities of answers, which they "
                "cannot be."
            )


def draw_in_form(distribution: Distribution, form: AnswerForm, seed: int) -> Answer:
    """Draw an answer from those in a form, by the probabilities that the model gives them."""
    mass = distribution.answer_mass
    if mass <= 0:
        return Answer("", answer_mass=mass)
    # Philox keyed by the seed, as where tokens are drawn: the same on every machine.
    uniforms = np.random.Generator(np.random.Philox(key=seed)).random(len(distribution.parts))
    names = []
    for part, uniform in enumerate(uniforms):
        shares = distribution.shares(part)
        cumulative = np.cumsum(list(shares.values()))
        # A uniform number on a step belongs to the answer after it, which has mass.
        position = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
        names.append(list(shares)[min(position, len(shares) - 1)])
    return Answer(form.write(names), answer_mass=mass)


# A model answers a few at first and twice as many in every further call, up to a batch: a slow one
# then loses little of its work at an early end, and the time left is known soon.
_FIRST_CALL = 8
EXACT_AT_ONCE = 8
"""Distributions over all answers in a form are read in batches of so many: larger ones were no
faster."""
_DRAWN_AT_ONCE = 1000
_BEGINNING = 20  # characters: prompt variants differ by then, cases hardly

UNREADABLE_LIMIT = 50
"""Answers without a single readable one that end a session."""
_SHOWN = 3
_LENGTH_SHOWN = 120

Readable = Callable[[Question, Answer], bool]
"""Whether an answer to a question has a value."""

Progress = Callable[[int, int], None]
"""Called with the number of answers at hand and the number needed; once at the start and whenever
answers were written."""

AnswerBatch = list[tuple[Question, Answer]]
"""Answers that came together, each with its question."""
AnswerBatches = Generator[AnswerBatch, None, None]


def ask(
    model: Model,
    questions: Sequence[Question],
    store: AnswerStore,
    *,
    batch_size: int = 64,
    read: Callable[[Sequence[Question]], AnswerBatch] | None = None,
    readable: Readable | None = None,
    hint: str = "",
    progress: Progress | None = None,
) -> tuple[list[Answer], int]:
    """Have every question answered, from the store where it can be; return how many were asked.

    `read` stands for what the model knows of answers in a form; without `readable` a session of
    which no answer can be read goes on.
    """

    def by_key(some: Iterable[Question]) -> dict[str, Question]:
        return {each.key(model.fingerprint): each for each in some}

    # Equal questions have one key: they are asked once and answered everywhere.
    needed = by_key(questions)
    answers = store.get(needed)
    missing = [each for key, each in needed.items() if key not in answers]
    exact = [each for each in missing if each.exact]
    by_itself = constrains_tokens(model)
    said = [each for each in missing if not each.exact and (by_itself or each.form is None)]
    drawn = [each for each in missing if not each.exact and not by_itself and each.form]
    for temperature in {each.request.temperature for each in drawn} - {1.0}:
        raise InputError(
            "answers drawn from those in a form are drawn at temperature 1, at which their "
            f"probabilities are known; received {temperature}. Leave the temperature at 1."
        )
    # The reading takes the time: a draw is at hand once its distribution is.
    spreads = [each.distribution for each in drawn]
    answers |= store.get(by_key(spreads))
    exact += [each for key, each in by_key(spreads).items() if key not in answers]
    worth = Counter(each.key(model.fingerprint) for each in [*needed.values(), *spreads])
    worth.subtract(list(by_key(drawn)))
    n_done = sum(worth[key] for key in answers)
    # Once one was read, all is well for good.
    all_is_well = readable is None or all(each.form for each in said)
    unread: list[Answer] = []

    def note(came: Iterable[str]) -> None:
        nonlocal all_is_well
        for key, each in ((key, needed[key]) for key in came if key in needed):
            if readable and not all_is_well and (not each.form or each.form.kind in BY_LABEL):
                all_is_well = readable(each, answers[key])
                unread.append(answers[key])
        if progress:
            progress(n_done, len(needed))
        if not all_is_well:
            _require_readable(unread, hint)

    note(answers)
    for step in (
        _read(exact, model, read, batch_size),
        _draw(drawn, spreads, answers, model.fingerprint),
        _have_said(said, model, batch_size),
    ):
        # Closing ends what a server still has under way, instead of leaving it to the collector.
        with closing(step):
            for answered in step:
                _write(answered, model, store)
                # Another process may have been first with some of these: what is stored counts.
                kept = store.get(by_key(each for each, _ in answered))
                answers |= kept
                n_done += sum(worth[key] for key in kept)
                note(kept)
    return [answers[each.key(model.fingerprint)] for each in questions], len(missing)


def ask_masses(
    model: Model,
    questions: Sequence[Question],
    store: AnswerStore,
    *,
    batch_size: int = 32,
    progress: Progress | None = None,
) -> list[dict[str, float]]:
    """Read the probabilities of labels after texts, not renormalised, as `ask` asks."""
    answers, _ = ask(model, questions, store, batch_size=batch_size, progress=progress)
    return [dict(json.loads(answer.text)) for answer in answers]


def constrains_tokens(model: object) -> bool:
    """Return whether answers in a form come from a model's own masks, token by token."""
    masks = isinstance(model, ConstrainedModel) and model.constrains_tokens
    return masks and not gives(model, AnswerForm("number"))


def _write(answered: AnswerBatch, model: Model, store: AnswerStore) -> None:
    asked, replies = [each for each, _ in answered], [reply for _, reply in answered]

    def put() -> None:
        store.put(asked, replies, model=model.name, fingerprint=model.fingerprint)

    try:
        put()
    except KeyboardInterrupt:  # which undid the writing: what was said is paid for
        put()
        raise


def _read(
    questions: Sequence[Question],
    model: Model,
    read: Callable[[Sequence[Question]], AnswerBatch] | None,
    batch_size: int,
) -> AnswerBatches:
    """Read distributions: as they come from a server, else in batches of one form.

    Texts of one batch should begin alike and be as long as each other: what they begin with is
    read once, and the rest is padded to the longest.
    """
    if read is None and isinstance(model, StreamingModel):
        yield from _known(model, questions)
        return

    def alike(each: Question) -> str:
        # Options are scored by themselves; all other answers in a form are read in one pass.
        return "" if each.form is None or each.form.kind == "options" else each.form.settings

    def order(each: Question) -> tuple[str, str, int, str]:
        return alike(each), each.text[:_BEGINNING], len(each.text), each.text

    for _, group in groupby(sorted(questions, key=order), key=alike):
        same = list(group)
        by_label = same[0].form is not None and same[0].form.kind in BY_LABEL
        size = batch_size if by_label else min(batch_size, EXACT_AT_ONCE)
        for start in range(0, len(same), size):
            batch = same[start : start + size]
            yield read(batch) if read else list(chain.from_iterable(_known(model, batch)))


def _known(model: Model, questions: Sequence[Question]) -> AnswerBatches:
    """Return what a model knows of the answers in the form of each question, as it comes."""
    asked = [(each.text, each.form) for each in questions if each.form is not None]
    if asked:
        known = require_distributions(model, [form for _, form in asked]).distributions(asked)
        for answered in _each_once(model, questions, known):
            yield [(each, stored(model, each.form, of)) for each, of in answered]


def _draw(
    questions: Sequence[Question],
    spreads: Sequence[Question],
    answers: Mapping[str, Answer],
    fingerprint: str,
) -> AnswerBatches:
    """Draw answers from distributions that are at hand, each by its own seed."""

    @cache
    def distribution(key: str) -> Distribution:
        return Distribution.load(answers[key].text)

    for start in range(0, len(questions), _DRAWN_AT_ONCE):
        some = slice(start, start + _DRAWN_AT_ONCE)
        yield [
            (
                each,
                draw_in_form(distribution(spread.key(fingerprint)), each.form, each.request.seed),
            )
            for each, spread in zip(questions[some], spreads[some], strict=True)
            if each.form is not None
        ]


def _have_said(questions: Sequence[Question], model: Model, batch_size: int) -> AnswerBatches:
    """Have a model answer in its own words, or in a form to which it masks its tokens.

    As many as may end a session stand for all others: they come by their keys, which mixes all
    kinds of questions, so that one variant of which none can be read ends no session. The longest
    comes first, since too little memory then shows at once; later ones go by their length, for
    texts of similar length pad each other least.
    """
    longest = sorted(questions, key=lambda each: (-len(each.text), each.key(model.fingerprint)))
    mixed = sorted(longest[1:], key=lambda each: each.key(model.fingerprint))
    n_first = -(-UNREADABLE_LIMIT // batch_size) * batch_size
    rest = list(dict.fromkeys([*longest[:1], *mixed[: n_first - 1], *longest]))
    if isinstance(model, StreamingModel):
        if rest:
            replies = model.stream_answers([each.request for each in rest])
            yield from _each_once(model, rest, replies)
        return
    size = min(_FIRST_CALL, batch_size)
    while rest:
        batch, rest = rest[:size], rest[size:]
        replied = list(model.generate([each.request for each in batch]))
        # Answers that cannot be told apart any more must not be stored under the wrong keys.
        if len(replied) != len(batch):
            raise CoherenceError(
                f"model {model.name} gave {len(replied)} answers to {len(batch)} requests. "
                "Nothing of this batch was stored."
            )
        yield list(zip(batch, replied, strict=True))
        size = min(2 * size, batch_size)


def _each_once(
    model: Model, questions: Sequence[Question], stream: Iterable[tuple[int, Any]]
) -> Generator[list[tuple[Question, Any]], None, None]:
    """Yield what a model gives as it comes; each question must have come once at the end."""
    n = len(questions)
    missing = set(range(n))
    try:
        for position, reply in stream:
            if position not in missing:
                raise CoherenceError(
                    f"model {model.name} must answer each of {n} requests once; it gave "
                    f"an answer at position {position!r} too many. What came before is kept."
                )
            missing.remove(position)
            yield [(questions[position], reply)]
    finally:
        # A plain iterator has nothing to close; a generator may have servers at work.
        if isinstance(stream, Generator):
            stream.close()
    if missing:
        raise CoherenceError(
            f"model {model.name} gave {n - len(missing)} answers to {n} requests. "
            "What came is kept."
        )


def _require_readable(unread: Sequence[Answer], hint: str) -> None:
    """Raise for too many answers of which none could be read; `hint` says what else would help."""
    if len(unread) >= UNREADABLE_LIMIT:
        # Different ones say more than the same three times.
        different = {answer.text: answer for answer in unread}
        shown = [_describe(answer) for answer in [*different.values()][:_SHOWN]]
        raise CoherenceError(
            f"none of the first {len(unread)} answers can be read, such as {'; '.join(shown)}. "
            f"They are kept. Try {hint}more room for the answer (--max-new-tokens), or another "
            "prompt; --keep-going asks on as before."
        )


def _describe(answer: Answer) -> str:
    """Return an answer for a message: the beginning of it, and what is known of its end."""
    text = answer.text.strip()
    # What a model says is text from outside: repr escapes what would command a terminal.
    said = repr(text[:_LENGTH_SHOWN] + ("..." if len(text) > _LENGTH_SHOWN else ""))
    ends = {"length": "cut for length", "content_filter": "withheld by a filter"}
    notes = [ends[answer.finish_reason]] if answer.finish_reason in ends else []
    notes += [f"after {len(answer.thinking)} characters of thought"] if answer.thinking else []
    return f"{said} ({', '.join(notes)})" if notes else said
