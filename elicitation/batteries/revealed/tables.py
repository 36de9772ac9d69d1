"""What was read of a model laid out as tables: one row per outcome of a belief, one per option of a stated answer, one per bet."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from elicitation.batteries.revealed.reading import BEGINS, Masses, Question, read_masses
from elicitation.batteries.revealed.setting import REFERENCE, Setting
from elicitation.batteries.revealed.stated import LETTERS, stated_questions
from elicitation.models.base import ScoringModel
from elicitation.session.asking import Progress
from elicitation.store import AnswerStore

BELIEF_COLUMNS = (
    "source", "scenario", "variant", "group", "setting", "wording", "position", "outcome", "truth", "exact", "mass", "mass_beginning",
    "previous", "shift", "baseline", "pair",
)  # fmt: skip
STATED_COLUMNS = (
    "source",
    "scenario",
    "variant",
    "group",
    "setting",
    "outcome",
    "rotation",
    "letter",
    "option",
    "correct",
    "mass",
)


def belief_questions(settings: Sequence[Setting]) -> list[tuple[Setting, str, Question]]:
    """Return the unfinished texts of settings, each with its wording."""
    return [
        (
            setting,
            wording,
            Question(
                text,
                setting.outcomes,
                ignore_case=setting.scenario == "preference",
                about=f"{setting.name}, {wording}",
            ),
        )
        for setting in settings
        for wording, text in setting.texts.items()
    ]


def tabulate_beliefs(
    beliefs: Sequence[tuple[Setting, str, Masses]], *, source: str
) -> pd.DataFrame:
    """Lay out beliefs.

    Parameters
    ----------
    beliefs : sequence of (Setting, str, dict of str to float)
        Setting, wording, and the probability of every outcome, not renormalised; "1…" and its like
        are the probabilities of beginnings.
    source : str
        Whose beliefs.

    Returns
    -------
    DataFrame
        `BELIEF_COLUMNS`; `truth` as a number and `exact` as a fraction, `mass` the probability of
        the outcome, and `mass_beginning` that of every answer that begins with it (missing where
        that was not read).
    """
    rows = [
        (
            source, setting.scenario, setting.variant, setting.group, setting.name, wording, position, outcome, float(truth), str(truth),
            masses[outcome], masses.get(f"{outcome}{BEGINS}"), setting.previous, setting.shift, setting.baseline, setting.pair,
        )
        for setting, wording, masses in beliefs
        for position, (outcome, truth) in enumerate(setting.truth.items())
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(BELIEF_COLUMNS)).astype(
        {"mass": float, "mass_beginning": float}
    )


def reveal(
    model: ScoringModel,
    settings: Sequence[Setting],
    store: AnswerStore,
    *,
    source: str | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Read the revealed beliefs of a model in settings, in every wording.

    Parameters
    ----------
    model : ScoringModel
        Who is asked; best without a chat template, since the texts are to be continued.
    settings : sequence of Setting
        From `elicitation.batteries.revealed.grid`.
    store : AnswerStore
        Where answers are kept and found.
    source : str or None
        Value of the `source` column; None takes the model's name.
    progress : callable, optional
        See `elicitation.batteries.revealed.reading.Progress`.

    Returns
    -------
    DataFrame
        See `tabulate_beliefs`.
    """
    questions = belief_questions(settings)
    masses, _ = read_masses(
        model, [question for *_, question in questions], store, progress=progress
    )
    told = [
        (setting, wording, one)
        for (setting, wording, _), one in zip(questions, masses, strict=True)
    ]
    return tabulate_beliefs(told, source=model.name if source is None else source)


def state(
    model: ScoringModel,
    settings: Sequence[Setting],
    store: AnswerStore,
    *,
    source: str | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Read the stated answers of a model: the probabilities of four options, with the truth at each of the four places in turn.

    Parameters
    ----------
    model, settings, store, source, progress
        As of `reveal`; a chat template is welcome here.

    Returns
    -------
    DataFrame
        See `tabulate_stated`.
    """
    questions = [
        Question(question.text, LETTERS, lettered=True, about=f"{setting.name}, stated")
        for setting in settings
        for question in stated_questions(setting)
    ]
    masses, _ = read_masses(model, questions, store, progress=progress)
    read = [masses[start : start + len(LETTERS)] for start in range(0, len(masses), len(LETTERS))]
    return tabulate_stated(
        list(zip(settings, read, strict=True)), source=model.name if source is None else source
    )


def tabulate_stated(
    stated: Sequence[tuple[Setting, Sequence[Masses]]], *, source: str
) -> pd.DataFrame:
    """Lay out stated answers.

    Parameters
    ----------
    stated : sequence of (Setting, sequence of dict of str to float)
        For every setting the probabilities of the letters, one dict for each of the
        `stated_questions`.
    source : str
        Whose answers.

    Returns
    -------
    DataFrame
        `STATED_COLUMNS`, one row per option.
    """
    rows = [
        (
            source, setting.scenario, setting.variant, setting.group, setting.name, setting.asked, rotation, letter, option, place == rotation,
            masses[letter],
        )
        for setting, orders in stated
        for rotation, (question, masses) in enumerate(zip(stated_questions(setting), orders, strict=True))
        for place, (letter, option) in enumerate(zip(question.letters, question.options, strict=True))
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(STATED_COLUMNS)).astype({"mass": float})


def simulate_beliefs(
    believer: Callable[[Setting], Mapping[str, float]], settings: Sequence[Setting], *, source: str
) -> pd.DataFrame:
    """Lay out the beliefs of a simulated believer, who minds no wording.

    Parameters
    ----------
    believer : callable
        From a setting to the probability of every outcome.
    settings, source
        See `reveal`.

    Returns
    -------
    DataFrame
        See `tabulate_beliefs`.
    """
    return tabulate_beliefs(
        [(setting, REFERENCE, dict(believer(setting))) for setting in settings], source=source
    )
