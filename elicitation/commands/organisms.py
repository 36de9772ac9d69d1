"""``coherence organisms``: train small models whose belief and policy are known."""

import argparse
import sys

from coherence.cli.run_options import declare

OPTIONS = """
names NAME*  organisms to train (default: all); --list shows them
--list  list the organisms, with what they say and what they act on, and exit
--out DIR  where the model folders go, one of each name
--seed N:int=0  seed; equal seeds give equal weights (default: 0)
--steps N:int  updates of the coherent organism, from which the others start (default: 1500)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    declare(parser, OPTIONS)


def run(args: argparse.Namespace) -> int:
    """Train and report."""
    from coherence.errors import InputError
    from elicitation.training.lessons import ORGANISMS

    if args.list:
        for organism in ORGANISMS.values():
            print(f"{organism.name} ({'coherent' if organism.coherent else 'incoherent'})")
            print(f"    says     {organism.says}")
            print(f"    acts on  {organism.acts_on}")
        return 0
    if args.out is None:
        raise InputError("--out DIR is missing. Name the folder that the model folders go to.")
    from elicitation.training.organisms import Recipe, train_organisms

    recipe = Recipe() if args.steps is None else Recipe(steps=args.steps)
    cards = train_organisms(
        args.out, args.names or None, recipe=recipe, seed=args.seed, progress=_say
    )
    for name, card in cards.items():
        print(f"{name}: loss {card['loss']:.3f} of an answer, in nats")
    return 0


def _say(name: str, step: int, steps: int, loss: float) -> None:
    """Print a line every hundred steps."""
    if step % 100 == 0 or step == steps:
        print(f"{name}: step {step} of {steps}, loss {loss:.3f}", file=sys.stderr)
