"""``coherence compare``: several models on the same cases, their verdicts, effects, differences."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import in_place, new_files, prepare_folder
from coherence.cli.reading import (
    add_reading,
    is_log,
    read_logs,
    reading,
)
from coherence.cli.run_options import (
    FAIL_ON,
    JOBS,
    SEED,
    comma_separated,
    declare,
    require_seed,
    workers,
)
from coherence.cli.terminal import step_progress
from coherence.errors import InputError

if TYPE_CHECKING:
    from coherence.analysis.compare import Comparison
    from coherence.runs.runs import Runs

FILES = r"compare\.(html|json)|(verdicts|effects|differences)\.csv"
_TEXTS = ("compare.html", "compare.json")


OPTIONS = f"""
runs RUNS+  runs tables, with ids of the cases in the column 'context'; a file without a column
    'model' is a model of its own, named by the file; or logs of our task in Inspect (.eval)
--out DIR  folder for compare.html, compare.json, and verdicts, effects and differences as .csv
--effects A,B  what to compare besides the primary effect, by the names that results of 'coherence
    analyze' have, such as calibration:rmse
--common  keep the cases that all models have, and say how many were left out (default: refuse
    runs whose cases differ)
{FAIL_ON.strip()}
{SEED}
{JOBS.strip()}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    declare(parser, OPTIONS)
    add_reading(parser)


def name_files(files: Sequence[str]) -> dict[str, str]:
    """Name files as shortly as tells them apart."""
    from coherence.runs.formats import bare_name

    paths = [Path(os.path.abspath(file)) for file in files]
    if len({path.resolve() for path in paths}) < len(paths):
        twice = [file for file, path in zip(files, paths, strict=True) if paths.count(path) > 1]
        raise InputError(
            f"runs must be different files; {(twice or list(files))[-1]} is there twice. "
            "Name each once."
        )
    for n_parts in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join([*path.parts[-n_parts:-1], bare_name(path)]) for path in paths]
        if len(set(names)) == len(names):
            break
    else:  # runs.csv and runs.parquet
        names = [str(file) for file in files]
    return dict(zip(names, map(str, files), strict=True))


def _read(args: argparse.Namespace) -> "dict[str, Runs]":
    """Read all tables by name."""
    from coherence.runs.formats import FileTable, read_table
    from coherence.runs.read import as_runs

    logs = [file for file in args.runs if is_log(file)]
    others = [file for file in args.runs if not is_log(file)]
    files = name_files(others) if others else {}
    how = reading(args)
    tables = {name: read_table(file, how) for name, file in files.items()}
    if logs:  # their models have names
        tables[logs[0]], files[logs[0]] = FileTable(read_logs(logs)), logs[0]
    return {name: as_runs(table, how, Path(files[name])) for name, table in tables.items()}


def write_comparison(
    result: "Comparison", folder: Path, inputs: Sequence[str | os.PathLike[str]] = ()
) -> None:
    """Write all files of a comparison, and remove those of an earlier one."""
    from coherence.runs.write import write_table

    tables = {
        "verdicts": result.verdicts,
        "effects": result.effects,
        "differences": result.differences,
    }
    where = f"{folder}{in_place(folder, FILES)}"
    with new_files(folder, FILES, inputs) as new:
        for name, table in tables.items():
            write_table(table, new / f"{name}.csv")
        for name, text in zip(_TEXTS, (result.to_html(), result.to_json()), strict=True):
            (new / name).write_text(text, encoding="utf-8")
    names = ", ".join([*_TEXTS, *(f"{name}.csv" for name in tables)])
    print(f"wrote {names} to {where}", file=sys.stderr)


def clear_comparison(folder: Path) -> None:
    """Remove the files of an earlier comparison, and the folder where nothing else is in it."""
    if folder.is_dir():
        with new_files(folder, FILES):
            pass  # a set of no files
        if not any(folder.iterdir()):
            folder.rmdir()


def run(args: argparse.Namespace) -> int:
    """Read, compare, print, write."""
    require_seed(args)
    with step_progress(" models", first="reading") as progress, workers(args):
        tables = _read(args)
        folder = None if args.out is None else prepare_folder(args.out, writes=_TEXTS)
        progress.stage("loading the checks")
        from coherence.analysis.compare import compare
        from coherence.analysis.conditions import judge, parse_condition

        conditions = [parse_condition(text) for text in args.fail_on]
        if of_many := [each.text for each in conditions if each.quantity == "bh"]:
            raise InputError(
                "--fail-on must not name bh here: each model is analysed by itself; received "
                f"{of_many[0]!r}. Take coherence analyze, which corrects over models."
            )
        result = compare(
            tables,
            effects=() if args.effects is None else comma_separated(args.effects),
            common=args.common,
            positive=args.positive,
            reference=args.reference,
            state=args.state,
            n_jobs=args.n_jobs,
            rng=args.seed,
            progress=progress,
        )
    # Before printing: a reader who leaves early (`| head`) must not cost the files.
    if folder is not None:
        write_comparison(result, folder, args.runs)
    print(result)
    return judge(conditions, result.report.evaluations)
