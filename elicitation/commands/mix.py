"""``coherence mix``: can a model draw at the rates it is asked for? Asks the battery, or scores answers that are there."""

import argparse
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.cli.folders import prepare_folder, remove_earlier
from coherence.cli.progress import answer_progress
from elicitation.commands.models import add_server_options, connect

if TYPE_CHECKING:
    import pandas as pd

    from coherence.batteries.mixing.scoring import MixingScores
    from elicitation.models.base import Model
    from elicitation.store import AnswerStore

_NONE = "–"
_OWN = r"(scores|measures|curves|dependence|leaderboard)\.csv|scores\.json|(answers|runs)\.parquet|(rates(-[1-9][0-9]*)?|flips)\.png"
"""All that the command may write, but for the store of answers."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of this command.
    """
    parser.add_argument("--model", action="append", metavar="DIR", help="folder of a causal language model, as written by save_pretrained; with "
                        "--server the model's name there; repeatable: models are asked one after the other")  # fmt: skip
    add_server_options(parser)
    parser.add_argument("--answers", action="extend", nargs="+", metavar="FILE",
                        help="answers that are there instead, in one or several files: .csv or .parquet, see docs/mixing.md")  # fmt: skip
    parser.add_argument(
        "--out", metavar="DIR", help="folder for tables and figures, made if need be"
    )
    parser.add_argument(
        "--draws",
        type=int,
        metavar="N",
        help="answers per condition, at temperature 1 (default: 100)",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="read the rates off the model's probabilities instead of drawing answers",
    )
    parser.add_argument(
        "--max-new-tokens",
        type=int,
        metavar="N",
        help="cut of every answer (default: what a readable answer needs at most)",
    )
    parser.add_argument(
        "--chat",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="use the chat template (default: if there is one)",
    )
    parser.add_argument(
        "--dtype",
        default="auto",
        choices=("auto", "float32", "bfloat16", "float16"),
        help="precision (default: auto)",
    )
    parser.add_argument(
        "--device",
        default="auto",
        metavar="NAME",
        help="torch device (default: an accelerator if there is one)",
    )
    parser.add_argument(
        "--batch-size", type=int, default=64, metavar="N", help="questions at a time (default: 64)"
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="threads of the model (default: torch's own choice)",
    )
    parser.add_argument(
        "--store",
        metavar="FILE",
        help="where the model's answers are kept, for resuming (default: DIR/answers.sqlite)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the draws and of the intervals (default: 0)",
    )


