"""What a plan comes to: power by size and signal, as a table, as text and as a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from coherence.analysis.studies import WITH_THETA
from coherence.report.document import MISSING, Table, table_of_texts
from coherence.report.json import to_plain
from coherence.report.layout import render_parts
from coherence.result import WIDTH
from coherence.table.printable import counted, repeated

SCHEMA_VERSION = 1
_SURE = 0.05  # chance that any cell is called above the level when none is


@dataclass(frozen=True)
class PowerResult:
    """Power of checks, for studies of several sizes.

    Parameters
    ----------
    table : DataFrame
        A row for each result of a check and each cell: ``check``, ``signal``, ``n_reps``,
        ``n_contexts``, ``quantity`` ("size" at signal 0, else "power"; "precision" of estimates;
        "within margin" where one was given, and ``n_rejected`` counts the studies within it),
        ``n_simulations``, ``n_undefined`` (studies without a p-value, which count as not
        rejecting), ``n_rejected``, ``power`` with the ends ``low`` and ``high`` of its exact 95%
        interval, ``half_width`` (of the intervals of estimates, median), ``n_prompts`` and what
        else is known of the costs.
    needed : DataFrame
        With a target, a row for each result, signal and number of repetitions: ``n_contexts``,
        ``low``, ``high``, ``reached``, ``sentence``; empty without.
    settings : mapping
        What shaped the numbers.
    cautions : tuple of str
        What a reader must know before the numbers.
    """

    table: pd.DataFrame
    needed: pd.DataFrame
    settings: Mapping[str, Any]
    cautions: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        """Return a line."""
        settings = self.settings
        cells = len(self.table) // max(self.table["check"].nunique(), 1)
        return (
            f"<PowerResult: {', '.join(settings['checks'])}; {settings['population']}, "
            f"{settings['planted']}; {counted(cells, 'cell')} of "
            f"{counted(settings['n_simulations'], 'simulation')}>"
        )

    @property
    def notes(self) -> list[str]:
        """What the numbers rest on, and where they must be read with care, in sentences."""
        return [*self.cautions, *self._about_draws(), *self._about_sizes(), *self._undefined()]

    def _about_draws(self) -> Iterator[str]:
        draws = {name: n for name, n in self.settings["n_draws"].items() if n}
        if draws:
            listed = ", ".join(f"{name} {n}" for name, n in draws.items())
            yield (
                f"permutations or other draws behind a p-value: {listed}; the power is that of a "
                "test with so many, a little below that of a report."
            )

    def _about_sizes(self) -> Iterator[str]:
        sizes = self.table.loc[self.table["quantity"] == "size"]
        above = sizes.iloc[np.flatnonzero(self._above(sizes))]
        # The worst first: of each check that line is kept.
        worst = above.sort_values("power", ascending=False, kind="stable")
        for row in worst.drop_duplicates("check").to_dict("records"):
            yield (
                f"{row['check']} rejects {row['power']:.0%} of studies in which nothing is planted "
                f"({counted(row['n_contexts'], 'context')} x {row['n_reps']}): read its power "
                "beside that."
            )

    def _above(self, rows: pd.DataFrame) -> np.ndarray:
        """Tell which cells reject more often than the level, all of them looked at together."""
        level = 1 - _SURE / max(len(rows), 1)
        counts = zip(rows["n_rejected"].fillna(0), rows["n_simulations"], strict=True)
        ends = [
            stats.binomtest(int(rejected), int(n)).proportion_ci(level).low
            for rejected, n in counts
        ]
        return np.asarray(np.array(ends, dtype=np.float64) > float(self.settings["alpha"]))

    def _undefined(self) -> Iterator[str]:
        share = self.table["n_undefined"] / self.table["n_simulations"]
        for check, rows in self.table[share > 0.5].groupby("check", sort=False):
            cells = counted(len(rows), "cell")
            yield f"{check} is undefined in most studies of {cells} (n_undefined)."

    def __str__(self) -> str:
        """Return the table as text, contexts across, and the sentences."""
        settings = self.settings
        of = "prob. of each action" if settings["policies"] else "drawn actions"
        margin = settings.get("margin")
        share = f"rejected at {settings['alpha']:g}"
        if margin is not None:
            share = f"shown to be within {margin:g}"
        group = settings.get("group")
        of += "" if group is None else f", groups of {group['size']} contexts"
        parts: list[Table | str] = [
            f"{settings['population']} ({of}), {settings['planted']}: share {share} "
            f"in {settings['n_simulations']} simulated studies"
        ]
        grid = self.table if self.needed.empty else self.table.iloc[:0]
        most = grid[grid["quantity"] == "power"].groupby("check", sort=False)["power"].max()
        # Tests that look for something else would fill the screen with their level.
        blind = most[most <= 2 * settings["alpha"]]
        shown = grid[~grid["check"].isin(blind.index)]
        if len(shown):
            parts += ["", _grid_table(shown)]
        if len(blind):
            names = ", ".join(map(str, blind.index))
            parts += ["", f"at most {blind.max():.2f} in every cell: {names}"]
        for row in self.needed.to_dict("records"):
            where = f"{row['check']}, signal {row['signal']:g}, {repeated(row['n_reps'])}"
            parts += ["", f"{where}: {row['sentence']}", *_bill(row)]
        if in_short := list(self._by_state()):
            parts += ["", *in_short]
        if not grid.empty:
            parts += ["", *_bills(grid)]
        return render_parts([*parts, "", *(f"note: {note}" for note in self.notes)], width=WIDTH)

    def _by_state(self) -> Iterator[str]:
        """Put the contexts that a target takes with the exact state and with theta side by side."""
        rows = {(r["check"], r["signal"], r["n_reps"]): r for r in self.needed.to_dict("records")}
        for (check, *cell), exact in rows.items():
            theta = rows.get((f"{check}{WITH_THETA}", *cell))
            if theta is not None:
                yield (
                    f"{check}, signal {exact['signal']:g}, {repeated(exact['n_reps'])}, for "
                    f"{exact['target']:.0%} power: with the exact posterior {self._size(exact)} "
                    f"contexts, with theta {self._size(theta)}."
                )

    def _size(self, row: Mapping[Any, Any]) -> str:
        """Return the contexts that were found for a target, or the limit as what is too few."""
        return f"{row['n_contexts']:.0f}" if row["reached"] else f"over {self.settings['limit']}"

    def to_json(self) -> str:
        """Return everything as JSON text, equal bytes for equal runs."""
        record = {
            "schema_version": SCHEMA_VERSION,
            "settings": dict(self.settings),
            "notes": self.notes,
            "needed": self.needed,
            "table": self.table,
        }
        return json.dumps(to_plain(record), sort_keys=True, indent=2, allow_nan=False) + "\n"

    def to_svg(self) -> str:
        """Return the picture as SVG text: power against contexts, a panel for each result."""
        from coherence.plots.power import render_power

        return render_power(self.table, self.settings)


def _grid_table(grid: pd.DataFrame) -> Table:
    """Lay out each result under its name: a line a signal and number of repetitions."""
    sizes = sorted(grid["n_contexts"].unique())
    lines: list[list[str]] = []
    parts = {}
    for check, rows in grid.sort_values("n_reps", kind="stable").groupby("check", sort=False):
        estimate = bool((rows["quantity"] == "precision").all())
        parts[len(lines)] = f"{check}, half the width of the interval" if estimate else str(check)
        column, digits = ("half_width", 3) if estimate else ("power", 2)
        for (n_reps, signal), line in rows.groupby(["n_reps", "signal"], sort=False):
            by_size = line.set_index("n_contexts").reindex(sizes)
            name = f"signal {signal:g}" if signal else "nothing planted"
            numbers = [MISSING if pd.isna(n) else f"{n:.{digits}f}" for n in by_size[column]]
            lines.append([f"{name}, {repeated(int(str(n_reps)))}", *numbers])
    return table_of_texts(["contexts", *map(str, sizes)], lines, parts=parts)


def _bill(row: Mapping[Any, Any]) -> list[str]:
    """What one study costs, in words; empty where it has no size."""
    if pd.isna(row["n_prompts"]):
        return []
    parts = [f"{row['n_prompts']:,.0f} prompts"]
    if "tokens_in" in row:
        parts.append(f"{row['tokens_in']:,.0f} tokens in")
    if "tokens_out" in row:
        parts.append(f"{row['tokens_out']:,.0f} tokens out")
    if "price" in row:
        parts.append(f"price {row['price']:,.2f}")
    if "hours" in row:
        digits = 0 if row["hours"] >= 10 else 2
        parts.append(f"{row['hours']:,.{digits}f} hours")
    return ["  " + ", ".join(parts)]


def _bills(grid: pd.DataFrame) -> Iterator[str]:
    sizes = grid.drop_duplicates(["n_reps", "n_contexts"]).sort_values(["n_reps", "n_contexts"])
    for row in sizes.to_dict("records"):
        size = f"{counted(row['n_contexts'], 'context')} x {row['n_reps']}:"
        yield f"{size:<24}{_bill(row)[0].strip()}"
