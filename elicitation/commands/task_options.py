"""Options of a task from the user's own files, and the task that they name."""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elicitation.questions.tasks import Subject

TASK_OPTIONS = ("phrases", "positive", "records", "min_records")
_OF_FILES = TASK_OPTIONS[:3]


def add_task_options(parser: argparse.ArgumentParser) -> None:
    """Declare what a network of the user's own comes with."""
    group = parser.add_argument_group("a network of your own, or records")
    group.add_argument(
        "--phrases",
        metavar="FILE",
        help="words of the network in --task, .toml; 'coherence networks phrases' begins one "
        "(default: plain words made of its names)",
    )
    group.add_argument(
        "--positive",
        metavar="STATE",
        help="without --phrases, the state of --target whose probability is asked for (default: "
        "the one called yes, true, present or positive)",
    )
    group.add_argument(
        "--records",
        metavar="FILE",
        help="records that the network in --task was fitted to: .csv or .parquet",
    )
    group.add_argument(
        "--min-records",
        type=int,
        metavar="N",
        help="records that must show the evidence of a case, where the truth comes from records "
        "(default: 100; 0 takes any case)",
    )


def load_subject(args: argparse.Namespace) -> "Subject":
    """Load what is asked about."""
    from coherence.errors import InputError
    from elicitation.questions.tasks import is_network_file, load_task_file

    options = {name: getattr(args, name) for name in TASK_OPTIONS}
    if not is_network_file(args.task):
        from elicitation.questions.tasks import load_task

        if stray := [name for name in _OF_FILES if options[name] is not None]:
            raise InputError(
                f"--{stray[0]} goes with a network of your own, a file that ends in .bif, .xml, "
                f".xmlbif or .json; --task is {args.task!r}. Leave it out."
            )
        return load_task(args.task, target=args.target, min_records=args.min_records)
    if args.phrases is None:
        print(
            f"coherence {args.command}: plain words made of the names in {args.task} are used; "
            f"'coherence networks phrases {args.task} --out FILE.toml' begins better ones",
            file=sys.stderr,
        )
    return load_task_file(args.task, target=args.target, **options)
