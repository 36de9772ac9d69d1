"""``coherence bets train`` and ``coherence bets transfer``: fine-tuning on bets.

And what carries over from one kind of bet to another.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.cli.folders import new_files
from elicitation.commands.battery import folder_of, paper_folder, write_paper_tables
from elicitation.commands.bets_questions import MODALITIES, PAPER, VALUES, things_of

if TYPE_CHECKING:
    from elicitation.batteries.bets.items import Items
    from elicitation.training.finetuning import BatchProgress, TuningRecipe


def _recipe(args: argparse.Namespace) -> "TuningRecipe":
    from dataclasses import replace

    from elicitation.batteries.bets.models import SCRATCH
    from elicitation.training.finetuning import TuningRecipe

    settings = {
        "batch_size": args.update_size,
        "learning_rate": args.learning_rate,
        "goal": args.goal,
        "max_epochs": args.epochs,
    }
    return replace(
        SCRATCH if args.from_scratch else TuningRecipe(),
        **{name: value for name, value in settings.items() if value is not None},
    )


def _base(args: argparse.Namespace, items: "Items", out: Path, show: "BatchProgress") -> Path:
    """Return the folder of the model to begin with, made if it is to be."""
    from coherence.errors import InputError

    if (args.model is None) == (not args.from_scratch):
        raise InputError("needed: --model DIR, or --from-scratch, and not both.")
    if args.model is not None:
        return Path(args.model)
    from elicitation.batteries.bets.models import make_value_reader

    make_value_reader(out / "values", items, seed=args.seed, progress=show)
    return out / "values"


def _fit(
    args: argparse.Namespace,
    items: "Items",
    base: Path,
    modality: str,
    out: Path,
    recipe: "TuningRecipe",
    show: "BatchProgress",
) -> dict[str, Any]:
    from coherence.batteries.bets.scores import right_roles
    from elicitation.batteries.bets.models import lessons_from, with_values
    from elicitation.batteries.bets.questions import bet_questions, value_questions
    from elicitation.training.finetuning import fine_tune

    lessons = {}
    for split in ("train", "dev"):
        if modality in VALUES:
            questions = value_questions(items, splits=[split], templates=[modality])
        else:
            questions = bet_questions(items, splits=[split], modalities=[modality])
        lessons[split] = lessons_from(questions, right_roles(questions))
    # A small model forgets values while it learns bets; see `with_values`.
    if args.from_scratch:
        lessons["train"] = with_values(lessons["train"], items)
    return fine_tune(
        base,
        out,
        lessons["train"],
        lessons["dev"],
        recipe=recipe,
        seed=args.seed,
        device=args.device,
        resume=args.resume,
        progress=show,
    )


@contextmanager
def _training(args: argparse.Namespace) -> "Iterator[BatchProgress]":
    """Show the batches of an epoch as a bar, and one line per epoch where there is no terminal."""
    from tqdm import tqdm

    if args.threads is not None:
        import torch

        torch.set_num_threads(args.threads)
    with tqdm(unit="batch", file=sys.stderr, disable=None) as bar:

        def show(epoch: int, batch: int, total: int, loss: float) -> None:
            if batch == 1:
                bar.reset(total)
                bar.set_description(f"epoch {epoch}")
            bar.update(1)
            # A log gets a line per epoch where a terminal gets the bar.
            if bar.disable and batch == total:
                print(f"epoch {epoch}: loss {loss:.3f}", file=sys.stderr)

        yield show


def train(args: argparse.Namespace) -> int:
    """Fine-tune a model on one kind of question, and print how it went."""
    items, out, recipe = things_of(args), folder_of(args.out), _recipe(args)
    with _training(args) as show:
        record = _fit(args, items, _base(args, items, out, show), args.modality, out, recipe, show)
    print(_course(args.modality, record))
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


def transfer(args: argparse.Namespace) -> int:
    """Train on each kind of bet, test on every kind; write and print the table."""
    import pandas as pd

    from coherence.batteries.bets.figures import plot_transfer
    from coherence.batteries.bets.scores import score_bets
    from coherence.batteries.bets.tables import print_transfer, transfer_tables
    from coherence.plots.style import save_plot
    from coherence.table.writing import write_table
    from elicitation.batteries.bets.models import score_choices
    from elicitation.batteries.bets.questions import bet_questions
    from elicitation.models.local.multiple_choice import load_multiple_choice_model

    items, out, recipe = things_of(args), folder_of(args.out), _recipe(args)
    paper = paper_folder(args)
    questions = bet_questions(items, splits=["dev", "test"])
    answers = []
    with _training(args) as show:
        base = _base(args, items, out, show)
        for modality in MODALITIES:
            record = _fit(args, items, base, modality, out / modality, recipe, show)
            print(_course(modality, record), file=sys.stderr)
            model = load_multiple_choice_model(
                out / modality, device=args.device, dtype="float32", threads=args.threads
            )
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
    print("\n".join(print_transfer(renamed[renamed["truth"] == "correct"])))
    print(
        "share of right test bets (95% interval, things as crossed clusters); "
        "a guess is right in 33%"
    )
    print(f"{out}: {', '.join(MODALITIES)}, transfer.csv, transfer.svg", file=sys.stderr)
    return 0
