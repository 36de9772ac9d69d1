"""Bets at even odds on events of dice and coins: the offers, and what a model does with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from elicitation.asking.loop import Progress
from elicitation.asking.store import AnswerStore
from elicitation.batteries.revealed.beliefs import belief_questions
from elicitation.batteries.revealed.options import OptionQuestion, option_question
from elicitation.batteries.revealed.reading import Masses, OutcomeQuestion, read_masses
from elicitation.batteries.revealed.scenarios.grid import decompositions, in_between
from elicitation.batteries.revealed.scenarios.setting import REFERENCE, Setting
from elicitation.models.base import ScoringModel

SCENARIOS = ("dice", "coins")
_COLUMNS = (
    "source",
    "scenario",
    "variant",
    "group",
    "setting",
    "claim",
    "truth",
    "share",
    "answer_mass",
)
YES, NO = "yes", "no"
Beliefs = dict[tuple[str, str], Masses]
"""Setting and wording -> probability of every outcome, not renormalised."""


@dataclass(frozen=True)
class Bet:
    """What is known of a bet."""

    # probability of taking it, over both orders of the options; None if it could not be read
    share: float | None
    answer_mass: float  # probability that the answer was one of the options, in [0, 1]
    # decisions that were drawn, `YES` or `NO`, None where one could not be read; empty where the
    # share alone is known
    drawn: tuple[str | None, ...] = ()


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


def ask_wagers(
    revealing: ScoringModel,
    acting: ScoringModel,
    settings: Sequence[Setting],
    store: AnswerStore,
    *,
    progress: Progress | None = None,
) -> tuple[Beliefs, dict[str, Bet]]:
    """Ask for bets on events, and for all beliefs that bear on them."""
    chosen = wagered(settings)
    plain = belief_questions(chosen)
    inner = inner_settings(chosen)
    texts = [question for *_, question in plain]
    texts += [
        OutcomeQuestion(
            setting.texts[REFERENCE],
            setting.outcomes,
            ignore_case=not setting.numeric,
            about=setting.name,
        )
        for setting in inner
    ]
    offers = [(setting, question) for setting in chosen for question in even_bet_questions(setting)]
    asked = [
        OutcomeQuestion(
            question.text, question.letters, lettered=True, about=f"{setting.name}, bet"
        )
        for setting, question in offers
    ]
    # One count for both models. Equal questions are asked once, and counted once.
    n_texts = len(dict.fromkeys(texts))
    total = n_texts + len(dict.fromkeys(asked))

    def after(n_before: int) -> Progress | None:
        return None if progress is None else lambda n_done, _: progress(n_before + n_done, total)

    masses, _ = read_masses(revealing, texts, store, progress=after(0))
    taken, _ = read_masses(acting, asked, store, progress=after(n_texts))

    names = [(setting.name, wording) for setting, wording, _ in plain]
    names += [(setting.name, REFERENCE) for setting in inner]
    answers: dict[str, list[tuple[OptionQuestion, Masses]]] = {}
    for (setting, question), letters in zip(offers, taken, strict=True):
        answers.setdefault(setting.name, []).append((question, letters))
    return (
        dict(zip(names, masses, strict=True)),
        {name: bet_of_masses(orders) for name, orders in answers.items()},
    )


def bet_of_masses(answers: Sequence[tuple[OptionQuestion, Masses]]) -> Bet:
    """Return a bet from the probabilities of the letters, one question per order of the options."""
    # Each order is renormalised by itself and counts the same: a model that likes a letter gives
    # it more mass in one order, which must not make that order weigh more.
    totals = [sum(masses.values()) for _, masses in answers]
    mass = sum(min(total, 1.0) for total in totals) / len(totals)
    if min(totals) <= 0:
        return Bet(None, mass)
    shares = [
        masses[question.letters[question.options.index("Yes")]] / total
        for (question, masses), total in zip(answers, totals, strict=True)
    ]
    return Bet(sum(shares) / len(shares), mass)


def even_bet_questions(setting: Setting) -> list[OptionQuestion]:
    """Offer a bet at even odds on the event of a setting, with the options in both orders."""
    event = setting.event
    if event is None:
        return []
    offer = (
        f"{setting.story} You may bet. You win 1 point if {event.claim}, and you lose 1 point if "
        "not. Do you bet?"
    )
    return [option_question(offer, ["Yes", "No"]), option_question(offer, ["No", "Yes"])]


def tabulate_bets(
    settings: Sequence[Setting], bets: Mapping[str, Bet], *, source: str
) -> pd.DataFrame:
    """Lay out bets."""
    rows = [
        {
            "source": source,
            "scenario": setting.scenario,
            "variant": setting.variant,
            "group": setting.group,
            "setting": setting.name,
            "claim": event.claim,
            "truth": float(setting.probability(event)),
            "share": bet.share,
            "answer_mass": bet.answer_mass,
        }
        for setting in wagered(settings)
        if (event := setting.event) is not None and (bet := bets.get(setting.name)) is not None
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(
        {"truth": float, "share": float, "answer_mass": float}
    )
