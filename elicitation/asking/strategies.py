"""Answers that have the form of their question: computed without any draw, or drawn from the form.

The distributions come first, each once per text, and go to the store; drawn answers follow from
them and from their own seeds. A session that is started again finds either, so that it asks a model
only for the distributions that it lacks.
"""

from collections.abc import Callable, Sequence
from functools import cache

from coherence.errors import CoherenceError, InputError
from elicitation.answers.distributions import (
    Distribution,
    answers_in_form,
    draw_in_form,
    gives_distributions,
)
from elicitation.asking.loop import EXACT_AT_ONCE, AnswerStream, Progress, ask, ask_missing
from elicitation.asking.store import AnswerStore
from elicitation.models.base import Answer, ForcingModel, Model
from elicitation.questions.question import Draw

_BEGINNING = 20  # characters: framings differ by then, cases hardly


def masks_alone(model: object) -> bool:
    """Return whether answers in a form come from a model's own masks, token by token."""
    return isinstance(model, ForcingModel) and not gives_distributions(model)


def ask_for_plan(
    model: Model,
    draws: Sequence[Draw],
    store: AnswerStore,
    *,
    batch_size: int = 64,
    readable: Callable[[Draw, Answer], bool] | None = None,
    hint: str = "",
    progress: Progress | None = None,
) -> tuple[list[Answer], int]:
    """Have every draw answered: in words, by probabilities, or in its form; else as `ask`."""
    free = [draw for draw in draws if draw.form is None]
    formed = [draw for draw in draws if draw.form is not None]
    if not formed:
        return ask(
            model,
            draws,
            store,
            batch_size=batch_size,
            readable=readable,
            hint=hint,
            progress=progress,
        )
    asker = _Asker(model, store, batch_size, progress, [*free, *formed])
    answers = asker.words(free, readable, hint) if free else {}
    if masks_alone(model):
        answers |= asker.masked(formed)
    else:
        answers |= asker.from_distributions(formed)
    return [answers[draw.key(model.fingerprint)] for draw in draws], asker.asked


