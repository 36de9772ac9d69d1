"""The ways in which a model answers: in words, by labels, by its own masks, from a distribution.

Answers that have the form of their question are computed, or drawn from the form: the distributions
come first, each once per text, and go to the store; drawn answers follow from them and from their
own seeds. A session that is started again finds either, and asks only for what it lacks.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

from coherence.errors import CoherenceError, InputError
from elicitation.answers.distributions import draw_in_form, gives, require_distributions, stored
from elicitation.asking.loop import AnswerStream, Progress, Strategy, ask_missing
from elicitation.asking.store import AnswerStore
from elicitation.asking.unreadable import UNREADABLE_LIMIT, Readable, UnreadableLimit
from elicitation.models.base import Answer, ConstrainedModel, Model, StreamingModel
from elicitation.questions.question import NO_SPEC, Question, QuestionSpec
from elicitation.spelling.forms import BY_LABEL, AnswerForm, Distribution

# A model answers a few at first and twice as many in every further call, up to a batch: a slow one
# then loses little of its work at an early end, and the time left is known soon.
_FIRST_CALL = 8
EXACT_AT_ONCE = 8
"""Exact readings are kept in batches of so many at most: larger ones were no faster."""
_BEGINNING = 20  # characters: prompt variants differ by then, cases hardly


def ask(
    model: Model,
    questions: Sequence[Question],
    store: AnswerStore,
    *,
    batch_size: int = 64,
    readable: Readable | None = None,
    hint: str = "",
    progress: Progress | None = None,
) -> tuple[list[Answer], int]:
    """Have every question answered in its own way; return how many answers were asked for now."""
    fingerprint = model.fingerprint
    held: dict[str, Answer] = {}
    total = len({each.key(fingerprint) for each in questions})
    n_asked = done = 0
    for stage in _stages(model, questions, batch_size, held):
        # Probabilities of labels are always read.
        in_words = any(each.form is None for each in stage.questions)
        n_answers = len({each.key(fingerprint) for each in stage.answers})

        def show(at_hand: int, needed: int, n: int = n_answers, before: int = done) -> None:
            assert progress is not None
            progress(before + n * at_hand // needed, total)

        answers, asked = ask_missing(
            model,
            stage.questions,
            store,
            stage.strategy,
            unreadable=UnreadableLimit(readable, hint=hint) if readable and in_words else None,
            progress=show if progress and n_answers else None,
        )
        named = zip(stage.questions, answers, strict=True)
        held |= {each.key(fingerprint): said for each, said in named}
        done += n_answers
        n_asked += 0 if stage.beside else asked
    return [held[each.key(fingerprint)] for each in questions], n_asked


@dataclass(frozen=True)
class _Stage:
    questions: list[Question]
    strategy: Strategy
    answers: list[Question]  # those that are at hand once it is done, for the count of progress
    beside: bool = False  # whether what is asked is not itself an answer, but what some follow from


def _stages(
    model: Model, questions: Sequence[Question], batch_size: int, held: Mapping[str, Answer]
) -> list[_Stage]:
    free = [each for each in questions if each.form is None or each.form.kind in BY_LABEL]
    formed = [each for each in questions if each.form and each.form.kind not in BY_LABEL]
    drawn = [each for each in formed if not each.exact]
    stages = [_Stage(free, in_words(model, batch_size), free)]
    if constrains_tokens(model):
        stages.append(_Stage(formed, masked(model), formed))
    elif formed:
        if cold := [each for each in formed if each.request.temperature != 1]:
            raise InputError(
                "answers drawn from those in a form are drawn at temperature 1, at which their "
                f"probabilities are known; received {cold[0].request.temperature}. Leave the "
                "temperature at 1."
            )
        read = as_distributions(model, batch_size)
        # The reading takes the time; draws then come in an instant.
        stages.append(_Stage(_distributions(formed), read, formed, beside=bool(drawn)))
        stages.append(_Stage(drawn, drawn_from(held, model.fingerprint), []))
    return [stage for stage in stages if stage.questions]


def in_words(model: Model, batch_size: int) -> Strategy:
    """Answer in words or, where a question names labels, by their probabilities."""

    def answers(missing: Sequence[Question]) -> AnswerStream:
        # Long texts first: if memory does not suffice, that shows at once; and texts of similar
        # length pad each other least.
        rest = sorted(missing, key=lambda each: (-len(each.text), each.key(model.fingerprint)))
        words = [each for each in rest if each.form is None]
        labelled = [each for each in rest if each.form]
        # By their keys, which mixes all kinds of questions, the longest text first: the first
        # answers then stand for all, so that one variant of which none can be read ends no session.
        words[1:] = sorted(words[1:], key=lambda each: each.key(model.fingerprint))
        if isinstance(model, StreamingModel):
            # What is known of labels, which a service may not tell, comes before words stream in.
            if labelled:
                yield from as_they_come(model, labelled)
            if words:
                stream = model.stream_answers([each.request for each in words])
                yield from streamed(model, words, stream)
            return
        if words:
            # As many as may end a session stand for all others.
            first = words[: -(-UNREADABLE_LIMIT // batch_size) * batch_size]
            begun = set(first)
            rest = [*first, *(each for each in rest if each not in begun)]
        size, start = min(_FIRST_CALL, batch_size), 0
        while start < len(rest):
            batch = rest[start : start + size]
            if asked := [each for each in batch if each.form is None]:
                yield _paired(model, asked, list(model.generate([each.request for each in asked])))
            if read := [each for each in batch if each.form]:
                yield list(chain.from_iterable(as_they_come(model, read)))
            start, size = start + size, min(2 * size, batch_size)

    # Of a stream nobody knows when the next answer comes, or whether the process lives to see it.
    return Strategy(answers, write_every=1 if isinstance(model, StreamingModel) else batch_size)


def as_they_come(model: Model, questions: Sequence[Question]) -> AnswerStream:
    """Read what a model knows of the answers in the form of each question."""
    asked = [(each.text, each.form) for each in questions if each.form is not None]
    known = require_distributions(model, [form for _, form in asked]).distributions(asked)
    yield from streamed(model, questions, known, lambda each, of: stored(model, each.form, of))


def streamed(
    model: Model,
    questions: Sequence[Question],
    stream: Iterable[tuple[int, Any]],
    write: Callable[[Question, Any], Answer] = lambda _, reply: reply,
) -> AnswerStream:
    """Yield answers as they come; each request must have come once when the model is done."""
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
            yield [(questions[position], write(questions[position], reply))]
    finally:
        # A plain iterator has nothing to close; a generator may have servers at work.
        close = getattr(stream, "close", None)
        if close is not None:
            close()
    if missing:
        raise CoherenceError(
            f"model {model.name} gave {n - len(missing)} answers to {n} requests. "
            "What came is kept."
        )


def constrains_tokens(model: object) -> bool:
    """Return whether answers in a form come from a model's own masks, token by token."""
    return isinstance(model, ConstrainedModel) and not gives(model, AnswerForm("number"))


