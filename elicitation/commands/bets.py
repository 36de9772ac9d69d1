"""``coherence bets``: whether a model thinks in bets.

Asks it, or scores answers; trains models on bets, and tests what carries over.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from coherence.cli.progress import answer_progress
from coherence.cli.reading import is_log
from elicitation.commands.answer_store import PlannedAnswers
from elicitation.commands.battery import (
    Battery,
    BatteryOptions,
    Results,
    ask_each,
    check_options,
    run_battery,
)
from elicitation.commands.bets_questions import PAPER, ItemOptions, scored_questions
from elicitation.commands.bets_training import TrainOptions, TransferOptions
from elicitation.options import add_options, declared, from_words, typed
from elicitation.respondents import Respondent

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.asking.store import AnswerStore

_WRITTEN = r"accuracy\.csv|(runs|ladder_runs)\.parquet|accuracy_[1-9][0-9]*\.svg"


@dataclass(frozen=True, kw_only=True)
class BetsOptions(ItemOptions, BatteryOptions):
    """Options of the command without an action."""

    command: ClassVar[str] = "bets"

    HELP = """
answers FILE  answers of one or several models instead: .csv or .parquet, see docs/batteries.md,
    or a log of our task in Inspect (.eval)
questions FILE  the questions that --answers is about, as 'coherence bets questions' wrote them
"""

    answers: str | None = None
    questions: str | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Files that are read."""
        beside = (path for path in (self.questions, self.items) if path is not None)
        return (*self.answer_files, *beside)


@dataclass(frozen=True, kw_only=True)
class QuestionsOptions(ItemOptions):
    """Options of ``coherence bets questions``."""

    HELP = """
out FILE  file to write: .csv or .parquet
"""

    out: str | None = None


