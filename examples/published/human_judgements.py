"""Iterated expectation of human judgements (Zhu, Sanborn and Chater 2020, experiment 1).

    git clone https://github.com/lucas-castillo/samplrData
    pip install rdata
    python examples/published/human_judgements.py samplrData

The data are under CC BY 4.0; nothing of them is copied here. People stated how probable weather is
on a random day, alone and given other weather, three times each. A belief in A must be the average
of the beliefs given B and given not B, weighted by the belief in B.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

from coherence.analysis.analyze import analyze
from coherence.report.report import Report

FILE = "zhu2020.bayesiansampler.e1"
LINKS = {"not", "and", "or", "given"}


def read_judgements(clone: Path) -> pd.DataFrame:
    """Read one data set of R."""
    import rdata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes of R that do not matter here
        table: pd.DataFrame = rdata.read_rda(str(clone / "data" / f"{FILE}.rda"))[FILE]
    return table


def as_runs(judgements: pd.DataFrame) -> pd.DataFrame:
    """Return a runs table: of each person, pair of events and block a belief, and two given z.

    A person is a context, as the cases are shared; each direction of a pair is a task of its own.
    """
    words = [tuple(sorted({*text.split()} - LINKS)) for text in judgements["querydetail"]]
    pair_of = {word: pair for pair in words if len(pair) == 2 for word in pair}
    pairs = [" ".join(pair_of[of_query[0]]) for of_query in words]
    rows: list[dict[str, Any]] = []
    for (person, block, _), asked in judgements.assign(pair=pairs).groupby(["ID", "block", "pair"]):
        said = dict(zip(asked["querytype"], asked["estimate"] / 100, strict=True))
        name = dict(zip(asked["querytype"], asked["querydetail"].str.strip(), strict=True))
        for event, other in (("A", "B"), ("B", "A")):
            row = {
                "task": f"{name[event]}, by {name[other]}",
                "context": int(person),
                "rep": int(block),
            }
            rows.append(row | {"p": said[event]})
            for state in (other, f"not{other}"):
                given = {"z": name[other], "z_state": name[state], "p_z": said[state]}
                rows.append(row | given | {"p": said[f"{event}g{state}"]})
    return pd.DataFrame(rows)


def print_gaps(report: Report) -> None:
    """Print the signed gap of each task, and its size without noise and rounding."""
    table = report.results.set_index(["task", "check"])
    print("average of the beliefs given z, less the belief; 95% intervals over people")
    for task in table.index.unique("task"):
        gap = table.loc[(task, "iterated_expectation")]
        size = table.loc[(task, "iterated_expectation:noise_removed")]
        print(
            f"   {task:<22} {gap['estimate']:+.3f} [{gap['low']:+.3f}, {gap['high']:+.3f}]  "
            f"p by Holm {gap['pvalue_holm']:.1g}  without noise {size['estimate']:.3f} "
            f"[{size['low']:.3f}, {size['high']:.3f}]"
        )


def main() -> None:
    """Read, analyse, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("clone", type=Path, help="folder of the cloned repository")
    args = parser.parse_args()
    runs = as_runs(read_judgements(args.clone))
    print_gaps(analyze(runs, checks=["iterated_expectation"], rng=0))


if __name__ == "__main__":
    main()
