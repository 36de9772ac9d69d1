"""``coherence bets`` without an action: answers of models or of a file scored, and written."""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import in_place, new_files, prepare_folder
from coherence.cli.reading import is_log
from elicitation.commands.bets_answers import ask_models, check_known, folder_of, read_answer_table
from elicitation.commands.bets_questions import scored_questions
from elicitation.commands.bets_report import bets_report
from elicitation.commands.hosted_options import is_hosted
from elicitation.commands.paper_option import paper_folder, write_paper_tables

if TYPE_CHECKING:
    import pandas as pd

    from coherence.batteries.bets.scores import BetScores

_WRITTEN = (
    r"(accuracy|ladder|models)\.csv|(runs|ladder_runs)\.parquet|models\.svg"
    r"|(accuracy|ladder)_[1-9][0-9]*\.svg"
)


def score(args: argparse.Namespace) -> int:
    """Ask or read, score, write and print; return 0, or 130 after Ctrl-C."""
    from coherence.batteries.bets.scores import compare_models, score_bets
    from coherence.errors import InputError

    if (args.models is None) == (args.answers is None):
        raise InputError(
            "needed: --model DIR to ask a model, or --answers FILE to score answers, and not both. "
            "See 'coherence bets --help'."
        )
    _check_hosted(args)
    if args.out is None:
        raise InputError("--out DIR is missing. Name a folder for tables and figures.")
    terms = [
        value for value in (args.items, args.chance, args.stake, args.payout) if value is not None
    ]
    if args.questions is not None and (args.answers is None or terms):
        raise InputError(
            "--questions belongs to --answers, without --items, --chance, --stake and --payout. "
            "Leave it out to use the questions that come with the package."
        )
    if args.seed < 0:
        raise InputError(f"--seed must be at least 0; received {args.seed}.")
    # Said before anything is asked; the folder is made after, so that a fault leaves none behind.
    folder_of(args.out)
    paper = paper_folder(args)
    if args.answers is not None and is_log(args.answers) and (terms or args.questions is not None):
        raise InputError(
            f"the log {args.answers} holds its questions. Leave out --questions, --items, "
            "--chance, --stake and --payout."
        )
    asked = _questions_and_answers(args)
    if asked is None:
        return 130
    questions, answers = asked
    scores = score_bets(questions, answers, rule=args.rule)
    comparison = compare_models(scores.answers, rule=args.rule)
    out = prepare_folder(args.out)
    inputs = [path for path in (args.answers, args.questions, args.items) if path is not None]
    where = f"{out}{in_place(out, _WRITTEN)}"
    with new_files(out, _WRITTEN, inputs) as new:
        written = _write(new, answers, scores, comparison, args)
    print(bets_report(scores, comparison))
    print(f"wrote {', '.join(written)} to {where}", file=sys.stderr)
    if paper is not None:
        from coherence.batteries.bets.paper_tables import EARLIER, bet_tables

        write_paper_tables(paper, "Thinking in bets", bet_tables(scores.accuracy), earlier=EARLIER)
    return 0


def _questions_and_answers(
    args: argparse.Namespace,
) -> "tuple[pd.DataFrame, pd.DataFrame] | None":
    """Read answers, or ask for them; None after Ctrl-C."""
    if args.answers is not None and is_log(args.answers):
        from elicitation.commands.inspect_logs import read_inspect_bets

        return read_inspect_bets(args.answers)
    questions = (
        scored_questions(args) if args.questions is None else read_answer_table(args.questions)
    )
    if args.models is not None:
        asked = ask_models(args, questions)
        return None if asked is None else (questions, asked)
    answers = read_answer_table(args.answers)
    if args.questions is None:
        # Answers by name alone would else be scored against other odds or other things.
        check_known(questions, answers)
    return questions, answers


def _check_hosted(args: argparse.Namespace) -> None:
    """Raise for options that do not go with hosted models, or not without them."""
    from coherence.errors import InputError

    if not is_hosted(args):
        for name in ("temperature", "max_new_tokens"):
            if getattr(args, name) is not None:
                raise InputError(
                    f"--{name.replace('_', '-')} belongs to hosted models; of a folder options are "
                    "scored, and nothing is drawn. Leave it out."
                )
        return
    if args.models is None:
        raise InputError("--server needs --model, the model's name there.")
    if args.likelihood != "total":
        raise InputError(
            "--likelihood needs the model's files; a hosted model answers in words. Leave it out."
        )


def _write(
    out: Path,
    answers: "pd.DataFrame",
    scores: "BetScores",
    comparison: "pd.DataFrame",
    args: argparse.Namespace,
) -> list[str]:
    """Write tables and figures; return their names."""
    import pandas as pd

    from coherence.batteries.bets.figures import (
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
    # Pairs that share a thing are no independent contexts; --pairs crossed keeps them all the same.
    runs = belief_runs(scores.answers, disjoint=args.pairs == "disjoint")
    tables |= {
        "runs.parquet": runs,
        "ladder_runs.parquet": ladder_runs(scores.answers, rng=args.seed),
    }
    # One model has nobody to be compared with.
    if comparison.get("model", pd.Series()).nunique() > 1:
        tables["models.csv"] = comparison
    if ladders:
        tables["ladder.csv"] = pd.concat(ladders, ignore_index=True)
    # A file without rows would look like a result.
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
