"""``coherence bets``: does a model think in bets? Asks it, or scores answers; trains models on bets, and tests what carries over."""

import argparse
import math
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.cli.folders import prepare_folder, remove_earlier
from elicitation.commands.bets_answers import (
    MODALITIES,
    NONE,
    VALUES,
    between,
    folder_of,
    percent,
    things_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from coherence.batteries.bets.ladder import LadderFit
    from coherence.batteries.bets.scores import BetScores
    from elicitation.batteries.bets.items import Items

_SCORING = {"models": "--model", "answers": "--answers", "questions": "--questions", "rule": "--rule", "pairs": "--pairs",
            "likelihood": "--likelihood", "dtype": "--dtype"}  # fmt: skip
_WRITTEN = r"(accuracy|ladder|models)\.csv|(runs|ladder_runs)\.parquet|models\.svg|(accuracy|ladder)_[1-9][0-9]*\.svg"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of this command.
    """
    parser.add_argument("--model", dest="models", action="append", metavar="DIR",
                        help="folder of a multiple-choice or causal model that is asked; may be given several times")  # fmt: skip
    _add_device(parser)
    parser.add_argument(
        "--answers",
        metavar="FILE",
        help="answers of one or several models instead: .csv or .parquet, see docs/bets.md",
    )
    parser.add_argument(
        "--questions",
        metavar="FILE",
        help="the questions that --answers is about, as 'coherence bets questions' wrote them",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder for tables and figures, made if need be"
    )
    _add_items(parser)
    _add_terms(parser)
    parser.add_argument(
        "--rule", default="side", choices=("side", "outcome"), help="a thing changes hands if the side bet on comes up (default), or in any case"
    )  # fmt: skip
    parser.add_argument("--pairs", default="disjoint", choices=("disjoint", "crossed"),
                        help="pairs of things in runs.parquet: some of which no two share a thing (default), or all")  # fmt: skip
    parser.add_argument("--likelihood", default="total", choices=("total", "token"),
                        help="a causal model chooses by the probability of an option in total (default) or per token")  # fmt: skip
    parser.add_argument(
        "--dtype",
        default="auto",
        choices=("auto", "float32", "bfloat16", "float16"),
        help="precision (default: auto)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the outcomes in the runs table of ladders (default: 0)",
    )
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


def _add_action(actions: Any, name: str, summary: str, add: Any) -> None:
    add(
        actions.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            allow_abbrev=False,
        )
    )


def _add_device(parser: argparse.ArgumentParser, **default: Any) -> None:
    # An action shares options with the command; it has no defaults of its own, so that what was
    # said before its name stands.
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="torch device (default: an accelerator if there is one)",
        **({"default": "auto"} | default),
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="threads of the model (default: torch's own choice)",
        **default,
    )


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
    parser.add_argument("--payout", type=float, metavar="B", **default,
                        help="what is paid on top of a stake that comes back, per unit of it (default: 0); bets then state all amounts, as they do "
                        "with --chance or --stake")  # fmt: skip


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
    _add_device(parser, default=argparse.SUPPRESS)
    parser.add_argument(
        "--from-scratch",
        action="store_true",
        help="begin with a small model of random weights that is taught values first",
    )
    _add_items(parser, default=argparse.SUPPRESS)
    parser.add_argument(
        "--batch-size", type=int, metavar="N", help="questions per update (default: 32)"
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
    parser.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True,
                        help="go on from the last epoch of a training that was cut short (default)")  # fmt: skip


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--modality", required=True, choices=(*MODALITIES, *VALUES), metavar="NAME",
                        help=f"what to train on: {', '.join(MODALITIES)}, or value questions: {', '.join(VALUES)}")  # fmt: skip
    parser.add_argument("--out", required=True, metavar="DIR", help="model folder to write")
    _add_recipe(parser)


def _add_transfer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        required=True,
        metavar="DIR",
        help="folder for the trained models, the table and the figure",
    )
    _add_recipe(parser)


def run(args: argparse.Namespace) -> int:
    """Ask or read, score, write and print; or write questions, train, or test transfer.

    Parameters
    ----------
    args : argparse.Namespace
        Options as declared by `add_arguments`.

    Returns
    -------
    int
        0, or 130 after Ctrl-C.
    """
    if args.action is None:
        return _score(args)
    _only_for_scores(args)
    if args.action == "questions":
        return _write_questions(args)
    from elicitation.commands.bets_training import train, transfer

    return train(args) if args.action == "train" else transfer(args)


def _only_for_scores(args: argparse.Namespace) -> None:
    """Raise for an option before an action that has no use for it."""
    from coherence.errors import InputError

    unused = (
        dict(_SCORING)
        if args.action == "questions"
        else _SCORING | {"chance": "--chance", "stake": "--stake", "payout": "--payout"}
    )
    plain = {"rule": "side", "pairs": "disjoint", "likelihood": "total", "dtype": "auto"}
    for name, option in unused.items():
        if getattr(args, name) != plain.get(name):
            raise InputError(
                f"{option} does not belong to 'coherence bets {args.action}'. Options of an action stand behind its name."
            )


def _questions(args: argparse.Namespace) -> "pd.DataFrame":
    """Return all questions for a score: dev and test, values and bets, and the ladder of a coin."""
    import pandas as pd

    from elicitation.batteries.bets.ladder import BREAK_EVENS, highest_break_even, ladder_questions
    from elicitation.batteries.bets.questions import (
        STAKE,
        bet_questions,
        value_questions,
    )

    items = things_of(args)
    splits = _scored_splits(items)
    told = [value for value in (args.chance, args.stake, args.payout) if value is not None]
    chance = 0.5 if args.chance is None else args.chance
    stake, payout = STAKE if args.stake is None else args.stake, args.payout or 0.0
    bets = bet_questions(
        items, splits=splits, chances=(chance,), stake=stake, payout=payout, amounts=bool(told)
    )
    rungs = [even for even in BREAK_EVENS if even < highest_break_even(payout)]
    if len(rungs) < len(BREAK_EVENS):
        print(
            f"with a payout of {payout:g} no stake breaks even at {highest_break_even(payout):.3g} or more: {len(rungs)} rungs",
            file=sys.stderr,
        )
    ladder = ladder_questions(items, split=splits[-1], break_evens=rungs, payout=payout)
    return pd.concat([value_questions(items, splits=splits), bets, ladder], ignore_index=True)


def _scored_splits(items: "Items") -> list[str]:
    from coherence.errors import InputError

    if not items.of("high", "test"):
        raise InputError(
            "the items have no things in split 'test', on which models are scored. Give some rows the split 'test'."
        )
    return [split for split in ("dev", "test") if items.of("high", split)]


def _write_questions(args: argparse.Namespace) -> int:
    from coherence.table.storage import write_runs

    questions = _questions(args)
    write_runs(questions, args.out)
    print(f"{args.out}: {len(questions)} questions", file=sys.stderr)
    return 0


def _score(args: argparse.Namespace) -> int:
    from coherence.batteries.bets.scores import compare_models, score_bets
    from coherence.errors import InputError
    from elicitation.commands.bets_answers import ask_models, check_known, read_table

    if (args.models is None) == (args.answers is None):
        raise InputError(
            "needed: --model DIR to ask a model, or --answers FILE to score answers, and not both. See 'coherence bets --help'."
        )
    if args.out is None:
        raise InputError("--out DIR is missing. Name a folder for tables and figures.")
    terms = [
        value for value in (args.items, args.chance, args.stake, args.payout) if value is not None
    ]
    if args.questions is not None and (args.answers is None or terms):
        raise InputError(
            "--questions belongs to --answers, without --items, --chance, --stake and --payout. Leave it out to use the questions that come with "
            "the package."
        )
    if args.seed < 0:
        raise InputError(f"--seed must be at least 0; received {args.seed}.")
    folder_of(args.out)
    questions = _questions(args) if args.questions is None else read_table(args.questions)
    if args.models is None:
        answers = read_table(args.answers)
        if args.questions is None:
            check_known(questions, answers)
    else:
        found = ask_models(args, questions)
        if found is None:
            return 130
        answers = found
    scores = score_bets(questions, answers, rule=args.rule)
    comparison = compare_models(scores.answers, rule=args.rule)
    out = prepare_folder(args.out)
    remove_earlier(
        out,
        _WRITTEN,
        (),
        [path for path in (args.answers, args.questions, args.items) if path is not None],
    )
    written = _write(out, answers, scores, comparison, args)
    print(_report(scores, comparison))
    print(f"{out}: {', '.join(written)}", file=sys.stderr)
    return 0


def _write(
    out: Path,
    answers: "pd.DataFrame",
    scores: "BetScores",
    comparison: "pd.DataFrame",
    args: argparse.Namespace,
) -> list[str]:
    """Write tables and figures; return their names."""
    import pandas as pd

    from coherence.batteries.bets.plots import (
        accuracy_size,
        models_size,
        plot_accuracies,
        plot_ladder,
        plot_models,
        save_bet_plot,
    )
    from coherence.batteries.bets.runs import belief_runs, ladder_runs
    from coherence.table.storage import write_runs

    ladders = [
        fit.table.assign(model=model, modality=modality)
        for (model, modality), fit in scores.ladders.items()
    ]
    tables = {"answers.csv": answers, "accuracy.csv": scores.accuracy}
    runs = belief_runs(scores.answers, disjoint=args.pairs == "disjoint")
    tables |= {
        "runs.parquet": runs,
        "ladder_runs.parquet": ladder_runs(scores.answers, rng=args.seed),
    }
    if comparison.get("model", pd.Series()).nunique() > 1:
        tables["models.csv"] = comparison
    if ladders:
        tables["ladder.csv"] = pd.concat(ladders, ignore_index=True)
    written = [name for name, table in tables.items() if len(table)]
    for name in written:
        write_runs(tables[name], out / name)
    # Names of models are not used in file names: they may come from a file of answers.
    for number, (_, rows) in enumerate(scores.accuracy.groupby("model", sort=False), start=1):
        save_bet_plot(
            partial(plot_accuracies, rows), out / f"accuracy_{number}.svg", size=accuracy_size(rows)
        )
        written.append(f"accuracy_{number}.svg")
    if "models.csv" in tables:
        save_bet_plot(
            partial(plot_models, comparison), out / "models.svg", size=models_size(comparison)
        )
        written.append("models.svg")
    for number, fit in enumerate(scores.ladders.values(), start=1):
        save_bet_plot(
            partial(plot_ladder, fit.table), out / f"ladder_{number}.svg", size=(4.5, 4.5)
        )
        written.append(f"ladder_{number}.svg")
    return written


def _report(scores: "BetScores", comparison: "pd.DataFrame") -> str:
    """Return the accuracies of every model as lines, and several models beside each other."""
    from coherence.report.columns import aligned
    from coherence.report.wording import clean, format_pvalue

    lines: list[str] = []
    header = [
        "question",
        "truth",
        "method",
        "n",
        "right",
        "95% interval",
        "chance",
        "p exact",
        "p z test",
    ]
    for model, rows in scores.accuracy.groupby("model", sort=False):
        cells = [header]
        for row in rows.to_dict("records"):
            numbers = [
                str(row["n"]),
                percent(row["accuracy"]),
                between(row, ".0%"),
                percent(row["chance"]),
            ]
            numbers += [format_pvalue(row["p_exact"]), format_pvalue(row["p_z"])]
            cells.append([clean(row["template"]), row["truth"], row["method"], *numbers])
        lines += [f"{clean(model)}", *aligned(cells, right=range(3, 9)), ""]
    for (model, modality), fit in scores.ladders.items():
        lines += [
            f"{clean(model)}, ladder of a {clean(modality)}: probabilities that choices act on"
        ]
        cells = [["stated", "bets taken", "implied", "95% interval", "status"]]
        for row in fit.table.to_dict("records"):
            implied = NONE if math.isnan(row["implied"]) else f"{row['implied']:.3f}"
            cells.append(
                [
                    f"{row['stated']:g}",
                    f"{row['share']:.0%}",
                    implied,
                    between(row, ".3f"),
                    row["status"],
                ]
            )
        lines += [*aligned(cells, right=range(4)), *_weighting(fit), ""]
    if "model" in comparison and comparison["model"].nunique() > 1:
        cells = [["all models", "model", "n", "right", "95% interval", "chance"]]
        for row in comparison.to_dict("records"):
            cells.append(
                [
                    row["measure"],
                    clean(row["model"]),
                    str(row["n"]),
                    percent(row["accuracy"]),
                    between(row, ".0%"),
                    percent(row["chance"]),
                ]
            )
        lines += [*aligned(cells, right=range(2, 6)), ""]
    return "\n".join([*lines, *(f"note: {clean(note)}" for note in scores.notes)]).rstrip()


def _weighting(fit: "LadderFit") -> list[str]:
    """Return the line of implied on stated log odds, and what the intervals take as independent."""
    from coherence.report.wording import format_pvalue

    line, about = fit.weighting, f"intervals take {fit.unit} as independent"
    if math.isnan(line.sensitivity):
        return [about]
    ends = [
        (line.elevation, line.elevation_interval),
        (line.sensitivity, line.sensitivity_interval),
    ]
    elevation, sensitivity = (
        f"{_signed(value)} ({_signed(interval.low)} to {_signed(interval.high)})"
        for value, interval in ends
    )
    return [
        f"elevation {elevation}, sensitivity {sensitivity}; implied = stated (0 and 1): p {format_pvalue(line.pvalue)}",
        about,
    ]


def _signed(value: float) -> str:
    """Return two decimals, without the sign of a negative number that rounds to 0."""
    return f"{round(value, 2) + 0.0:.2f}"