def masked(model: Model) -> Strategy:
    """Answer in a form by the masks of the model itself."""

    def answers(missing: Sequence[Question]) -> AnswerStream:
        if exact := [each for each in missing if each.exact]:
            yield from as_they_come(model, exact)  # raises: masks have no probabilities
        requests = [each.request for each in missing]
        if isinstance(model, StreamingModel):
            yield from streamed(model, missing, model.stream_answers(requests))
        else:
            yield _paired(model, missing, list(model.generate(requests)))

    return Strategy(answers)


def as_distributions(model: Model, batch_size: int) -> Strategy:
    """Compute the distribution over the answers in the form of each question."""

    def answers(missing: Sequence[Question]) -> AnswerStream:
        yield list(chain.from_iterable(as_they_come(model, missing)))

    # The last digits depend on the texts that are computed together.
    at_once = min(batch_size, EXACT_AT_ONCE)
    return Strategy(answers, write_every=batch_size, batch_size=at_once, recompute_batches=False)


def drawn_from(held: Mapping[str, Answer], fingerprint: str) -> Strategy:
    """Draw answers from distributions that are at hand, each by its own seed."""

    @cache
    def distribution(key: str) -> Distribution:
        return Distribution.load(held[key].text)

    def answers(missing: Sequence[Question]) -> AnswerStream:
        for each in missing:
            assert each.form is not None
            spread = distribution(_distribution_of(each).key(fingerprint))
            yield [(each, draw_in_form(spread, each.form, each.request.seed))]

    return Strategy(answers, write_every=1000)


def _paired(
    model: Model, batch: Sequence[Question], answers: Sequence[Answer]
) -> list[tuple[Question, Answer]]:
    # Answers that cannot be told apart any more must not be stored under the wrong keys.
    if len(answers) != len(batch):
        raise CoherenceError(
            f"model {model.name} gave {len(answers)} answers to {len(batch)} requests. "
            "Nothing of this batch was stored."
        )
    return list(zip(batch, answers, strict=True))


def _distribution_of(question: Question) -> Question:
    """Return the question for the distribution that an answer is drawn from."""
    if question.exact:
        return question
    assert question.form is not None
    return Question.of_form(question.text, question.form, spec_json=_exactly(question.spec))


@cache
def _exactly(spec: QuestionSpec) -> str:
    """What a distribution is about, for those who look into the store."""
    return "" if spec == NO_SPEC else replace(spec, answer_mode="exact").spec_json


def _distributions(questions: Sequence[Question]) -> list[Question]:
    """Return every distribution once, in an order that a model reads fast.

    Texts of one batch should have one form, begin alike and be as long as each other: what they
    begin with is read once, and the rest is padded to the longest.
    """
    needed = {(each.text, each.form): _distribution_of(each) for each in questions}

    def order(each: Question) -> tuple[str, str, int, str]:
        form = each.form.digest if each.form else ""
        return form, each.text[:_BEGINNING], len(each.text), each.text

    return sorted(needed.values(), key=order)
