"""A lesson on revealed beliefs: what each measure says of four believers whose flaw is known.

    python examples/revealed_lesson.py --out lesson

Runs in seconds and asks no model. Replace a believer by one of your own: a function from a setting
to the probability of every outcome.
"""

import argparse
from pathlib import Path

import pandas as pd

from coherence.batteries.revealed.figures import write_figures
from coherence.batteries.revealed.scores import (
    order_preferences,
    previous_influences,
    score_beliefs,
)
from elicitation.batteries.revealed.scenarios import dice
from elicitation.batteries.revealed.scenarios.grid import select, standard_grid
from elicitation.batteries.revealed.simulated import BELIEVERS, simulate_beliefs

COLUMNS = ("l1", "l1_relative", "first_excess", "pull", "position")


def print_question() -> None:
    setting = dice.repeated(1, 6, [3], dependent=False)
    print(
        "1. A question that shows what somebody believes, without asking for it: how does this "
        "text go on?"
    )
    print(f"   {setting.texts['standard']} ...")
    print(
        "   Truth: "
        f"{', '.join(f'{outcome} {probability}' for outcome, probability in setting.truth.items())}"
    )


def measure(beliefs: pd.DataFrame) -> pd.DataFrame:
    means = (
        score_beliefs(beliefs)
        .groupby("source", sort=False)[["l1", "l1_relative", "first_excess"]]
        .mean()
    )
    pull = previous_influences(beliefs).groupby("source")["pull"].mean()
    position = order_preferences(beliefs).groupby("source")["position"].mean()
    return means.join(pull).join(position).rename_axis("believer")


def print_measures(table: pd.DataFrame) -> None:
    print("\n2. Four believers, measured (means over the settings)")
    print(f"   {'believer':<20}" + "".join(f"{name:>14}" for name in COLUMNS))
    for believer, row in table.iterrows():
        print(f"   {believer!s:<20}" + "".join(f"{row[name] + 0.0:14.2f}" for name in COLUMNS))
    print(
        "   l1: sum of differences from the truth; l1_relative: 1 is no better than naming the "
        "most probable outcome every time;\n"
        "   first_excess: too much on the first outcome; pull: how much likelier a repetition "
        "seems after an earlier result;\n"
        "   position: how much likelier an option seems for being named first, whatever its label."
    )


def print_exercise() -> None:
    print(
        "\n3. To think about: the lover of first outcomes is as far from the truth after an "
        "earlier result as before. The gambler is exact until\n"
        "   there is one. Which of the figures shows which? And which believer would pass a test "
        "that asks for the probability of a six?"
    )


def write(table: pd.DataFrame, beliefs: pd.DataFrame, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "lesson.csv")
    figures = write_figures(
        beliefs[beliefs["source"].isin(["gambler", "first-outcome lover"])], folder
    )
    print(f"\nWrote lesson.csv, {', '.join(path.name for path in figures)} to {folder}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", metavar="DIR", help="folder for the table and the figures (default: none written)"
    )
    out = parser.parse_args().out
    settings = select(
        standard_grid(n_dice=[1, 2], faces=[4, 6]),
        {"variant": ["single", "independent", "dependent"]},
    )
    beliefs = pd.concat(
        [simulate_beliefs(believer, settings, source=name) for name, believer in BELIEVERS.items()],
        ignore_index=True,
    )
    table = measure(beliefs)
    print_question()
    print_measures(table)
    print_exercise()
    if out:
        write(table, beliefs, Path(out))


if __name__ == "__main__":
    main()
