"""From dice and coins to a runs table, so that the ordinary checks say whether a revealed belief is the belief that a model acts on.

The probability that the revealed belief gives to an event is `p`, whether the model takes a bet on the event, asked in a context of its own, is the
action, and a simulated outcome is theta. Wordings are prompts. Rolls and flips of several dice or coins are taken apart by the first one for the
law of iterated expectation.
"""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from elicitation.models.base import ScoringModel
from elicitation.scenarios.grid import decompositions
from elicitation.scenarios.reading import Masses, Progress, Question, read_masses
from elicitation.scenarios.setting import REFERENCE, Event, Setting
from elicitation.scenarios.stated import NO, YES, OptionQuestion, bet_questions
from elicitation.scenarios.tables import belief_questions
from elicitation.store import AnswerStore

SCENARIOS = ("dice", "coins")
_COLUMNS = ("task", "model", "context", "rep", "prompt", "p", "action", "theta", "p_true", "z", "z_state", "p_z", "p_z_true", "status", "answer_mass")


def ask_wagers(
    revealing: ScoringModel,
    acting: ScoringModel,
    settings: Sequence[Setting],
    store: AnswerStore,
    *,
    model: str,
    reps: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Ask for bets on events, and lay them out with the revealed probabilities of the events as a runs table.

    Parameters
    ----------
    revealing : ScoringModel
        Who continues the unfinished texts.
    acting : ScoringModel
        Who decides on the bets: the same model, with its chat template if it has one.
    settings : sequence of Setting
        Those of dice and coins in which more than one outcome is possible are used; each is a context.
    store : AnswerStore
        Where answers are kept and found.
    model : str
        Value of the `model` column.
    reps : int
        Actions drawn per context, from the probability that the model takes the bet; the belief is read and not drawn, so it repeats.
    seed : int
        Of the simulated outcomes and the drawn actions.
    progress : callable, optional
        See `elicitation.scenarios.reading.Progress`.

    Returns
    -------
    DataFrame
        A runs table, one task per scenario; empty if no setting qualifies.
    """
    events = {setting.name: event for setting in settings if setting.scenario in SCENARIOS and (event := setting.event) is not None}
    chosen = [setting for setting in settings if setting.name in events]
    plain = belief_questions(chosen)
    bets = [(setting, question) for setting in chosen for question in bet_questions(setting)]
    parts = decompositions(chosen)
    inner = [setting for part in parts for setting in (part.part, *part.given.values())]
    texts = [question for *_, question in plain]
    texts += [
        Question(setting.texts[REFERENCE], setting.outcomes, ignore_case=not setting.numeric, about=f"{setting.name}, {REFERENCE}")
        for setting in inner
    ]
    offers = [Question(question.text, question.letters, about=f"{setting.name}, bet") for setting, question in bets]
    total = len(dict.fromkeys(texts)) + len(dict.fromkeys(offers))

    def after(done_before: int) -> Progress | None:
        return None if progress is None else lambda done, _: progress(done_before + done, total)

    masses, _ = read_masses(revealing, texts, store, progress=after(0))
    taken, _ = read_masses(acting, offers, store, progress=after(len(dict.fromkeys(texts))))

    told = {(setting.name, wording): one for (setting, wording, _), one in zip(plain, masses, strict=False)}
    told |= {(setting.name, REFERENCE): one for setting, one in zip(inner, masses[len(plain) :], strict=True)}
    shares = _shares(bets, taken)
    rows: list[dict[str, Any]] = []
    for setting in chosen:
        rows += _plain_rows(setting, events[setting.name], told, shares[setting.name], reps, seed)
    for part in parts:
        event = events[part.whole.name]
        weights, mass = _belief(told[part.part.name, REFERENCE])
        for state, given in part.given.items():
            p, p_mass = _probability(told[given.name, REFERENCE], event)
            cells = {
                "task": part.whole.scenario, "context": part.whole.name, "prompt": REFERENCE, "p": p, "p_true": float(given.probability(event)),
                "z": part.label, "z_state": state, "p_z": weights.get(state), "p_z_true": float(part.part.truth[state]),
                "answer_mass": min(p_mass, mass), "status": "ok" if p is not None and weights else "unparsed",
                "theta": _theta(part.whole, event, seed),
            }  # fmt: skip
            rows += [{**cells, "rep": rep} for rep in range(reps)]
    return pd.DataFrame(rows, columns=list(_COLUMNS)).assign(model=model)


def _plain_rows(
    setting: Setting, event: Event, told: dict[tuple[str, str], Masses], share: float | None, reps: int, seed: int
) -> list[dict[str, Any]]:
    """Return the rows of a context: every wording with its belief, and on those of the reference the actions."""
    draws = np.random.default_rng([seed, zlib.crc32(f"{setting.name} action".encode())]).random(reps)
    theta = _theta(setting, event, seed)
    rows = []
    for wording in setting.texts:
        p, mass = _probability(told[setting.name, wording], event)
        for rep in range(reps):
            acts = wording == REFERENCE and share is not None
            unread = p is None or (wording == REFERENCE and share is None)
            rows.append(
                {
                    "task": setting.scenario,
                    "context": setting.name,
                    "rep": rep,
                    "prompt": wording,
                    "p": p,
                    "action": (YES if draws[rep] < share else NO) if acts and share is not None else None,
                    "theta": theta,
                    "p_true": float(setting.probability(event)),
                    "status": "unparsed" if unread else "ok",
                    "answer_mass": mass,
                }
            )
    return rows


def _theta(setting: Setting, event: Event, seed: int) -> int:
    """Simulate the experiment once, and return whether the event happened."""
    generator = np.random.default_rng([seed, zlib.crc32(f"{setting.name} theta".encode())])
    outcome = generator.choice(len(setting.outcomes), p=[float(probability) for probability in setting.truth.values()])
    return int(setting.outcomes[outcome] in event.outcomes)


def _belief(masses: Masses) -> tuple[dict[str, float], float]:
    """Return the belief over the outcomes, empty if they have no probability, and their probability."""
    plain = {outcome: mass for outcome, mass in masses.items() if outcome.isalnum()}
    total = sum(plain.values())
    return ({outcome: mass / total for outcome, mass in plain.items()} if total > 0 else {}), min(total, 1.0)


def _probability(masses: Masses, event: Event) -> tuple[float | None, float]:
    belief, mass = _belief(masses)
    return (min(sum(belief[outcome] for outcome in event.outcomes), 1.0) if belief else None), mass


def _shares(bets: Sequence[tuple[Setting, OptionQuestion]], taken: Sequence[Masses]) -> dict[str, float | None]:
    """Return for every setting the probability of taking the bet, averaged over both orders of the options; None where it cannot be read."""
    found: dict[str, list[float | None]] = {}
    for (setting, question), masses in zip(bets, taken, strict=True):
        total = sum(masses.values())
        letter = question.letters[question.options.index("Yes")]
        found.setdefault(setting.name, []).append(masses[letter] / total if total > 0 else None)
    return {
        name: sum(share for share in shares if share is not None) / len(shares) if all(share is not None for share in shares) else None
        for name, shares in found.items()
    }
