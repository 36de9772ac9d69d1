"""Score a forecasting tournament: will findings replicate? Gordon and others (2021).

    git clone https://github.com/MichaelbGordon/pooledmaRket
    python examples/published/replication_markets.py pooledmaRket

The data are under CC0; nothing of them is copied here. Before 103 findings of psychology and
economics were tested again, people said how probable it was that each would replicate, and then
traded on it. Whose probabilities were better: the last price of the market, the mean of what was
said, or what a single person said?
"""

import argparse
from pathlib import Path

import pandas as pd

from coherence.analysis.analyze import analyze
from coherence.report.report import Report

MARKET, MEAN, MEDIAN, ONE = "market", "mean of the survey", "median", "one person"
FINDING = ["project", "finding_id"]


def read_forecasts(clone: Path) -> pd.DataFrame:
    """Return a row a forecast of a finding; of single persons as many as answered."""
    findings, said, trades = (
        pd.read_csv(clone / f"All {what} Data.csv") for what in ("Study", "Survey", "Market")
    )
    answers = said.groupby(FINDING)["response"]
    of_market = trades.sort_values("time_stamp", kind="stable").groupby(FINDING)["price"].last()
    forecasts = {MARKET: of_market, MEAN: answers.mean(), MEDIAN: answers.median()}
    tables = [each.rename("p").reset_index().assign(model=name) for name, each in forecasts.items()]
    tables.append(said.rename(columns={"response": "p"}).assign(model=ONE))
    table = pd.concat(tables, ignore_index=True).merge(findings[[*FINDING, "replicated"]])
    return table.assign(context=table["project"] + table["finding_id"].astype(str))


def print_published(forecasts: pd.DataFrame) -> None:
    """Print what the paper reports: forecasts on the right side of one half, and correlations."""
    for name in (MARKET, MEAN):
        of_one = forecasts[forecasts["model"] == name]
        right = (of_one["p"] > 0.5) == (of_one["replicated"] == 1)
        print(
            f"{name}: {right.sum()} of {len(right)} on the right side of one half, correlation "
            f"{of_one['p'].corr(of_one['replicated']):.3f}, mean {of_one['p'].mean():.3f}"
        )
    print(f"replicated: {of_one['replicated'].mean():.3f} of the findings", end="\n\n")


def scored(forecasts: pd.DataFrame) -> Report:
    """Score the forecasts, each finding counted once."""
    columns = ["p", "replicated", "context", "model"]
    return analyze(forecasts[columns], columns={"truth": "replicated"}, rng=0)


def main() -> None:
    """Read, count, score."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("clone", type=Path, help="folder of the cloned repository")
    args = parser.parse_args()
    forecasts = read_forecasts(args.clone)
    print_published(forecasts)
    print(scored(forecasts))


if __name__ == "__main__":
    main()
