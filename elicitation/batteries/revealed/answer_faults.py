"""What is wrong with a file of answers, each fault with the rows that it is in."""

import numpy as np
import pandas as pd

from coherence.errors import closest
from elicitation.batteries.revealed.battery import BELIEF, BatteryQuestion


def column_faults(table: pd.DataFrame) -> list[str]:
    """Name the columns that a file lacks."""
    faults = []
    names = list(table.columns)
    if "question" not in names and "setting" not in names:
        faults.append(
            f"column 'question' is missing, and 'setting' too. {closest('question', names)}"
        )
    if "probability" not in names and "answer" not in names:
        faults.append(
            f"column 'probability' is missing, and 'answer' too. {closest('probability', names)}"
        )
    if "probability" in names and "outcome" not in names:
        faults.append(
            "column 'outcome' is missing: a probability belongs to one. "
            f"{closest('outcome', names)}"
        )
    return faults if len(table) else [*faults, "it has no rows."]


def name_rows(mask: pd.Series, filled: pd.DataFrame) -> str:
    """Name the first rows where a mask holds."""
    rows = filled.loc[mask, "row"].tolist()
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:5]))}" + (
        f" and {len(rows) - 5} more" if len(rows) > 5 else ""
    )


def value_faults(filled: pd.DataFrame) -> list[str]:
    """Name values that are no probabilities, and rows with a probability and an answer."""
    has_probability = filled["probability"].str.strip() != ""
    faults = []
    wrong = has_probability & ~filled["number"].between(0, 1)
    if wrong.any():
        largest = filled.loc[wrong, "number"].max()
        faults.append(
            f"column 'probability' must hold numbers in [0, 1]; {int(wrong.sum())} of "
            f"{int(has_probability.sum())} values are not, the first is "
            f"{filled.loc[wrong, 'probability'].iloc[0]!r} ({name_rows(wrong, filled)})."
            + (" Divide percentages by 100." if 1 < largest <= 100 else "")
        )
    both = has_probability & (filled["answer"].str.strip() != "")
    if both.any():
        faults.append(
            f"'probability' and 'answer' are both filled in {name_rows(both, filled)}. "
            "Keep one of them."
        )
    return faults


def question_faults(filled: pd.DataFrame, known: dict[str, BatteryQuestion]) -> list[str]:
    """Name questions that there are not, and rows that say the same thing twice or cannot."""
    faults = []
    unknown = ~filled["question"].isin(list(known))
    if unknown.any():
        names = filled.loc[unknown, "question"]
        faults.append(
            f"column 'question' must name questions of this grid; {names.nunique()} are not, the "
            f"first is {names.iloc[0]!r} ({name_rows(unknown, filled)}). "
            f"{closest(names.iloc[0], known)} "
            "Give the options that the questions were written with."
        )
    # The rest is asked of known questions alone: one wrong name is one fault, not three.
    has_probability = (filled["probability"].str.strip() != "") & ~unknown
    pairs = zip(filled["question"], filled["outcome"], strict=True)
    stray = has_probability & np.array(
        [name in known and outcome not in known[name].outcomes for name, outcome in pairs]
    )
    if stray.any():
        first = filled[stray].iloc[0]
        faults.append(
            "column 'outcome' must be one that the question has; the first other value is "
            f"{first['outcome']!r} for {first['question']!r} "
            f"({name_rows(stray, filled)}). It has {', '.join(known[first['question']].outcomes)}."
        )
    faults += _repetitions(filled, has_probability, "outcome")
    has_answer = (filled["answer"].str.strip() != "") & ~unknown
    belief = has_answer & np.array(
        [name in known and known[name].kind == BELIEF for name in filled["question"]]
    )
    if belief.any():
        faults.append(
            f"beliefs need 'probability', not 'answer' ({name_rows(belief, filled)}). Read it off "
            "the model, or use the share of many draws."
        )
    # Draws without a number are taken as different ones.
    faults += _repetitions(filled, has_answer & (filled["rep"].str.strip() != ""), "rep")
    return faults


def _repetitions(filled: pd.DataFrame, rows: "pd.Series[bool]", column: str) -> list[str]:
    columns = ["source", "question", column]
    repeated = rows & filled[rows].duplicated(columns, keep=False).reindex(
        filled.index, fill_value=False
    )
    if not repeated.any():
        return []
    return [
        f"({', '.join(columns)}) must be unique; {int(repeated.sum())} rows share theirs with "
        f"another ({name_rows(repeated, filled)})."
    ]
