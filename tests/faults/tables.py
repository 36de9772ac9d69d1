"""Read malformed tables and logs: a good one, damaged at random in its cells or in its bytes.

    python tests/faults/tables.py --files 5000 --seed 0

A table that is read is analysed as well. An answer counts if it is an error of this project, or a
report.
"""

import argparse
import datetime
import gzip
import logging
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd

from coherence import CoherenceError, analyze, read_runs, simulate, write_runs
from coherence.importing.formats import read_logs

GOLDEN = Path(__file__).parents[1] / "golden"
CELLS = (
    *(None, np.nan, np.inf, -np.inf, -1, 2, 85, 1.0000000002, 1e308, 10**30, True, False, ""),
    *(" ", "nan", "NaN", "None", "null", "0.7", "0,7", "70%", "1e3", "yes", "Yes ", "é", "é"),
    *(
        "\ud800",
        "a\0b",
        "x" * 10_000,
        "=1+1",
        '"',
        ",",
        "\n",
        "\r",
        "<b>",
        "\x1b[31m",
        "١",
        "０.７",
    ),
    *([1], [], {"a": 1}, {}, (1, 2), {1}, b"x", b"\xff", Decimal("0.5"), 1j, np.float32(0.5)),
    *(datetime.date(2026, 1, 1), pd.Timestamp("2026-01-01"), pd.NaT, pd.NA, object(), int, [[1]]),
)
COLUMNS = (
    *("p", "action", "theta", "context", "rep", "prompt", "task", "model", "status", "z", "p_z"),
    *("z_state", "p_true", "p_no", "p_yes", "action_no", "action_yes", "x_a", "belief_kind", "P"),
    *("p ", "", "seed", "tokens", "created", "raw_belief", "p_sd", "p_q05", "finish_reason", "a.b"),
)
SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".jsonl.gz")
TOKENS = (
    b'"',
    b"'",
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"{",
    b"}",
    b"[" * 3000,
    b"NaN",
)


def damage_cells(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return a table with one to four faults in its cells, columns or index."""
    table = table.copy()
    for _ in range(int(rng.integers(1, 5))):
        if not len(table.columns):
            break
        place = int(rng.integers(len(table.columns)))
        other = COLUMNS[rng.integers(len(COLUMNS))]
        cell = CELLS[rng.integers(len(CELLS))]
        rows = rng.random(len(table)) < rng.choice([0.03, 0.3, 1.1])
        kind = rng.integers(9)
        column = table.iloc[:, place].astype(object)
        changed = [cell if hit else value for value, hit in zip(column, rows, strict=True)]
        series = pd.Series(changed, index=table.index, dtype=object)
        if kind <= 2:
            table = pd.concat(
                [
                    table.iloc[:, :place],
                    series.rename(table.columns[place]),
                    table.iloc[:, place + 1 :],
                ],
                axis=1,
            )
        elif kind == 3:
            table = pd.concat([table, series.rename(other)], axis=1)  # perhaps a second of its name
        elif kind == 4:
            table = table.drop(columns=table.columns[place])
        elif kind == 5:
            table = table.set_axis(
                [other if n == place else name for n, name in enumerate(table.columns)], axis=1
            )
        elif kind == 6:
            table = table[rows]
        elif kind == 7:
            table = table.set_axis(
                rng.choice([0, 1, 2], len(table)) if rng.random() < 0.5 else series, axis=0
            )
        else:
            table = table.set_axis(
                pd.MultiIndex.from_product([["a"], table.columns])
                if rng.random() < 0.3
                else [5 if n == place else name for n, name in enumerate(table.columns)],
                axis=1,
            )
    return table


def damage_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with one to four faults in its bytes."""
    for _ in range(int(rng.integers(1, 5))):
        start = int(rng.integers(len(data) + 1))
        end = min(len(data), start + int(rng.integers(1, 100)))
        noise = bytes(rng.integers(0, 256, end - start, dtype=np.uint8))
        token = TOKENS[rng.integers(len(TOKENS))]
        data = (
            data[:start] + data[end:],
            data[:start],
            data[:start] + noise + data[end:],
            data[:start] + token + data[start:],
            data[:end] + data[start:],
            data[:start].decode("latin-1").encode("utf-16"),
        )[rng.choice(6, p=[0.2, 0.15, 0.25, 0.2, 0.15, 0.05])]
    return data


def table_of(
    number: int, rng: np.random.Generator, folder: Path, whole: dict[str, bytes]
) -> object:
    """Return what the n-th damaged table or file gives."""
    base = simulate("rational", n_contexts=8, n_reps=2, rng=number % 7)
    # Two thirds are tables, the others files with damaged bytes.
    if number % 3:
        table = damage_cells(base, rng)
        if number % 3 == 1:
            return report_on(table)
        file = folder / f"cells{('.csv', '.jsonl', '.parquet')[rng.integers(3)]}"
        try:
            write_runs(table, file)
        except CoherenceError:
            return report_on(table)
        return report_on(read_runs(file))
    name = list(whole)[rng.integers(len(whole))]
    file = folder / f"bytes{''.join(Path(name).suffixes)}"
    file.write_bytes(damage_bytes(whole[name], rng))
    if name.startswith("log"):
        return read_logs([file])
    return report_on(read_runs(file))


def report_on(table: pd.DataFrame) -> object:
    return analyze(table, checks=["calibration", "prompt_consistency"], rng=1).to_json()


def files(folder: Path) -> dict[str, bytes]:
    """Return whole files by name."""
    base, made = simulate("noisy", n_contexts=8, n_reps=2, rng=1), {}
    for suffix in SUFFIXES:
        plain = folder / f"whole{suffix.removesuffix('.gz')}"
        if suffix == ".tsv":
            base.to_csv(plain, sep="\t", index=False)
        else:
            write_runs(base, plain)
        data = plain.read_bytes()
        made[f"whole{suffix}"] = gzip.compress(data) if suffix.endswith(".gz") else data
    logs = [*GOLDEN.glob("*.eval"), *GOLDEN.glob("*.jsonl"), *GOLDEN.glob("*.json")]
    return made | {
        f"log-{path.name}": path.read_bytes() for path in logs if path.stat().st_size < 10**6
    }


def run(n: int, seed: int, report: Callable[[str], None]) -> Counter[str]:
    """Read so many tables and count the answers."""
    counts: Counter[str] = Counter()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        whole = files(folder)
        for number in range(n):
            rng = np.random.default_rng([seed, number])
            try:
                table_of(number, rng, folder, whole)
                counts["result"] += 1
            except CoherenceError as error:
                counts["error"] += 1
                if len(str(error)) < 20:
                    counts["fault"] += 1
                    report(ascii(f"{number}: {error}"))
            except Exception as error:
                counts["fault"] += 1
                frames = traceback.extract_tb(error.__traceback__)
                ours = [f for f in frames if "/coherence/" in f.filename]
                last = (ours or frames)[-1]
                where = f"{Path(last.filename).name}:{last.lineno}"
                report(ascii(f"{number}: {type(error).__name__} at {where}: {error}"[:240]))
    logging.disable(logging.NOTSET)
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(dict(run(options.files, options.seed, lambda line: print(line, flush=True))))
