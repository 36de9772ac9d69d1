"""``coherence organisms``: train small models whose belief and policy are known."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elicitation.training.organisms.tiny_causal import OrganismProgress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="organisms to train (default: all that the task has room for); --list shows them",
    )
    parser.add_argument(
        "--task",
        default="asia",
        metavar="NAME",
        help="network of the catalogue whose questions they answer (default: asia)",
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="list the organisms, with what they say and what they act on, and exit",
    )
    parser.add_argument("--out", metavar="DIR", help="where the model folders go, one of each name")
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed; equal seeds give equal weights (default: 0)",
    )
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="updates of the coherent organism, from which the others start (default: 1500)",
    )
    parser.add_argument(
        "--matching",
        action="store_true",
        help="also teach them to choose between the event and a stated chance for the same prize",
    )
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="threads of the training (default: 1)"
    )


def run(args: argparse.Namespace) -> int:
    """Train and report."""
    from coherence.errors import InputError
    from coherence.report.document import table_of_texts
    from coherence.report.layout import render_parts
    from elicitation.training.organisms.catalog import ORGANISMS

    if args.list:
        for organism in ORGANISMS.values():
            print(f"{organism.name} ({'coherent' if organism.coherent else 'incoherent'})")
            print(f"    says     {organism.says}")
            print(f"    acts on  {organism.acts_on}")
        return 0
    if args.out is None:
        raise InputError("--out DIR is missing. Name the folder that the model folders go to.")
    from elicitation.questions.tasks import Task
    from elicitation.training.organisms.curriculum import Recipe
    from elicitation.training.organisms.tiny_causal import train_organisms

    steps = {} if args.steps is None else {"steps": args.steps}
    recipe = Recipe(threads=args.threads, **steps)
    with _progress() as progress:
        cards = train_organisms(
            args.out,
            args.names or None,
            task=Task.load(args.task),
            recipe=recipe.with_matching() if args.matching else recipe,
            seed=args.seed,
            progress=progress,
        )
    headings = ["organism", "readable", "error of beliefs", "of P(z | x)", "distance of policy"]
    rows = []
    for name, card in cards.items():
        accuracy = card["accuracy"]
        rows.append(
            [
                name,
                f"{accuracy['readable']:.1%}",
                *(f"{accuracy[key]:.3f}" for key in ("rmse", "rmse_auxiliary", "policy_distance")),
            ]
        )
    print(render_parts([table_of_texts(headings, rows)]))
    sets = next(iter(cards.values()))["accuracy"]["evidence_sets"]
    print(f"on {sets} evidence sets that no lesson was about, against each organism's own rules")
    return 0


@contextmanager
def _progress() -> "Iterator[OrganismProgress]":
    """Show a bar per organism on a terminal, and a line every hundred steps elsewhere."""
    from tqdm import tqdm

    bars: dict[str, tqdm] = {}  # type: ignore[type-arg]

    def show(name: str, step: int, steps: int, loss: float) -> None:
        if name not in bars:
            bars[name] = tqdm(total=steps, unit="step", desc=name, file=sys.stderr, disable=None)
        bar = bars[name]
        bar.update(1)
        if step % 100 == 0 or step == steps:
            bar.set_postfix(loss=f"{loss:.3f}")
            if bar.disable:
                print(f"{name}: step {step} of {steps}, loss {loss:.3f}", file=sys.stderr)
        if step == steps:
            bar.close()

    try:
        yield show
    finally:
        for bar in bars.values():
            bar.close()