def run(args: argparse.Namespace) -> int:
    """Ask or read, score, write and print.

    Parameters
    ----------
    args : argparse.Namespace
        Options as declared by `add_arguments`.

    Returns
    -------
    int
        0, or 130 after Ctrl-C.
    """
    from coherence.batteries.mixing.files import read_mixing_answers
    from coherence.batteries.mixing.scoring import score_mixing

    _check(args)
    out = Path(args.out)
    if args.answers is not None:
        answers = read_mixing_answers(*args.answers)
        scores = score_mixing(
            answers, rng=args.seed
        )  # before the folder is made: a table with faults leaves none behind
        prepare_folder(out)
    else:
        found = _ask(args, out)
        if found is None:
            return 130
        answers, scores = found, score_mixing(found, rng=args.seed)
    written = _write(out, answers, scores, inputs=args.answers)
    print(_report(scores))
    print(f"{out}: {', '.join(written)}", file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> None:
    from coherence.errors import InputError

    if (args.model is None) == (args.answers is None):
        raise InputError(
            "needed: --model DIR to ask a model, or --answers FILE to score answers, and not both. See 'coherence mix --help'."
        )
    if args.answers is not None and args.server is not None:
        raise InputError(
            "--server is for --model, the model's name there; the answers of --answers are there already. Leave one of them out."
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
            "--exact draws no answers, so that --draws has no meaning beside it. Leave one of them out."
        )
    if args.exact and args.server is not None:
        raise InputError(
            "--exact needs the files of the model: a server lists the likeliest first tokens of an answer, which bound its rates, no more. "
            "Leave --exact out to draw answers, or leave --server out and name a folder."
        )
    if args.answers is not None and (args.exact or args.draws is not None):
        raise InputError(
            "--exact and --draws are for --model; the answers of --answers are there already. Leave them out."
        )
    out = Path(args.out)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder; {out} is a file. Choose another name.")


def _ask(args: argparse.Namespace, out: Path) -> "pd.DataFrame | None":
    """Return the answers of all models, or None after Ctrl-C."""
    import pandas as pd

    from elicitation.store import AnswerStore

    models = _models(args)
    with AnswerStore(args.store or prepare_folder(out) / "answers.sqlite") as store:
        try:
            return pd.concat(
                [
                    _ask_one(args, store, name, model, alone=len(models) == 1)
                    for name, model in models.items()
                ],
                ignore_index=True,
            )
        except KeyboardInterrupt:
            print(
                f"\ncoherence mix: interrupted; {len(store)} answers are kept in {store.path}. The same command resumes.",
                file=sys.stderr,
            )
            return None


def _models(args: argparse.Namespace) -> "dict[str, Model | Path]":
    """Return models behind servers, or folders, by name; what is wrong with any of them should show before the first is asked."""
    from coherence.batteries.mixing.files import distinct_names
    from coherence.errors import InputError

    if args.server is not None:
        if len(set(args.model)) < len(args.model):
            raise InputError(
                f"--model must name different models; received {', '.join(args.model)}."
            )
        return {name: connect(args, name) for name in args.model}
    from elicitation.models.local.loading import check_folder

    folders = [Path(folder) for folder in args.model]
    for folder in folders:
        check_folder(folder)
    return dict(zip(distinct_names(folders), folders, strict=True))


def _load(args: argparse.Namespace, folder: Path) -> "Model":
    from elicitation.models.local.causal import load_causal_model

    return load_causal_model(
        folder,
        batch_size=args.batch_size,
        chat=args.chat,
        dtype=args.dtype,
        device=args.device,
        threads=args.threads,
    )


def _ask_one(
    args: argparse.Namespace, store: "AnswerStore", name: str, model: "Model | Path", *, alone: bool
) -> "pd.DataFrame":
    import gc

    from elicitation.batteries.mixing import elicit_mixing

    gc.collect()  # what is left of the model before: no two of them in memory
    draws = 100 if args.draws is None else args.draws
    options = {
        "draws": draws,
        "exact": args.exact,
        "seed": args.seed,
        "batch_size": args.batch_size,
        "max_new_tokens": args.max_new_tokens,
    }
    with answer_progress("" if alone else name) as progress:
        # A model from a folder has no name here, so that it goes with the call.
        answers = elicit_mixing(
            _load(args, model) if isinstance(model, Path) else model,
            store,
            progress=progress,
            **options,
        )
    questions = answers.groupby(["experiment", "p", "item", "order"])
    if args.server is not None and draws > 1 and (questions["raw"].nunique() == 1).all():
        # A server that ignores the temperature looks like a model that cannot mix.
        print(
            f"coherence mix: all draws of a question got the same answer from {name}. Does its server draw? See docs/servers.md.",
            file=sys.stderr,
        )
    return answers.assign(model=name)


def _write(
    out: Path, answers: "pd.DataFrame", scores: "MixingScores", *, inputs: list[str] | None
) -> list[str]:
    """Write tables and figures, in place of those of an earlier call; return their names. Without inputs the answers were elicited now."""
    from coherence.batteries.mixing.plots import compare_figure, mixing_figure, save_panels
    from coherence.batteries.mixing.runs import mixing_runs
    from coherence.table.storage import write_runs

    tables = {
        "scores.csv": scores.experiments,
        "measures.csv": scores.measures,
        "curves.csv": scores.curves,
        "dependence.csv": scores.dependence,
    }
    board = scores.leaderboard()
    if len(board) > 1:
        tables["leaderboard.csv"] = board
    if inputs is None:
        # Not as CSV: raw texts may hold any character, and a lone carriage return would part a row
        # in two.
        tables["answers.parquet"] = answers
    runs = mixing_runs(answers)
    if len(runs):
        tables["runs.parquet"] = runs
    # Names of models are text from outside and never become part of a path.
    rates = (
        ["rates.png"]
        if len(board) == 1
        else [f"rates-{number}.png" for number in range(1, len(board) + 1)]
    )
    side_by_side = (
        ["flips.png"] if len(board) > 1 and (scores.curves["part"] == "flip").any() else []
    )
    written = [*tables, "scores.json", *rates, *side_by_side]
    remove_earlier(out, _OWN, written, inputs or ())
    for name, table in tables.items():
        write_runs(table, out / name)
    _write_json(out / "scores.json", scores)
    for name, model in zip(rates, board["model"], strict=True):
        save_panels(
            mixing_figure(scores.curves[scores.curves["model"] == model], title=model or "rates"),
            out / name,
        )
    for name in side_by_side:
        save_panels(compare_figure(scores.curves, list(board["model"])), out / name)
    return written


def _write_json(path: Path, scores: "MixingScores") -> None:
    import json
    import tempfile

    tables = {
        "experiments": scores.experiments,
        "measures": scores.measures,
        "dependence": scores.dependence,
    }
    # NaN is no JSON: what is undefined is null.
    records = {
        name: table.astype(object).where(table.notna(), None).to_dict("records")
        for name, table in tables.items()
    }
    text = json.dumps(
        records, indent=2, ensure_ascii=False, allow_nan=False, default=lambda value: value.item()
    )
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=".scores-", suffix=".json", delete=False, encoding="utf-8"
    ) as file:
        file.write(text + "\n")
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def _report(scores: "MixingScores") -> str:
    """Return the tables for the terminal."""
    from coherence.report.columns import aligned
    from coherence.report.wording import clean

    blocks = []
    for model, rows in scores.experiments.groupby("model", sort=False):
        head = [
            "experiment",
            "of",
            "published",
            "ceiling",
            "corrected",
            "95% interval",
            "unreadable",
            "refused",
            "published, if all were read",
        ]
        body = [_row(row) for row in rows.to_dict("records")]
        if not (rows["unread"] > 0).any():
            head, body = head[:-1], [row[:-1] for row in body]
        lines = aligned([head, *body], right=range(1, len(head)))
        blocks.append(
            "\n".join(
                [
                    *([clean(model)] if model else []),
                    *lines,
                    "",
                    *_unread(rows),
                    *_notes(scores, str(model)),
                ]
            )
        )
    board = scores.leaderboard()
    if len(board) > 1:
        ranked = [[_number(row["rank"], 0), clean(row["model"], limit=40), *(_number(row[name]) for name in ("corrected", "published", "ceiling"))]
                  for row in board.to_dict("records")]  # fmt: skip
        blocks.append(
            "\n".join(
                aligned(
                    [["rank", "model", "corrected", "published", "ceiling"], *ranked],
                    right=(0, 2, 3, 4),
                )
            )
        )
    if scores.notes:
        blocks.append("\n".join(clean(note) for note in scores.notes))
    return "\n\n\n".join(blocks)