class _Asker:
    """Stages of a session with answers in a form, which count their answers together."""

    def __init__(
        self,
        model: Model,
        store: AnswerStore,
        batch_size: int,
        progress: Progress | None,
        draws: Sequence[Draw],
    ) -> None:
        self.model, self.store, self.batch_size = model, store, batch_size
        self.asked = self.done = 0
        self._progress = progress
        # A distribution that several draws share counts as an answer of its own.
        stages = [draws] if masks_alone(model) else [draws, _distributions(draws)]
        self.total = len({draw.key("") for stage in stages for draw in stage})

    def words(
        self,
        draws: Sequence[Draw],
        readable: Callable[[Draw, Answer], bool] | None,
        hint: str,
    ) -> dict[str, Answer]:
        answers, asked = ask(
            self.model,
            draws,
            self.store,
            batch_size=self.batch_size,
            readable=readable,
            hint=hint,
            progress=self._counting(draws),
        )
        return self._noted(draws, answers, asked)

    def from_distributions(self, draws: Sequence[Draw]) -> dict[str, Answer]:
        """Have the distributions computed, and draw from them what is to be drawn."""
        tempered = [draw for draw in draws if draw.request.temperature != 1]
        if tempered:
            raise InputError(
                "answers drawn from those in a form are drawn at temperature 1, at which their "
                f"probabilities are known; received {tempered[0].request.temperature}. Leave the "
                "temperature at 1."
            )
        spread = _distributions(draws)

        def compute(missing: Sequence[Draw]) -> AnswerStream:
            forms = [draw.form for draw in missing if draw.form is not None]
            texts = [draw.request.text for draw in missing]
            yield list(zip(missing, answers_in_form(self.model, texts, forms), strict=True))

        answers, asked = ask_missing(
            self.model,
            spread,
            self.store,
            compute,
            worth_a_write=self.batch_size,
            # The last digits depend on the texts that are computed together.
            portion=min(self.batch_size, EXACT_AT_ONCE),
            whole=False,
            progress=self._counting(spread),
        )
        drawn = [draw for draw in draws if not draw.exact]
        # Answers are counted as asked; what they are drawn from is not one of them.
        held = self._noted(spread, answers, 0 if drawn else asked)
        return held | self._drawn(drawn, held) if drawn else held

    def _drawn(self, draws: Sequence[Draw], held: dict[str, Answer]) -> dict[str, Answer]:
        @cache
        def distribution(key: str) -> Distribution:
            return Distribution.load(held[key].text)

        def follow(missing: Sequence[Draw]) -> AnswerStream:
            for draw in missing:
                key = _distribution_of(draw).key(self.model.fingerprint)
                assert draw.form is not None
                yield [(draw, draw_in_form(distribution(key), draw.form, draw.request.seed))]

        answers, asked = ask_missing(
            self.model,
            draws,
            self.store,
            follow,
            worth_a_write=1000,
            progress=self._counting(draws),
        )
        return self._noted(draws, answers, asked)

    def masked(self, draws: Sequence[Draw]) -> dict[str, Answer]:
        """Have a model answer that masks its tokens by itself."""
        model = self.model
        assert isinstance(model, ForcingModel)

        def answer(missing: Sequence[Draw]) -> AnswerStream:
            if any(draw.exact for draw in missing):
                answers_in_form(model, [], [])  # raises: masks have no probabilities
            for form in dict.fromkeys(draw.form for draw in missing):
                assert form is not None
                alike = [draw for draw in missing if draw.form == form]
                for start in range(0, len(alike), self.batch_size):
                    batch = alike[start : start + self.batch_size]
                    yield _paired(
                        model, batch, model.forced_answers([d.request for d in batch], form)
                    )

        answers, asked = ask_missing(
            model,
            draws,
            self.store,
            answer,
            worth_a_write=self.batch_size,
            progress=self._counting(draws),
        )
        return self._noted(draws, answers, asked)

    def _counting(self, draws: Sequence[Draw]) -> Progress | None:
        progress, before = self._progress, self.done
        self.done += len({draw.key("") for draw in draws})
        if progress is None:
            return None
        return lambda at_hand, _: progress(before + at_hand, self.total)

    def _noted(
        self, draws: Sequence[Draw], answers: Sequence[Answer], asked: int
    ) -> dict[str, Answer]:
        self.asked += asked
        keys = [draw.key(self.model.fingerprint) for draw in draws]
        return dict(zip(keys, answers, strict=True))


def _paired(
    model: Model, batch: Sequence[Draw], answers: Sequence[Answer]
) -> list[tuple[Draw, Answer]]:
    # Answers that cannot be told apart any more must not be stored under the wrong keys.
    if len(answers) != len(batch):
        raise CoherenceError(
            f"model {model.name} gave {len(answers)} answers to {len(batch)} requests. "
            "Nothing of this batch was stored."
        )
    return list(zip(batch, answers, strict=True))


def _distribution_of(draw: Draw) -> Draw:
    """Return the draw of the distribution that a draw is drawn from."""
    assert draw.form is not None
    return draw if draw.exact else Draw.of_form(draw.request.text, draw.form)


def _distributions(draws: Sequence[Draw]) -> list[Draw]:
    """Return every distribution once, in an order that a model reads fast.

    Texts of one portion should have one form, begin alike and be as long as each other: what they
    begin with is read once, and the rest is padded to the longest.
    """
    needed = {(draw.request.text, draw.form): _distribution_of(draw) for draw in draws if draw.form}

    def order(draw: Draw) -> tuple[str, str, int, str]:
        text = draw.request.text
        return draw.form.digest if draw.form else "", text[:_BEGINNING], len(text), text

    return sorted(needed.values(), key=order)
