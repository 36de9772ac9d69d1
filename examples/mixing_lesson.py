"""A lesson on mixing: agents whose rates are known, scored side by side, with figures.

    python examples/mixing_lesson.py --out lesson

Runs in seconds and asks no model. The answers it writes can be scored again by `coherence mix
--answers lesson/answers.csv --out scores`.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from coherence.batteries.mixing.design import (
    MIXING_AGENTS,
    expected_answers,
    optimal_rates,
    simulate_mixing,
)
from coherence.batteries.mixing.scores import MixingScores, score_mixing
from coherence.batteries.mixing.shown import mixing_figure
from coherence.plots.style import save_figure


def print_agents() -> None:
    print("1. The agents")
    for name, (description, _) in MIXING_AGENTS.items():
        print(f"   {name:<8} {description}")


def print_scores(scores: pd.DataFrame) -> None:
    print("\n2. Their scores, of 100 (what a faultless sampler gets on average: 'ceiling')")
    print(f"   {'agent':<8} published  ceiling  corrected  95% interval")
    for row in scores.itertuples():
        print(
            f"   {row.model:<8} {row.published:9.1f}  {row.ceiling:7.1f}  {row.corrected:9.1f}  "
            f"[{row.low:.1f}, {row.high:.1f}]"
        )
    player = f"{scores['equilibrium'].iloc[0]:.1f}"
    print(
        "   The published scoring takes p for the best rate in games: who plays their equilibria "
        f"gets {player} on average."
    )


def print_noise(seed: int) -> None:
    print("\n3. Noise looks like a fault: S of one flip by the ideal agent, whose true S is 0")
    print("   answers per condition   published S   corrected S (averages of 20 sessions)")
    for n_draws in (10, 30, 100, 300):
        sessions = [
            simulate_mixing("ideal", n_draws=n_draws, rng=seed + number) for number in range(20)
        ]
        flips = [
            score_mixing(
                answers[answers["experiment"] == "flip"], n_resamples=100, rng=0
            ).measures.iloc[0]
            for answers in sessions
        ]
        published, corrected = (
            sum(flip[name] for flip in flips) / len(flips)
            for name in ("published_loss", "corrected_loss")
        )
        print(f"   {n_draws:>21}   {published:11.3f}   {corrected:11.3f}")


def print_game() -> None:
    print("\n4. A game: heads pays the model 70, tails 30, if the opponent shows the same side")
    heads = optimal_rates("pennies", np.array([0.7]))[0]
    print(
        f"   In equilibrium the model shows heads with probability {heads:.2f}: the opponent "
        "expects the 70."
    )
    for name in ("ideal", "literal"):
        parts = score_mixing(expected_answers(name), n_resamples=100, rng=0).measures.set_index(
            ["part", "measure"]
        )
        game = parts.loc["pennies"]
        print(
            f"   {name:<8} published {game['published'].sum():.1f} of 8, corrected "
            f"{game['corrected'].sum():.1f} of 8"
        )


def write(answers: pd.DataFrame, scores: MixingScores, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    answers.to_csv(out / "answers.csv", index=False)
    for agent, curves in scores.curves.groupby("model", sort=False):
        save_figure(mixing_figure(curves, title=agent), out / f"{agent}.png")
    print(f"\n{out} holds a figure of every agent's rates, and all answers: answers.csv.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder for the answers and the figure (default: none written)"
    )
    parser.add_argument(
        "--draws", type=int, default=100, metavar="N", help="answers per condition (default: 100)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed (default: 0)")
    args = parser.parse_args()

    answers = pd.concat(
        [
            simulate_mixing(name, n_draws=args.draws, rng=args.seed + number)
            for number, name in enumerate(MIXING_AGENTS)
        ],
        ignore_index=True,
    )
    scores = score_mixing(answers, rng=args.seed)
    print_agents()
    print_scores(scores.experiments[scores.experiments["experiment"] == 0])
    print_noise(args.seed)
    print_game()
    if args.out:
        write(answers, scores, Path(args.out))


if __name__ == "__main__":
    main()
