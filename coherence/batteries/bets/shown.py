"""The scores of bets as tables, those of the paper, and lines for the terminal; a figure.

In the paper's tables (accuracy by model and kind of question, and transfer) every accuracy stands
with its interval, the exact test, and the z test of the paper against a guess.
"""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from coherence.batteries.bets.scores import (
    BCA,
    STANDARD,
    STATED,
    THRESHOLD,
    UNNAMED,
    BetScores,
)
from coherence.batteries.bets.truths import z_test
from coherence.plots.style import INK, VERMILION, Style
from coherence.report.document import (
    MISSING,
    Cell,
    Column,
    Kind,
    Row,
    Table,
    build_table,
    count,
    label,
    pvalue,
    spoken_range,
)
from coherence.report.screen import render_parts
from coherence.report.wording import clean, format_pvalue

_DARK = 0.75  # a share above which a cell is so dark that its number is white
_NOT_ASKED = "There are no answers for this cell; the notes of the command say why."
_NO_Z = "z has no size where all or none of the answers are right; p is its limit."
_ONE = "z needs two questions."
_EXACT = ("n", "n_right", "chance", "constant", "constant_rate", "low", "high", "p_exact")
_MORE = ("threshold", "dev_accuracy", "n_tied", "n_unread")
_HOW = (
    "Accuracy in percent with its 95% interval, things as crossed clusters; p exact is one-sided "
    "against the better of a random guess and the best constant answer, z and its one-sided p are "
    "the test of the paper, against a random guess with questions as independent."
)
_RIGHT = Column(
    "accuracy",
    "right",
    Kind.SHARE,
    ends=("low", "high"),
    exact={name: name for name in (*_EXACT, *_MORE)},
    why=_NOT_ASKED,
)


def _always(row: Row) -> Cell:
    """Show the constant answer that is right most often, and how often."""
    return Cell(f"{row['constant']} {row['constant_rate']:.1%}" if row["constant"] else MISSING)


_SHARES = (
    count("n"),
    Column("accuracy", "right", Kind.SHARE, ends=("low", "high")),
    Column("chance", kind=Kind.SHARE),
    Column("", "always", make=_always),
)
_ACCURACY = (
    label("template", "question"),
    label("truth"),
    label("method"),
    *_SHARES,
    pvalue("p_exact", "p exact"),
    pvalue("p_z", "p z test"),
)


def bet_tables(accuracy: pd.DataFrame) -> list[Table]:
    """Lay out accuracies, tables 5, 6 and 14 of the paper: models x kinds of question."""
    tables = []
    for kind, title in (("value", "Which thing is worth more"), ("bet", "Bets")):
        for suffix, methods in (("", (STANDARD,)), ("-sets", (THRESHOLD, STATED))):
            rows = accuracy[(accuracy["kind"] == kind) & accuracy["method"].isin(methods)]
            if len(rows):
                how = _how(suffix, kind)
                of = f"{title}, {'sets of choices' if suffix else 'single choices'}"
                tables.append(_table(rows, f"{kind}s{suffix}", of, how, "model", "template"))
    return tables


def transfer_tables(scores: pd.DataFrame) -> list[Table]:
    """Lay out what carries over: trained on x tested on, figures 2 and 3 of the paper."""
    tables = []
    for suffix, methods in (("", (STANDARD,)), ("-sets", (THRESHOLD, STATED))):
        rows = scores[scores["method"].isin(methods)]
        # Models of a transfer were asked for bets alone, so that they have no values of their own.
        rows = rows[rows["truth"] != BCA]
        if len(rows):
            of = "sets of choices" if suffix else "single choices"
            title = f"Trained on one kind of bet, tested on each, {of}"
            how = _how(suffix, "bet")
            tables.append(_table(rows, f"transfer{suffix}", title, how, "trained_on", "tested_on"))
    return tables


def _how(suffix: str, kind: str) -> str:
    if suffix:
        return (
            "A question is right where the set of all choices above a threshold, tuned on "
            "development questions, is the true set of that name; a guess takes any set."
        )
    own = " ACC counts the bet that is best, BCA the bet that is best by the model's own values."
    return f"The choice is that of the largest score.{own if kind == 'bet' else ''}"


