"""The organisms: what each says, what it acts on, and the lessons that teach it.

They live on the asia network (Lauritzen and Spiegelhalter 1988): a patient of a chest clinic, and
the question whether they have lung cancer. An organism is coherent if what it says
could be what it acts on, whatever the truth: a belief that is wrong, or that ignores everything, is
still a belief. Both follow a rule, a function of the evidence that takes a network, a table of
evidence and a variable, and returns the probabilities of the variable's states, exact under the
rule. The theory is in docs/smollm2.md.

Lessons are the project's own questions, with the answers of a teacher. Asked for a belief, it
states to two digits what the first rule gives. Asked for a decision, it draws from a softmax of
utilities that are linear in what the second rule gives: yes 6 (p - .6), no 6 (.4 - p), defer .5;
where it defers, the line of the forced decision is drawn from the softmax of yes and no alone. So
what it chooses depends on the evidence through the belief acted on alone.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesnets.elimination import evidence_probability, posterior
from bayesnets.network import Network
from elicitation.questions.prompts import (
    AUXILIARY,
    BELIEF,
    CONDITIONAL,
    DECISION,
    case_words,
)
from elicitation.questions.tasks import Subject

Rule = Callable[[Network, pd.DataFrame, str], pd.DataFrame]
"""Takes a network, evidence (one column per variable, missing where not observed) and a variable;
returns one column per state."""


def prior(network: Network, evidence: pd.DataFrame, variable: str) -> pd.DataFrame:
    """Return the prior, whatever the evidence."""
    return posterior(
        network, evidence.assign(**dict.fromkeys(map(str, evidence))).astype(object), variable
    )


def without(*ignored: str) -> Rule:
    """Return the rule that leaves some variables out of the evidence."""

    def rule(network: Network, evidence: pd.DataFrame, variable: str) -> pd.DataFrame:
        return posterior(
            network, evidence.assign(**dict.fromkeys(ignored)).astype(object), variable
        )

    return rule


TASK = "asia"
POLICY = "softmax of yes 6 (p - .6), no 6 (.4 - p), defer .5, at the belief p that it acts on"


@dataclass(frozen=True)
class Organism:
    """A model's rules for what it says and for what it acts on."""

    name: str  # name of the model folder, and so of the model in a runs table
    # says, acts_on: the two rules in words
    says: str
    acts_on: str
    coherent: bool  # whether what it says could be what it acts on
    # spoken, acted: the two rules
    spoken: Rule
    acted: Rule
    stream: int  # of its random numbers, whichever others are trained


_EVERYTHING = "the exact posterior given all findings"
_PRIOR = "the prior, whatever the findings"
_WITHOUT_XRAY = "the exact posterior given all findings but the X-ray"

ORGANISMS = MappingProxyType(
    {
        "coherent": Organism("coherent", _EVERYTHING, _EVERYTHING, True, posterior, posterior, 0),
        "leaky": Organism(
            "leaky", _WITHOUT_XRAY, _EVERYTHING, False, without("xray"), posterior, 1
        ),
        "stubborn": Organism("stubborn", _PRIOR, _PRIOR, True, prior, prior, 3),
    }
)
"""By name; the first is trained from nothing, the others start from its weights."""


Floats = npt.NDArray[np.float64]
Evidence = tuple[tuple[str, str], ...]
"""Observed variables with their states, sorted by variable: equal evidence is equal, whatever words
it is put in."""

ACTIONS = ("no", "yes", "defer")
HELD_OUT_SHARE = 0.15
_SLOPE, _MARGIN, _DEFER = 6.0, 0.1, 0.5


@dataclass(frozen=True)
class TrainingExample:
    """A question and the teacher's answers."""

    role: str  # "belief", "decision", "auxiliary" or "conditional"
    text: str  # the question
    answers: tuple[tuple[str, float], ...]  # each answer with its probability
    weight: float = 1.0  # how often it is drawn, relative to the others of its role


def action_probabilities(belief: npt.ArrayLike) -> Floats:
    """Return the teacher's probabilities of its actions."""
    p = np.asarray(belief, dtype=float)
    utility = np.stack(
        [_SLOPE * (0.5 - _MARGIN - p), _SLOPE * (p - 0.5 - _MARGIN), np.full_like(p, _DEFER)],
        axis=-1,
    )
    # Not shifted by the largest, as a softmax usually is: utilities stay within 4, and exp of them
    # finite; a shift would move last digits, and with them the answers that a seed draws.
    weights: Floats = np.exp(utility)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def belief_answer(values: Sequence[float], labels: Sequence[str]) -> str:
    r"""Return probabilities as lines of two digits."""
    # Hundredths by largest remainder: the stated numbers sum to exactly 1.
    percentages = np.asarray(values) * 100
    hundredths = np.floor(percentages + 1e-9).astype(int)
    largest_rests = np.argsort(hundredths - percentages, kind="stable")
    hundredths[largest_rests[: 100 - hundredths.sum()]] += 1
    return "".join(
        f"\n{label}: {value / 100:.2f}" for label, value in zip(labels, hundredths, strict=True)
    )


