"""``coherence bets``: whether a model thinks in bets.

Asks it, or scores answers; trains models on bets, and tests what carries over.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from coherence.cli.folders import new_files
from coherence.cli.terminal import answer_progress
from coherence.printable import counted
from elicitation.battery import (
    BatteryOptions,
    Results,
    folder_of,
    paper_folder,
    run_battery,
    write_paper_tables,
)
from elicitation.declarations import add_options, declared, from_words, typed
from elicitation.respondents import Respondent

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.asking.store import AnswerStore
    from elicitation.batteries.bets.questions import Items
    from elicitation.questions.question import Question


# Here too, since the module of the questions takes a second to import and --help should not.
Modality = Literal["coin", "dice", "card"]
Value = Literal["boolean-expensive", "boolean-valuable", "choice-expensive", "choice-valuable"]
MODALITIES, VALUES = get_args(Modality), get_args(Value)
TITLE = "Thinking in bets"
PAPER = r"(values|bets|transfer)(-sets)?\.(md|tex|csv)"  # tables of the paper


@dataclass(frozen=True, kw_only=True)
class ItemOptions:
    """What bets are about."""

    HELP = """
items FILE  things of your own: .csv with columns item, value, split and perhaps price
"""

    items: str | None = None

    @cached_property
    def things(self) -> "Items":
        """The user's list of things, or that of the package."""
        from elicitation.batteries.bets.questions import default_items, read_items

        return default_items() if self.items is None else read_items(self.items)

    @cached_property
    def scored_questions(self) -> "pd.DataFrame":
        """All questions for a score: dev and test, values and bets, and the ladder of a coin."""
        import pandas as pd

        from coherence.errors import InputError
        from elicitation.batteries.bets.questions import (
            bet_questions,
            ladder_questions,
            value_questions,
        )

        items = self.things
        if not items.of("high", "test"):
            raise InputError(
                "the items have no things in split 'test', on which models are scored. "
                "Give some rows the split 'test'."
            )
        # Dev questions set the thresholds of the threshold method, if there are any.
        splits = [split for split in ("dev", "test") if items.of("high", split)]
        # The ladder is of test things alone: whoever trained on bets has not seen them.
        ladder = ladder_questions(items)
        values, bets = value_questions(items, splits=splits), bet_questions(items, splits=splits)
        return pd.concat([values, bets, ladder], ignore_index=True)


@dataclass(frozen=True, kw_only=True)
class BetsOptions(ItemOptions, BatteryOptions):
    """Options of the command without an action."""

    command: ClassVar[str] = "bets"
    title: ClassVar[str] = TITLE
    written: ClassVar[str] = r"accuracy\.csv|ladder_runs\.parquet"
    earlier: ClassVar[str] = PAPER

    HELP = """
answers FILE  answers of one or several models instead: .csv or .parquet, see docs/batteries.md
questions FILE  the questions that --answers is about, as 'coherence bets questions' wrote them
"""

    questions: str | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Files that are read."""
        beside = (path for path in (self.questions, self.items) if path is not None)
        return (*super().inputs, *beside)

    def check(self, respondents: Sequence[Respondent]) -> None:
        """Raise for options that do not go together."""
        from coherence.errors import InputError

        super().check(respondents)
        hosted = any(each.hosted for each in respondents)
        if not hosted and self.max_new_tokens is not None:
            raise InputError(
                "--max-new-tokens belongs to hosted models; of a folder options are scored, and "
                "nothing is drawn. Leave it out."
            )
        own = self.items is not None
        if self.questions is not None and (self.answers is None or own):
            raise InputError(
                "--questions belongs to --answers, without --items. "
                "Leave it out to use the questions that come with the package."
            )

    def planned(self, respondent: Respondent) -> "list[Question]":
        """Return what a model would be asked."""
        if respondent.hosted:
            from elicitation.batteries.bets.words import bet_draws

            return bet_draws(self.scored_questions, max_new_tokens=self.room)
        from elicitation.batteries.bets.option_scores import option_questions

        return option_questions(self.scored_questions)

    @property
    def room(self) -> int:
        """Tokens of an answer in words."""
        from elicitation.batteries.bets.words import ROOM

        return ROOM if self.max_new_tokens is None else self.max_new_tokens

    def read(self, file: str) -> "tuple[pd.DataFrame, pd.DataFrame]":
        """Read answers, and the questions that they are about."""
        from coherence.batteries.battery import read_answer_table

        if self.questions is not None:
            return read_answer_table(self.questions), read_answer_table(file)
        return self.scored_questions, read_answer_table(file)

    def ask(self, respondent: Respondent, store: "AnswerStore") -> "pd.DataFrame":
        """Return what a model answers: scores of the options, or the letter of one."""
        model, questions = respondent.load(chooses=True), self.scored_questions
        with answer_progress(model.name) as progress:
            if not respondent.hosted:
                from elicitation.batteries.bets.option_scores import score_choices

                return score_choices(model, questions, store=store, progress=progress)
            from elicitation.batteries.bets.words import choose_in_words

            return choose_in_words(
                model,
                questions,
                store,
                keep_going=self.keep_going,
                progress=progress,
                max_new_tokens=self.room,
            )

    def together(self, answers: Mapping[str, Any]) -> "tuple[pd.DataFrame, pd.DataFrame]":
        """Return the questions, which are the same for all models, and the answers."""
        return self.scored_questions, super().together(answers)

    def score(self, answers: "tuple[pd.DataFrame, pd.DataFrame]") -> Results:
        """Score answers, and lay them out as runs."""
        from coherence.batteries.bets.scores import ladder_runs, score_bets
        from coherence.batteries.bets.shown import bet_tables, bets_report

        scores = score_bets(*answers)
        tables = {
            "answers.csv": answers[1],
            "accuracy.csv": scores.accuracy,
            "ladder_runs.parquet": ladder_runs(scores.answers, rng=self.seed),
        }
        return Results(tables, bets_report(scores), paper=bet_tables(scores.accuracy))


@dataclass(frozen=True, kw_only=True)
class QuestionsOptions(ItemOptions):
    """Options of ``coherence bets questions``."""

    HELP = """
