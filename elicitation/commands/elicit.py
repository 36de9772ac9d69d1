"""``coherence elicit``: ask a model, keep every answer, write the runs table."""

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.terminal import answer_progress
from coherence.printable import counted
from elicitation.declarations import add_options, from_words
from elicitation.options import AskOptions
from elicitation.respondents import (
    Local,
    design_of,
    plan_of,
    require_fitting,
    respondent_of,
    source_of,
)

if TYPE_CHECKING:
    from elicitation.asking.session import Tally
    from elicitation.questions.plan import Plan

OPTIONS = AskOptions
FEW_PARSED = 0.5
"""Share of parsed answers below which other ways of answering are named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_options(parser, OPTIONS)


def run(args: argparse.Namespace) -> int:
    """Ask, write, sum up; or only look."""
    from coherence.errors import InputError
    from coherence.runs.write import write_runs
    from elicitation.asking.session import run_plan
    from elicitation.asking.store import answer_store, outlook

    options = from_words(OPTIONS, args)
    _check(options)
    design = design_of(options)  # an option out of its range is said before cases are drawn
    source = source_of(options)
    plan = plan_of(options, source, design)
    if options.show_prompts is not None:
        _print_prompts(plan, options.show_prompts)
        return 0
    assert options.out is not None, "options were checked"
    respondent = respondent_of(options, source)
    if options.prefill and not isinstance(respondent, Local):
        raise InputError(
            "--set prefill begins the answers of a local model; others begin theirs by themselves. "
            "Leave it out."
        )
    store = options.store or f"{options.out}.answers.sqlite"
    _require_own(options.out)
    if options.dry_run:
        print(outlook(plan.questions, model_name=respondent.stored_name, store=store))
        _say_if_few(len(source.cases))
        return 0
    # Before the store is opened: a model that cannot be loaded leaves no empty one behind.
    model = respondent.load()
    with answer_store(Path(store)) as opened:
        _say_if_few(len(source.cases))
        with answer_progress() as progress:
            runs, tally = run_plan(
                model,
                plan,
                opened,
                batch_size=options.drawn_at_a_time,
                keep_going=options.keep_going,
                progress=progress,
            )
    write_runs(runs, options.out)
    local = isinstance(respondent, Local) and options.answers not in ("exact", "forced")
    facts = getattr(model, "facts", None)
    print_tally(
        f"{options.out}: {counted(len(runs), 'row')}",
        tally,
        local=local,
        # Inside of its thinking a model is not asked for probabilities of answers.
        first=f"{facts.remedy} ends the thinking; then " if facts and facts.thinking else "",
    )
    if runs["belief_kind"].eq("stated:masked").any():
        print(
            "warning: the server masks answers one token at a time: they are no draws of what it "
            "says in this form (stated:masked, docs/servers.md). --answers drawn reads free text.",
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


def _check(options: AskOptions) -> None:
    """Raise for what can be known before anything is loaded, rather than after hours of asking."""
    from coherence.errors import InputError

    # An agent stands for a model.
    needed = ["out"] if options.agent else ["model", "out"]
    if options.show_prompts is not None:
        needed = []
    missing = [name for name in needed if getattr(options, name) is None]
    require_fitting(options)
    if (options.task is None) == (options.questions is None):
        missing.append("task (or --questions, but not both)")
    if missing:
        raise InputError(
            f"needed: --{', --'.join(missing)}. 'coherence elicit --help' lists all options."
        )
    if options.out is not None:
        _check_out(options.out)


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


def _require_own(path: str) -> None:
    """Refuse to replace a file that is no table of an earlier call."""
    from coherence.errors import CoherenceError
    from coherence.runs.files import require_new
    from coherence.runs.formats import read_table

    with contextlib.suppress(CoherenceError):
        columns = read_table(path).table.columns if os.path.lexists(path) else ()
        if {"raw_belief", "status", "seed", "created"} <= {*map(str, columns)}:
            return
    require_new(Path(path), remedy="It is no table of elicit: name another, or move it away.")


def print_tally(opening: str, tally: "Tally", *, local: bool, first: str) -> None:
    """Print how many answers were asked and parsed, and warn where that is few."""
    from elicitation.ways import WIDEST_SHARE

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
    print(tally.warning, end="", file=sys.stderr)
    if share < FEW_PARSED and local:
        print(
            f"warning: {1 - share:.1%} of answers are unparsed. {first}--answers exact reads the "
            "distribution over the answers in the form from the model, --answers forced draws "
            "among them.",
            file=sys.stderr,
        )
    if tally.too_wide:
        print(
            f"warning: bounds of {counted(tally.too_wide, 'belief')} are wider than "
            f"{WIDEST_SHARE}, which leaves them unparsed: the first tokens that the server lists "
            "leave too much open, as where many others or a blank come before a label. "
            "--belief sampled needs no list.",
            file=sys.stderr,
        )
    # Of a list that is too short the probabilities are least bounds, which blame the form.
    if tally.masses and tally.too_wide < len(tally.masses):
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
            "what was read is conditional on the form (status low_mass). Another prompt may "
            "help, or of a local model a prefill (--set prefill=TEXT); --set min_mass=P leaves "
            "such answers unread.",
            file=sys.stderr,
        )


def _print_prompts(plan: "Plan", n: int) -> None:
    """Print the first questions whose texts differ."""
    from coherence.report.wording import clean

    first = {question.text: question for question in reversed(plan.questions)}
    asked = sorted(first.values(), key=plan.questions.index)[:n]
    for number, question in enumerate(asked, start=1):
        spec = question.spec
        what = f"{spec.role} ({spec.key})" if spec.key else spec.role
        print(f"--- {number}: {clean(what)}, context {question.case + 1}")
        print("\n".join(clean(line) for line in question.text.splitlines()))
