"""What became of the answers, and how they were got.

A belief may be drawn and read, drawn among the answers that have the form, or computed from the
distribution over them; an action may be chosen, or be the probabilities of all. `answer_mass` is
the probability of the form itself, before anything is conditioned on it; of a row with an action it
is the smaller of its two answers, so that such rows are told apart from those with a belief alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from coherence.decoding.decode import FAILURES, LOW_MASS, PARSED, REPAIRS
from coherence.runs.columns import Column
from coherence.runs.runs import Runs, question_kind

GIVEN_Z = "given z"
MISSING = "missing"
"""Status of an unparsed answer in a table that has no status column."""

STATUSES = (
    Column("question", "text", "Prompt, prompt with action, given z, or matching questions."),
    Column("status", "text", "As in the runs table; ok or missing where it has none."),
    Column("rows", "integer", "How many."),
)
ANSWERS = (
    STATUSES[0],
    Column("asked", "integer", "Rows."),
    Column("ok", "integer", "Answers in the form asked for."),
    Column("repaired", "integer", "Answers that missed the form and were repaired."),
    Column(LOW_MASS, "integer", "Values of little probability; they are kept."),
    *(Column(name, "integer", f"Answers with the status {name}.") for name in FAILURES),
    Column(MISSING, "integer", "Rows without a value that no status explains."),
    Column("share_unreadable", "probability", "Share of `asked` without a value."),
)
"""Columns of the tables of this module, which ``results.json`` holds."""


def label_rows(evaluation: Runs, reference: str) -> pd.DataFrame:
    """Say of each row of one (task, model) what it asked and what became of the answer."""
    asked = evaluation.asked_for_action(reference)
    prompt = np.where(asked, f"{reference}, with action", evaluation.prompt)
    question = np.where(evaluation.given_z, GIVEN_Z, prompt)
    return _labelled(evaluation, question, evaluation.believed & (evaluation.acted | ~asked))


def label_questions(levels: Runs | None) -> pd.DataFrame:
    """Say of each question with a level of one (task, model) what became of the answer."""
    if levels is None:
        return pd.DataFrame({"question": [], "status": []}, dtype=object)
    return _labelled(levels, question_kind(levels.table), levels.acted)


def _labelled(rows: Runs, question: Any, answered: "pd.Series[bool]") -> pd.DataFrame:
    status = answered.map({True: "ok", False: MISSING})
    if "status" in rows.names:
        status = rows.table["status"].astype(str)
    return pd.DataFrame({"question": question, "status": status})


def count_statuses(*labels: pd.DataFrame) -> pd.DataFrame:
    """Count rows, labelled by `label_rows` and `label_questions`, by question and status."""
    counted = pd.concat(labels).value_counts().rename("rows").reset_index()
    return counted.sort_values(["question", "status"], ignore_index=True)


def audit_table(statuses: pd.DataFrame) -> pd.DataFrame:
    """Lay counts of statuses out as one row per question."""
    columns = [column.name for column in ANSWERS]
    if statuses.empty:
        return pd.DataFrame(columns=columns)
    rows = statuses.astype({"question": object, "status": object}).pivot_table(
        "rows", "question", "status", aggfunc="sum", fill_value=0, sort=False
    )
    known = rows.reindex(columns=[*PARSED, *FAILURES], fill_value=0)
    table = known.assign(
        asked=rows.sum(axis=1),
        repaired=known[list(REPAIRS)].sum(axis=1),
        # A hand-made record may bear a status of its own; it is not parsed, and what it was is
        # not known.
        **{MISSING: rows.sum(axis=1) - known.sum(axis=1)},
    )
    unreadable = table[[*FAILURES, MISSING]].sum(axis=1)
    table = table.assign(share_unreadable=unreadable / table["asked"])
    return table.reset_index().rename_axis(columns=None)[columns]


STATED = "stated belief"
"""What a belief is called where the table does not tell how it was got."""


@dataclass(frozen=True)
class FormProbability:
    """Probability of the form asked for, over the rows with one kind of answers."""

    of: str  # "belief alone", "action" or "level"
    rows: int  # in which it is known
    median: float
    smallest: float


@dataclass(frozen=True)
class ElicitationSummary:
    """The way of answering of one (task, model), as far as its table tells."""

    # kind of belief -> rows, in the order of the kinds; empty where the table does not tell
    kinds: Mapping[str, int]
    policies: bool = False  # whether actions are probabilities
    masses: tuple[FormProbability, ...] = ()  # of each kind of rows that has a known `answer_mass`

    @property
    def known(self) -> bool:
        """Whether the table tells anything."""
        return bool(self.kinds) or self.policies or bool(self.masses)


def answering(evaluation: Runs) -> ElicitationSummary:
    """Read off how the answers of one (task, model) were got."""
    table, parts = evaluation.table, dict[str, Any]()
    counts = table.get("belief_kind", pd.Series(dtype=object)).dropna().astype(str).value_counts()
    kinds = {name: int(counts[name]) for name in sorted(counts.index)}
    policies = any(table[name].notna().any() for name in evaluation.policies)
    if "answer_mass" in evaluation.names:
        mass, acting = table["answer_mass"], evaluation.asked_to_act
        parts = {"belief alone": mass[~acting], "action": mass[acting]}
    if evaluation.levels is not None and "answer_mass" in evaluation.levels.names:
        parts["level"] = evaluation.levels.table["answer_mass"]
    known = {of: pd.to_numeric(part).dropna().astype(float) for of, part in parts.items()}
    masses = tuple(
        FormProbability(of, len(part), float(part.median()), float(part.min()))
        for of, part in known.items()
        if len(part)
    )
    return ElicitationSummary(kinds, policies, masses)