out FILE  file to write: .csv or .parquet
"""

    out: str | None = None


@dataclass(frozen=True, kw_only=True)
class TransferOptions(ItemOptions):
    """How models are trained on each kind of bet."""

    HELP = """
out DIR  folder for the trained models, the table and the figure
paper DIR  folder for the tables as the paper lays them out, as Markdown, LaTeX and CSV
model DIR  folder of the model to begin with, as written by save_pretrained
device NAME  torch device (default: a GPU if there is one)
batch_size 1..  questions per update (default: 32)
learning_rate RATE 0..  of AdamW, constant (default: 5e-5)
goal SHARE 0..1  stop at this share of right development answers (default: 0.9)
epochs 1..  stop after so many epochs in any case (default: 20)
seed 0..  seed of the training (default: 0)
"""

    out: str | None = None
    paper: str | None = None
    model: str | None = None
    device: str = "auto"
    batch_size: int = 32
    learning_rate: float = 5e-5
    goal: float = 0.9
    epochs: int = 20
    seed: int = 0

    def trainer(self) -> "Callable[[str, Path], dict[str, Any]]":
        """Return what trains on one kind of question, and returns how it went.

        Raises for what is missing or wrong before anything is trained.
        """
        from elicitation.batteries.bets.option_scores import training_set_from
        from elicitation.batteries.bets.questions import bet_questions, value_questions
        from elicitation.training.finetuning import TuningRecipe, fine_tune

        missing = "--model DIR is missing. Name the folder of the model to begin with."
        base, items = _required(self.model, missing), self.things
        _ = self.folder
        recipe = TuningRecipe(self.batch_size, self.learning_rate, self.goal, self.epochs)

        def train(modality: str, out: Path) -> dict[str, Any]:
            lessons = []
            for split in ("train", "dev"):
                if modality in VALUES:
                    questions = value_questions(items, splits=[split], templates=[modality])
                else:
                    questions = bet_questions(items, splits=[split], modalities=[modality])
                lessons.append(training_set_from(questions))
            return fine_tune(
                base,
                out,
                *lessons,
                recipe=recipe,
                seed=self.seed,
                device=self.device,
                progress=_show,
            )

        return train

    @property
    def folder(self) -> Path:
        """Where what is trained goes."""
        missing = "--out DIR is missing. Name the folder for what is trained."
        return folder_of(_required(self.out, missing))


@dataclass(frozen=True, kw_only=True)
class TrainOptions(TransferOptions):
    """What one model is trained on."""

    HELP = """
out DIR  model folder to write
modality NAME  what to train on: coin, dice, card, or value questions: boolean-expensive,
    boolean-valuable, choice-expensive, choice-valuable
