"""Labels that are written differently and look like one: ``yes``, ``YES`` and ``"yes "``.

Taken as different they double contexts and split actions; taken as one they may hide a distinction
that was meant. So a table that has them is refused, with the line of pandas for either.
"""

import pandas as pd

from coherence.errors import listing
from coherence.printable import counted, numbered
from coherence.table.notes import Code, Note
from coherence.table.runs import EVALUATION, Runs
from coherence.table.schema import COLUMNS, Naming, answer_columns
from coherence.table.states import folded, tidy

_NO_ACTION = ("missing", "unparsed")
# What makes labels alike, as pandas writes it.
_ONE_WAY = ".str.normalize('NFC').str.casefold().str.split().str.join(' ')"


def label_errors(table: Runs, named: Naming) -> list[str]:
    """Say which labels differ only in how they are written, one sentence for each column."""
    runs = table.table
    if "theta" in runs.columns and (answers := answer_columns(runs)):
        # The truths of questions that nobody answered by a probability may be numbers and dates.
        runs = runs.assign(theta=runs["theta"].where(runs[answers].notna().any(axis="columns")))
    errors = []
    for name in (each.name for each in COLUMNS if each.kind == "label" and not each.choices):
        if name in runs.columns and (alike := labels_alike(runs, name)):
            more = f" and {len(alike) - 5} more" if len(alike) > 5 else ""
            errors.append(
                f"column {named(name)} has labels that differ only by blanks, case or Unicode "
                f"form: {'; '.join(map(_shown, alike[:5]))}{more}. "
                f"{_remedy(named.columns.get(name, name), alike[0])}"
            )
    return errors


def without_missing_actions(runs: pd.DataFrame, named: Naming) -> tuple[pd.DataFrame, list[Note]]:
    """Empty actions that say that there is none, unless the truth has such a label; count them."""
    if "action" not in runs.columns or pd.api.types.is_numeric_dtype(runs["action"]):
        return runs, []
    forms = {label: folded(label) for label in runs["action"].dropna().unique()}
    truths = {*map(folded, runs["theta"].dropna().unique())} if "theta" in runs else set[str]()
    none = [label for label, form in forms.items() if form in {*_NO_ACTION} - truths]
    empty = runs["action"].isin(none)
    if not (n_empty := int(empty.sum())):
        return runs, []
    held = f"{counted(n_empty, 'cell')} with {listing(map(repr, none))}"
    text = f"{named.plain('action')}: {held} {numbered(n_empty, 'is', 'are')} missing."
    return runs.assign(action=runs["action"].mask(empty)), [Note(Code.MISSING, text)]


def labels_alike(runs: pd.DataFrame, name: str) -> "list[pd.Series[int]]":
    """Return labels, with their rows, that differ only in how they are written, in each task."""
    if pd.api.types.is_numeric_dtype(runs[name]):  # which are written in one way
        return []
    cells = runs[name].dropna().astype(str)
    forms = {label: folded(label) for label in cells.unique()}
    if len({*forms.values()}) == len(forms):
        return []
    rows = pd.DataFrame({"form": cells.map(forms), "label": cells})
    by = ["form"]
    if "task" in runs.columns and name not in EVALUATION:
        rows, by = rows.assign(task=runs["task"]), ["task", "form"]
    groups = rows.groupby(by, dropna=False)["label"]
    return [
        group.value_counts().sort_index().sort_values(ascending=False, kind="stable")
        for _, group in groups
        if group.nunique() > 1
    ]


def _shown(alike: "pd.Series[int]") -> str:
    """Return labels side by side, such that they can be told apart."""
    texts = list(map(repr, alike.index))
    if len(set(map(tidy, texts))) < len(texts):  # accents that are one character or two look alike
        texts = list(map(ascii, alike.index))
    pairs = zip(texts, alike, strict=True)
    return ", ".join(f"{text} ({counted(n, 'row')})" for text, n in pairs)


def _remedy(column: str, alike: "pd.Series[int]") -> str:
    """Return the lines of pandas that write labels in one way, or tell them apart."""
    cells = [f"table[{name.strip()!r}]" for name in column.split(",")]  # of several of a context
    lines = "; ".join(f"{each} = {each}{_ONE_WAY}" for each in cells)
    one = f"If they are one, write them in one way, in pandas: {lines}"
    if len(cells) > 1:
        return f"{one}."
    rarest = str(alike.index[-1])
    apart = f"{cells[0]}.replace({{{rarest!r}: {f'{tidy(rarest)} (2)'!r}}})"
    return f"{one}; if they are meant to differ, name one otherwise: {cells[0]} = {apart}."
