"""Train a small model that reads the cases of a task, from a seed, and print how well it learnt.

    python examples/train_reader.py --out reader
    coherence elicit --model reader --task asia --contexts 200 --reps 5 --out runs.parquet

About 15% of the evidence sets are held out of the training; the figures printed at the end are for
those.
"""

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="model folder to write")
    parser.add_argument(
        "--task",
        default="asia",
        metavar="NAME",
        help="network that supplies the cases (default: asia)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the training (default: 0)"
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", help="updates (default: those of the recipe)"
    )
    parser.add_argument(
        "--measure",
        type=int,
        default=1000,
        metavar="N",
        help="cases drawn to measure on; those held out are asked (default: 1000)",
    )
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads (default: 1)")
    return parser.parse_args()


def main() -> None:
    args = read_options()
    # After the options, so that --help answers before torch is loaded.
    from tqdm import tqdm

    from elicitation.questions.tasks import Task
    from elicitation.training.organisms.course import Recipe
    from elicitation.training.organisms.reader import (
        held_out_cases,
        measure_reader,
        train_reader,
    )

    task, recipe = Task.load(args.task), Recipe(threads=args.threads)
    if args.steps is not None:
        recipe = replace(recipe, steps=args.steps)
    with tqdm(total=recipe.steps, unit="step", file=sys.stderr, disable=None) as bar:

        def show(step: int, steps: int, loss: float) -> None:
            bar.update(1)
            if step % 100 == 0 or step == steps:
                bar.set_postfix(loss=f"{loss:.3f}")
                if bar.disable:
                    print(f"step {step} of {steps}, loss {loss:.3f}", file=sys.stderr)

        record = train_reader(args.out, task, recipe=recipe, seed=args.seed, progress=show)
    cases = held_out_cases(task, n=args.measure)
    figures = measure_reader(args.out, task, cases)
    record["figures"] = asdict(figures)
    (Path(args.out) / "training.json").write_text(
        json.dumps(record, indent=2) + "\n", encoding="utf-8"
    )
    print(
        f"{record['parameters']:,} parameters, {recipe.steps} steps, "
        f"{record['seconds']:.0f} s of training"
    )
    print(f"on {len(cases)} evidence sets that it was not trained on:")
    print(f"  readable answers            {figures.readable:.2%}")
    print(f"  RMSE of beliefs to truth    {figures.rmse:.4f}")
    print(f"  RMSE of P(z | x) to truth   {figures.rmse_auxiliary:.4f}")
    print(
        f"  decisions on the side of the stated belief: {figures.agreement:.2%} "
        f"(its policy at these beliefs: {figures.agreement_expected:.2%})"
    )


if __name__ == "__main__":
    main()
