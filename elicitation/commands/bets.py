"""``coherence bets``: whether a model thinks in bets.

Asks it, or scores answers; trains models on bets, and tests what carries over.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from coherence.cli.folders import new_files
from coherence.cli.progress import answer_progress
from coherence.cli.reading import is_log
from coherence.printable import counted
from elicitation.battery import (
    Battery,
    BatteryOptions,
    Results,
    ask_each,
    check_options,
    folder_of,
    paper_folder,
    run_battery,
    write_paper_tables,
)
from elicitation.options import add_options, declared, from_words, typed
from elicitation.respondents import Respondent

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.asking.store import AnswerStore, PlannedAnswers
    from elicitation.batteries.bets.questions import Items
    from elicitation.training.finetuning import TuningRecipe


# Here too, since the module of the questions takes a second to import and --help should not.
Modality = Literal["coin", "dice", "card"]
Value = Literal["boolean-expensive", "boolean-valuable", "choice-expensive", "choice-valuable"]
MODALITIES, VALUES = get_args(Modality), get_args(Value)
PAPER = r"(values|bets|transfer)(-sets)?\.(md|tex|csv)"  # tables of the paper


@dataclass(frozen=True, kw_only=True)
class ItemOptions:
    """What bets are about."""

    HELP = """
items FILE  things of your own: .csv with columns item, value, split and perhaps price
"""

    items: str | None = None


def things_of(path: str | None) -> "Items":
    """Return the user's list of things, or that of the package."""
    from elicitation.batteries.bets.questions import default_items, read_items

    return default_items() if path is None else read_items(path)


def scored_questions(options: ItemOptions) -> "pd.DataFrame":
    """Return all questions for a score: dev and test, values and bets, and the ladder of a coin."""
    import pandas as pd

    from elicitation.batteries.bets.questions import (
        bet_questions,
        ladder_questions,
        value_questions,
    )

    items = things_of(options.items)
    splits = _scored_splits(items)
    # The ladder is of test things alone: whoever trained on bets has not seen them.
    ladder = ladder_questions(items, split=splits[-1])
    values, bets = value_questions(items, splits=splits), bet_questions(items, splits=splits)
    return pd.concat([values, bets, ladder], ignore_index=True)


def _scored_splits(items: "Items") -> list[str]:
    from coherence.errors import InputError

    if not items.of("high", "test"):
        raise InputError(
            "the items have no things in split 'test', on which models are scored. "
            "Give some rows the split 'test'."
        )
    # Dev questions set the thresholds of the threshold method, if there are any.
    return [split for split in ("dev", "test") if items.of("high", split)]


def write_questions(options: ItemOptions, path: str) -> int:
    """Write the questions to a file, to be asked elsewhere."""
    from coherence.runs.write import write_runs

    questions = scored_questions(options)
    write_runs(questions, path, replace=False)
    print(f"{path}: {counted(len(questions), 'question')}", file=sys.stderr)
    return 0


@dataclass(frozen=True, kw_only=True)
class TransferOptions:
    """How models are trained on each kind of bet."""

    HELP = """
out DIR  folder for the trained models, the table and the figure
paper DIR  folder for the tables as the paper lays them out, as Markdown, LaTeX and CSV
model DIR  folder of the model to begin with, as written by save_pretrained
device NAME  torch device (default: a GPU if there is one)
items FILE  things of your own: .csv with columns item, value, split and perhaps price
batch_size  questions per update (default: 32)
learning_rate RATE  of AdamW, constant (default: 5e-5)
goal SHARE  stop at this share of right development answers (default: 0.9)
epochs  stop after so many epochs in any case (default: 20)
seed 0..  seed of the training (default: 0)
"""

    out: str | None = None
    paper: str | None = None
    model: str | None = None
    device: str = "auto"
    items: str | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    goal: float | None = None
    epochs: int | None = None
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class TrainOptions(TransferOptions):
    """What one model is trained on."""

    HELP = """
out DIR  model folder to write
modality NAME  what to train on: coin, dice, card, or value questions: boolean-expensive,
    boolean-valuable, choice-expensive, choice-valuable
"""

    left_out: ClassVar[tuple[str, ...]] = ("paper",)

    out: str | None = None
    modality: Literal[Modality, Value] | None = None


def _recipe(options: TransferOptions) -> "TuningRecipe":
    from elicitation.training.finetuning import TuningRecipe

    settings: dict[str, Any] = {
        "batch_size": options.batch_size,
        "learning_rate": options.learning_rate,
        "goal": options.goal,
        "max_epochs": options.epochs,
    }
    return TuningRecipe(**{name: value for name, value in settings.items() if value is not None})


def _base(options: TransferOptions) -> Path:
    """Return the folder of the model to begin with."""
    from coherence.errors import InputError

    if options.model is None:
        raise InputError("--model DIR is missing. Name the folder of the model to begin with.")
    return Path(options.model)


