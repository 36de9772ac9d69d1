"""``coherence export``: results, or a runs table, in a shape that another program reads."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import new_files, no_empty_folders, prepare_folder

if TYPE_CHECKING:
    from datetime import datetime

CARD, EVERY, HUB = "dataset-card", "every-eval-ever", "eval-results"
_OPTIONS = {
    EVERY: ("organization", "relationship", "dataset", "date"),
    HUB: ("dataset", "source", "date"),
    CARD: (),
}
"""Format -> the options that mean something to it."""
_NEEDED = {EVERY: ("organization", "NAME"), HUB: ("dataset", "OWNER/NAME")}
_FILES = r"(model-\d+\.(json|yaml))|README\.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "file",
        metavar="REPORT",
        help="folder that 'coherence analyze --out' wrote, or its results.json; for a "
        f"{CARD} the runs table",
    )
    parser.add_argument(
        "--format",
        required=True,
        choices=list(_OPTIONS),
        help=f"{EVERY}: JSON of the schema 0.2, a file a model; {HUB}: YAML for .eval_results/ on "
        f"a model's page of the Hugging Face hub, a file a model; {CARD}: README.md for the runs "
        "table as a dataset of the hub",
    )
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="folder for the files; made if it is not there"
    )
    parser.add_argument(
        "--organization", metavar="NAME", help=f"{EVERY}: who made the evaluation (needed)"
    )
    parser.add_argument(
        "--relationship",
        choices=("first_party", "third_party", "collaborative", "other"),
        help=f"{EVERY}: of the organization to the model (default: other)",
    )
    parser.add_argument(
        "--dataset",
        metavar="OWNER/NAME",
        help=f"dataset of the hub that has the cases; {HUB} needs it, as the benchmark whose tasks "
        "have the names of ours",
    )
    parser.add_argument(
        "--source", metavar="URL", help=f"{HUB}: where the report or the answers are"
    )
    parser.add_argument(
        "--date",
        metavar="YYYY-MM-DD",
        help="day of the evaluation (default: when results.json was written)",
    )


def run(args: argparse.Namespace) -> int:
    """Read, render, write."""
    _require_options(args)
    with no_empty_folders(args.out):
        texts = list(_files(args))
        folder = prepare_folder(args.out, "--out", [name for name, _, _ in texts])
        with new_files(folder, _FILES, [args.file]) as new:
            for name, text, _ in texts:
                (new / name).write_text(text, encoding="utf-8")
    for name, _, about in texts:
        print(f"wrote {folder / name}{about}", file=sys.stderr)
    return 0


def _require_options(args: argparse.Namespace) -> None:
    from coherence.errors import InputError

    known = _OPTIONS[args.format]
    for option in ("organization", "relationship", "dataset", "source", "date"):
        if getattr(args, option) is not None and option not in known:
            fits = [name for name, options in _OPTIONS.items() if option in options]
            raise InputError(
                f"--{option} belongs to --format {' or '.join(fits)}; received --format "
                f"{args.format}. Leave it out."
            )
    option, value = _NEEDED.get(args.format, ("", ""))
    if option and not getattr(args, option):
        raise InputError(
            f"--format {args.format} needs --{option}, which no report holds. Add --{option} "
            f"{value}."
        )


def _files(args: argparse.Namespace) -> Iterator[tuple[str, str, str]]:
    """Yield name, text and what to say of each file; names are numbers, never text of a table."""
    from coherence.errors import InputError, SchemaError
    from coherence.report.wording import clean

    if args.format == CARD:
        import shlex

        from coherence.report.dataset_card import dataset_card
        from coherence.table.reading import Reading, read_file

        path = Path(args.file)
        try:
            runs = read_file(path, Reading())
        except SchemaError as error:  # its remedies are options of 'analyze'
            first = error.errors[0] if error.errors else str(error)
            raise InputError(
                f"{path} must be a runs table for a {CARD}; {first.partition('. ')[0]}. Make one: "
                f"coherence import {shlex.quote(clean(path))} --map p=COLUMN --map action=COLUMN "
                "--out runs.parquet"
            ) from error
        yield "README.md", dataset_card(runs, path), ""
        return
    import json

    import yaml

    from coherence.report.effects import read_findings, results_file
    from coherence.report.exchange import eval_results, every_eval_ever, without_entry

    file = results_file(args.file)
    found, written = read_findings(file), _day(args.date, file)
    texts: dict[str, str] = {}
    if args.format == EVERY:
        how = {
            "organization": args.organization,
            "relationship": args.relationship or "other",
            "dataset": args.dataset or "",
        }
        for model, record in every_eval_ever(found, **how, written=written):
            texts[model] = json.dumps(record, indent=2, allow_nan=False) + "\n"
    else:
        source = args.source or ""
        for model, entries in eval_results(
            found, dataset=args.dataset, source=source, written=written
        ):
            texts[model] = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=100)
    for model in without_entry(found, list(texts)):
        print(f"{clean(model)} has no effect that {args.format} can hold", file=sys.stderr)
    if not texts:
        raise InputError(
            f"{file} must hold a test of belief against action; it has none that {args.format} can "
            "hold. Run 'coherence analyze' with --checks sufficiency; where that was done its "
            "effect is undefined, and the report says why."
        )
    ending = "json" if args.format == EVERY else "yaml"
    for number, (model, text) in enumerate(texts.items(), start=1):
        yield f"model-{number}.{ending}", text, f": {clean(model)}"


def _day(date: str | None, file: Path) -> "datetime":
    """Return when the evaluation was made."""
    from datetime import UTC, datetime

    from coherence.errors import InputError

    if date is None:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)
    try:
        return datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError as error:
        raise InputError(
            f"--date must be a day as YYYY-MM-DD; received {date!r}. Try --date 2026-01-31."
        ) from error
