"""A lesson on revealed beliefs: what each measure says of four believers whose flaw is known.

    python examples/revealed_lesson.py --out lesson

Runs in seconds and asks no model. Replace a believer by one of your own: a function from a setting
to the probability of every outcome.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from coherence.batteries.revealed.scores import (
    order_preferences,
    previous_influences,
    score_beliefs,
)
from coherence.batteries.revealed.shown import write_figures
from elicitation.batteries.revealed.questions import belief_questions, tabulate_beliefs
from elicitation.batteries.revealed.scenarios import dice
from elicitation.batteries.revealed.scenarios.grid import select, standard_grid
from elicitation.batteries.revealed.scenarios.setting import REFERENCE, Setting

COLUMNS = ("l1", "l1_relative", "first_excess", "pull", "position")
Belief = dict[str, float]


def exact(setting: Setting) -> Belief:
    """Believe the truth."""
    return {outcome: float(probability) for outcome, probability in setting.truth.items()}


def point_mass(setting: Setting) -> Belief:
    """Be sure of the most probable outcome; of equally probable ones, the first."""
    # max() keeps the first of equals.
    surest = max(setting.truth, key=lambda outcome: setting.truth[outcome])
    return {outcome: float(outcome == surest) for outcome in setting.truth}


def first_lover(setting: Setting, *, pull: float = 0.4) -> Belief:
    """Believe the truth, but move a share `pull` of all probability to the first outcome."""
    return {
        outcome: (1 - pull) * float(truth) + pull * (position == 0)
        for position, (outcome, truth) in enumerate(setting.truth.items())
    }


def gambler(setting: Setting, *, discount: float = 0.8) -> Belief:
    """Commit the gambler's fallacy: count the last outcome as less probable by a `discount`."""
    # Where results are added, it is the total that repeats the last one.
    last = str(int(setting.previous) + setting.shift) if setting.shift else setting.previous
    weights = {
        outcome: float(truth) * (1 - discount * (outcome == last))
        for outcome, truth in setting.truth.items()
    }
    total = sum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


BELIEVERS: dict[str, Callable[[Setting], Belief]] = {
    "exact": exact,
    "point mass": point_mass,
    "first-outcome lover": first_lover,
    "gambler": gambler,
}


def simulate_beliefs(
    believer: Callable[[Setting], Belief], settings: Sequence[Setting], *, source: str
) -> pd.DataFrame:
    """Lay out the beliefs of a simulated believer, who minds no wording."""
    plain = [each for each in belief_questions(settings) if each.wording == REFERENCE]
    read = {each.name: believer(each.setting) for each in plain}
    return tabulate_beliefs(plain, read, source=source)


def print_question() -> None:
    setting = dice.setting(1, 6, 3, dependent=False)
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
