"""``coherence mix``: whether a model can draw at the rates it is asked for."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from coherence.cli.progress import answer_progress
from coherence.cli.reading import is_log
from elicitation.battery import (
    Battery,
    BatteryOptions,
    Results,
    ask_each,
    check_options,
    run_battery,
)
from elicitation.options import add_options, from_words
from elicitation.respondents import Respondent

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.asking.store import AnswerStore, PlannedAnswers

_WRITTEN = (
    r"(scores|measures|curves|dependence)\.csv|(answers|runs)\.parquet"
    r"|(rates(-[1-9][0-9]*)?|flips)\.png"
)


@dataclass(frozen=True, kw_only=True)
class MixOptions(BatteryOptions):
    """Options of the command."""

    command: ClassVar[str] = "mix"

    HELP = """
answers FILE  answers that are there instead: .csv or .parquet, see docs/batteries.md, or a log of
    our task in Inspect (.eval)
max_new_tokens 1..  cut of every answer (default: what a readable answer needs at most)
draws 1..  answers per condition, at temperature 1 (default: 100)
exact  read the rates off the model's probabilities instead of drawing answers
"""

    max_new_tokens: int | None = None
    draws: int | None = None
    exact: bool = False


OPTIONS = MixOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_options(parser, OPTIONS)


def run(args: argparse.Namespace) -> int:
    """Ask or read, score, write and print."""
    return run_battery(from_words(OPTIONS, args), BATTERY)


def _check(options: MixOptions, respondents: Sequence[Respondent]) -> None:
    """Raise for options that do not go together."""
    from coherence.errors import InputError
    from elicitation.questions.question import Way

    check_options(options)
    if options.answers is not None and (options.exact or options.draws is not None):
        raise InputError(
            "--exact and --draws are for --model; the answers of --answers are there already. "
            "Leave them out."
        )
    if options.exact and options.draws is not None:
        raise InputError(
            "--exact draws no answers, so that --draws has no meaning beside it. "
            "Leave one of them out."
        )
    if options.exact and not all(each.can(Way.EXACT) for each in respondents):
        raise InputError(
            "--exact needs the files of the model: a service lists likely first tokens, "
            "which bound its rates, no more. Leave --exact out to draw answers, or name a "
            "folder."
        )


def _planned(options: MixOptions, respondent: Respondent) -> "PlannedAnswers":
    """Return what a model would be asked."""
    from elicitation.asking.store import PlannedAnswers
    from elicitation.batteries.mixing import mixing_draws, mixing_questions

    questions = mixing_questions()
    if options.exact:
        return PlannedAnswers(respondent.stored_name, [question.exact for question in questions])
    drawn = mixing_draws(questions, _draws(options), options.seed, options.max_new_tokens)
    return PlannedAnswers(respondent.stored_name, drawn)


def _draws(options: MixOptions) -> int:
    return 100 if options.draws is None else options.draws


def _read(options: MixOptions) -> "pd.DataFrame":
    """Read a table of answers, or a log of our task in Inspect."""
    from coherence.batteries.mixing.answers import read_mixing_answers

    assert options.answers is not None, "a battery reads where a file was named"
    if not is_log(options.answers):
        return read_mixing_answers(options.answers)
    from elicitation.inspect_logs import read_inspect_mixing

    return read_inspect_mixing(options.answers)


def _ask(
    options: MixOptions, respondents: Sequence[Respondent], store: "AnswerStore"
) -> "pd.DataFrame":
    """Return the answers of all models."""
    alone = len(respondents) == 1
    return ask_each(respondents, partial(_ask_model, options, store, alone=alone))


def _ask_model(
    options: MixOptions,
    store: "AnswerStore",
    respondent: Respondent,
    *,
    alone: bool,
) -> "pd.DataFrame":
    from coherence.report.wording import clean
    from elicitation.batteries.mixing import elicit_mixing, mixing_questions

    draws, name = _draws(options), respondent.name
    if options.exact:
        # Minutes may go by before the first portion is read and the time left is known.
        print(
            f"coherence mix: reading the probabilities of answers to {len(mixing_questions())} "
            "questions, but those in the store",
            file=sys.stderr,
        )
    with answer_progress("" if alone else name) as progress:
        answers = elicit_mixing(
            # It has no name here, so that a local one goes with the call.
            respondent.load(),
            store,
            draws=draws,
            exact=options.exact,
            seed=options.seed,
            batch_size=options.drawn_at_a_time,
            max_new_tokens=options.max_new_tokens,
            keep_going=options.keep_going,
            progress=progress,
        )
    unparsed = 0.0 if options.exact else float(answers["answer"].isna().mean())
    if unparsed > 0.5 and not respondent.hosted:
        print(
            f"warning: {unparsed:.1%} of answers of {clean(name)} are unparsed. --exact reads the "
            "probabilities of answers from the model instead.",
            file=sys.stderr,
        )
    questions = answers.groupby(["experiment", "p", "item", "order"])
    if respondent.hosted and draws > 1 and (questions["raw"].nunique() == 1).all():
        # A service that ignores the temperature looks like a model that cannot mix.
        print(
            f"coherence mix: all draws of a question got the same answer from {name}. "
            "Does its service draw? See docs/servers.md.",
            file=sys.stderr,
        )
    return answers


def _score(options: MixOptions, answers: "pd.DataFrame") -> Results:
    from coherence.batteries.mixing.answers import mixing_runs
    from coherence.batteries.mixing.figures import compare_figure, mixing_figure
    from coherence.batteries.mixing.scores import score_mixing
    from coherence.batteries.mixing.tables import mix_report, mixing_table
    from coherence.plots.style import save_figure
    from coherence.runs.write import write_table

    scores = score_mixing(answers, rng=options.seed)
    models = scores.experiments["model"].unique()
    several = len(models) > 1
    tables = {
        "scores.csv": scores.experiments,
        "measures.csv": scores.measures,
        "curves.csv": scores.curves,
        # Not as CSV: raw texts may hold any character, and a lone carriage return would part a row
        # in two.
        "answers.parquet": answers if options.answers is None else answers[:0],
        "runs.parquet": mixing_runs(answers),
    }
    results = Results(tables, mix_report(scores), paper=[mixing_table(scores.experiments)])
    # Without rows too: no test of dependence was possible.
    results.files["dependence.csv"] = partial(write_table, scores.dependence)
    for number, model in enumerate(models, start=1):
        curves = scores.curves[scores.curves["model"] == model]
        figure = mixing_figure(curves, title=model or "rates")
        # Names of models are text from outside and never become part of a path.
        name = f"rates-{number}.png" if several else "rates.png"
        results.files[name] = partial(save_figure, figure)
    if several and (scores.curves["part"] == "flip").any():
        figure = compare_figure(scores.curves, list(models))
        results.files["flips.png"] = partial(save_figure, figure)
    return results


BATTERY = Battery(
    title="Failure to mix",
    written=_WRITTEN,
    earlier=r"mixing\.(md|tex|csv)",
    check=_check,
    planned=_planned,
    read=_read,
    ask=_ask,
    score=_score,
)
