"""Train a small model that reads the cases of asia, from a seed.

    python examples/train_reader.py --out reader
    coherence elicit --model reader --task asia --contexts 200 --reps 5 --out runs.parquet

It is the coherent one of 'coherence organisms', in a folder of your choice. About 15% of the
evidence sets are held out of the training.
"""

import argparse
import sys


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="model folder to write")
    parser.add_argument("--seed", type=int, default=0, help="seed of the training (default: 0)")
    parser.add_argument("--steps", type=int, default=1500, help="updates (default: 1500)")
    return parser.parse_args()


def main() -> None:
    args = read_options()
    # After the options, so that --help answers before torch is loaded.
    from tqdm import tqdm

    from elicitation.training.organisms import Recipe, train_tiny_causal

    with tqdm(total=args.steps, unit="step", file=sys.stderr) as bar:
        card = train_tiny_causal(
            args.out,
            recipe=Recipe(steps=args.steps),
            seed=args.seed,
            progress=lambda step, steps, loss: bar.update(1),
        )
    print(f"{card['parameters']:,} parameters, loss {card['loss']:.3f} after {args.steps} steps")


if __name__ == "__main__":
    main()
