"""``coherence power``: how many cases a study needs to find an effect of a given size."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import in_place, new_files, prepare_folder
from coherence.cli.progress import step_progress
from coherence.cli.reading import (
    add_reading,
    pilot_options,
    read_table,
    reading,
)
from coherence.cli.run_options import JOBS, SEED, comma_separated, declare, require_seed, workers
from coherence.errors import InputError
from coherence.printable import counted

if TYPE_CHECKING:
    import pandas as pd

    from coherence.agents import Agent
    from coherence.analysis.pilot import Pilot

_FILES = ("power.csv", "power.svg")
_OF_TABLES = ("task", "model", "positive", "reference")


OPTIONS = f"""
agent AGENT?  name of the agent that would answer ('coherence simulate --list'; default: rational)
--cases N,N=50,100,200,400  numbers of cases (default: 50,100,200,400)
--reps N:int=3  repetitions per question (default: 3)
--signal X:float=0.2  what is planted, from 0, where nothing is amiss, to 1: the share of what the
    exact posterior adds to the stated belief that choices follow; without posteriors how much
    higher the belief acted on is where the state is true, in probability (default: 0.2)
--check NAME=sufficiency  test to plan: sufficiency, cmi or predictive_gain; of agents also
    monotone_choice and iterated_expectation, whose signal is the share of the flaw that they look
    for (default: sufficiency)
--simulations N:int=400  simulated tables of each number of cases (default: 400)
{SEED}
{JOBS.strip()}
--out DIR  folder for {" and ".join(_FILES)}
[a model that was asked] instead of a named agent
--like RUNS  runs table: plan for its beliefs and choices
--task TASK  task of the table, if it has several
--model MODEL  model of the table, if it has several
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    declare(parser, OPTIONS)
    add_reading(parser, of_pilot=True)


def _who(args: argparse.Namespace) -> "Agent | Pilot":
    """Find who would answer."""
    if args.like is None:
        from coherence.agents import named_agent

        words = [f"--{name}" for name in _OF_TABLES if getattr(args, name) is not None]
        if words := [*words, *reading(pilot_options(args)).words()]:
            raise InputError(
                f"{words[0].partition('=')[0]} belongs to --like RUNS. Add that, or leave it out."
            )
        return named_agent(args.agent or "rational")
    if args.agent is not None:
        raise InputError(
            f"--like takes the agent from a table; received the agent {args.agent!r} as well. "
            "Leave one of them out."
        )
    from coherence.analysis.pilot import read_pilot

    options = {name: getattr(args, name) for name in (*_OF_TABLES, "state")}
    return read_pilot(read_table(pilot_options(args)), **options)


def _cases(text: str) -> list[int]:
    """Read whole numbers with commas between them."""
    try:
        return [int(part) for part in comma_separated(text)]
    except ValueError:
        raise InputError(
            f"--cases must be whole numbers with commas between them; received {text!r}. "
            "Write, for example, --cases 50,100."
        ) from None


def _rendered(table: "pd.DataFrame", notes: tuple[str, ...]) -> str:
    """Lay out the table, what one unit of the signal is, and notes."""
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
    ]
    columns += [count("n_undefined", "undefined")] * bool(table["n_undefined"].any())
    opening = (
        f"{first['agent']}, {counted(first['n_reps'], 'repetition')}: share of "
        f"{first['n_simulations']} simulated tables in which {str(first['check']).split(':')[0]} "
        f"rejects at {LEVEL:g}"
    )
    unit = f"signal {first['signal']:g} ({first['planted']}): {UNITS[first['planted']]}"
    shown: list[Table | str] = [opening, unit, "", build_table(rows, columns, parts=parts)]
    shown += [line for note in notes for line in ("", f"note: {note}")]
    return render_parts(shown, width=WIDTH)


def _write(table: "pd.DataFrame", folder: Path) -> None:
    """Write table and figure, and say where."""
    from coherence.plots.power import plot_power
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
    from coherence.analysis.pilot import Pilot
    from coherence.analysis.power import power

    with step_progress(" batches", first="planning") as progress, workers(args):
        agent = _who(args)
        table = power(
            agent,
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
    print(_rendered(table, agent.notes if isinstance(agent, Pilot) else ()))
    return 0
