"""The grid of questions: every case, repetition and framing, with the questions of the law of iterated expectation.

A question holds its text and the place of its answer in the runs table. Each is answered in a context of its own: no text asks for a belief and
an action, and no answer sees another.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from bayesnets import Phrases
from coherence.errors import InputError
from elicitation.decode import BELIEF_LABELS
from elicitation.prompts import AUXILIARY, BELIEF, CONDITIONAL, DECISION, label_words
from elicitation.store import Draw

Role = Literal["belief", "decision", "auxiliary", "conditional"]
FEATURE_PREFIX = "x_"
# Room for a reader that spells an answer character by character, and for white space around it.
_SPARE_TOKENS = 16


@dataclass(frozen=True)
class Question:
    """A text and the place of its answer.

    Parameters
    ----------
    case : int
        Row of the cases, from 0.
    rep : int
        Repetition, from 0.
    role : {"belief", "decision", "auxiliary", "conditional"}
        What is asked.
    key : str
        Framing of a belief, state of z of a conditional belief, else empty.
    text : str
        The question.
    lines : tuple of str
        Beginnings of the lines that the answer must have.
    """

    case: int
    rep: int
    role: Role
    key: str
    text: str
    lines: tuple[str, ...]

    @property
    def max_new_tokens(self) -> int:
        """Tokens that suffice for any readable answer, even if every character were a token."""
        return sum(len(f"{line}: 0.00\n") for line in self.lines) + _SPARE_TOKENS


def evidence_of(case: "pd.Series[Any]") -> dict[str, str]:
    """Return the observed variables of a case.

    Parameters
    ----------
    case : Series
        A row of the cases, with columns ``x_<variable>``; missing where not observed.

    Returns
    -------
    dict of str to str
        Variable -> state.
    """
    columns = [str(name) for name in case.index if str(name).startswith(FEATURE_PREFIX)]
    return {name.removeprefix(FEATURE_PREFIX): str(case[name]) for name in columns if pd.notna(case[name])}


def belief_question(phrases: Phrases, evidence: dict[str, str], target: str, prompt: str, *, wording: int = 0) -> str:
    """Return the text that asks for the belief in the target.

    Parameters
    ----------
    phrases : Phrases
        Words of the network.
    evidence : dict
        Observed variables.
    target : str
        The variable asked about.
    prompt : str
        A framing in `elicitation.prompts.BELIEF`.
    wording : int
        Which phrasing of the evidence.

    Returns
    -------
    str
        The question.
    """
    words = {"description": phrases.describe(evidence, wording=wording), "question": phrases.question(target)}
    return BELIEF[prompt].fill(**words, **label_words(BELIEF_LABELS))


def decision_question(phrases: Phrases, evidence: dict[str, str], target: str, *, wording: int = 0) -> str:
    """Return the text that asks for an action; parameters as in `belief_question`."""
    return DECISION.fill(description=phrases.describe(evidence, wording=wording), question=phrases.question(target))


def auxiliary_question(phrases: Phrases, evidence: dict[str, str], z: str, *, wording: int = 0) -> str:
    """Return the text that asks for the distribution of the unobserved variable `z`; parameters as in `belief_question`."""
    words = {"description": phrases.describe(evidence, wording=wording), "auxiliary": phrases.auxiliary_name(z)}
    return AUXILIARY.fill(**words, **label_words(tuple(phrases.labels(z).values())))


def conditional_question(phrases: Phrases, evidence: dict[str, str], target: str, z: str, state: str, *, wording: int = 0) -> str:
    """Return the text that asks for the belief given also ``z = state``; parameters as in `belief_question`."""
    words = {"description": phrases.describe(evidence, wording=wording), "question": phrases.question(target)}
    return CONDITIONAL.fill(**words, condition=phrases.condition(z, state), **label_words(BELIEF_LABELS))


def plan_questions(
    cases: pd.DataFrame, phrases: Phrases, target: str, *, reps: int, prompts: Sequence[str] = tuple(BELIEF), iterated: bool = True
) -> list[Question]:
    """List every question of a session, repetition by repetition.

    Parameters
    ----------
    cases : DataFrame
        As from ``bayesnets.sample_cases``.
    phrases : Phrases
        Words of the network.
    target : str
        The variable asked about.
    reps : int
        Repetitions, positive.
    prompts : sequence of str
        Framings of the belief question; "standard" must be among them, because actions and iterated beliefs are set beside it.
    iterated : bool
        Whether to ask for the distribution of z and for the belief given each of its states.

    Returns
    -------
    list of Question
        In a fixed order: more repetitions only add to its end.

    Raises
    ------
    InputError
        An unknown framing, or no repetition.
    """
    unknown = [name for name in prompts if name not in BELIEF]
    if unknown or "standard" not in prompts or len(set(prompts)) < len(prompts):
        raise InputError(f"prompts must be distinct names among {', '.join(BELIEF)}, with 'standard'; received {', '.join(prompts) or 'none'}.")
    if reps < 1:
        raise InputError(f"reps must be positive; received {reps}.")
    once: list[tuple[int, Role, str, str, tuple[str, ...]]] = []
    for position, (_, case) in enumerate(cases.iterrows()):
        evidence = evidence_of(case)
        for prompt in prompts:
            once.append((position, "belief", prompt, belief_question(phrases, evidence, target, prompt), BELIEF_LABELS))
        once.append((position, "decision", "", decision_question(phrases, evidence, target), ("Can decide", "Decision")))
        if iterated and pd.notna(case["z"]):
            z = str(case["z"])
            labels = phrases.labels(z)
            once.append((position, "auxiliary", "", auxiliary_question(phrases, evidence, z), tuple(labels.values())))
            for state in labels:
                once.append((position, "conditional", state, conditional_question(phrases, evidence, target, z, state), BELIEF_LABELS))
    return [Question(position, rep, role, key, text, lines) for rep in range(reps) for position, role, key, text, lines in once]


def number_draws(questions: Sequence[Question], *, seed: int, temperature: float, max_new_tokens: int | None = None) -> list[Draw]:
    """Number the draws of every text, so that two contexts with the same words get answers of their own.

    Parameters
    ----------
    questions : sequence of Question
        In the order of `plan_questions`.
    seed : int
        Base seed, at least 0.
    temperature : float
        At least 0; at 0 all draws of a text are one.
    max_new_tokens : int or None
        Cut of every answer; None takes what the question needs.

    Returns
    -------
    list of Draw
        One per question.
    """
    drawn: Counter[str] = Counter()
    draws = []
    for question in questions:
        draws.append(
            Draw.of(
                question.text,
                drawn[question.text],
                base_seed=seed,
                temperature=temperature,
                max_new_tokens=max_new_tokens or question.max_new_tokens,
                max_lines=len(question.lines),
            )
        )
        drawn[question.text] += 1
    return draws