def _row(row: "dict[Any, Any]") -> list[str]:
    from coherence.batteries.mixing.design import EXPERIMENTS

    number = int(row["experiment"])
    interval = _NONE if math.isnan(row["low"]) else f"[{row['low']:.1f}, {row['high']:.1f}]"
    bounds = _NONE if math.isnan(row["worst"]) else f"[{row['worst']:.1f}, {row['best']:.1f}]"
    name = f"{number} {EXPERIMENTS[number]}" if number else "total"
    numbers = [_number(row[column]) for column in ("published", "ceiling", "corrected")]
    return [
        name,
        _number(row["points"], 0),
        *numbers,
        interval,
        f"{row['unread']:.1%}",
        f"{row['refused']:.1%}",
        bounds,
    ]


def _number(value: float, decimals: int = 1) -> str:
    return _NONE if math.isnan(value) else f"{value:.{decimals}f}"


def _unread(rows: "pd.DataFrame") -> list[str]:
    """Warn of experiments most of whose answers cannot be read; of exact rates it is the probability of all that is no outcome."""
    lost = rows[(rows["experiment"] != 0) & (rows["unread"] > 0.5)]
    if lost.empty:
        return []
    where = ", ".join(
        f"{row['experiment']} ({row['unread']:.1%})" for row in lost.to_dict("records")
    )
    return [
        f"More than half of the answers cannot be read in experiment {where}: what is scored are shares of the little that can."
    ]


def _notes(scores: "MixingScores", model: str) -> list[str]:
    """Say which S, and whether the flips look independent."""
    measures = scores.measures[scores.measures["model"] == model]
    curves = scores.curves[scores.curves["model"] == model].drop_duplicates(
        ["part", "p", "item", "order"]
    )
    lines = []
    rows = scores.experiments[scores.experiments["model"] == model].dropna(subset="equilibrium")
    for row in rows[rows["experiment"].isin([0, 4])].tail(1).to_dict("records"):
        where = "" if row["experiment"] == 0 else " of experiment 4"
        player = f"a faultless player of the equilibria gets {row['equilibrium']:.1f} on average, under the ceiling{where} of {row['ceiling']:.1f}"
        lines.append(
            f"The published scoring rewards p in the games, where 1 - p is best: {player}."
        )
    if empty := int(curves["rate"].isna().sum()):
        lines.append(
            f"{empty} of {len(curves)} conditions have no readable answer; scores that need them are undefined."
        )
    for flip in (
        measures[measures["part"] == "flip"].dropna(subset="published_loss").to_dict("records")
    ):
        loss = "undefined without noise"
        if not math.isnan(flip["corrected_loss"]):
            loss = f"{flip['corrected_loss']:.3f} without noise, 95% interval [{flip['loss_low']:.3f}, {flip['loss_high']:.3f}]"
        lines.append(
            f"S of one flip: {flip['published_loss']:.3f} as published, {loss}; 0 is perfect, 1 a step."
        )
    tests = scores.dependence[scores.dependence["model"] == model].dropna(subset="observed")
    for row in tests.to_dict("records"):
        pvalue = (
            "no test possible"
            if math.isnan(row["pvalue"])
            else "p < .001"
            if row["pvalue"] < 0.001
            else f"p = {row['pvalue']:.3f}"
        )
        lines.append(
            f"{row['test']}: {row['observed']:.1%} of pairs equal, {row['expected']:.1%} if independent, {pvalue}."
        )
    return lines
