"""From dice and coins to a runs table, so that the ordinary checks say whether a revealed belief is the belief that a model acts on.

The probability that the revealed belief gives to an event is `p`, whether the model takes a bet on
the event, asked in a context of its own, is the action, and a simulated outcome is theta. Wordings
are prompts. Rolls and flips of several dice or coins are taken apart by the first one for the law
of iterated expectation. A setting is a context, with one event and one simulated outcome: two
events of one roll would not be independent.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from elicitation.batteries.revealed.grid import decompositions, in_between
from elicitation.batteries.revealed.reading import Masses, Question, read_masses
from elicitation.batteries.revealed.setting import REFERENCE, Decomposition, Event, Setting
from elicitation.batteries.revealed.stated import NO, YES, OptionQuestion, bet_questions
from elicitation.batteries.revealed.tables import belief_questions
from elicitation.models.base import ScoringModel
from elicitation.session.asking import Progress
from elicitation.store import AnswerStore

SCENARIOS = ("dice", "coins")
Told = dict[tuple[str, str], Masses]
_COLUMNS = (
    "task",
    "model",
    "context",
    "rep",
    "prompt",
    "p",
    "action",
    "theta",
    "p_true",
    "z",
    "z_state",
    "p_z",
    "p_z_true",
    "status",
    "answer_mass",
)


@dataclass(frozen=True)
class Bet:
    """What is known of a bet.

    Parameters
    ----------
    share : float or None
        Probability of taking it, over both orders of the options; None if it could not be read.
    answer_mass : float
        Probability that the answer was one of the options, in [0, 1].
    drawn : tuple of (str or None)
        Decisions that were drawn, `YES` or `NO`, None where one could not be read; empty where the
        share alone is known.
    """

    share: float | None
    answer_mass: float
    drawn: tuple[str | None, ...] = ()


def wagered(settings: Sequence[Setting]) -> list[Setting]:
    """Return the settings that bets are offered on: dice and coins in which more than one outcome is possible, and `in_between` those."""
    known = {setting.name: setting for setting in [*settings, *in_between(settings)]}
    return [
        setting
        for setting in known.values()
        if setting.scenario in SCENARIOS and setting.event is not None
    ]


def inner_settings(settings: Sequence[Setting]) -> list[Setting]:
    """Return the further settings that the law of iterated expectation needs, each to be asked in the reference wording."""
    return [
        inner
        for part in decompositions(wagered(settings))
        for inner in (part.part, *part.given.values())
    ]


def ask_wagers(
    revealing: ScoringModel,
    acting: ScoringModel,
    settings: Sequence[Setting],
    store: AnswerStore,
    *,
    progress: Progress | None = None,
) -> tuple[Told, dict[str, Bet]]:
    """Ask for bets on events, and for all beliefs that bear on them.

    Parameters
    ----------
    revealing : ScoringModel
        Who continues the unfinished texts.
    acting : ScoringModel
        Who decides on the bets: the same model, with its chat template if it has one.
    settings : sequence of Setting
        Those of dice and coins in which more than one outcome is possible are used, and
        `in_between` those; each is a context.
    store : AnswerStore
        Where answers are kept and found.
    progress : callable, optional
        See `elicitation.session.asking.Progress`.

    Returns
    -------
    told : dict of (str, str) to dict of str to float
        Setting and wording -> probability of every outcome, not renormalised.
    bets : dict of str to Bet
        By setting; for `tabulate_wagers`.
    """
    chosen = wagered(settings)
    plain = belief_questions(chosen)
    inner = inner_settings(chosen)
    texts = [question for *_, question in plain]
    texts += [
        Question(
            setting.texts[REFERENCE],
            setting.outcomes,
            ignore_case=not setting.numeric,
            about=setting.name,
        )
        for setting in inner
    ]
    offers = [(setting, question) for setting in chosen for question in bet_questions(setting)]
    asked = [
        Question(question.text, question.letters, lettered=True, about=f"{setting.name}, bet")
        for setting, question in offers
    ]
    total = len(dict.fromkeys(texts)) + len(dict.fromkeys(asked))

    def after(done_before: int) -> Progress | None:
        return None if progress is None else lambda done, _: progress(done_before + done, total)

    masses, _ = read_masses(revealing, texts, store, progress=after(0))
    taken, _ = read_masses(acting, asked, store, progress=after(len(dict.fromkeys(texts))))

    told = {
        (setting.name, wording): one
        for (setting, wording, _), one in zip(plain, masses, strict=False)
    }
    told |= {
        (setting.name, REFERENCE): one
        for setting, one in zip(inner, masses[len(plain) :], strict=True)
    }
    answers: dict[str, list[tuple[OptionQuestion, Masses]]] = {}
    for (setting, question), one in zip(offers, taken, strict=True):
        answers.setdefault(setting.name, []).append((question, one))
    return told, {name: bet_of_masses(own) for name, own in answers.items()}


def bet_of_masses(answers: Sequence[tuple[OptionQuestion, Masses]]) -> Bet:
    """Return a bet from the probabilities of the letters, one question per order of the options; each order counts the same."""
    totals = [sum(masses.values()) for _, masses in answers]
    mass = sum(min(total, 1.0) for total in totals) / len(totals)
    if min(totals) <= 0:
        return Bet(None, mass)
    shares = [
        masses[question.letters[question.options.index("Yes")]] / total
        for (question, masses), total in zip(answers, totals, strict=True)
    ]
    return Bet(sum(shares) / len(shares), mass)


def tabulate_bets(
    settings: Sequence[Setting], bets: Mapping[str, Bet], *, source: str
) -> pd.DataFrame:
    """Lay out bets.

    Parameters
    ----------
    settings : sequence of Setting
        Those without a bet are left out.
    bets : mapping of str to Bet
        By setting.
    source : str
        Whose bets.

    Returns
    -------
    DataFrame
        One row per bet: `source`, `scenario`, `variant`, `group`, `setting`, `claim` (the event),
        `truth` (its probability), `share` (probability of taking the bet, missing if it could not
        be read) and `answer_mass`.
    """
    rows = [
        (
            source, setting.scenario, setting.variant, setting.group, setting.name, event.claim, float(setting.probability(event)),
            bet.share, bet.answer_mass,
        )
        for setting in wagered(settings)
        if (event := setting.event) is not None and (bet := bets.get(setting.name)) is not None
    ]  # fmt: skip
    columns = [
        "source",
        "scenario",
        "variant",
        "group",
        "setting",
        "claim",
        "truth",
        "share",
        "answer_mass",
    ]
    return pd.DataFrame(rows, columns=columns).astype(
        {"truth": float, "share": float, "answer_mass": float}
    )


def tabulate_wagers(
    settings: Sequence[Setting],
    told: Told,
    bets: Mapping[str, Bet],
    *,
    model: str,
    reps: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """Lay out beliefs and bets as a runs table, whoever gave them.

    Parameters
    ----------
    settings : sequence of Setting
        Those that bets are offered on, and of which the belief in the reference wording and the bet
        are known, are used; each is a context.
    told : dict of (str, str) to dict of str to float
        Setting and wording -> probability of every outcome, not renormalised. With those of
        `inner_settings`, a roll or flip is taken apart by the first die or coin.
    bets : mapping of str to Bet
        By setting.
    model : str
        Value of the `model` column.
    reps : int
        Actions drawn for a bet of which only the share is known; the belief is read and not drawn,
        so it repeats.
    seed : int
        Of the simulated outcomes and the drawn actions.

    Returns
    -------
    DataFrame
        A runs table, one task per scenario; empty if no setting qualifies. `answer_mass` is the
        smallest of the answers that a row is made of.
    """
    events = {
        setting.name: event
        for setting in wagered(settings)
        if (setting.name, REFERENCE) in told
        and setting.name in bets
        and (event := setting.event) is not None
    }
    chosen = [setting for setting in wagered(settings) if setting.name in events]
    rows: list[dict[str, Any]] = []
    for setting in chosen:
        rows += _plain_rows(setting, events[setting.name], told, bets[setting.name], reps, seed)
    for part in decompositions(chosen):
        if all((inner.name, REFERENCE) in told for inner in (part.part, *part.given.values())):
            rows += _conditional_rows(
                part, events[part.whole.name], told, _n_reps(bets[part.whole.name], reps), seed
            )
    return pd.DataFrame(rows, columns=list(_COLUMNS)).assign(model=model)


def _n_reps(bet: Bet, reps: int) -> int:
    return len(bet.drawn) or reps


def _plain_rows(
    setting: Setting, event: Event, told: Told, bet: Bet, reps: int, seed: int
) -> list[dict[str, Any]]:
    """Return the rows of a context: every wording with its belief, and on those of the reference the actions."""
    draws = np.random.default_rng([seed, zlib.crc32(f"{setting.name} action".encode())]).random(
        reps
    )
    drawn = bet.drawn or (
        [None] * reps if bet.share is None else [YES if draw < bet.share else NO for draw in draws]
    )
    theta = _theta(setting, event, seed)
    rows = []
    for wording in setting.texts:
        if (setting.name, wording) not in told:
            continue
        p, mass = _probability(told[setting.name, wording], event)
        acts = wording == REFERENCE
        for rep, action in enumerate(drawn):
            rows.append(
                {
                    "task": setting.scenario,
                    "context": setting.name,
                    "rep": rep,
                    "prompt": wording,
                    "p": p,
                    "action": action if acts else None,
                    "theta": theta,
                    "p_true": float(setting.probability(event)),
                    "status": "unparsed" if p is None or (acts and action is None) else "ok",
                    "answer_mass": min(mass, bet.answer_mass) if acts else mass,
                }
            )
    return rows


def _conditional_rows(
    part: Decomposition, event: Event, told: Told, n_reps: int, seed: int
) -> list[dict[str, Any]]:
    """Return the rows of a context given each outcome of its first part."""
    weights, mass = _belief(told[part.part.name, REFERENCE])
    theta = _theta(part.whole, event, seed)
    rows = []
    for state, given in part.given.items():
        p, p_mass = _probability(told[given.name, REFERENCE], event)
        cells = {
            "task": part.whole.scenario, "context": part.whole.name, "prompt": REFERENCE, "p": p, "p_true": float(given.probability(event)),
            "z": part.label, "z_state": state, "p_z": weights.get(state), "p_z_true": float(part.part.truth[state]),
            "answer_mass": min(p_mass, mass), "status": "ok" if p is not None and weights else "unparsed", "theta": theta,
        }  # fmt: skip
        rows += [{**cells, "rep": rep} for rep in range(n_reps)]
    return rows


def _theta(setting: Setting, event: Event, seed: int) -> int:
    """Simulate the experiment once, and return whether the event happened."""
    generator = np.random.default_rng([seed, zlib.crc32(f"{setting.name} theta".encode())])
    outcome = generator.choice(
        len(setting.outcomes), p=[float(probability) for probability in setting.truth.values()]
    )
    return int(setting.outcomes[outcome] in event.outcomes)


def _belief(masses: Masses) -> tuple[dict[str, float], float]:
    """Return the belief over the outcomes, empty if they have no probability, and their probability."""
    plain = {outcome: mass for outcome, mass in masses.items() if outcome.isalnum()}
    total = sum(plain.values())
    return ({outcome: mass / total for outcome, mass in plain.items()} if total > 0 else {}), min(
        total, 1.0
    )


def _probability(masses: Masses, event: Event) -> tuple[float | None, float]:
    belief, mass = _belief(masses)
    return (min(sum(belief[outcome] for outcome in event.outcomes), 1.0) if belief else None), mass
