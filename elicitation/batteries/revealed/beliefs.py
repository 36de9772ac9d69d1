"""Revealed beliefs: how unfinished texts go on, as a table with one row per outcome."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from elicitation.asking.loop import Progress
from elicitation.asking.store import AnswerStore
from elicitation.batteries.revealed.reading import BEGINS, Masses, OutcomeQuestion, read_masses
from elicitation.batteries.revealed.scenarios.setting import REFERENCE, Setting
from elicitation.models.base import ScoringModel

BELIEF_COLUMNS = (
    "source",
    "scenario",
    "variant",
    "group",
    "setting",
    "wording",
    "position",
    "outcome",
    "truth",
    "exact",
    "mass",
    "mass_beginning",
    "previous",
    "shift",
    "baseline",
    "pair",
)


def belief_questions(settings: Sequence[Setting]) -> list[tuple[Setting, str, OutcomeQuestion]]:
    """Return the unfinished texts of settings, each with its wording."""
    return [
        (
            setting,
            wording,
            OutcomeQuestion(
                text,
                setting.outcomes,
                # Heads and heads are one answer; of letters, a small a is also a word.
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
    """Lay out beliefs."""
    rows = [
        (
            source,
            setting.scenario,
            setting.variant,
            setting.group,
            setting.name,
            wording,
            position,
            outcome,
            float(truth),
            str(truth),
            masses[outcome],
            masses.get(f"{outcome}{BEGINS}"),
            setting.previous,
            setting.shift,
            setting.baseline,
            setting.pair,
        )
        for setting, wording, masses in beliefs
        for position, (outcome, truth) in enumerate(setting.truth.items())
    ]
    # Typed, since a column that nothing was read for would be one of objects.
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
        From `elicitation.batteries.revealed.scenarios.grid`.
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

    Examples
    --------
    >>> import tempfile
    >>> from elicitation import AnswerStore, load_causal_model
    >>> from elicitation.training.organisms.blank import make_blank
    >>> folder = tempfile.TemporaryDirectory()
    >>> model = load_causal_model(make_blank(folder.name + "/blank"))
    >>> from elicitation import standard_grid
    >>> settings = standard_grid(n_dice=[1], faces=[4])[:1]
    >>> with AnswerStore(":memory:") as store:
    ...     reveal(model, settings, store)["outcome"].unique().tolist()
    ['1', '2', '3', '4']
    >>> folder.cleanup()
    """
    questions = belief_questions(settings)
    masses, _ = read_masses(
        model, [question for *_, question in questions], store, progress=progress
    )
    beliefs = [
        (setting, wording, row)
        for (setting, wording, _), row in zip(questions, masses, strict=True)
    ]
    return tabulate_beliefs(beliefs, source=model.name if source is None else source)


def simulate_beliefs(
    believer: Callable[[Setting], Mapping[str, float]], settings: Sequence[Setting], *, source: str
) -> pd.DataFrame:
    """Lay out the beliefs of a simulated believer, who minds no wording."""
    return tabulate_beliefs(
        [(setting, REFERENCE, dict(believer(setting))) for setting in settings], source=source
    )
