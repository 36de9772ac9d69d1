"""Columns that nothing reads and that look like those of models, persons, turns or stakes.

What files call these the columns of the runs table declare (`called`); said is only what the cells
bear out.
"""

import math
import re
from collections.abc import Iterator

import pandas as pd

from coherence.runs.columns import declared
from coherence.runs.notes import Code, Level, Note
from coherence.runs.row_condition import label_condition
from coherence.runs.runs import EVALUATION, Runs
from coherence.runs.states import typed_option

MOSTLY, FEWEST_CASES = 0.9, 5  # share of pairs of case and person; cases of a person
MOST_NUMBERS = 6  # that are taken for labels of actions without a word
ASIDE = "unmapped_"  # begins a column that was set aside: no option says what it holds


def unnamed_columns(runs: Runs) -> list[Note]:
    """Say which columns of a table as it was read may be models, persons, stakes or amounts."""
    return [note for of in (_models, _persons, _turns, _stakes, _amounts) for note in of(runs)]


def persons_of(runs: Runs) -> str:
    """Return the column that may say who judged a case that others judged too; empty for none."""
    if "person" in runs.names:
        return ""
    found = (name for name, _ in _within_cases(runs, "person"))
    return next((name for name in found if _judges(runs.table["context"], runs.table[name])), "")


def _judges(context: pd.Series, values: pd.Series) -> bool:
    """Tell whether values can be persons: each in several cases, in each of them equally often."""
    by_both = pd.DataFrame({"case": context, "value": values}).value_counts()
    usual = (by_both == by_both.mode().iloc[0]).mean() if len(by_both) else 0.0
    cases = by_both.groupby(level="value").size()
    return bool(usual >= MOSTLY and cases.median() >= FEWEST_CASES)


def _called(runs: Runs, role: str) -> list[str]:
    """Return the columns that nothing reads, called as files call a role."""
    column = declared(role)
    assert column is not None
    named = re.compile(rf"(?<![a-z])({column.called})", re.IGNORECASE)
    return [name for name in runs.unused_labels if named.search(str(name))]


def _within_cases(runs: Runs, role: str) -> Iterator[tuple[str, int]]:
    """Yield such columns of which one case has several values, with how many at most."""
    if "context" not in runs.names:
        return
    keys = [name for name in (*EVALUATION, "context") if name in runs.names]
    for name in _called(runs, role):
        most = int(runs.table.groupby(keys, observed=True)[name].nunique().max())
        if most > 1:
            yield name, most


def _models(runs: Runs) -> Iterator[Note]:
    if "model" not in runs.names:
        for name, most in _within_cases(runs, "model"):
            text = (
                f"{name} has {most} values in one case, and nothing reads it: if it names "
                f"models, they were pooled. Name it ({typed_option('--model-column', name)}, in "
                f"Python columns={{'model': {name!r}}})."
            )
            yield Note(Code.POOLED_MODELS, text, Level.ALERT)


def _persons(runs: Runs) -> Iterator[Note]:
    if name := persons_of(runs):
        text = (
            f"{name} differs within cases, and nothing reads it: if it says who judged, name it "
            f"({typed_option('--person', name)}, in Python columns={{'person': {name!r}}}), and "
            "each is compared at the own belief."
        )
        yield Note(Code.POOLED_PERSONS, text, Level.WARNING)


def _turns(runs: Runs) -> Iterator[Note]:
    """Yield a note where rows of a case are numbered as turns, each with an action of its own."""
    if {"rep", "person"} & set(runs.names) or not {"action", "context"} <= set(runs.names):
        return
    keys = [name for name in (*EVALUATION, "context", "prompt") if name in runs.names]
    for name, most in _within_cases(runs, "rep"):
        if not runs.table.duplicated([*keys, name]).any():
            last = label_condition(name, [runs.table[name].iloc[-1]], left_out=False)
            kept = typed_option("--where", last)
            text = (
                f"{name} has {most} values in one case, one a row, and rows of a case were taken "
                f"as repetitions. If they are turns, each with another action, keep one of a case, "
                f"such as {kept}; if they are repetitions, say so: {typed_option('--rep', name)}."
            )
            yield Note(Code.SHAPE, text, Level.WARNING)


def _stakes(runs: Runs) -> Iterator[Note]:
    """Yield a note where columns hold what a choice may lose, whatever comes true."""
    if "loss" in runs.names or not {"action", "context"} <= set(runs.names):
        return
    actions = sorted(runs.table["action"].dropna().astype(str).unique())
    losses = [name for name in _called(runs, "loss") if _offered(runs, name)]
    gains = [name for name in _called(runs, "gain") if _offered(runs, name, constant=True)]
    if len(actions) != 2 or not losses:
        return
    named = {
        role: of[0].removeprefix(ASIDE) for role, of in (("gain", gains), ("loss", losses)) if of
    }
    typed = " ".join(typed_option(f"--{role}", name) for role, name in named.items())
    text = (
        f"{' and '.join(named.values())}: nothing reads it. If that is what a choice stakes, name "
        f"it and the choice ({typed} --acts LABEL, {' or '.join(actions)}; in Python columns="
        f"{named}, acts=LABEL): whether choices move with the stakes is tested then."
    )
    yield Note(Code.UNNAMED_STAKES, text, Level.WARNING)


def _amounts(runs: Runs) -> Iterator[Note]:
    """Yield a note where actions are many numbers, each of which is taken as a label."""
    labels = runs.table.get("action", pd.Series(dtype=object)).dropna().drop_duplicates()
    numbers = sorted(pd.to_numeric(labels.astype(object), "coerce"))
    if len(numbers) > MOST_NUMBERS and not any(map(math.isnan, numbers)):
        name = runs.named.columns.get("action", "action")
        text = f"{name} has {len(numbers)} values, all numbers, each taken as an action by itself. "
        text += "If they are amounts, cut them in two: "
        text += f"table[{name!r}] = table[{name!r}] >= {numbers[len(numbers) // 2]:g}."
        yield Note(Code.SHAPE, text, Level.WARNING)


def _offered(runs: Runs, name: str, *, constant: bool = False) -> bool:
    """Tell whether a column holds amounts that were offered: what is paid goes with the truth."""
    amounts = pd.to_numeric(runs.table[name], errors="coerce")
    if amounts.isna().any() or (amounts < 0).any():
        return False
    if amounts.nunique() < 2:
        return constant and bool((amounts > 0).any())
    action = runs.table["action"].astype(str)
    truth = runs.table["theta"].astype(str) if "theta" in runs.names else action
    in_each = amounts.groupby([action, truth]).nunique().groupby(level=0).min()
    return bool(((in_each > 1) | (amounts.groupby(action).nunique() == 1)).all())
