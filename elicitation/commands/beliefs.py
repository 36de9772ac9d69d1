"""``coherence beliefs``: what a model says, acts on and represents of the same cases, on one page.

One session asks for beliefs, for actions, and for choices between the event and stated chances;
hidden states are kept where the model is at hand. What is not identified has a reason, no number.
"""

import argparse
import json
import math
import sys
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from coherence.cli.folders import in_place, new_files, no_empty_folders, prepare_folder
from coherence.cli.progress import answer_progress
from coherence.table.printable import counted
from elicitation.commands import elicit
from elicitation.commands.dry_run import print_planned
from elicitation.commands.elicit_options import (
    Source,
    design_of,
    load_model,
    plan_of,
    planned_session,
    source_of,
)
from elicitation.commands.model_options import answer_store
from elicitation.options import (
    MODEL,
    MOST_LEVELS,
    SUBJECT,
    USUAL_LEVELS,
    WAYS,
    Answers,
    AskOptions,
    ModelOptions,
    add_options,
    from_words,
    option,
)

if TYPE_CHECKING:
    from coherence.checks.probe import Probe
    from coherence.report.evaluation import EvaluationReport
    from elicitation.models.base import Model
    from elicitation.questions.plan import Plan

FEW_CASES = 40
RUNS, PAGE, RESULTS, STORE = "runs.parquet", "beliefs.html", "beliefs.json", "answers.sqlite"
_OURS = r"beliefs\.(html|json)|runs\.parquet(\.hidden\.safetensors)?"
CHECKS = ("sufficiency", "matching", "calibration")


@dataclass(frozen=True, kw_only=True)
class BeliefsOptions(ModelOptions):
    """Options of the command."""

    command: ClassVar[str] = "beliefs"

    model: str | None = option(
        None,
        "causal model: a folder as written by save_pretrained, a .gguf file, or OWNER/NAME of the "
        "hub; or PROVIDER/NAME of a hosted model; with --server its name there",
        group=MODEL,
        metavar="MODEL",
    )
    agent: str | None = option(
        None, "a simulated agent instead of a model, such as leaky", group=MODEL, metavar="NAME"
    )
    task: str | None = option(
        None,
        "network or data set that supplies the cases, such as asia, or a network of your own: "
        ".bif, .xml, .xmlbif, .bifxml or .json",
        group=SUBJECT,
        metavar="NAME_OR_FILE",
    )
    target: str | None = option(
        None,
        "variable asked about (default: the usual one of the task)",
        group=SUBJECT,
        metavar="VARIABLE",
    )
    positive: str | None = option(
        None,
        "of a network of your own, the state of --target whose probability is asked for (default: "
        "the one called yes, true, present or positive)",
        group=SUBJECT,
        metavar="STATE",
    )
    contexts: int = option(
        FEW_CASES, f"number of cases (default: {FEW_CASES})", group=SUBJECT, least=1
    )
    answers: Answers = option(
        "exact",
        "the distribution over answers without any draw, or drawn answers where a server gives no "
        "such (default: exact)",
        group=WAYS,
    )
    reps: int | None = option(
        None, "draws per question, where answers are drawn (default: 5)", group=WAYS, least=1
    )
    levels: int = option(
        USUAL_LEVELS,
        f"chances that are stated (default: {USUAL_LEVELS}, from 5 to 95 percent)",
        group=WAYS,
        least=2,
        most=MOST_LEVELS,
    )
    seed: int = option(0, "seed of cases, draws and folds (default: 0)", group=WAYS, least=0)
    out: str | None = option(None, "folder for the page and all behind it", metavar="DIR")


OPTIONS = BeliefsOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_options(parser, OPTIONS)


def run(args: argparse.Namespace) -> int:
    """Ask, analyse, probe, show; or only look."""
    from coherence.errors import InputError

    options = from_words(OPTIONS, args)
    if options.out is None:
        raise InputError("--out DIR is missing. Name a folder for the page.")
    with no_empty_folders(options.out):
        folder = prepare_folder(options.out, writes=(RUNS, PAGE, RESULTS))
        status = _ask(_as_asked(options, folder), folder)
    if options.dry_run:
        with suppress(OSError):  # of an earlier call, and not empty
            folder.rmdir()
    return status


def _as_asked(options: BeliefsOptions, folder: Path) -> AskOptions:
    """Return the options of the session."""
    shared = {each.name for each in fields(AskOptions)} & {each.name for each in fields(options)}
    given: dict[str, Any] = {name: getattr(options, name) for name in shared}
    asked = AskOptions(
        **given
        | {
            "prompts": "standard",
            "iterated": False,
            "decision": "matching",
            "out": str(folder / RUNS),
            "store": options.store or str(folder / STORE),
        }
    )
    elicit.check(asked)
    return asked


