"""What was read of a model, or elicited elsewhere, laid out as tables: one row per outcome of a belief, one per option of a question."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from coherence.errors import InputError
from coherence.schema import closest
from elicitation.models.base import ScoringModel
from elicitation.scenarios.reading import BEGINS, Masses, Progress, Question, read_masses
from elicitation.scenarios.setting import REFERENCE, Setting
from elicitation.scenarios.stated import LETTERS, stated_questions
from elicitation.store import AnswerStore

BELIEF_COLUMNS = (
    "source", "scenario", "variant", "group", "setting", "wording", "position", "outcome", "truth", "exact", "mass", "mass_beginning",
    "previous", "shift", "baseline", "pair",
)  # fmt: skip


def belief_questions(settings: Sequence[Setting]) -> list[tuple[Setting, str, Question]]:
    """Return the unfinished texts of settings, each with its wording."""
    return [
        (setting, wording, Question(text, setting.outcomes, ignore_case=setting.scenario == "preference", about=f"{setting.name}, {wording}"))
        for setting in settings
        for wording, text in setting.texts.items()
    ]


def tabulate_beliefs(beliefs: Sequence[tuple[Setting, str, Masses]], *, source: str) -> pd.DataFrame:
    """Lay out beliefs.

    Parameters
    ----------
    beliefs : sequence of (Setting, str, dict of str to float)
        Setting, wording, and the probability of every outcome, not renormalised; "1…" and its like are the probabilities of beginnings.
    source : str
        Whose beliefs.

    Returns
    -------
    DataFrame
        `BELIEF_COLUMNS`; `truth` as a number and `exact` as a fraction, `mass` the probability of the outcome, and `mass_beginning` that of
        every answer that begins with it (missing where that was not read).
    """
    rows = [
        (
            source, setting.scenario, setting.variant, setting.group, setting.name, wording, position, outcome, float(truth), str(truth),
            masses[outcome], masses.get(f"{outcome}{BEGINS}"), setting.previous, setting.shift, setting.baseline, setting.pair,
        )
        for setting, wording, masses in beliefs
        for position, (outcome, truth) in enumerate(setting.truth.items())
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(BELIEF_COLUMNS)).astype({"mass": float, "mass_beginning": float})


def reveal(
    model: ScoringModel, settings: Sequence[Setting], store: AnswerStore, *, source: str | None = None, progress: Progress | None = None
) -> pd.DataFrame:
    """Read the revealed beliefs of a model in settings, in every wording.

    Parameters
    ----------
    model : ScoringModel
        Who is asked; best without a chat template, since the texts are to be continued.
    settings : sequence of Setting
        From `elicitation.scenarios.grid`.
    store : AnswerStore
        Where answers are kept and found.
    source : str or None
        Value of the `source` column; None takes the model's name.
    progress : callable, optional
        See `elicitation.scenarios.reading.Progress`.

    Returns
    -------
    DataFrame
        See `tabulate_beliefs`.
    """
    questions = belief_questions(settings)
    masses, _ = read_masses(model, [question for *_, question in questions], store, progress=progress)
    told = [(setting, wording, one) for (setting, wording, _), one in zip(questions, masses, strict=True)]
    return tabulate_beliefs(told, source=model.name if source is None else source)


def state(
    model: ScoringModel, settings: Sequence[Setting], store: AnswerStore, *, source: str | None = None, progress: Progress | None = None
) -> pd.DataFrame:
    """Read the stated answers of a model: the probabilities of four options, with the truth at each of the four places in turn.

    Parameters
    ----------
    model, settings, store, source, progress
        As of `reveal`; a chat template is welcome here.

    Returns
    -------
    DataFrame
        One row per option: `source`, `scenario`, `variant`, `group`, `setting`, `outcome` asked for, `rotation`, `letter`, `option`, `correct`,
        `mass`.
    """
    asked = [(setting, rotation, question) for setting in settings for rotation, question in enumerate(stated_questions(setting))]
    questions = [Question(question.text, LETTERS, about=f"{setting.name}, stated") for setting, _, question in asked]
    masses, _ = read_masses(model, questions, store, progress=progress)
    name = model.name if source is None else source
    rows = [
        (
            name,
            setting.scenario,
            setting.variant,
            setting.group,
            setting.name,
            setting.asked,
            rotation,
            letter,
            option,
            place == rotation,
            one[letter],
        )
        for (setting, rotation, question), one in zip(asked, masses, strict=True)
        for place, (letter, option) in enumerate(zip(question.letters, question.options, strict=True))
    ]
    columns = ["source", "scenario", "variant", "group", "setting", "outcome", "rotation", "letter", "option", "correct", "mass"]
    return pd.DataFrame(rows, columns=columns)


def simulate_beliefs(believer: Callable[[Setting], Mapping[str, float]], settings: Sequence[Setting], *, source: str) -> pd.DataFrame:
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
    return tabulate_beliefs([(setting, REFERENCE, dict(believer(setting))) for setting in settings], source=source)


def questions_table(settings: Sequence[Setting]) -> pd.DataFrame:
    """Return the unfinished texts for others to ask: `setting`, `wording`, `text`, and one row per `outcome`, with an empty `probability`."""
    rows = [
        (setting.name, wording, text, outcome, None)
        for setting in settings
        for wording, text in setting.texts.items()
        for outcome in setting.outcomes
    ]
    return pd.DataFrame(rows, columns=["setting", "wording", "text", "outcome", "probability"])


def read_beliefs(path: str | os.PathLike[str], settings: Sequence[Setting]) -> pd.DataFrame:
    """Read probabilities that were elicited elsewhere.

    Parameters
    ----------
    path : path-like
        CSV file with the columns `setting`, `outcome`, `probability`, and where there are several `wording` and `source` (a model).
    settings : sequence of Setting
        Settings that the file may speak of.

    Returns
    -------
    DataFrame
        See `tabulate_beliefs`; `source` is the name of the file where it has no such column.

    Raises
    ------
    InputError
        A column is missing, a setting or an outcome is unknown, missing or there twice, or probabilities are none.
    """
    try:
        table = pd.read_csv(
            path, dtype={"setting": str, "outcome": str, "wording": str, "source": str}, keep_default_na=False, na_values={"probability": [""]}
        )
    except (OSError, ValueError) as error:
        raise InputError(f"answers {path} cannot be read as CSV: {error}") from error
    for column in ("setting", "outcome", "probability"):
        if column not in table.columns:
            raise InputError(f"answers {path} must have a column {column!r}. {closest(column, table.columns)}")
    numbers = pd.to_numeric(table["probability"], errors="coerce")
    wrong = ~numbers.between(0, 1)
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise InputError(
            f"answers {path}: probability must be a number in [0, 1]; {int(wrong.sum())} of {len(table)} are not, the first is "
            f"{table['probability'].iloc[row]} in row {row}. Leave out settings that were not asked."
        )
    table = table.assign(probability=numbers)
    for column, value in (("wording", REFERENCE), ("source", Path(path).stem)):
        if column not in table.columns:
            table[column] = value
    known = {setting.name: setting for setting in settings}
    pieces = []
    for source, own in table.groupby("source", sort=False):
        told = []
        for (name, wording), rows in own.groupby(["setting", "wording"], sort=False):
            if name not in known:
                raise InputError(f"answers {path}: there is no setting {name!r}. {closest(str(name), known)}")
            told.append((known[name], str(wording), _masses(path, known[name], rows)))
        pieces.append(tabulate_beliefs(told, source=str(source)))
    if not pieces:
        raise InputError(f"answers {path} has no rows.")
    return pd.concat(pieces, ignore_index=True)


def _masses(path: str | os.PathLike[str], setting: Setting, rows: pd.DataFrame) -> Masses:
    """Return the masses of one belief, or raise for outcomes that do not match, and for a sum above 1."""
    given, expected = list(rows["outcome"]), list(setting.outcomes)
    if sorted(given) != sorted(expected):
        raise InputError(
            f"answers {path}: setting {setting.name!r} needs each of the outcomes {', '.join(expected)} once; received {', '.join(given)}."
        )
    if rows["probability"].sum() > 1 + 1e-6:
        raise InputError(
            f"answers {path}: probabilities of setting {setting.name!r} must sum to at most 1; they sum to {rows['probability'].sum():g}."
        )
    return dict(zip(given, map(float, rows["probability"]), strict=True))
