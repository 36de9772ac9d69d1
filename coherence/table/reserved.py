"""Columns that bear a name of the runs table and mean something else.

Other people's tables have a `status` of their own, a `theta` that is an ability, a `prompt` that is
the text of the question. In a table that this toolkit did not write, and that no option maps, such
a column is taken for ours only where its values could be; else it is one of the owner's own, and a
note says so. In tables that it wrote, a bad column stays an error.
"""

from collections.abc import Callable, Collection
from typing import Any

import pandas as pd

from coherence.errors import listing
from coherence.table.cells import numbers
from coherence.table.design import case_column
from coherence.table.notes import Code, Note, warning
from coherence.table.runs import REFERENCE, Runs
from coherence.table.schema import ACTION_PREFIX, COLUMNS, LEVEL_OPTIONS
from coherence.table.states import not_labels

FEWEST_GROUPS = 10  # fewer are no clusters of an interval, and may be the arms of an experiment
_LONG = 60  # characters, from which a text is no id
_MANY_PROMPTS = 10  # more variants than are asked, and fewer rows of one than tests need


def _none_of(choices: Collection[str], cells: "pd.Series[Any]") -> str:
    values = list(dict.fromkeys(cells.dropna().astype(str)))
    if not values or set(values) & set(choices):
        return ""
    return f"its values ({listing(map(repr, values), 3)}) are none of those it can have here"


def _no_count(_: Runs, cells: "pd.Series[Any]") -> str:
    odd = cells.notna().any() and numbers(cells).odd[cells.notna()].all()
    return "it holds no numbers" if odd else ""


def _measured(_: Runs, cells: "pd.Series[Any]") -> str:
    reason = not_labels(list(cells.dropna().unique()), len(cells), numbers_alone=True)
    return f"it holds {reason}: these are no states" if reason else ""


def _without_conditionals(runs: Runs, _: "pd.Series[Any]") -> str:
    there = {"z_state", "p_z"} & set(runs.names)
    return "" if there else "there is neither z_state nor p_z beside it"


def _few_groups(runs: Runs, cells: "pd.Series[Any]") -> str:
    n = cells.nunique()
    if cells.isna().all() or n >= FEWEST_GROUPS:
        return ""
    return (
        f"with {n} {'value' if n == 1 else 'values'} it may be the arm of an experiment, which is "
        "no cluster. If contexts share more than their belief within it, say so: --group group; in "
        "Python read_runs(..., columns={'group': 'group'})"
    )


def _judged_alone(runs: Runs, cells: "pd.Series[Any]") -> str:
    if cells.isna().all():
        return ""
    if "context" not in runs.names:
        return (
            "without --context it is not known which cases persons share; name it to read --person "
            "person"
        )
    if cells.isna().any():
        return f"it is empty in {int(cells.isna().sum())} rows, and every answer has one who judged"
    keys = [runs.table[name] for name in ("task", "model") if name in runs.names]
    persons = cells.groupby([*keys, runs.table["context"]], dropna=False, observed=True).nunique()
    if persons.max() > 1:
        return ""
    return (
        "no two share a case. If rows of one depend on each other, it is their group: --group "
        "person"
    )


def _question_texts(runs: Runs, cells: "pd.Series[Any]") -> str:
    """Tell whether no prompt stands in two contexts, which those that are variants do.

    Without contexts: whether there are many, none of which stands in as many rows as tests need.
    """
    table, n_prompts = runs.table, cells.nunique()
    if "loss" in runs.names and n_prompts > 1 and table["loss"].groupby(cells).nunique().max() == 1:
        return "each of its values stands at one stake alone: they are its wordings"
    # A cell may be empty among many texts; among few it stands for the prompt that has no name.
    if (cells == REFERENCE).any() or (cells.isna().any() and n_prompts < _MANY_PROMPTS):
        return ""
    texts = cells.dropna().astype(str)
    if "context" not in table.columns:
        most = int(texts.value_counts().max()) if len(texts) else 0
        if n_prompts < 2 or (most > 1 and (n_prompts < _MANY_PROMPTS or most >= _MANY_PROMPTS)):
            return ""
        if most > 1:
            return (
                f"its {n_prompts} values stand in {most} rows at most, as the texts of questions "
                "do; prompt variants are shared by cases. If rows with the same text are answers "
                "to one question, it is their context (--context)"
            )
    else:
        keys = [table[name].astype(str) for name in ("task", "context") if name in table.columns]
        case = table.groupby(keys, dropna=False).ngroup()
        if case.nunique() < 2 or case[texts.index].groupby(texts).nunique().max() > 1:
            return ""
    return (
        f"each of its {n_prompts} values stands in one case alone, as the text of a question "
        "does; prompt variants are shared by cases"
    )