def _ask(options: AskOptions, folder: Path) -> int:
    from coherence.analysis.analyze import analyze
    from coherence.analysis.three_beliefs import three_beliefs
    from coherence.report.layout import render_parts
    from coherence.table.writing import write_runs
    from elicitation.asking.session import run_plan

    design = design_of(options)
    source = source_of(options)
    plan = _plan(options, source, design)
    assert options.store is not None, "it has a place in the folder"
    if options.dry_run:
        print_planned(options, planned_session(options, source, plan), options.store)
        return 0
    model = load_model(options, source)
    kept = answer_store(Path(options.store), resume=options.resume)
    with kept as store, answer_progress() as progress:
        runs, tally = run_plan(
            model,
            plan,
            store,
            batch_size=options.drawn_at_a_time,
            keep_going=options.keep_going,
            progress=progress,
        )
    elicit.print_tally(f"{options.out}: {counted(len(runs), 'row')}", tally, local=False, first="")
    (evaluation,) = analyze(runs, checks=list(CHECKS), rng=options.seed).evaluations
    where = f"{folder}{in_place(folder, _OURS)}"
    with new_files(folder, _OURS) as new:
        write_runs(runs, new / RUNS)
        probe = _probe(model, plan, new, options.seed)
        print(render_parts([*_said(evaluation), three_beliefs(evaluation, probe)]))
        _write(evaluation, probe, new)
    print(f"wrote {PAGE}, {RESULTS} and {RUNS} to {where}", file=sys.stderr)
    return 0


def _plan(options: AskOptions, source: Source, design: Any) -> "Plan":
    """Return beliefs and actions, and behind them what is offered at stated chances."""
    usual = plan_of(options, source, replace(design, decision="usual", levels=None))
    offered = plan_of(options, source, design).questions
    return replace(
        usual, questions=[*usual.questions, *(each for each in offered if each.spec.is_offer)]
    )


def _probe(model: "Model", plan: "Plan", folder: Path, seed: int) -> "Probe | str":
    """Keep hidden states and read beliefs off them, or say why there are none."""
    from coherence.errors import InputError
    from elicitation.answers.hidden import ENDING, read_states, write_states
    from elicitation.commands.probe import probe_of
    from elicitation.models.base import HiddenModel

    if not isinstance(model, HiddenModel):
        return "hidden states can be read from local models only"
    path = folder / f"{RUNS}{ENDING}"
    states = read_states(model, plan)
    write_states(states, path)
    try:
        return probe_of(str(folder / RUNS), path, seed)[0]
    except InputError as error:  # of few cases, say; what was said and done stands
        return f"not read: {error}"


def _said(evaluation: "EvaluationReport") -> list[str]:
    """Return who was asked, and what the tests say."""
    from coherence.report.acted_on import acted_on_sentence
    from coherence.report.wording import evaluation_heading

    sentences = [*evaluation.conclusion, acted_on_sentence(evaluation.results)]
    return [evaluation_heading(evaluation), *dict.fromkeys(filter(None, sentences)), ""]


def _write(evaluation: "EvaluationReport", probe: "Probe | str", folder: Path) -> None:
    """Write the page and its numbers."""
    from coherence.analysis.three_beliefs import beliefs_figures, three_beliefs
    from coherence.report.pages import environment

    heading, *sentences = _said(evaluation)
    table = three_beliefs(evaluation, probe)
    template = environment("elicitation", "commands").get_template("beliefs.html.j2")
    page = template.render(
        title=heading,
        sentences=list(filter(None, sentences)),
        table=table,
        figures=list(beliefs_figures(evaluation)),
        command=f"coherence analyze {RUNS} --out report",
    )
    numbers = [
        {
            "belief": belief.text,
            **{f"distance{_BEHIND[end]}": _known(value) for end, value in distance.values.items()},
            "note": distance.note,
            "beyond": beyond.text,
        }
        for belief, distance, beyond in table.rows
    ]
    (folder / PAGE).write_text(page, encoding="utf-8")
    text = json.dumps({"evaluation": heading, "beliefs": numbers}, indent=1)
    (folder / RESULTS).write_text(f"{text}\n", encoding="utf-8")


_BEHIND = {"": "", "low": "_low", "high": "_high"}


def _known(value: Any) -> float | None:
    return None if math.isnan(value) else float(value)
