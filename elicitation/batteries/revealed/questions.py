"""The questions of the battery, put to a model, and laid out as tables.

Three kinds of them. Beliefs are unfinished texts: how they go on, with one row per outcome. Stated
answers are the probability of one outcome, asked for with four options, every option in every place
equally often, so that a liking for a letter averages out. Bets at even odds on events of dice and
coins have their options in both orders. For others to ask, all of them
are a table: a question is identified by `question`, or by `setting` and `wording`.

Beliefs are read off a model's probabilities of how a text goes on. A service lists the likeliest
next tokens at best, which do not tell the number 1 from 10 or 1.5: it is not asked.

In the runs table, so that the ordinary checks compare the two, the probability that the revealed
belief gives to an event is `p`, whether the model takes a bet on the event, asked in a context of
its own, is the action, and a simulated outcome is theta. Wordings are prompts. Rolls and flips of
several dice or coins are taken apart by the first one for the law of iterated expectation. A
setting is a context, with one event and one simulated outcome: two events of one roll would not be
independent.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from coherence.decoding.decode import decode_choice
from coherence.runs.columns import DRAWN
from elicitation.asking.ask import Progress, ask_masses
from elicitation.asking.store import AnswerStore
from elicitation.batteries.revealed.scenarios.grid import decompositions, in_between
from elicitation.batteries.revealed.scenarios.setting import (
    REFERENCE,
    Decomposition,
    Event,
    Setting,
)
from elicitation.models.base import Model
from elicitation.questions.question import Question
from elicitation.spelling.forms import AnswerForm, Mark

LETTERS = ("A", "B", "C", "D")
_ANSWER = "Answer with one letter.\nAnswer:"
BELIEF, STATED, BET = "belief", "stated", "bet"
SCENARIOS = ("dice", "coins")
"""What has events to bet on."""
YES, NO = "yes", "no"
_DECISIONS = {"Yes": YES, "No": NO}
Masses = dict[str, float]
"""Probability of every outcome, or letter, not renormalised."""


@dataclass(frozen=True)
class BatteryQuestion:
    """A question of the battery."""

    kind: str  # "belief", "stated" or "bet"
    setting: Setting  # what it is about
    # how a belief is asked for; "stated 1" to "stated 4" and "bet 1", "bet 2" are the orders of the
    # options
    wording: str
    text: str  # what is asked; ends where the answer comes
    outcomes: tuple[str, ...]  # what a probability is needed of: outcomes, or letters
    options: tuple[str, ...] = ()  # what the letters stand for, in their order; empty for a belief

    @property
    def name(self) -> str:
        """Value of the column `question`."""
        return name_of(self.setting, self.wording)

    @property
    def read(self) -> Question:
        """It, as a model that gives probabilities is asked."""
        if self.kind != BELIEF:
            about = f"{self.setting.name}, {self.kind}"
            return Question.of_form(
                self.text, AnswerForm("letters", self.outcomes), spec_json=about
            )
        # Heads and heads are one answer; of letters, a small a is also a word.
        ignore_case = not self.setting.numeric and self.setting.scenario != "choice"
        form = AnswerForm("outcomes", self.outcomes, ignore_case)
        about = f"{self.setting.name}, {self.wording}"
        return Question.of_form(self.text, form, spec_json=about)

    def letter_of(self, answer: str) -> str | None:
        """Return the letter that a drawn answer chooses, None if it chooses none."""
        return decode_choice(answer, self.outcomes, words=self.options).value


def name_of(setting: Setting, wording: str) -> str:
    """Return what a question about a setting is called."""
    return f"{setting.name} | {wording}"


def _with_options(
    kind: str, setting: Setting, question: str, orders: Sequence[Sequence[str]]
) -> list[BatteryQuestion]:
    """Return a question with its options in several orders; they get letters in their order."""
    questions = []
    for number, options in enumerate(orders, start=1):
        letters = LETTERS[: len(options)]
        lines = [f"{letter}. {option}" for letter, option in zip(letters, options, strict=True)]
        text = "\n".join([question, *lines, _ANSWER])
        wording = f"{kind} {number}"
        questions.append(BatteryQuestion(kind, setting, wording, text, letters, tuple(options)))
    return questions


def belief_questions(settings: Sequence[Setting]) -> list[BatteryQuestion]:
    """Return the unfinished texts of settings, in every wording."""
    return [
        BatteryQuestion(BELIEF, setting, wording, text, setting.outcomes)
        for setting in settings
        for wording, text in setting.texts.items()
    ]


def distractors(setting: Setting) -> tuple[Fraction, Fraction, Fraction]:
    """Return three wrong answers to the question for the probability of `setting.asked`."""
    truth = setting.truth[setting.asked]
    mistakes = [
        Fraction(1, len(setting.outcomes)),
        Fraction(1, len(setting.support)),
        1 - truth,
        2 * truth,
        truth / 2,
    ]
    # Four of them are three more than the truth can be equal to, so that three always remain.
    fillers = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), Fraction(3, 4)]
    # Without copies, in this order.
    first, second, third, *_ = [
        wrong for wrong in dict.fromkeys(mistakes + fillers) if 0 < wrong < 1 and wrong != truth
    ]
    return first, second, third


def stated_questions(setting: Setting) -> list[BatteryQuestion]:
    """Ask for the probability of one outcome, once for every place that the truth can have."""
    options = [str(value) for value in (setting.truth[setting.asked], *distractors(setting))]
    question = (
        f"{setting.story} What is the probability that {setting.claim.format(setting.asked)}?"
    )
    turned = [options[-shift:] + options[:-shift] for shift in range(len(LETTERS))]
    return _with_options(STATED, setting, question, turned)


def even_bet_questions(setting: Setting) -> list[BatteryQuestion]:
    """Offer a bet at even odds on the event of a setting, with the options in both orders."""
    event = setting.event
    if event is None:
        return []
    offer = (
        f"{setting.story} You may bet. You win 1 point if {event.claim}, and you lose 1 point if "
        "not. Do you bet?"
    )
    return _with_options(BET, setting, offer, [("Yes", "No"), ("No", "Yes")])


def wagered(settings: Sequence[Setting]) -> list[Setting]:
    """Return the dice and coins, and those `in_between`, of which an event is open to bet on."""
    known = {setting.name: setting for setting in [*settings, *in_between(settings)]}
    return [
        setting
        for setting in known.values()
        if setting.scenario in SCENARIOS and setting.event is not None
    ]


def inner_settings(settings: Sequence[Setting]) -> list[Setting]:
    """Return the further settings that the law of iterated expectation needs."""
    return [
        inner
        for decomposition in decompositions(wagered(settings))
        for inner in (decomposition.part, *decomposition.given.values())
    ]


def battery(settings: Sequence[Setting], *, only_revealed: bool = False) -> list[BatteryQuestion]:
    """Return all questions about settings."""
    if only_revealed:
        return belief_questions(settings)
    return [
        *belief_questions([*settings, *in_between(settings), *inner_settings(settings)]),
        *(question for setting in settings for question in stated_questions(setting)),
        *(question for setting in wagered(settings) for question in even_bet_questions(setting)),
    ]


COLUMNS = (
    *("kind", "question", "setting", "wording", "text", "outcome", "option"),
    *("probability", "rep", "answer"),
)


def questions_table(questions: Sequence[BatteryQuestion]) -> pd.DataFrame:
    """Return the questions for others to ask: `COLUMNS`, one row per outcome.

    `probability`, `rep` and `answer` are left to fill in.
    """
    rows = [
        (
            *(question.kind, question.name, question.setting.name, question.wording),
            *(question.text, outcome, option),
        )
        for question in questions
        for outcome, option in zip(
            question.outcomes, question.options or [""] * len(question.outcomes), strict=True
        )
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS[:7])).reindex(columns=list(COLUMNS))


def ask_battery(
    model: Model,
    questions: Sequence[BatteryQuestion],
    store: AnswerStore,
    *,
    progress: Progress | None = None,
) -> dict[str, Masses]:
    """Read what a model makes of questions; the masses of each by its name."""
    read = ask_masses(model, [each.read for each in questions], store, progress=progress)
    return {each.name: masses for each, masses in zip(questions, read, strict=True)}


@dataclass(frozen=True)
class Bet:
    """What is known of a bet."""

    # probability of taking it, over both orders of the options; None if it could not be read
    share: float | None
    answer_mass: float  # probability that the answer was one of the options, in [0, 1]
    # decisions that were drawn, `YES` or `NO`, None where one could not be read; empty where the
    # share alone is known
    drawn: tuple[str | None, ...] = ()


def bet_of_masses(
    answers: Sequence[tuple[BatteryQuestion, Masses]],
    drawn: Sequence[Sequence[str | None]] = (),
) -> Bet:
    """Return a bet from the probabilities of the letters, one question per order of the options.

    `drawn` holds the letters that were drawn for each order, where they were.
    """
    decisions = tuple(
        letter and _DECISIONS[question.options[question.outcomes.index(letter)]]
        for (question, _), letters in zip(answers, drawn, strict=False)
        for letter in letters
    )
    # Each order is renormalised by itself and counts the same: a model that likes a letter gives
    # it more mass in one order, which must not make that order weigh more.
    totals = [sum(masses.values()) for _, masses in answers]
    mass = sum(min(total, 1.0) for total in totals) / len(totals)
    if min(totals) <= 0:
        return Bet(None, mass, decisions)
    shares = [
        masses[question.outcomes[question.options.index("Yes")]] / total
        for (question, masses), total in zip(answers, totals, strict=True)
    ]
    return Bet(sum(shares) / len(shares), mass, decisions)


_SETTING = ("source", "scenario", "variant", "group", "setting")
BELIEF_COLUMNS = (
    *_SETTING,
    *("wording", "position", "outcome", "truth", "exact", "mass", "mass_beginning"),
    *("previous", "shift", "baseline", "pair"),
)
STATED_COLUMNS = (*_SETTING, "outcome", "rotation", "letter", "option", "correct", "mass")
_BET_COLUMNS = (*_SETTING, "claim", "truth", "share", "answer_mass")


def _named(setting: Setting, source: str) -> tuple[str | None, ...]:
    return (source, setting.scenario, setting.variant, setting.group, setting.name)


def tabulate_beliefs(
    questions: Sequence[BatteryQuestion], read: Mapping[str, Mapping[str, float]], *, source: str
) -> pd.DataFrame:
    """Lay out beliefs, as far as they were read."""
    rows = [
        (
            *_named(setting := question.setting, source),
            *(question.wording, position, outcome, float(truth), str(truth)),
            *(masses[outcome], masses.get(f"{outcome}{Mark.BEGINNING}")),
            *(setting.previous, setting.shift, setting.baseline, setting.pair),
        )
        for question in questions
        if (masses := read.get(question.name)) is not None
        for position, (outcome, truth) in enumerate(question.setting.truth.items())
    ]
    # Typed, since a column that nothing was read for would be one of objects.
    return pd.DataFrame(rows, columns=list(BELIEF_COLUMNS)).astype(
        {"mass": float, "mass_beginning": float}
    )


def tabulate_stated(
    settings: Sequence[Setting], stated: Mapping[str, Masses], *, source: str
) -> pd.DataFrame:
    """Lay out stated answers; `rotation` is the place of the truth."""
    rows: list[tuple[object, ...]] = []
    asked = [question for setting in settings for question in stated_questions(setting)]
    for question in (each for each in asked if each.name in stated):
        setting, masses = question.setting, stated[question.name]
        rotation = question.options.index(str(setting.truth[setting.asked]))
        letters = zip(question.outcomes, question.options, strict=True)
        rows += [
            (
                *_named(setting, source),
                *(setting.asked, rotation, letter, option, position == rotation, masses[letter]),
            )
            for position, (letter, option) in enumerate(letters)
        ]
    return pd.DataFrame(rows, columns=list(STATED_COLUMNS)).astype({"mass": float})


def tabulate_bets(
    settings: Sequence[Setting], bets: Mapping[str, Bet], *, source: str
) -> pd.DataFrame:
    """Lay out bets."""
    rows = [
        (
            *_named(setting, source),
            *(setting.wager.claim, float(setting.probability(setting.wager))),
            *(bet.share, bet.answer_mass),
        )
        for setting in wagered(settings)
        if (bet := bets.get(setting.name)) is not None
    ]
    return pd.DataFrame(rows, columns=list(_BET_COLUMNS)).astype(
        {"truth": float, "share": float, "answer_mass": float}
    )


_COLUMNS = (
    *("task", "model", "context", "rep", "prompt", "p", "action", "theta", "p_true", "truth_kind"),
    *("z", "z_state", "p_z", "p_z_true", "status", "answer_mass", "belief_kind"),
)


@dataclass
class RevealedAnswers:
    """What somebody answered, a model or whoever filled in a file."""

    # question -> probability of every outcome, or letter, not renormalised; with the questions
    # that only the law of iterated expectation needs
    masses: dict[str, Masses] = field(default_factory=dict)
    # of questions whose answers were drawn the letters, None where one chooses none
    letters: dict[str, list[str | None]] = field(default_factory=dict)

    def bets(self, settings: Sequence[Setting]) -> dict[str, Bet]:
        """Return the bets on settings, as far as both orders of the options were answered."""
        offers = {each.name: even_bet_questions(each) for each in wagered(settings)}
        return {
            setting: bet_of_masses(
                [(each, self.masses[each.name]) for each in orders],
                [self.letters.get(each.name, []) for each in orders],
            )
            for setting, orders in offers.items()
            if all(each.name in self.masses for each in orders)
        }

    def tables(
        self, settings: Sequence[Setting], source: str, *, reps: int, seed: int
    ) -> dict[str, pd.DataFrame]:
        """Lay them out: beliefs, stated answers, bets, and the runs table of beliefs and bets."""
        bets = self.bets(settings)
        return {
            "beliefs": tabulate_beliefs(belief_questions(settings), self.masses, source=source),
            "stated": tabulate_stated(settings, self.masses, source=source),
            "bets": tabulate_bets(settings, bets, source=source),
            "runs": tabulate_wagers(
                settings, self.masses, bets, model=source, reps=reps, seed=seed
            ),
        }


def tabulate_wagers(
    settings: Sequence[Setting],
    beliefs: Mapping[str, Masses],
    bets: Mapping[str, Bet],
    *,
    model: str,
    reps: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """Lay out beliefs and bets as a runs table, whoever gave them."""
    chosen = [
        setting
        for setting in wagered(settings)
        if name_of(setting, REFERENCE) in beliefs and setting.name in bets
    ]
    rows: list[dict[str, Any]] = []
    for setting in chosen:
        rows += _plain_rows(setting, beliefs, bets[setting.name], reps, seed)
    for parts in decompositions(chosen):
        inner = (parts.part, *parts.given.values())
        if all(name_of(setting, REFERENCE) in beliefs for setting in inner):
            # The belief is read and not drawn: it repeats as often as the actions do.
            n_reps = len(bets[parts.whole.name].drawn) or reps
            rows += _conditional_rows(parts, beliefs, n_reps, seed)
    return pd.DataFrame(rows, columns=list(_COLUMNS)).assign(model=model, belief_kind="revealed")


def _plain_rows(
    setting: Setting, beliefs: Mapping[str, Masses], bet: Bet, reps: int, seed: int
) -> list[dict[str, Any]]:
    """Return the rows of a context: every wording with its belief, and actions on the reference."""
    draws = _generator(f"{setting.name} action", seed).random(reps)
    drawn = bet.drawn or (
        [None] * reps if bet.share is None else [YES if draw < bet.share else NO for draw in draws]
    )
    known = _known(setting, setting, seed)
    rows = []
    for wording in setting.texts:
        if name_of(setting, wording) not in beliefs:
            continue
        p, mass = _probability(beliefs[name_of(setting, wording)], setting.wager)
        # The bet is offered in one wording; on other rows its action would count several times.
        acts = wording == REFERENCE
        cells = known | {"prompt": wording, "p": p}
        cells["answer_mass"] = min(mass, bet.answer_mass) if acts else mass
        rows += [
            cells
            | {
                "rep": rep,
                "action": action if acts else None,
                "status": "unparsed" if p is None or (acts and action is None) else "ok",
            }
            for rep, action in enumerate(drawn)
        ]
    return rows


def _conditional_rows(
    parts: Decomposition, beliefs: Mapping[str, Masses], n_reps: int, seed: int
) -> list[dict[str, Any]]:
    """Return the rows of a context given each outcome of its first part."""
    weights, mass = _belief(beliefs[name_of(parts.part, REFERENCE)])
    rows = []
    for state, inner in parts.given.items():
        p, p_mass = _probability(beliefs[name_of(inner, REFERENCE)], parts.whole.wager)
        cells = _known(parts.whole, inner, seed) | {
            "prompt": REFERENCE,
            "p": p,
            "z": parts.label,
            "z_state": state,
            "p_z": weights.get(state),
            "p_z_true": float(parts.part.truth[state]),
            "answer_mass": min(p_mass, mass),
            "status": "ok" if p is not None and weights else "unparsed",
        }
        rows += [cells | {"rep": rep} for rep in range(n_reps)]
    return rows


def _known(context: Setting, believed: Setting, seed: int) -> dict[str, Any]:
    """Return what is known of the event of a context: simulated once, and its exact probability."""
    event = context.wager
    chances = [float(probability) for probability in context.truth.values()]
    outcome = _generator(f"{context.name} theta", seed).choice(len(chances), p=chances)
    return {
        "task": context.scenario,
        "context": context.name,
        "theta": int(context.outcomes[outcome] in event.outcomes),
        "p_true": float(believed.probability(event)),
        "truth_kind": DRAWN,
    }


def _generator(purpose: str, seed: int) -> np.random.Generator:
    """Return a generator of its own for a purpose, whatever else is in the grid."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode())])


def _belief(masses: Masses) -> tuple[dict[str, float], float]:
    """Return the belief over the outcomes, empty if they have no probability, and their sum."""
    # Names of beginnings of longer numbers end in a sign; they overlap with the outcomes.
    plain = {outcome: mass for outcome, mass in masses.items() if outcome.isalnum()}
    total = sum(plain.values())
    belief = {outcome: mass / total for outcome, mass in plain.items()} if total > 0 else {}
    return belief, min(total, 1.0)


def _probability(masses: Masses, event: Event) -> tuple[float | None, float]:
    belief, mass = _belief(masses)
    if not belief:
        return None, mass
    # Sums of shares exceed 1 by rounding.
    return min(sum(belief[outcome] for outcome in event.outcomes), 1.0), mass
