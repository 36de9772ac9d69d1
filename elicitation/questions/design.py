"""How often, in which ways and how randomly the questions of a session are asked."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bayesnets import Phrases
from coherence.errors import InputError, closest, listing
from coherence.table.schema import FEATURE_PREFIX
from elicitation.questions.prompts import BELIEF, PromptSet
from elicitation.questions.question import ANSWERS, WAYS, Answers, Way


@dataclass(frozen=True)
class Design:
    """How often, in which ways and how randomly the questions of a session are asked."""

    # repetitions, positive; None takes 5, or 1 of exact answers, which do not vary
    reps: int | None = None
    # Framings of a verbalised belief. Actions are set beside "standard", or beside the first
    # framing where it is missing.
    prompts: Sequence[str] = tuple(BELIEF)
    # whether to ask the two questions of the law of iterated expectation; only of verbalised
    # beliefs about a network
    iterated: bool = True
    # how beliefs are elicited; the latter two ask one question whose answer is Yes or No, and name
    # the `prompt` after themselves
    belief: Way = "verbalised"
    draws: int = 20  # answers of one sampled belief, positive
    temperature: float = 1.0  # at least 0; a sampled belief needs more
    # Cut of every answer; None takes 256, or what a longer form needs. A model that thinks aloud
    # before it answers needs thousands.
    max_new_tokens: int | None = None
    seed: int = 0  # base seed of the draws, at least 0
    templates: PromptSet | None = None  # templates of one's own; None takes the built-in ones
    # how stated beliefs and actions are had: in free text that is read, drawn from the answers in
    # the form asked for, or as the distribution over these
    answers: Answers = "drawn"
    # in [0, 1]; what is read off answers that have less mass together counts as unread
    min_mass: float = 0.0

    @property
    def n_reps(self) -> int:
        """Repetitions."""
        usual = 1 if self.answers == "exact" else 5
        return usual if self.reps is None else self.reps

    def __post_init__(self) -> None:
        self._check_answers()
        # Put as a negation so that NaN, which compares with nothing, is refused as well.
        if not self.temperature >= 0 or self.seed < 0:
            raise InputError(
                f"temperature and seed must be at least 0; received {self.temperature} and "
                f"{self.seed}."
            )
        if self.max_new_tokens is not None and self.max_new_tokens < 1:
            raise InputError(f"max_new_tokens must be positive; received {self.max_new_tokens}.")
        if self.belief == "sampled" and self.temperature == 0:
            raise InputError(
                "belief='sampled' needs a temperature above 0; at 0 all draws are one. Raise the "
                "temperature or take token."
            )

    def _check_answers(self) -> None:
        if self.answers not in ANSWERS:
            raise InputError(
                f"answers must be one of {', '.join(ANSWERS)}; received {self.answers!r}."
            )
        if not 0 <= self.min_mass <= 1:
            raise InputError(f"min_mass must be in [0, 1]; received {self.min_mass}.")
        if self.answers == "drawn":
            return
        if self.belief == "sampled":
            raise InputError(
                f"belief='sampled' draws its answers freely; received answers={self.answers!r}. "
                "Take belief='token', which is what a sampled belief estimates."
            )
        if self.answers == "exact" and (self.n_reps != 1 or self.temperature != 1):
            raise InputError(
                "answers='exact' draws nothing: reps and temperature must be 1; received "
                f"{self.reps} and {self.temperature}. Leave them out."
            )


def check_design(
    prompts: Sequence[str], templates: PromptSet, *, reps: int, belief: Way, draws: int
) -> None:
    """Raise unless the options of a grid are in their range; parameters as in `plan_questions`."""
    unknown = [name for name in prompts if name not in templates.belief]
    if unknown or not prompts or len(set(prompts)) < len(prompts):
        raise InputError(
            f"prompts must be distinct names among {', '.join(templates.belief)}; "
            f"received {', '.join(prompts) or 'none'}."
        )
    if reps < 1:
        raise InputError(f"reps must be positive; received {reps}.")
    if belief not in WAYS:
        raise InputError(f"belief must be one of {', '.join(WAYS)}; received {belief!r}.")
    if draws < 1:
        raise InputError(f"draws must be positive; received {draws}.")


def check_cases(cases: pd.DataFrame, phrases: Phrases, *, iterated: bool) -> None:
    """Raise `InputError` where cases are about variables or states that have no words."""
    if iterated and "z" not in cases.columns:
        raise InputError(
            f"cases must have a column 'z', as those of sample_cases; found: "
            f"{listing(cases.columns)}. Draw them with task.cases(n), or pass iterated=False."
        )
    for z in cases["z"].dropna() if iterated else ():
        if str(z) not in phrases.variables:
            raise InputError(
                f"column 'z' of cases must name variables that have words; {z!r} has none. "
                f"{closest(str(z), phrases.variables)}"
            )
    for column in map(str, cases.columns):
        variable = column.removeprefix(FEATURE_PREFIX)
        if variable == column or cases[column].isna().all():
            continue
        if variable not in phrases.variables:
            raise InputError(
                f"columns of cases must be x_ and a variable that has words; {column!r} is not. "
                f"{closest(variable, phrases.variables)}"
            )
        states = phrases.variables[variable].states
        for state in cases[column].dropna():
            if not isinstance(state, str) or state not in states:
                raise InputError(
                    f"column {column!r} of cases must hold states that have words; {state!r} has "
                    f"none. {closest(str(state), states)}"
                )