def _table(rows: pd.DataFrame, name: str, title: str, how: str, down: str, across: str) -> Table:
    kinds = list(dict.fromkeys(rows["truth"]))
    columns = [label(down, down.replace("_", " "))]
    for column in dict.fromkeys(rows[across]):
        for truth in kinds:
            if len(rows[(rows[across] == column) & (rows["truth"] == truth)]):
                correct = "ACC" if BCA in kinds else "accuracy"
                said = {"correct": correct, BCA: "BCA"}.get(truth, truth)
                columns += _three(f"{column}.{truth}", f"{column}, {said}")
    lines: dict[str, Row] = {}
    for row in rows.to_dict("records"):
        line = lines.setdefault(row[down], {down: row[down]})
        lines[row[down]] = {**line, f"{row[across]}.{row['truth']}": row}
    counted = (
        f"A cell has {spoken_range([int(n) for n in rows['n']])} questions; "
        f"{int(rows['n_unread'].sum())} answers of all cells could not be read and count as wrong."
    )
    caption = f"{how} {_HOW} {counted}"
    return build_table(lines.values(), columns, name=name, title=title, caption=caption)


def _three(key: str, group: str) -> list[Column]:
    """Return the columns of an accuracy and of its two tests; a line may lack it."""

    def column(name: str, heading: str, make: Callable[[Row], Cell], why: str = "") -> Column:
        def cell(line: Row) -> Cell:
            return make(line[key]) if key in line else Cell(MISSING, note=why)

        return Column(name, heading, group=group, make=cell)

    return [
        column(key, "accuracy", _RIGHT.cell, _NOT_ASKED),
        column("", "p exact", lambda row: Cell(format_pvalue(row["p_exact"]))),
        column(f"{key}.z", "z (p)", _z),
    ]


def _z(row: Row) -> Cell:
    """Show the test of the paper against a random guess."""
    # The variance of the paper takes n - 1, which one question does not allow.
    if row["n"] < 2:
        return Cell(MISSING, note=_ONE)
    z, p = z_test(int(row["n_right"]), int(row["n"]), float(row["chance"]))
    exact = {"": z, "pvalue": p}
    if not math.isfinite(z):
        return Cell(f"{MISSING} ({format_pvalue(p)})", exact, _NO_Z)
    return Cell(f"{z:.2f} ({format_pvalue(p)})", exact)


def bets_report(scores: BetScores) -> str:
    """Return the accuracies of every model as text."""
    parts: list[Table | str] = []
    for model, rows in scores.accuracy.groupby("model", sort=False):
        # Answers without a column of models are those of one, which has no name to head them.
        title = "" if model == UNNAMED else clean(model)
        parts += [build_table(rows.to_dict("records"), _ACCURACY, title=title), ""]
    return render_parts([*parts, *(f"note: {note}" for note in scores.notes)]).rstrip()


def plot_transfer(table: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the accuracies of models that were trained on one kind of bet and tested on each."""
    values = table.to_numpy(dtype=np.float64)
    # The scale ends beyond 1, which keeps cells off the darkest blues.
    image = ax.imshow(values, cmap="Blues", vmin=0, vmax=1.25, aspect="equal")
    image.set_gid("transfer")
    for row, trained in enumerate(table.index):
        for column, tested in enumerate(table.columns):
            share = values[row, column]
            text = "–" if math.isnan(share) else f"{share:.0%}"
            colour = "white" if share > _DARK else INK
            ax.text(column, row, text, ha="center", va="center", fontsize=13, color=colour)
            if trained == tested:
                corner = (column - 0.48, row - 0.48)
                edge: Style = {"fill": False, "edgecolor": VERMILION, "linewidth": 1.6}
                ax.add_patch(Rectangle(corner, 0.96, 0.96, **edge))
    ax.set_xticks(range(len(table.columns)), [clean(name, limit=24) for name in table.columns])
    ax.set_yticks(range(len(table.index)), [clean(name, limit=24) for name in table.index])
    ax.set_xlabel("tested on")
    ax.set_ylabel("trained on")
    ax.tick_params(length=0, colors=INK)
    ax.spines[:].set_visible(False)
    return ax
