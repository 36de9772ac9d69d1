"""``coherence bets``: whether a model thinks in bets.

Asks it, or scores answers; trains models on bets, and tests what carries over.
"""

import argparse
from typing import Any

from elicitation.commands.bets_questions import MODALITIES, VALUES
from elicitation.commands.hosted_options import HOSTED_DEFAULTS
from elicitation.commands.model_options import (
    add_device_options,
    add_model_options,
    add_store_options,
)
from elicitation.commands.paper_option import add_paper_option

# Options of a score that an action has no use for, and their defaults.
_SCORING: dict[str, Any] = {
    "models": None,
    "answers": None,
    "questions": None,
    "rule": "side",
    "pairs": "disjoint",
    "likelihood": "total",
    "dtype": "auto",
    "revision": None,
    "device_map": None,
    "quantization": None,
    "batch_size": None,
    "chat": None,
    "system": None,
    "store": None,
    "keep_going": False,
    "temperature": None,
    "max_new_tokens": None,
    **HOSTED_DEFAULTS,
}
_TERMS = {"chance": None, "stake": None, "payout": None}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model_options(
        parser,
        kind="multiple-choice or causal model",
        # The actions have a --model of their own, of which there is one.
        dest="models",
        several=True,
        server=True,
        chat=True,
    )
    add_store_options(parser, usual="DIR/answers.sqlite")
    parser.add_argument(
        "--answers",
        metavar="FILE",
        help="answers of one or several models instead: .csv or .parquet, see docs/bets.md, or a "
        "log of our task in Inspect (.eval)",
    )
    parser.add_argument(
        "--questions",
        metavar="FILE",
        help="the questions that --answers is about, as 'coherence bets questions' wrote them",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder for tables and figures, made if need be"
    )
    add_paper_option(parser)
    _add_items(parser)
    _add_terms(parser)
    _add_scoring(parser)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    _add_action(
        actions,
        "questions",
        "write the questions to a CSV file, to be asked elsewhere",
        _add_questions,
    )
    _add_action(
        actions, "train", "fine-tune a multiple-choice model on one kind of question", _add_train
    )
    _add_action(actions, "transfer", "train on each kind of bet, test on every kind", _add_transfer)


def _add_scoring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rule",
        default="side",
        choices=("side", "outcome"),
        help="a thing changes hands if the side bet on comes up (default), or in any case",
    )
    parser.add_argument(
        "--pairs",
        default="disjoint",
        choices=("disjoint", "crossed"),
        help="pairs of things in runs.parquet: some of which no two share a thing (default), "
        "or all",
    )
    parser.add_argument(
        "--likelihood",
        default="total",
        choices=("total", "token"),
        help="a causal model chooses by the probability of an option in total (default) or per "
        "token",
    )
    parser.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="of a hosted model's answers (default: 0, the most probable one)",
    )
    parser.add_argument(
        "--max-new-tokens",
        type=int,
        metavar="N",
        help="cut of a hosted model's answers; one that thinks first needs thousands (default: 64)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of a hosted model's answers, and of the outcomes in the runs table of ladders "
        "(default: 0)",
    )


def _add_action(actions: Any, name: str, summary: str, add: Any) -> None:
    add(
        actions.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            allow_abbrev=False,
        )
    )


# An action shares options with the command; it has no defaults of its own (SUPPRESS), so that what
# was said before its name stands.
def _add_items(parser: argparse.ArgumentParser, **default: Any) -> None:
    parser.add_argument(
        "--items",
        metavar="FILE",
        help="things of your own: .csv with columns item, value, split and perhaps price",
        **default,
    )


def _add_terms(parser: argparse.ArgumentParser, **default: Any) -> None:
    parser.add_argument(
        "--chance",
        type=float,
        metavar="P",
        help="chance of the side that wins (default: 0.5)",
        **default,
    )
    parser.add_argument(
        "--stake",
        type=float,
        metavar="X",
        help="what a bet costs, in the unit of the prices (default: 20)",
        **default,
    )
    parser.add_argument(
        "--payout",
        type=float,
        metavar="B",
        help="what is paid on top of a stake that comes back, per unit of it (default: 0); bets "
        "then state all amounts, as they do with --chance or --stake",
        **default,
    )


def _add_questions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="file to write: .csv or .parquet"
    )
    _add_items(parser, default=argparse.SUPPRESS)
    _add_terms(parser, default=argparse.SUPPRESS)


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        metavar="DIR",
        help="folder of the model to begin with, as written by save_pretrained",
    )
    add_device_options(parser, default=argparse.SUPPRESS)
    parser.add_argument(
        "--from-scratch",
        action="store_true",
        help="begin with a small model of random weights that is taught values first",
    )
    _add_items(parser, default=argparse.SUPPRESS)
    parser.add_argument(
        "--batch-size",
        # Not the --batch-size before the action, which is of a model that is asked.
        dest="update_size",
        type=int,
        metavar="N",
        help="questions per update (default: 32)",
    )
    parser.add_argument(
        "--learning-rate",
        type=float,
        metavar="RATE",
        help="of AdamW, constant (default: 5e-5; from scratch: 2e-3)",
    )
    parser.add_argument(
        "--goal",
        type=float,
        metavar="SHARE",
        help="stop at this share of right development answers (default: 0.9)",
    )
    parser.add_argument(
        "--epochs",
        type=int,
        metavar="N",
        help="stop after so many epochs in any case (default: 20; from scratch: 60)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help="seed of the training (default: 0)",
    )
    parser.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=argparse.SUPPRESS,
        help="go on from the last epoch of a training that was cut short (default)",
    )


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--modality",
        required=True,
        choices=(*MODALITIES, *VALUES),
        metavar="NAME",
        help=f"what to train on: {', '.join(MODALITIES)}, or value questions: {', '.join(VALUES)}",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="model folder to write")
    _add_recipe(parser)


def _add_transfer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        required=True,
        metavar="DIR",
        help="folder for the trained models, the table and the figure",
    )
    add_paper_option(parser, default=argparse.SUPPRESS)
    _add_recipe(parser)


def run(args: argparse.Namespace) -> int:
    """Ask or read, score, write and print; or write questions, train, or test transfer."""
    if args.action is None:
        from elicitation.commands.bets_scoring import score

        return score(args)
    _only_for_scores(args)
    if args.action == "questions":
        from elicitation.commands.bets_questions import write_questions

        return write_questions(args)
    from elicitation.commands.bets_training import train, transfer

    return train(args) if args.action == "train" else transfer(args)


def _only_for_scores(args: argparse.Namespace) -> None:
    """Raise for an option before an action that has no use for it."""
    from coherence.errors import InputError

    # Questions have terms and no training that could be resumed; a training has it the other way.
    unused = _SCORING | ({"resume": True} if args.action == "questions" else _TERMS)
    unused = unused if args.action == "transfer" else unused | {"paper": None}
    for name, usual in unused.items():
        # A value that was typed and equals the default changes nothing, and passes.
        if getattr(args, name) != usual:
            option = ("model" if name == "models" else name).replace("_", "-")
            raise InputError(
                f"--{option} does not belong to 'coherence bets {args.action}'. "
                "Options of an action stand behind its name."
            )
