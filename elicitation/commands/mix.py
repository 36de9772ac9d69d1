"""``coherence mix``: whether a model can draw at the rates it is asked for.

Asks the battery, or scores answers that are there.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import in_place, prepare_folder
from coherence.cli.progress import answer_progress, duration
from coherence.cli.reading import is_log
from elicitation.commands.hosted_options import connect_to, is_hosted
from elicitation.commands.mix_report import WRITTEN, mix_report, write_mix_results
from elicitation.commands.model_options import (
    add_model_options,
    add_store_options,
    ask_and_keep,
    drawn_at_a_time,
    load_causal,
)
from elicitation.commands.paper_option import (
    add_paper_option,
    paper_folder,
    write_paper_tables,
)

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.asking.store import AnswerStore
    from elicitation.models.base import Model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model_options(parser, several=True, server=True, chat=True)
    parser.add_argument(
        "--answers",
        action="extend",
        nargs="+",
        metavar="FILE",
        help="answers that are there instead, in one or several files: .csv or .parquet, "
        "see docs/mixing.md, or logs of our task in Inspect (.eval)",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder for tables and figures, made if need be"
    )
    add_paper_option(parser)
    parser.add_argument(
        "--draws",
        type=int,
        metavar="N",
        help="answers per condition, at temperature 1 (default: 100)",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="read the rates off the model's probabilities instead of drawing answers: 2 to 3 "
        "seconds a question on one core for a model of 135 million parameters, more for larger "
        "ones",
    )
    parser.add_argument(
        "--max-new-tokens",
        type=int,
        metavar="N",
        help="cut of every answer (default: what a readable answer needs at most)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the draws and of the intervals (default: 0)",
    )
    add_store_options(parser, usual="DIR/answers.sqlite")


def run(args: argparse.Namespace) -> int:
    """Ask or read, score, write and print."""
    from coherence.batteries.mixing.scores import score_mixing

    _check(args)
    out = Path(args.out)
    if args.answers is not None:
        answers = _read(args.answers)
        # Before the folder is made: a table with faults leaves none behind.
        scores = score_mixing(answers, rng=args.seed)
        prepare_folder(out)
        paper = paper_folder(args)
    else:
        paper = paper_folder(args)
        asked = _ask(args, out)
        if asked is None:
            return 130
        answers, scores = asked, score_mixing(asked, rng=args.seed)
    where = f"{out}{in_place(out, WRITTEN)}"
    written = write_mix_results(out, answers, scores, inputs=args.answers)
    print(mix_report(scores))
    print(f"wrote {', '.join(written)} to {where}", file=sys.stderr)
    if paper is not None:
        from coherence.batteries.mixing.paper_tables import EARLIER, mixing_table

        title = "Failure to mix"
        write_paper_tables(paper, title, [mixing_table(scores.experiments)], earlier=EARLIER)
    return 0


def _read(files: Sequence[str]) -> "pd.DataFrame":
    """Read tables of answers, or logs of our task in Inspect."""
    from coherence.batteries.mixing.answers import read_mixing_answers
    from coherence.errors import InputError

    logs = [file for file in files if is_log(file)]
    if not logs:
        return read_mixing_answers(*files)
    if len(logs) < len(files):
        raise InputError(
            f"--answers must be tables or logs of Inspect, not both; received {', '.join(files)}."
        )
    from elicitation.commands.inspect_logs import read_inspect_mixing

    return read_inspect_mixing(logs)


def _check(args: argparse.Namespace) -> None:
    from coherence.errors import InputError

    if (args.model is None) == (args.answers is None):
        raise InputError(
            "needed: --model DIR to ask a model, or --answers FILE to score answers, and not both. "
            "See 'coherence mix --help'."
        )
    if args.answers is not None and args.server is not None:
        raise InputError(
            "--server is for --model, the model's name there; the answers of --answers are there "
            "already. Leave one of them out."
        )
    if args.out is None:
        raise InputError("--out DIR is missing. Name a folder for tables and figures.")
    for name, least in (("seed", 0), ("draws", 1), ("batch_size", 1), ("max_new_tokens", 1)):
        value = getattr(args, name)
        if value is not None and value < least:
            raise InputError(
                f"--{name.replace('_', '-')} must be at least {least}; received {value}."
            )
    if args.exact and args.draws is not None:
        raise InputError(
            "--exact draws no answers, so that --draws has no meaning beside it. "
            "Leave one of them out."
        )
    if args.exact and is_hosted(args):
        raise InputError(
            "--exact needs the files of the model: a service lists likely first tokens, "
            "which bound its rates, no more. Leave --exact out to draw answers, or name a "
            "folder."
        )
    if args.answers is not None and (args.exact or args.draws is not None):
        raise InputError(
            "--exact and --draws are for --model; the answers of --answers are there already. "
            "Leave them out."
        )
    out = Path(args.out)
    # The folder itself is made when there is something to put into it.
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder; {out} is a file. Choose another name.")


def _ask(args: argparse.Namespace, out: Path) -> "pd.DataFrame | None":
    """Return the answers of all models, or None after Ctrl-C."""
    import pandas as pd

    models = _models(args)
    return ask_and_keep(
        args,
        prepare_folder(out) / "answers.sqlite",
        lambda store: pd.concat(
            [
                _ask_model(args, store, name, model, alone=len(models) == 1)
                for name, model in models.items()
            ],
            ignore_index=True,
        ),
    )


def _models(args: argparse.Namespace) -> "dict[str, Model | Path]":
    """Return hosted models, or folders, by name.

    What is wrong with any of them should show before the first is asked.
    """
    from coherence.batteries.mixing.answers import distinct_names
    from coherence.errors import InputError

    if is_hosted(args):
        if len(set(args.model)) < len(args.model):
            raise InputError(
                f"--model must name different models; received {', '.join(args.model)}."
            )
        return {name: connect_to(args, name) for name in args.model}
    from elicitation.models.local.sources import find_source

    for model in args.model:
        find_source(model, revision=args.revision)
    # Folders may have one name: `distinct_names` adds what tells them apart.
    local = [Path(model) for model in args.model]
    return dict(zip(distinct_names(local), local, strict=True))


def _ask_model(
    args: argparse.Namespace, store: "AnswerStore", name: str, model: "Model | Path", *, alone: bool
) -> "pd.DataFrame":
    import gc

    from elicitation.batteries.mixing import elicit_mixing, mixing_questions

    gc.collect()  # what is left of the model before: no two of them in memory
    draws = 100 if args.draws is None else args.draws
    if args.exact:
        # Minutes go by before the first portion is read and the time left is known.
        number = len(mixing_questions())
        print(
            f"coherence mix: reading the probabilities of answers to {number} questions, but those "
            f"in the store: 2 to 3 seconds each on one core, {duration(2.5 * number)} in all, for "
            "a model of 135 million parameters, more for larger ones; the first ones tell the time "
            "left",
            file=sys.stderr,
        )
    with answer_progress("" if alone else name) as progress:
        answers = elicit_mixing(
            # A model from a folder has no name here, so that it goes with the call.
            load_causal(args, model, chat=args.chat, system=args.system)
            if isinstance(model, Path)
            else model,
            store,
            draws=draws,
            exact=args.exact,
            seed=args.seed,
            batch_size=drawn_at_a_time(args),
            max_new_tokens=args.max_new_tokens,
            keep_going=args.keep_going,
            progress=progress,
        )
    questions = answers.groupby(["experiment", "p", "item", "order"])
    if is_hosted(args) and draws > 1 and (questions["raw"].nunique() == 1).all():
        # A service that ignores the temperature looks like a model that cannot mix.
        print(
            f"coherence mix: all draws of a question got the same answer from {name}. "
            "Does its service draw? See docs/servers.md.",
            file=sys.stderr,
        )
    return answers.assign(model=name)