"""

    left_out: ClassVar[tuple[str, ...]] = ("paper",)

    modality: Literal[Modality, Value] | None = None


def _required(value: str | None, missing: str) -> str:
    """Return what an option says; raise where it was not said."""
    from coherence.errors import InputError

    if value is None:
        raise InputError(missing)
    return value


def _show(epoch: int, batch: int, total: int, loss: float) -> None:
    """Print a line when an epoch is over."""
    if batch == total:
        print(f"epoch {epoch}: loss {loss:.3f}", file=sys.stderr)


def _questions(options: "QuestionsOptions") -> None:
    """Write the questions to a file, to be asked elsewhere."""
    from coherence.runs.write import write_runs

    path = _required(options.out, "--out FILE is missing. Name the file that the questions go to.")
    write_runs(options.scored_questions, path, replace=False)
    print(f"{path}: {counted(len(options.scored_questions), 'question')}", file=sys.stderr)


def _train(options: TrainOptions) -> None:
    """Fine-tune a model on one kind of question, and print how it went."""
    modality = _required(
        options.modality, "--modality NAME is missing. Say what to train on, such as coin."
    )
    train, out = options.trainer(), options.folder
    print(_course(modality, train(modality, out)))
    print(
        f"{out}: a model folder; score it with: coherence bets --model {out} --out DIR",
        file=sys.stderr,
    )


def _course(modality: str, record: Mapping[str, Any]) -> str:
    reached = "goal reached" if record["reached"] else "goal NOT reached"
    share = record["history"][-1]["dev"]
    return (
        f"{modality}: {reached} after {record['epochs']} epochs, {share:.1%} of dev answers right, "
        f"{record['seconds']:.0f} s of processor time"
    )


def _transfer(options: TransferOptions) -> None:
    """Train on each kind of bet, test on every kind; write and print the table."""
    import pandas as pd

    from coherence.batteries.bets.scores import score_bets
    from coherence.batteries.bets.shown import plot_transfer, transfer_tables
    from coherence.plots.style import save_plot
    from coherence.runs.write import write_table
    from elicitation.batteries.bets.option_scores import score_choices
    from elicitation.batteries.bets.questions import bet_questions
    from elicitation.models.local.multiple_choice import load_multiple_choice_model

    train, out = options.trainer(), options.folder
    paper = paper_folder(options.paper)
    questions = bet_questions(options.things, splits=["dev", "test"])
    answers = []
    for modality in MODALITIES:
        print(_course(modality, train(modality, out / modality)), file=sys.stderr)
        model = load_multiple_choice_model(out / modality, device=options.device, dtype="float32")
        answers.append(score_choices(model, questions).assign(model=modality))
    # What a model was trained on takes the place of its name.
    scores = score_bets(questions, pd.concat(answers, ignore_index=True)).accuracy
    renamed = scores.rename(columns={"model": "trained_on", "template": "tested_on"})
    write_paper_tables(paper, TITLE, transfer_tables(renamed), earlier=PAPER)
    correct = scores[scores["truth"] == "correct"]
    table = correct.pivot(index="model", columns="template", values="accuracy").loc[
        list(MODALITIES), list(MODALITIES)
    ]
    with new_files(out, r"transfer\.(csv|svg)") as new:
        write_table(renamed.drop(columns="kind"), new / "transfer.csv")
        save_plot(partial(plot_transfer, table), new / "transfer.svg", size=(4.2, 3.6))
    print(f"share of right test bets, trained on x tested on:\n{table.round(3).to_string()}")
    print(f"{out}: {', '.join(MODALITIES)}, transfer.csv, transfer.svg", file=sys.stderr)


OPTIONS = BetsOptions
_ACTIONS: dict[str, tuple[str, type[Any], Callable[[Any], None]]] = {
    "questions": (
        "write the questions to a CSV file, to be asked elsewhere",
        QuestionsOptions,
        _questions,
    ),
    "train": ("fine-tune a multiple-choice model on one kind of question", TrainOptions, _train),
    "transfer": ("train on each kind of bet, test on every kind", TransferOptions, _transfer),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options, and those of the actions."""
    add_options(parser, OPTIONS)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    for name, (summary, options, _) in _ACTIONS.items():
        described = summary[0].upper() + summary[1:] + "."
        action = actions.add_parser(name, help=summary, description=described, allow_abbrev=False)
        add_options(action, options, prefix=f"{name}_")


def run(args: argparse.Namespace) -> int:
    """Ask or read, score, write and print; or write questions, train, or test transfer."""
    if args.action is None:
        return run_battery(from_words(OPTIONS, args))
    from coherence.errors import InputError

    stray = [name for name in declared(OPTIONS) if name in vars(args)]
    if stray or args.settings:
        name = typed(OPTIONS, stray[0]) if stray else f"--set {args.settings[0]}"
        raise InputError(
            f"{name} does not belong to 'coherence bets {args.action}'. "
            "Options of an action stand behind its name."
        )
    _, options, act = _ACTIONS[args.action]
    act(from_words(options, args, prefix=f"{args.action}_"))
    return 0
