"""A lesson on thinking in bets: three simulated agents take the test that models take.

Of each we know what it knows and does.

    python examples/bets_lesson.py
    python examples/bets_lesson.py --out DIR

Agents give probabilities and scores of the options as a model would. They follow from a gain that
an agent sees in an option: replace one by your own. The maximiser takes the choice of largest
expected gain. The value-only chooser knows what things are worth, but bets on whatever side names
the more valuable thing, even if it would lose it. The guesser guesses. Which numbers tell them
apart, and which do not?
"""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from coherence import analyze
from coherence.batteries.bets.scores import (
    PROBABILITIES,
    ROLES,
    SCORES,
    BetAnswers,
    BetScores,
    ladder_runs,
    score_bets,
)
from coherence.batteries.bets.truths import BET_CHOICES, VALUE_CHOICES, bet_gains, expected_gains
from coherence.inputs import Floats
from elicitation.batteries.bets.questions import (
    bet_questions,
    default_items,
    ladder_questions,
    value_questions,
)

BET_ON = ("the winning side", "the losing side", "both", "none")


def _value_gains(questions: pd.DataFrame) -> Floats:
    """Gains of answering high, low and same: an honest answer gains one."""
    return np.tile([1.0, -1.0, -1.0], (len(questions), 1))


def _maximiser(questions: pd.DataFrame) -> Floats:
    gains = bet_gains(questions)[:, [0, 1, 3]]
    # In units of the largest, so that the sharpness means the same at any stakes.
    return np.asarray(gains / np.abs(gains).max(axis=1, keepdims=True))


def _value_only(questions: pd.DataFrame) -> Floats:
    """Bet on the side that names the more valuable thing, as if it were asked for values."""
    high_is_won = (questions["wins"] == "high").to_numpy()
    return np.where(high_is_won[:, None], [1.0, -1.0, -0.5], [-1.0, 1.0, -0.5])


def _guesser(questions: pd.DataFrame) -> Floats:
    return np.zeros((len(questions), 3))


_Gains = Callable[[pd.DataFrame], Floats]
BET_AGENTS: dict[str, tuple[str, _Gains, _Gains]] = {
    "maximiser": (
        "knows values and takes the choice of largest expected gain",
        _value_gains,
        _maximiser,
    ),
    "value-only": (
        "knows values and bets on the side with the more valuable thing, even if it would lose it",
        _value_gains,
        _value_only,
    ),
    "random": ("guesses", _guesser, _guesser),
}
"""By name: description, gains seen in the answers to value questions, and gains seen in bets."""


def simulate_answers(
    agent: str, questions: pd.DataFrame, *, sharpness: float = 20.0, rng: int = 0
) -> pd.DataFrame:
    """Answer questions as a simulated agent."""
    _, of_values, of_bets = BET_AGENTS[agent]
    generator = np.random.default_rng(rng)
    is_bet = (questions["kind"] != "value").to_numpy()
    gains = np.zeros((len(questions), 3))
    for rows, seen in ((~is_bet, of_values), (is_bet, of_bets)):
        if rows.any():
            gains[rows] = seen(questions[rows])
    logits = sharpness * gains + generator.standard_normal(gains.shape)
    # From the order of roles into that of the letters.
    order = {name: at for each in (VALUE_CHOICES, BET_CHOICES) for at, name in enumerate(each)}
    choice = questions[ROLES].map(order.__getitem__).to_numpy()
    logits = np.take_along_axis(logits, choice, axis=1)
    # Less the largest, so that no exponential overflows.
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    table = pd.DataFrame({"question": questions["question"].to_numpy(), "model": agent})
    table[SCORES] = expit(logits)
    table[PROBABILITIES] = weights / weights.sum(axis=1, keepdims=True)
    return table


def as_text(gains: Iterable[float]) -> str:
    return ", ".join(f"{name} {gain:g}" for name, gain in zip(BET_ON, gains, strict=True))


def print_bet() -> None:
    print("1. A bet. Win a thing worth 100 on heads, lose one worth 1 on tails, stake 20:")
    for wins, (prize, loss) in {"": (100, 1), " (the other way round)": (1, 100)}.items():
        print(f"   expected gain{wins}: {as_text(expected_gains(prize, loss, 20)[0])}")
    print(
        "   With a stake of 50 and odds of two to one on top of it, both sides may be worth a bet. "
        "If the winning side has a chance of"
    )
    for chance in (0.1, 0.25, 0.5):
        gains = expected_gains(100, 1, 50, chance=chance, payout=2)[0]
        best = BET_ON[int(gains.argmax())]
        print(f"   {chance:.0%}, the best choice is {best}: {as_text(gains)}")


def make_questions() -> pd.DataFrame:
    items = default_items()
    # Development things too: the threshold of the sets is tuned on them.
    splits = ["dev", "test"]
    values = value_questions(items, splits=splits, templates=["choice-valuable"])
    bets = bet_questions(items, splits=splits, modalities=["coin"])
    ladder = ladder_questions(items)
    print(
        f"\n2. {len(values)} questions on values, {len(bets)} bets, "
        f"{len(ladder)} bets with stated chances. For example:"
    )
    print(f"   {bets['text'].iloc[-1]}")
    return pd.concat([values, bets, ladder], ignore_index=True)


def print_accuracy(accuracy: pd.DataFrame) -> None:
    shares = accuracy.set_index(["template", "truth", "model"])["accuracy"].unstack()
    guessing = accuracy.groupby(["template", "truth"])["chance"].first()
    print("\n3. Shares of right answers on test things:")
    print(f"   {'':36}" + "".join(f"{name:>12}" for name in [*BET_AGENTS, "guessing"]))
    for template, truth in (
        accuracy[["template", "truth"]].drop_duplicates().itertuples(index=False)
    ):
        row = [*shares.loc[(template, truth), list(BET_AGENTS)], guessing[template, truth]]
        print(f"   {template + ', ' + truth:36}" + "".join(f"{share:12.0%}" for share in row))
    print(
        "   'positive gain' does not tell the value-only chooser from the maximiser: it asks only "
        "the bets where the high thing is won."
    )
    print(
        "   'strict' and 'non-negative gain' fail the maximiser: one threshold cannot serve bets "
        "whose best choices gain 40 and 0."
    )


def print_ladders(answers: list[BetAnswers]) -> None:
    print("\n4. Bets with stated chances and rising stakes: do choices move with what pays?")
    report = analyze(ladder_runs(answers, rng=0), checks=["stakes"], rng=0)
    for row in report.verdicts.itertuples():
        print(f"   {row.model}: {row.sentence}")
    print(
        "   The value-only chooser bets whatever the stakes and chances are, the guesser as often "
        "as not: neither acts on a probability."
    )


def write(scores: BetScores, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    scores.accuracy.to_csv(folder / "accuracy.csv", index=False)
    print(f"\nAccuracies with their intervals and tests: {folder / 'accuracy.csv'}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sharpness",
        type=float,
        default=20.0,
        metavar="X",
        help="how little chance there is in the answers (default: 20)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed (default: 0)")
    parser.add_argument("--out", metavar="DIR", help="folder for the table (default: none written)")
    args = parser.parse_args()

    print_bet()
    questions = make_questions()
    answers = pd.concat(
        [
            simulate_answers(agent, questions, sharpness=args.sharpness, rng=args.seed)
            for agent in BET_AGENTS
        ],
        ignore_index=True,
    )
    scores = score_bets(questions, answers)
    print_accuracy(scores.accuracy)
    print_ladders(scores.answers)
    if args.out:
        write(scores, Path(args.out))


if __name__ == "__main__":
    main()
