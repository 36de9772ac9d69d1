"""``coherence elicit``: ask a model, keep every answer, write the runs table."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.progress import answer_progress
from coherence.table.printable import counted
from elicitation.commands.elicit_preview import (
    add_preview_options,
    check_preview_options,
    print_preview,
    print_prompts,
)
from elicitation.commands.elicit_session import (
    PROMPTS,
    design_of,
    load_model,
    named_model,
    plan_of,
    source_of,
)
from elicitation.commands.hosted_options import is_hosted
from elicitation.commands.model_options import (
    add_model_options,
    add_store_options,
    ask_and_keep,
    drawn_at_a_time,
)
from elicitation.commands.task_options import TASK_OPTIONS, add_task_options

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.asking.session import Tally
    from elicitation.asking.store import AnswerStore
    from elicitation.commands.elicit_session import Source
    from elicitation.questions.plan import Plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model_options(parser, kind="causal or multiple-choice model", server=True, chat=True)
    _add_subject(parser)
    _add_answers(parser)
    _add_design(parser)
    parser.add_argument(
        "--out", metavar="FILE", help="runs table to write: .parquet, .csv or .jsonl"
    )
    add_store_options(parser, usual="OUT.answers.sqlite")
    add_preview_options(parser)
    parser.add_argument(
        "--status",
        metavar="STORE",
        help="count the answers of a store by model, question and status, and do nothing else",
    )


def _add_subject(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agent",
        metavar="NAME",
        help="a simulated agent instead of a model, such as leaky; only with --task",
    )
    parser.add_argument(
        "--task",
        metavar="NAME_OR_FILE",
        help="network or data set that supplies the cases, such as asia or randhie, or a network "
        "of your own: .bif, .xml, .xmlbif or .json",
    )
    parser.add_argument(
        "--questions",
        metavar="FILE",
        help="questions of your own instead of a network: .csv or .jsonl, see docs/eliciting.md",
    )
    parser.add_argument(
        "--target",
        metavar="VARIABLE",
        help="variable asked about (default: the usual one of the task)",
    )
    parser.add_argument(
        "--contexts", type=int, metavar="N", help="number of contexts of a network (default: 200)"
    )
    add_task_options(parser)


def _add_answers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--answers",
        default="drawn",
        choices=("drawn", "forced", "exact"),
        help="free text that is read, drawn from the answers in the form asked for, or the "
        "distribution over these without any draw; see docs/eliciting.md (default: drawn)",
    )
    parser.add_argument(
        "--min-mass",
        type=float,
        default=0.0,
        metavar="P",
        help="leave unread what is read off answers that have less probability together "
        "(default: 0; below .5 the status says low_mass)",
    )


def _add_design(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reps",
        type=int,
        metavar="N",
        help="draws per question (default: 5; with --answers exact nothing is drawn)",
    )
    parser.add_argument(
        "--prompts",
        default=",".join(PROMPTS),
        metavar="LIST",
        help="framings of the belief question, and .toml files with framings of your own "
        f"(default: {','.join(PROMPTS)})",
    )
    parser.add_argument(
        "--belief",
        default="verbalised",
        choices=("verbalised", "token", "sampled"),
        help="stated as a number, read from the probability of Yes, or from the rate of Yes over "
        "draws (default: verbalised)",
    )
    parser.add_argument(
        "--draws",
        type=int,
        default=20,
        metavar="N",
        help="answers of one sampled belief (default: 20)",
    )
    parser.add_argument(
        "--no-lie",
        action="store_true",
        help="leave out the questions of the law of iterated expectation",
    )
    parser.add_argument(
        "--temperature",
        type=float,
        default=1.0,
        metavar="T",
        help="0 takes the most probable answer (default: 1)",
    )
    parser.add_argument(
        "--max-new-tokens",
        type=int,
        metavar="N",
        help="cut of every answer (default: 256, or what a longer form needs; a model that thinks "
        "aloud needs thousands)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the cases and of the draws (default: 0)",
    )


def run(args: argparse.Namespace) -> int:
    """Ask, write, sum up; or only look."""
    if args.status is not None:
        _print_status(args.status)
        return 0
    _check(args)
    design = design_of(args)  # an option out of its range is said before cases are drawn
    source = source_of(args)
    plan = plan_of(args, source, design)
    if args.show_prompts is not None:
        print_prompts(plan, args.show_prompts)
        return 0
    store = args.store or f"{args.out}.answers.sqlite"
    if args.dry_run:
        print_preview(args, plan, named_model(args), store)
        _say_if_few(len(source.cases))
        return 0
    return _ask(args, source, plan, store)


def _say_if_few(n_contexts: int) -> None:
    """Say before anything is paid for that no test is possible."""
    from coherence.inputs import MIN_CONTEXTS

    if n_contexts < MIN_CONTEXTS:
        print(
            f"coherence elicit: {n_contexts} contexts are fewer than {MIN_CONTEXTS}, which every "
            "test and interval needs at least; what is asked can be read, and not tested. See "
            "coherence power for how many an effect takes.",
            file=sys.stderr,
        )


def _check(args: argparse.Namespace) -> None:
    """Raise for what can be known before anything is loaded, rather than after hours of asking."""
    from coherence.errors import InputError

    # An agent stands for a model.
    needed = ["out"] if args.agent else ["model", "out"]
    if args.show_prompts is not None:
        needed = []
    missing = [name for name in needed if getattr(args, name) is None]
    if args.agent is not None:
        for name in ("questions", "server", "model"):
            if getattr(args, name) is not None:
                raise InputError(
                    f"--agent answers the questions of --task by itself; leave --{name} out."
                )
    if args.prefill and (args.agent is not None or is_hosted(args)):
        raise InputError(
            "--prefill begins the answers of a local model; others begin theirs by themselves. "
            "Leave it out."
        )
    if (args.task is None) == (args.questions is None):
        missing.append("task (or --questions, but not both)")
    if missing:
        raise InputError(
            f"needed: --{', --'.join(missing)}. 'coherence elicit --help' lists all options."
        )
    if args.out is not None:
        _check_out(args.out)
    if args.questions is not None:
        for name in ("target", "contexts", *TASK_OPTIONS):
            if getattr(args, name) is not None:
                raise InputError(
                    f"--{name.replace('_', '-')} belongs to --task; "
                    "the rows of --questions are the contexts. Leave it out."
                )
    check_preview_options(args)
    if drawn_at_a_time(args) < 1:
        raise InputError(f"batch_size must be positive; received {args.batch_size}.")


def _check_out(path: str) -> None:
    from coherence.errors import InputError

    out = Path(path)
    if out.suffix.lower() not in (".parquet", ".csv", ".jsonl"):
        raise InputError(f"--out must end in .parquet, .csv or .jsonl; received {path}.")
    # The table is written at the very end, when all has been asked.
    if not out.absolute().parent.is_dir() or not os.access(out.absolute().parent, os.W_OK):
        raise InputError(
            f"--out must lie in a folder that can be written to; {out.absolute().parent} cannot. "
            "Create it, or choose another."
        )


def _ask(args: argparse.Namespace, source: "Source", plan: "Plan", path: str) -> int:
    from coherence.table.storage import write_runs
    from elicitation.asking.session import run_plan

    # Before the store is opened: a model that cannot be loaded leaves no empty one behind.
    model = load_model(args, source)

    def asking(store: "AnswerStore") -> "tuple[pd.DataFrame, Tally]":
        _say_if_few(len(source.cases))
        with answer_progress() as progress:
            return run_plan(
                model,
                plan,
                store,
                batch_size=drawn_at_a_time(args),
                keep_going=args.keep_going,
                progress=progress,
            )

    result = ask_and_keep(args, path, asking)
    if result is None:
        return 130
    runs, tally = result
    write_runs(runs, args.out)
    share = tally.readable / tally.total
    repaired = f", {tally.repaired} of them repaired" if tally.repaired else ""
    print(
        f"{args.out}: {counted(len(runs), 'row')}, {counted(tally.asked, 'answer')} asked, "
        f"{tally.reused} reused, "
        f"{share:.1%} readable{repaired}{_how_answers_ended(tally)}",
        file=sys.stderr,
    )
    if tally.masses:
        _print_masses(tally.masses)
    return 0


def _how_answers_ended(tally: "Tally") -> str:
    """Say what a count of readable answers leaves out: thinking, and answers that were cut."""
    said = f", {tally.thought} thought aloud first" if tally.thought else ""
    if tally.truncated:
        said += f", {tally.truncated} cut before they were complete (raise --max-new-tokens)"
    return said


def _print_masses(masses: "tuple[float, ...]") -> None:
    """Say how much the model had for the form, and warn where it would rather say other things."""
    import statistics

    median = statistics.median(masses)
    print(
        f"answers in the form asked for have probability {median:.2g} (median over rows; of a row "
        f"the least of its answers) and {min(masses):.2g} (smallest)",
        file=sys.stderr,
    )
    if median < 0.5:
        print(
            "warning: that is less than one half: the model would mostly say something else, and "
            "what was read is conditional on the form (status low_mass). Another prompt or "
            "--prefill may help; --min-mass leaves such answers unread.",
            file=sys.stderr,
        )


def _print_status(path: str) -> None:
    from coherence.report.columns import aligned
    from coherence.report.wording import clean
    from elicitation.asking.overview import summarise_store

    table = summarise_store(path)
    if table.empty:
        print("no answers yet")
        return
    rows = [
        # A store may come from elsewhere; its texts must not command the terminal.
        [clean(model), clean(question), str(answers), status]
        for model, question, status, answers in table.itertuples(index=False)
    ]
    print("\n".join(aligned([["model", "question", "answers", "status"], *rows], right=(2,))))
    print(counted(int(table["answers"].sum()), "answer"))
