"""``coherence mix``: whether a model can draw at the rates it is asked for."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from coherence.cli.terminal import answer_progress
from elicitation.battery import BatteryOptions, Results, run_battery
from elicitation.declarations import add_options, from_words
from elicitation.respondents import Respondent

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.asking.store import AnswerStore
    from elicitation.questions.question import Question


@dataclass(frozen=True, kw_only=True)
class MixOptions(BatteryOptions):
    """Options of the command."""

    command: ClassVar[str] = "mix"
    title: ClassVar[str] = "Failure to mix"
    written: ClassVar[str] = (
        r"(scores|measures|curves|dependence)\.csv|answers\.parquet|rates(-[1-9][0-9]*)?\.png"
    )
    earlier: ClassVar[str] = r"mixing\.(md|tex|csv)"

    HELP = """
answers FILE  answers that are there instead: .csv or .parquet, see docs/batteries.md
max_new_tokens 1..  cut of every answer (default: what a readable answer needs at most)
draws 1..  answers per condition, at temperature 1 (default: 100)
exact  read the rates off the model's probabilities instead of drawing answers
"""

    max_new_tokens: int | None = None
    draws: int | None = None
    exact: bool = False

    @property
    def n_draws(self) -> int:
        """Answers per condition."""
        return 100 if self.draws is None else self.draws

    def check(self, respondents: Sequence[Respondent]) -> None:
        """Raise for options that do not go together."""
        from coherence.errors import InputError
        from elicitation.ways import Way

        super().check(respondents)
        if self.answers is not None and (self.exact or self.draws is not None):
            raise InputError(
                "--exact and --draws are for --model; the answers of --answers are there already. "
                "Leave them out."
            )
        if self.exact and self.draws is not None:
            raise InputError(
                "--exact draws no answers, so that --draws has no meaning beside it. "
                "Leave one of them out."
            )
        if self.exact and not all(each.can(Way.EXACT) for each in respondents):
            raise InputError(
                "--exact needs the files of the model: a service lists likely first tokens, "
                "which bound its rates, no more. Leave --exact out to draw answers, or name a "
                "folder."
            )

    def planned(self, respondent: Respondent) -> "list[Question]":
        """Return what a model would be asked."""
        from elicitation.batteries.mixing import mixing_draws, mixing_questions

        questions = mixing_questions()
        if self.exact:
            return [question.exact for question in questions]
        return mixing_draws(questions, self.n_draws, self.seed, self.max_new_tokens)

    def read(self, file: str) -> "pd.DataFrame":
        """Read a table of answers."""
        from coherence.batteries.battery import read_answer_table
        from coherence.batteries.mixing.design import TEXTS

        return read_answer_table(file, texts=TEXTS)

    def ask(self, respondent: Respondent, store: "AnswerStore") -> "pd.DataFrame":
        """Return the answers of a model."""
        from coherence.report.wording import clean
        from elicitation.batteries.mixing import elicit_mixing, mixing_questions

        name = respondent.name
        if self.exact:
            # Minutes may go by before the first portion is read and the time left is known.
            print(
                "coherence mix: reading the probabilities of answers to "
                f"{len(mixing_questions())} questions, but those in the store",
                file=sys.stderr,
            )
        with answer_progress("" if len(self.named) == 1 else name) as progress:
            answers = elicit_mixing(
                # It has no name here, so that a local one goes with the call.
                respondent.load(),
                store,
                draws=self.n_draws,
                exact=self.exact,
                seed=self.seed,
                batch_size=self.drawn_at_a_time,
                max_new_tokens=self.max_new_tokens,
                keep_going=self.keep_going,
                progress=progress,
            )
        unparsed = 0.0 if self.exact else float(answers["answer"].isna().mean())
        if unparsed > 0.5 and not respondent.hosted:
            print(
                f"warning: {unparsed:.1%} of answers of {clean(name)} are unparsed. --exact reads "
                "the probabilities of answers from the model instead.",
                file=sys.stderr,
            )
        questions = answers.groupby(["experiment", "p", "item", "order"])
        if respondent.hosted and self.n_draws > 1 and (questions["raw"].nunique() == 1).all():
            # A service that ignores the temperature looks like a model that cannot mix.
            print(
                f"coherence mix: all draws of a question got the same answer from {name}. "
                "Does its service draw? See docs/servers.md.",
                file=sys.stderr,
            )
        return answers

    def score(self, answers: "pd.DataFrame") -> Results:
        """Score answers, and draw rates."""
        from coherence.batteries.mixing.scores import score_mixing
        from coherence.batteries.mixing.shown import mix_report, mixing_figure, mixing_table
        from coherence.plots.style import save_figure
        from coherence.runs.write import write_table

        scores = score_mixing(answers, rng=self.seed)
        models = scores.experiments["model"].unique()
        several = len(models) > 1
        tables = {
            "scores.csv": scores.experiments,
            "measures.csv": scores.measures,
            "curves.csv": scores.curves,
            # Not as CSV: raw texts may hold any character, and a lone carriage return would part a
            # row in two.
            "answers.parquet": answers if self.answers is None else answers[:0],
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
        return results


OPTIONS = MixOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_options(parser, OPTIONS)


def run(args: argparse.Namespace) -> int:
    """Ask or read, score, write and print."""
    return run_battery(from_words(OPTIONS, args))
