"""``coherence bets train`` and ``coherence bets transfer``: fine-tuning on bets.

And what carries over from one kind of bet to another.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from coherence.cli.folders import new_files
from elicitation.commands.battery import folder_of, paper_folder, write_paper_tables
from elicitation.commands.bets_questions import (
    MODALITIES,
    PAPER,
    VALUES,
    Modality,
    Value,
    things_of,
)

if TYPE_CHECKING:
    from elicitation.batteries.bets.items import Items
    from elicitation.training.finetuning import TuningRecipe


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
