"""``coherence power``: how many cases a study needs to find an effect of a given size."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import in_place, new_files, prepare_folder
from coherence.cli.run_options import JOBS, SEED, comma_separated, declare, require_seed, workers
from coherence.cli.terminal import step_progress
from coherence.errors import InputError
from coherence.printable import counted

if TYPE_CHECKING:
    import pandas as pd


_FILES = ("power.csv", "power.svg")


OPTIONS = f"""
agent AGENT?  name of the agent that would answer ('coherence simulate --list'; default: rational)
--cases N,N=50,100,200,400  numbers of cases (default: 50,100,200,400)
--reps N:int=3  repetitions per question (default: 3)
--signal X:float=0.2  what is planted, from 0, where nothing is amiss, to 1: the share of what the
    exact posterior adds to the stated belief that choices follow; of clairvoyant how much higher
    the belief acted on is where the state is true, in probability (default: 0.2)
--state STATE=auto  what choices are compared with at equal belief: the exact posterior (exact), the
    realised state (realised), or the first where it shows what is planted (default: auto)
--check NAME=sufficiency  test to plan: sufficiency, cmi or predictive_gain; or
    monotone_choice or iterated_expectation, whose signal is the share of the flaw that they look
    for (default: sufficiency)
--simulations N:int=400  simulated tables of each number of cases (default: 400)
{SEED}
{JOBS.strip()}
--out DIR  folder for {" and ".join(_FILES)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    declare(parser, OPTIONS)


def _cases(text: str) -> list[int]:
    """Read whole numbers with commas between them."""
    try:
        return [int(part) for part in comma_separated(text)]
    except ValueError:
        raise InputError(
            f"--cases must be whole numbers with commas between them; received {text!r}. "
            "Write, for example, --cases 50,100."
        ) from None


def _rendered(table: "pd.DataFrame") -> str:
    """Lay out the table, and what one unit of the signal is."""
    from coherence.analysis.power import UNITS
    from coherence.report.document import Column, Kind, Table, build_table, count
    from coherence.report.screen import render_parts
    from coherence.result import LEVEL, WIDTH

    first = table.iloc[0]
    rows = table.to_dict("records")
    parts = {}
    if table["check"].nunique() > 1:
        parts = {int(at): str(table["check"][at]) for at in table.drop_duplicates("check").index}
    columns = [
        count("n_cases", "cases"),
        Column("power", digits=2),
        Column("", "95% interval", Kind.INTERVAL, ends=("low", "high"), digits=2),
        Column("mean_estimate", "mean estimate", digits=3),
    ]
    columns += [count("n_undefined", "undefined")] * bool(table["n_undefined"].any())
    opening = (
        f"{first['agent']}, {counted(first['n_reps'], 'repetition')}: share of "
        f"{first['n_simulations']} simulated tables in which {str(first['check']).split(':')[0]} "
        f"rejects at {LEVEL:g}"
    )
    unit = f"signal {first['signal']:g} ({first['planted']}): {UNITS[first['planted']]}"
    shown: list[Table | str] = [opening, unit, "", build_table(rows, columns, parts=parts)]
    return render_parts(shown, width=WIDTH)


def _write(table: "pd.DataFrame", folder: Path) -> None:
    """Write table and figure, and say where."""
    from coherence.plots.results import plot_power
    from coherence.plots.style import save_plot
    from coherence.runs.write import write_table

    names = "|".join(_FILES)
    said = f"wrote {' and '.join(_FILES)} to {folder}{in_place(folder, names)}"
    with new_files(folder, names) as new:
        write_table(table, new / "power.csv")
        save_plot(lambda ax: plot_power(table, ax=ax), new / "power.svg", size=(6.4, 3.3))
    print(said, file=sys.stderr)


def run(args: argparse.Namespace) -> int:
    """Simulate, write, print."""
    require_seed(args)
    cases = _cases(args.cases)
    folder = None
    if args.out is not None:
        folder = prepare_folder(args.out, writes=_FILES)
    from coherence.analysis.power import power

    with step_progress(" batches", first="planning") as progress, workers(args):
        table = power(
            args.agent or "rational",
            cases,
            args.reps,
            args.signal,
            args.check,
            state=args.state,
            n_simulations=args.simulations,
            n_jobs=args.n_jobs,
            rng=args.seed,
            progress=progress,
        )
    # Before printing: a reader who leaves early (`| head`) must not cost the files.
    if folder is not None:
        _write(table, folder)
    print(_rendered(table))
    return 0
