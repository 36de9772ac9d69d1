"""Score the raw answers of "Failure to Mix" (Yang and Zhang 2025) with noise taken out.

    git clone https://github.com/BiostateAIresearch/failure-to-mix
    python examples/published/failure_to_mix.py failure-to-mix --out scores

The clone is under the MIT licence; nothing of it is copied here. Three of its experiments are those
of `coherence mix`: one flip, two flips in an answer, three outcomes.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from coherence.batteries.mixing.scores import score_mixing


def read_answers(clone: Path) -> pd.DataFrame:
    """Return the answers as `coherence mix --answers` takes them, equal ones counted."""
    data = clone / "data"
    options = {"dtype": str, "keep_default_na": False}
    flip = pd.read_csv(data / "fig1_single_flip.csv", **options)
    flip = flip.assign(experiment="flip", p=flip["p"].astype(float) / 100)
    # Not `raw_text`: a spreadsheet has made the date 2025-01-01 of every "1 1".
    two = pd.read_csv(data / "fig2_sequential_flips.csv", **options)
    two = two.assign(
        experiment="two_flips",
        p=two["p"].astype(float) / 100,
        answer=two["flip_1"].str[:1] + " " + two["flip_2"].str[:1],
    )
    # `p` is the percentage of 2; that of 1 is always 40.
    three = pd.read_csv(data / "fig4_ternary.csv", **options)
    three = three.assign(
        experiment="three_outcomes",
        p=((60 - three["p"].astype(float)) / 100).round(4),
        answer=three["answer"].str[:1],
    )
    keys = ["model", "experiment", "p", "answer"]
    every = pd.concat([table[keys] for table in (flip, two, three)], ignore_index=True)
    counts = every.groupby(keys, sort=True).size().reset_index(name="count")
    return counts.replace({"answer": {"": None}})  # what could not be read


def step_likeness(rates: "pd.Series[float]") -> float:
    """Return S as the authors compute it: four times the area between rate and probability."""
    p, rate = rates.index.to_numpy(dtype=float), rates.to_numpy()
    p, rate = np.r_[0, p, 1], np.r_[rate[0], rate, rate[-1]]
    return float(4 * np.trapezoid(np.abs(rate - p), p))


def print_authors_metric(answers: pd.DataFrame) -> None:
    """Print S by the authors' formula, which has no error and no test."""
    print("1. S by the authors' formula (0 perfect, 1 a step)")
    for (model, experiment), rows in answers.groupby(["model", "experiment"]):
        if experiment == "three_outcomes":
            continue
        rows = rows.dropna(subset="answer")
        n = rows.groupby("p")["count"].sum()
        share = {}
        for name, ones in (("first", rows["answer"].str[0]), ("second", rows["answer"].str[-1])):
            share[name] = rows["count"].where(ones == "1", 0).groupby(rows["p"]).sum() / n
        share["mean"] = (share["first"] + share["second"]) / 2
        shown = share if experiment == "two_flips" else {"": share["first"]}
        said = ", ".join(
            f"{name} {step_likeness(rates):.3f}".strip() for name, rates in shown.items()
        )
        print(f"   {model:<30} {experiment:<10} {said}")


def main() -> None:
    """Read, score, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("clone", type=Path, help="folder of the cloned repository")
    parser.add_argument("--out", type=Path, help="folder for answers.csv and the tables of scores")
    args = parser.parse_args()
    answers = read_answers(args.clone)
    print_authors_metric(answers)
    scores = score_mixing(answers, rng=0)
    print("\n2. Losses with the noise of 100 answers a rate taken out, 95% intervals")
    for row in scores.measures.itertuples():
        if not np.isfinite(row.published_loss):
            continue
        print(
            f"   {row.model:<30} {row.measure:<22} {row.published_loss:6.3f}  "
            f"{row.corrected_loss:6.3f} [{row.loss_low:.3f}, {row.loss_high:.3f}]"
        )
    print("\n3. Points by the published rule, and corrected")
    for row in scores.experiments.itertuples():
        if np.isfinite(row.published):
            print(
                f"   {row.model:<30} {row.experiment:<16} {row.published:6.2f}  "
                f"{row.corrected:6.2f} [{row.low:.2f}, {row.high:.2f}]"
            )
    print("\n4. Is the second flip of an answer independent of the first? (exact test)")
    for row in scores.dependence.itertuples():
        print(
            f"   {row.model:<30} equal in {row.observed:.3f} of answers, {row.expected:.3f} if "
            f"independent, p = {row.pvalue:.1g}"
        )
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        answers.to_csv(args.out / "answers.csv", index=False)
        for name in ("measures", "experiments", "dependence"):
            getattr(scores, name).to_csv(args.out / f"{name}.csv", index=False)
        print(f"\nwrote the tables to {args.out}")


if __name__ == "__main__":
    main()