def _fit(
    options: TransferOptions,
    items: "Items",
    base: Path,
    modality: str,
    out: Path,
    recipe: "TuningRecipe",
) -> dict[str, Any]:
    from coherence.batteries.bets.scores import right_roles
    from elicitation.batteries.bets.option_scores import training_set_from
    from elicitation.batteries.bets.questions import bet_questions, value_questions
    from elicitation.training.finetuning import fine_tune

    lessons = {}
    for split in ("train", "dev"):
        if modality in VALUES:
            questions = value_questions(items, splits=[split], templates=[modality])
        else:
            questions = bet_questions(items, splits=[split], modalities=[modality])
        lessons[split] = training_set_from(questions, right_roles(questions))
    return fine_tune(
        base,
        out,
        lessons["train"],
        lessons["dev"],
        recipe=recipe,
        seed=options.seed,
        device=options.device,
        progress=_show,
    )


def _out(options: TransferOptions) -> Path:
    from coherence.errors import InputError

    if options.out is None:
        raise InputError("--out DIR is missing. Name the folder for what is trained.")
    return folder_of(options.out)


def _show(epoch: int, batch: int, total: int, loss: float) -> None:
    """Print a line when an epoch is over."""
    if batch == total:
        print(f"epoch {epoch}: loss {loss:.3f}", file=sys.stderr)


def train(options: TrainOptions) -> int:
    """Fine-tune a model on one kind of question, and print how it went."""
    from coherence.errors import InputError

    modality = options.modality
    if modality is None:
        raise InputError("--modality NAME is missing. Say what to train on, such as coin.")
    base = _base(options)
    items, out, recipe = things_of(options.items), _out(options), _recipe(options)
    record = _fit(options, items, base, modality, out, recipe)
    print(_course(modality, record))
    print(
        f"{out}: a model folder; score it with: coherence bets --model {out} --out DIR",
        file=sys.stderr,
    )
    return 0


def _course(modality: str, record: Mapping[str, Any]) -> str:
    reached = "goal reached" if record["reached"] else "goal NOT reached"
    share = record["history"][-1]["dev"]
    return (
        f"{modality}: {reached} after {record['epochs']} epochs, {share:.1%} of dev answers right, "
        f"{record['seconds']:.0f} s of processor time"
    )


def transfer(options: TransferOptions) -> int:
    """Train on each kind of bet, test on every kind; write and print the table."""
    import pandas as pd

    from coherence.batteries.bets.figures import plot_transfer
    from coherence.batteries.bets.scores import score_bets
    from coherence.batteries.bets.tables import transfer_report, transfer_tables
    from coherence.plots.style import save_plot
    from coherence.runs.write import write_table
    from elicitation.batteries.bets.option_scores import score_choices
    from elicitation.batteries.bets.questions import bet_questions
    from elicitation.models.local.multiple_choice import load_multiple_choice_model

    base = _base(options)
    items, out, recipe = things_of(options.items), _out(options), _recipe(options)
    paper = paper_folder(options.paper)
    questions = bet_questions(items, splits=["dev", "test"])
    answers = []
    for modality in MODALITIES:
        record = _fit(options, items, base, modality, out / modality, recipe)
        print(_course(modality, record), file=sys.stderr)
        model = load_multiple_choice_model(out / modality, device=options.device, dtype="float32")
        answers.append(score_choices(model, questions).assign(model=modality))
    # What a model was trained on takes the place of its name.
    scores = score_bets(questions, pd.concat(answers, ignore_index=True)).accuracy
    renamed = scores.rename(columns={"model": "trained_on", "template": "tested_on"})
    write_paper_tables(paper, "Thinking in bets", transfer_tables(renamed), earlier=PAPER)
    correct = scores[scores["truth"] == "correct"]
    table = correct.pivot(index="model", columns="template", values="accuracy").loc[
        list(MODALITIES), list(MODALITIES)
    ]
    with new_files(out, r"transfer\.(csv|svg)") as new:
        write_table(renamed.drop(columns="kind"), new / "transfer.csv")
        save_plot(partial(plot_transfer, table), new / "transfer.svg", size=(4.2, 3.6))
    print(transfer_report(renamed[renamed["truth"] == "correct"]))
    print(
        "share of right test bets (95% interval, things as crossed clusters); "
        "a guess is right in 33%"
    )
    print(f"{out}: {', '.join(MODALITIES)}, transfer.csv, transfer.svg", file=sys.stderr)
    return 0


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

    questions: str | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Files that are read."""
        beside = (path for path in (self.questions, self.items) if path is not None)
        return (*super().inputs, *beside)


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


def _planned(options: BetsOptions, respondent: Respondent) -> "PlannedAnswers":
    """Return what a model would be asked."""
    from elicitation.asking.store import PlannedAnswers

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

    file = options.answers
    assert file is not None, "a battery reads where a file was named"
    if is_log(file):
        from elicitation.inspect_logs import read_inspect_bets

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
    from coherence.batteries.bets.scores import belief_runs, ladder_runs, score_bets
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