OPTIONS = BetsOptions
_ACTIONS: dict[str, tuple[str, type[Any]]] = {
    "questions": ("write the questions to a CSV file, to be asked elsewhere", QuestionsOptions),
    "train": ("fine-tune a multiple-choice model on one kind of question", TrainOptions),
    "transfer": ("train on each kind of bet, test on every kind", TransferOptions),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options, and those of the actions."""
    add_options(parser, OPTIONS)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    for name, (summary, options) in _ACTIONS.items():
        described = summary[0].upper() + summary[1:] + "."
        action = actions.add_parser(name, help=summary, description=described, allow_abbrev=False)
        add_options(action, options, prefix=f"{name}_")


def run(args: argparse.Namespace) -> int:
    """Ask or read, score, write and print; or write questions, train, or test transfer."""
    if args.action is None:
        return run_battery(from_words(OPTIONS, args), BATTERY)
    from coherence.errors import InputError
    from elicitation.commands.bets_questions import write_questions
    from elicitation.commands.bets_training import train, transfer

    stray = [name for name in declared(OPTIONS) if name in vars(args)]
    if stray or args.settings:
        name = typed(OPTIONS, stray[0]) if stray else f"--set {args.settings[0]}"
        raise InputError(
            f"{name} does not belong to 'coherence bets {args.action}'. "
            "Options of an action stand behind its name."
        )
    own = from_words(_ACTIONS[args.action][1], args, prefix=f"{args.action}_")
    if isinstance(own, QuestionsOptions):
        if own.out is None:
            raise InputError("--out FILE is missing. Name the file that the questions go to.")
        return write_questions(own, own.out)
    return train(own) if isinstance(own, TrainOptions) else transfer(own)


def _check(options: BetsOptions, respondents: Sequence[Respondent]) -> None:
    """Raise for options that do not go together."""
    from coherence.errors import InputError

    check_options(options)
    hosted = any(each.hosted for each in respondents)
    if not hosted and options.max_new_tokens is not None:
        raise InputError(
            "--max-new-tokens belongs to hosted models; of a folder options are scored, and "
            "nothing is drawn. Leave it out."
        )
    own = options.items is not None
    if options.questions is not None and (options.answers is None or own):
        raise InputError(
            "--questions belongs to --answers, without --items. "
            "Leave it out to use the questions that come with the package."
        )
    log = options.answers is not None and is_log(options.answers)
    if log and (own or options.questions is not None):
        raise InputError(
            f"the log {options.answers} holds its questions. Leave out --questions and --items."
        )


def _planned(options: BetsOptions, respondent: Respondent) -> PlannedAnswers:
    """Return what a model would be asked."""
    questions = scored_questions(options)
    if respondent.hosted:
        from elicitation.batteries.bets.words import bet_draws

        return PlannedAnswers(
            respondent.stored_name, bet_draws(questions, max_new_tokens=_room(options))
        )
    from elicitation.batteries.bets.option_scores import option_questions

    return PlannedAnswers(respondent.stored_name, option_questions(questions))


def _room(options: BetsOptions) -> int:
    """Return the tokens of an answer in words."""
    from elicitation.batteries.bets.words import ROOM

    return ROOM if options.max_new_tokens is None else options.max_new_tokens


def _read(options: BetsOptions) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Read answers, and the questions that they are about."""
    from coherence.batteries.battery import read_answer_table

    (file,) = options.answer_files
    if is_log(file):
        from elicitation.commands.inspect_logs import read_inspect_bets

        return read_inspect_bets(file)
    if options.questions is not None:
        return read_answer_table(options.questions), read_answer_table(file)
    questions, answers = scored_questions(options), read_answer_table(file)
    # Answers by name alone would else be scored against other things.
    _check_known(questions, answers)
    return questions, answers


def _check_known(questions: "pd.DataFrame", answers: "pd.DataFrame") -> None:
    """Raise for answers to questions from other things."""
    from coherence.errors import InputError

    if "question" not in answers.columns:
        return  # said where answers are joined to questions
    unknown = answers["question"].astype(str)[~answers["question"].isin(questions["question"])]
    if not len(unknown):
        return
    raise InputError(
        f"{len(unknown)} of {len(answers)} answers are to questions that are not asked here, "
        f"the first to {unknown.iloc[0]!r}. Say --items as for the questions that were answered, "
        "or leave it out as for them, or name their file with --questions."
    )


def _ask(
    options: BetsOptions, respondents: Sequence[Respondent], store: "AnswerStore"
) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Ask all models the same questions."""
    questions = scored_questions(options)
    return questions, ask_each(
        respondents, lambda each: _ask_model(options, each, questions, store)
    )


def _ask_model(
    options: BetsOptions,
    respondent: Respondent,
    questions: "pd.DataFrame",
    store: "AnswerStore",
) -> "pd.DataFrame":
    model = respondent.load(chooses=True)
    if not respondent.hosted:
        from elicitation.batteries.bets.option_scores import score_choices

        with answer_progress(model.name) as progress:
            return score_choices(model, questions, store=store, progress=progress)
    from elicitation.batteries.bets.words import choose_in_words

    with answer_progress(model.name) as progress:
        return choose_in_words(
            model,
            questions,
            store,
            keep_going=options.keep_going,
            progress=progress,
            max_new_tokens=_room(options),
        )


def _score(options: BetsOptions, asked: "tuple[pd.DataFrame, pd.DataFrame]") -> Results:
    from coherence.batteries.bets import figures
    from coherence.batteries.bets.runs import belief_runs, ladder_runs
    from coherence.batteries.bets.scores import score_bets
    from coherence.batteries.bets.tables import bet_tables, bets_report
    from coherence.plots.style import save_plot

    questions, answers = asked
    scores = score_bets(questions, answers)
    tables = {
        "answers.csv": answers,
        "accuracy.csv": scores.accuracy,
        "runs.parquet": belief_runs(scores.answers),
        "ladder_runs.parquet": ladder_runs(scores.answers, rng=options.seed),
    }
    text, paper = bets_report(scores), bet_tables(scores.accuracy)
    results = Results(tables, text, paper=paper)

    def draw(name: str, plot: Any, table: "pd.DataFrame", size: tuple[float, float]) -> None:
        results.files[name] = partial(save_plot, partial(plot, table), size=size)

    # Names of models are not used in file names: they may come from a file of answers.
    for number, (_, rows) in enumerate(scores.accuracy.groupby("model", sort=False), start=1):
        size = figures.accuracy_size(rows)
        draw(f"accuracy_{number}.svg", figures.plot_accuracies, rows, size)
    return results


BATTERY = Battery(
    title="Thinking in bets",
    written=_WRITTEN,
    earlier=PAPER,
    check=_check,
    planned=_planned,
    read=_read,
    ask=_ask,
    score=_score,
)