def _passages(runs: Runs, cells: "pd.Series[Any]") -> str:
    """Tell whether texts, such as passages with questions, stand beside a column of the cases."""
    if not cells.dropna().astype(str).str.len().median() >= _LONG:
        return ""
    rest = runs.table.drop(columns="context")
    cases = case_column(rest, Runs(rest).unused_columns)
    if cases is None:
        return ""
    ids = rest[list(cases.columns)].astype(str).agg("\n".join, axis=1)
    same = cells.groupby(ids).nunique().max() == ids.groupby(cells).nunique().max() == 1
    return "" if same else f"it holds texts, and {cases.remedy}"


def _one_row_each(_: Runs, cells: "pd.Series[Any]") -> str:
    if len(cells) < FEWEST_GROUPS or not cells.is_unique:
        return ""
    return "every row has a value of its own, and a task has many rows"


def no_chances(runs: Runs, cells: "pd.Series[Any]") -> str:
    """Tell whether no row with a level has an option of the questions that have one."""
    leveled = runs.table[cells.notna()]
    columns = {f"{ACTION_PREFIX}{option}" for option in LEVEL_OPTIONS} & set(runs.names)
    chosen = leveled["action"] if "action" in runs.names else pd.Series(dtype=object)
    if leveled.empty or columns or chosen.isin(LEVEL_OPTIONS).any():
        return ""
    return f"no row with a level has an action of {', '.join(LEVEL_OPTIONS)}"


def _no_stakes(runs: Runs, _: "pd.Series[Any]") -> str:
    return "" if {"loss", "acts"} <= set(runs.names) else "no option says which action stakes it"


_READINGS: dict[str, Callable[[Runs, "pd.Series[Any]"], str]] = {
    "tokens": _no_count,
    "theta": _measured,
    "z": _without_conditionals,
    "group": _few_groups,
    "person": _judged_alone,
    "prompt": _question_texts,
    "context": _passages,
    "task": _one_row_each,
    "level": no_chances,
    **dict.fromkeys(("gain", "loss", "acts", "says_from"), _no_stakes),
}
"""Column -> why its values cannot be ours; "" where they can. Others are told by their choices."""
MAY_BE_STRANGERS = frozenset(_READINGS) | {column.name for column in COLUMNS if column.choices}
_EVEN_IF_MAPPED = ("prompt",)  # as variants, all rows but those of one would be set aside


def without_strangers(
    table: pd.DataFrame, mapped: Collection[str]
) -> tuple[pd.DataFrame, list[Note]]:
    """Set columns aside that are not what their names say here; return the table and notes.

    Columns that are `mapped` were named by the user, who means them.
    """
    notes: list[Note] = []
    for name, choices in ((column.name, column.choices) for column in COLUMNS):
        if name not in MAY_BE_STRANGERS & {*table.columns} - ({*mapped} - {*_EVEN_IF_MAPPED}):
            continue
        cells = table[name]
        if reason := _none_of(choices, cells) if choices else _READINGS[name](Runs(table), cells):
            table = table.rename(columns={name: f"unmapped_{name}"})
            text = f"{name} was taken for a column of your own: {reason}."
            notes.append(warning(Code.SET_ASIDE, text))
    return table, notes
