"""``coherence elicit``: ask a model, keep every answer, write the runs table."""

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.progress import answer_progress
from coherence.table.printable import counted
from elicitation.commands.elicit_options import (
    OF_A_TASK,
    add_options,
    ahead_of,
    design_of,
    load_model,
    plan_of,
    source_of,
)
from elicitation.commands.looking import check_prices, print_ahead
from elicitation.commands.model_options import (
    answer_store,
    drawn_at_a_time,
    is_hosted,
    warn_of_versions,
)
from elicitation.commands.settings import add_with_settings, take_settings

if TYPE_CHECKING:
    from elicitation.asking.session import Tally
    from elicitation.questions.plan import Plan

_SETTINGS = "docs/eliciting.md#settings"
FEW_PARSED = 0.5
"""Share of parsed answers below which other ways of answering are named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_with_settings(parser, declare, _SETTINGS)


def declare(parser: argparse.ArgumentParser, rare: argparse.ArgumentParser) -> None:
    """Declare the options; `rare` takes those that ``--set`` says, in a study file the same."""
    add_options(parser, rare)
    parser.add_argument(
        "--agent",
        metavar="NAME",
        help="a simulated agent instead of a model, such as leaky; only with --task",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="runs table to write: .parquet, .csv or .jsonl"
    )


def run(args: argparse.Namespace) -> int:
    """Ask, write, sum up; or only look."""
    take_settings(args, declare)
    if args.status is not None:
        _print_status(args.status)
        return 0
    from coherence.table.writing import write_runs
    from elicitation.asking.session import run_plan

    _check(args)
    design = design_of(args)  # an option out of its range is said before cases are drawn
    source = source_of(args)
    plan = plan_of(args, source, design)
    if args.show_prompts is not None:
        _print_prompts(plan, args.show_prompts)
        return 0
    store = args.store or f"{args.out}.answers.sqlite"
    earlier = _earlier_rows(args.out)
    if args.dry_run:
        print_ahead(args, ahead_of(args, source, plan), store)
        _say_if_few(len(source.cases))
        return 0
    # Before the store is opened: a model that cannot be loaded leaves no empty one behind.
    model = load_model(args, source)
    with answer_store(args, store) as opened:
        _say_if_few(len(source.cases))
        with answer_progress() as progress:
            runs, tally = run_plan(
                model,
                plan,
                opened,
                batch_size=drawn_at_a_time(args),
                keep_going=args.keep_going,
                progress=progress,
            )
    write_runs(runs, args.out)
    local = args.agent is None and not is_hosted(args) and args.answers not in ("exact", "forced")
    facts = getattr(model, "facts", None)
    _print_tally(
        f"{args.out}: {counted(len(runs), 'row')}",
        tally,
        local=local,
        # Inside of its thinking a model is not asked for probabilities of answers.
        first=f"{facts.remedy} ends the thinking; then " if facts and facts.thinking else "",
    )
    if len(runs) < earlier:
        print(
            f"note: an earlier table of {earlier:,} rows was replaced by one of {len(runs):,}; "
            f"all answers are kept in {store}.",
            file=sys.stderr,
        )
    return 0


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
        if files := [word for word in args.prompts.split(",") if word.strip().endswith(".toml")]:
            raise InputError(
                f"--agent knows the built-in prompts alone; received --prompts {', '.join(files)}. "
                "Leave the file out, or name a --model."
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
        for name in OF_A_TASK:
            if getattr(args, name) is not None:
                raise InputError(
                    f"--{name.replace('_', '-')} belongs to --task; "
                    "the rows of --questions are the contexts. Leave it out."
                )
    _check_preview(args)
    if drawn_at_a_time(args) < 1:
        raise InputError(f"batch_size must be positive; received {args.batch_size}.")


def _check_out(path: str) -> None:
    from coherence.errors import InputError

    out = Path(path)
    if out.suffix.lower() not in (".parquet", ".csv", ".jsonl"):
        raise InputError(f"--out must end in .parquet, .csv or .jsonl; received {path}.")
    # The table is written at the very end, when all has been asked.
    if out.is_dir():
        raise InputError(f"--out must be a file; {path} is a folder. Choose another name.")
    if not out.absolute().parent.is_dir() or not os.access(out.absolute().parent, os.W_OK):
        raise InputError(
            f"--out must lie in a folder that can be written to; {out.absolute().parent} cannot. "
            "Create it, or choose another."
        )


def _earlier_rows(path: str) -> int:
    """Count the rows of an earlier call; a table that is none of `elicit` is kept, and an error."""
    from coherence.errors import CoherenceError
    from coherence.table.files import require_new
    from coherence.table.reading import read_table

    if not os.path.lexists(path):
        return 0
    with contextlib.suppress(CoherenceError):
        table = read_table(path)
        if {"raw_belief", "status", "seed", "created"} <= {*map(str, table.columns)}:
            return len(table)
    require_new(Path(path), remedy="It is no table of elicit: name another, or move it away.")
    return 0


def _print_tally(opening: str, tally: "Tally", *, local: bool, first: str) -> None:
    share = tally.readable / tally.total
    repaired = f", {tally.repaired} of them repaired" if tally.repaired else ""
    # What a count of readable answers leaves out: thinking, and answers that were cut.
    ends = f", {tally.thought} thought aloud first" if tally.thought else ""
    if tally.truncated:
        ends += f", {tally.truncated} cut before they were complete (raise --max-new-tokens)"
    print(
        f"{opening}, {counted(tally.asked, 'answer')} asked, {tally.reused} reused, "
        f"{share:.1%} of answers parsed{repaired}{ends}; "
        f"{tally.unparsed_rows:.1%} of rows unparsed",
        file=sys.stderr,
    )
    warn_of_versions(tally.served_by)
    if share < FEW_PARSED and local:
        print(
            f"warning: {1 - share:.1%} of answers are unparsed. {first}--answers exact reads the "
            "distribution over the answers in the form from the model, --answers forced draws "
            "among them.",
            file=sys.stderr,
        )
    if tally.masses:
        _print_masses(tally.masses)


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
            "a prefill may help (--set prefill=TEXT); --set min_mass=P leaves such answers unread.",
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
    is_read = table["question"].str.endswith(", distribution")
    sums = [(table[~is_read], "answer"), (table[is_read], "distribution")]
    numbers = [(int(part["answers"].sum()), name) for part, name in sums]
    print(", ".join(counted(number, name) for number, name in numbers if number))


def _check_preview(args: argparse.Namespace) -> None:
    """Raise for numbers of prompts and prices that are none, or that nothing is made of."""
    from coherence.errors import InputError

    if args.show_prompts is not None and args.show_prompts < 1:
        raise InputError(f"--show-prompts must be at least 1; received {args.show_prompts}.")
    check_prices(args)


def _print_prompts(plan: "Plan", n: int) -> None:
    """Print the first questions whose texts differ."""
    from coherence.report.wording import clean

    first = {question.text: question for question in reversed(plan.questions)}
    asked = sorted(first.values(), key=plan.questions.index)[:n]
    for number, question in enumerate(asked, start=1):
        topic = question.topic
        what = f"{topic.role} ({topic.key})" if topic.key else topic.role
        print(f"--- {number}: {clean(what)}, context {question.case + 1}")
        print("\n".join(clean(line) for line in question.text.splitlines()))
