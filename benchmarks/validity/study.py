"""A simulation of this folder: cells, a table of each drawn again and again, lines of what is read.

A program says what its cells are, how one table is drawn and read from its seed, and ends in a call
of `study`, which runs it, prints each line and writes all beside the program.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

HERE = Path(__file__).parent
Line = dict[str, Any]
Reader = Callable[[list[Any]], list[Line]]


@dataclass(frozen=True)
class Cell:
    """What tables have in common."""

    about: Line  # the first columns of its lines
    draw: Callable[[list[int]], Any]  # one table from its seed, and what is read of it
    key: tuple[int, ...] | None = None  # part of the seed; the place of the cell, if it is left out
    one_in: int = 1  # of the tables asked for, how many are drawn


def means(found: list[Any]) -> list[Line]:
    """Return one line of means over tables, of those that have a number."""
    return [pd.DataFrame(found, dtype=float).mean().to_dict()]


def options(tables: int, unit: str = "tables", seed: int = 1) -> argparse.Namespace:
    """Read the command line of the program that runs: how many tables, from which seed."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument(f"--{unit}", type=int, default=tables, dest="tables")
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, help="folder of the results, else that of the program")
    return parser.parse_args()


def study(
    name: str,
    cells: Iterable[Cell],
    read: Reader = means,
    also: Mapping[str, Reader] | None = None,
    *,
    tables: int = 100,
    unit: str = "tables",
    count: str = "n_tables",
    seed: int = 1,
    digits: int = 4,
) -> None:
    """Draw every cell, and write ``name.csv``: lines with their cell, count of tables, and seed.

    Table t of cell c draws from the seed [seed, c, t]. `also` has readers of further files.
    """
    given = options(tables, unit, seed)
    written: dict[str, list[Line]] = {name: [], **{each: [] for each in also or {}}}
    for place, cell in enumerate(cells):
        key, n = cell.key or (place,), given.tables // cell.one_in
        seeds = [[given.seed, *key, table] for table in range(n)]
        found = Parallel(given.jobs)(delayed(cell.draw)(seed) for seed in seeds)
        for table, reader in {name: read, **(also or {})}.items():
            for line in reader(found):
                written[table].append(
                    cell.about | line | {count: line.get(count, n), "seed": given.seed}
                )
                print(*written[table][-1].values(), flush=True)
            write(table, written[table], given.out, digits)


def write(name: str, lines: list[Line], folder: Path | None = None, digits: int = 4) -> None:
    """Write lines as a table, beside the programs if no folder is named."""
    pd.DataFrame(lines).round(digits).to_csv((folder or HERE) / f"{name}.csv", index=False)


def read_table(name: str) -> pd.DataFrame:
    """Read the results of a program."""
    return pd.read_csv(HERE / f"{name}.csv")


def rejected(pvalue: float | None) -> float:
    """Return whether a p-value is at most .05; NaN where there is none."""
    return np.nan if pvalue is None or np.isnan(pvalue) else float(pvalue <= 0.05)


def held(interval: Any, truth: float) -> float:
    """Return whether an interval holds the truth; NaN where either is missing."""
    missing = interval is None or np.isnan(truth) or np.isnan(interval.low)
    return np.nan if missing else float(interval.low <= truth <= interval.high)
