"""Revealed beliefs and bets as a runs table, so that the ordinary checks compare the two.

The probability that the revealed belief gives to an event is `p`, whether the model takes a bet on
the event, asked in a context of its own, is the action, and a simulated outcome is theta. Wordings
are prompts. Rolls and flips of several dice or coins are taken apart by the first one for the law
of iterated expectation. A setting is a context, with one event and one simulated outcome: two
events of one roll would not be independent.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from coherence.runs.columns import DRAWN
from elicitation.batteries.revealed.questions import (
    NO,
    YES,
    Bet,
    Masses,
    belief_questions,
    bet_of_masses,
    even_bet_questions,
    name_of,
    tabulate_beliefs,
    tabulate_bets,
    tabulate_stated,
    wagered,
)
from elicitation.batteries.revealed.scenarios.grid import decompositions
from elicitation.batteries.revealed.scenarios.setting import (
    REFERENCE,
    Decomposition,
    Event,
    Setting,
)

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
    "truth_kind",
    "z",
    "z_state",
    "p_z",
    "p_z_true",
    "status",
    "answer_mass",
    "belief_kind",
)


@dataclass
class Answers:
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
    events = {
        setting.name: event
        for setting in wagered(settings)
        if name_of(setting, REFERENCE) in beliefs
        and setting.name in bets
        and (event := setting.event) is not None
    }
    chosen = [setting for setting in wagered(settings) if setting.name in events]
    rows: list[dict[str, Any]] = []
    for setting in chosen:
        rows += _plain_rows(setting, events[setting.name], beliefs, bets[setting.name], reps, seed)
    for parts in decompositions(chosen):
        inner = (parts.part, *parts.given.values())
        if all(name_of(setting, REFERENCE) in beliefs for setting in inner):
            # The belief is read and not drawn: it repeats as often as the actions do.
            n_reps = len(bets[parts.whole.name].drawn) or reps
            rows += _conditional_rows(parts, events[parts.whole.name], beliefs, n_reps, seed)
    return pd.DataFrame(rows, columns=list(_COLUMNS)).assign(model=model, belief_kind="revealed")


def _plain_rows(
    setting: Setting, event: Event, beliefs: Mapping[str, Masses], bet: Bet, reps: int, seed: int
) -> list[dict[str, Any]]:
    """Return the rows of a context: every wording with its belief, and actions on the reference."""
    draws = _generator(f"{setting.name} action", seed).random(reps)
    drawn = bet.drawn or (
        [None] * reps if bet.share is None else [YES if draw < bet.share else NO for draw in draws]
    )
    theta = _theta(setting, event, seed)
    rows = []
    for wording in setting.texts:
        if name_of(setting, wording) not in beliefs:
            continue
        p, mass = _probability(beliefs[name_of(setting, wording)], event)
        # The bet is offered in one wording; on other rows its action would count several times.
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
                    "truth_kind": DRAWN,
                    "status": "unparsed" if p is None or (acts and action is None) else "ok",
                    "answer_mass": min(mass, bet.answer_mass) if acts else mass,
                }
            )
    return rows


def _conditional_rows(
    parts: Decomposition, event: Event, beliefs: Mapping[str, Masses], n_reps: int, seed: int
) -> list[dict[str, Any]]:
    """Return the rows of a context given each outcome of its first part."""
    weights, mass = _belief(beliefs[name_of(parts.part, REFERENCE)])
    theta = _theta(parts.whole, event, seed)
    rows = []
    for state, inner in parts.given.items():
        p, p_mass = _probability(beliefs[name_of(inner, REFERENCE)], event)
        cells = {
            "task": parts.whole.scenario,
            "context": parts.whole.name,
            "prompt": REFERENCE,
            "p": p,
            "p_true": float(inner.probability(event)),
            "truth_kind": DRAWN,
            "z": parts.label,
            "z_state": state,
            "p_z": weights.get(state),
            "p_z_true": float(parts.part.truth[state]),
            "answer_mass": min(p_mass, mass),
            "status": "ok" if p is not None and weights else "unparsed",
            "theta": theta,
        }
        rows += [{**cells, "rep": rep} for rep in range(n_reps)]
    return rows


def _theta(setting: Setting, event: Event, seed: int) -> int:
    """Simulate the experiment once, and return whether the event happened."""
    chances = [float(probability) for probability in setting.truth.values()]
    outcome = _generator(f"{setting.name} theta", seed).choice(len(chances), p=chances)
    return int(setting.outcomes[outcome] in event.outcomes)


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