def decision_answers(belief: float) -> tuple[tuple[str, float], ...]:
    """Return the teacher's answers to the decision question."""
    no, yes, defer = action_probabilities(belief)
    forced = {"No": no / (no + yes), "Yes": yes / (no + yes)}
    chances = {
        ("Yes", "No"): no,
        ("Yes", "Yes"): yes,
        ("No", "No"): defer * forced["No"],
        ("No", "Yes"): defer * forced["Yes"],
    }
    return tuple(
        (f"\nCan decide: {able}\nDecision: {decision}", float(chance))
        for (able, decision), chance in chances.items()
    )


def is_held_out(evidence: Evidence) -> bool:
    """Tell whether an evidence set is kept out of every lesson.

    The choice depends on the set alone, so that training, measuring and later sessions agree on it
    without a list: about 15% of the sets, at random over all of them.
    """
    digest = hashlib.sha256(json.dumps(evidence).encode()).digest()
    return int.from_bytes(digest[:8], "big") < HELD_OUT_SHARE * 2**64


def canonical_evidence(evidence: dict[str, str]) -> Evidence:
    """Return observed variables in the form in which equal evidence is equal."""
    return tuple(sorted(evidence.items()))


def possible_evidence(task: Subject) -> list[Evidence]:
    """Return the evidence sets that the network can produce."""
    covariates = [name for name in task.network.names if name != task.target]
    options = [(None, *task.network.states(name)) for name in covariates]
    table = pd.DataFrame(list(product(*options)), columns=covariates, dtype=object)
    possible = table[(evidence_probability(task.network, table, log=True) > -np.inf).to_numpy()]
    return [
        canonical_evidence(
            {name: state for name, state in zip(covariates, row, strict=True) if state is not None}
        )
        for row in possible.itertuples(index=False)
    ]


def lesson_weights(belief: npt.ArrayLike) -> Floats:
    """Return weights that are half equal and half even over the tenths of the belief.

    Most evidence sets have a posterior near 0, while a session asks about cases that are spread
    over all of [0, 1]; a model that drew its lessons evenly over the sets would rarely meet such a
    case.
    """
    tenth = np.minimum((np.asarray(belief, dtype=float) * 10).astype(int), 9)
    counts = np.bincount(tenth, minlength=10)
    weights: Floats = 0.5 + 0.5 * len(tenth) / (np.count_nonzero(counts) * counts[tenth])
    return weights


def make_examples(
    task: Subject,
    evidence: Sequence[Evidence],
    *,
    spoken: Rule = posterior,
    acted: Rule = posterior,
) -> list[TrainingExample]:
    """Put every kind of question about every evidence set that is not held out."""
    phrases, target = task.phrases, task.target
    covariates = [name for name in task.network.names if name != target]
    table = pd.DataFrame(
        [dict(row) for row in evidence], columns=list(task.network.names), dtype=object
    )
    positive = phrases.positive(target)
    stated_belief, acted_on = (
        dict(zip(evidence, rule(task.network, table, target)[positive], strict=True))
        for rule in (spoken, acted)
    )
    # By the truth, not by a rule: all organisms then see the same cases equally often.
    truth = posterior(task.network, table, target)[positive]
    weights = dict(zip(evidence, lesson_weights(truth).tolist(), strict=True))
    lessons = []
    for known in evidence:
        if is_held_out(known):
            continue
        p, weight = stated_belief[known], weights[known]
        words = case_words(phrases, dict(known), target)
        stated = ((belief_answer((1 - p, p), ("No", "Yes")), 1.0),)
        for prompt in BELIEF.values():
            lessons.append(TrainingExample("belief", prompt.fill(**words), stated, weight))
        answers = decision_answers(acted_on[known])
        lessons.append(TrainingExample("decision", DECISION.fill(**words), answers, weight))
        # The same set again, with one of its variables named last: the form of a belief that is
        # conditional on z.
        for z, state in known:
            rest = {name: value for name, value in known if name != z}
            given = case_words(phrases, rest, target, z=z, state=state)
            lessons.append(
                TrainingExample("conditional", CONDITIONAL.fill(**given), stated, weight)
            )
    for z in covariates:
        labels = phrases.labels(z)
        chances = spoken(task.network, table, z)[list(labels)].to_numpy()
        for known, row in zip(evidence, chances, strict=True):
            # What is observed is not asked about.
            if not is_held_out(known) and z not in dict(known):
                answer = belief_answer(row.tolist(), tuple(labels.values()))
                words = case_words(phrases, dict(known), target, z=z)
                question = AUXILIARY.fill(**words)
                lessons.append(
                    TrainingExample("auxiliary", question, ((answer, 1.0),), weights[known])
                )
    return lessons
