"""Ask the organisms about fresh cases again and again, and count how often each check rejects.

    coherence organisms --out models
    python benchmarks/organisms.py --models models --seeds 3
    python benchmarks/organisms.py --page docs/smollm2.md

Every seed draws 200 cases, asks all questions 5 times at temperature 1 and analyses the answers, as
`coherence elicit` and `coherence analyze` do with `--seed`. Each test is a line of
``benchmarks/organisms.csv``; seeds that are there already are not run again. ``--page`` renders the
counts.
"""

import argparse
import sys
import warnings
from pathlib import Path

import pandas as pd

from coherence.result import rejects

RESULTS = Path(__file__).parent / "organisms.csv"
PRIMARY = "sufficiency"


def verdicts(folder: Path, *, seed: int, contexts: int, reps: int) -> pd.DataFrame:
    """Return every test of one report on an organism; an undefined test has no p-value."""
    from coherence import analyze
    from elicitation.asking.session import elicit
    from elicitation.asking.store import AnswerStore
    from elicitation.models.local.causal import load_causal_model
    from elicitation.questions.plan import Design
    from elicitation.questions.tasks import load_task

    task, model = load_task("asia"), load_causal_model(folder, batch_size=512)
    with AnswerStore(":memory:") as store:
        runs, _ = elicit(
            model,
            task,
            task.cases(contexts, seed=seed),
            store,
            design=Design(reps=reps, seed=seed),
            batch_size=4096,
        )
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # undefined checks of a constant belief are what is to be seen here
        results = analyze(runs, rng=seed).results
    tests = results[results["pvalue"].notna() | results["reason"].ne("")]
    return tests[["check", "estimate", "pvalue", "pvalue_holm"]].assign(
        organism=folder.name, seed=seed
    )


def page(results: pd.DataFrame) -> str:
    """Render the counts: checks down, organisms across."""
    organisms = list(dict.fromkeys(results["organism"]))
    # The primary test stands alone; what is never in the family of further tests repeats it.
    family = results.loc[results["pvalue_holm"].notna(), "check"].unique()
    counted = results["check"].isin([PRIMARY, *family])
    tested = results[counted].assign(pvalue_holm=results["pvalue_holm"].fillna(results["pvalue"]))
    lines = [
        "| check | " + " | ".join(f"`{organism}`" for organism in organisms) + " |",
        "|---" * (len(organisms) + 1) + "|",
    ]
    for check, rows in tested.groupby("check", sort=False):
        cells = [_cell(rows[rows["organism"] == organism]) for organism in organisms]
        lines.append(f"| `{check}` | " + " | ".join(cells) + " |")
    totals = [count_caught(results[results["organism"] == organism]) for organism in organisms]
    lines.append(
        "| any of them | "
        + " | ".join(f"**{caught} of {reports}**" for caught, reports in totals)
        + " |"
    )
    return "\n".join(lines)


def count_caught(results: pd.DataFrame) -> tuple[int, int]:
    """Return how many reports reject the primary test or a further one after Holm's correction."""
    primary = results["pvalue"].where(results["check"] == PRIMARY)
    rejected = results["pvalue_holm"].fillna(primary).map(rejects)
    by_report = rejected.groupby(results["seed"]).any()
    return int(by_report.sum()), len(by_report)


def _cell(tests: pd.DataFrame) -> str:
    tested = tests.dropna(subset="pvalue")
    if tested.empty:
        return "no test"
    median = tested["pvalue"].median()
    shown = "< .001" if median < 0.001 else f"{median:.3f}".removeprefix("0")
    return f"{tested['pvalue_holm'].map(rejects).sum()} of {len(tested)}; {shown}"


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--models", type=Path, default=Path("models"), help="folder of the trained organisms"
    )
    parser.add_argument(
        "--seeds", type=int, default=3, help="reports per organism, with the seeds 0, 1, ..."
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="results to add to")
    parser.add_argument(
        "--page", type=Path, help="render the results into this page, between its markers, and stop"
    )
    options = parser.parse_args()
    results = (
        pd.read_csv(options.out)
        if options.out.exists()
        else pd.DataFrame(columns=["organism", "seed", "check"])
    )
    if options.page:
        text = options.page.read_text(encoding="utf-8")
        head, tail = text.split("<!-- table -->")[0], text.split("<!-- end of table -->")[1]
        options.page.write_text(
            f"{head}<!-- table -->\n\n{page(results)}\n\n<!-- end of table -->{tail}",
            encoding="utf-8",
        )
        return
    from elicitation.training.lessons import ORGANISMS

    for name in ORGANISMS:
        for seed in range(options.seeds):
            if ((results["organism"] == name) & (results["seed"] == seed)).any():
                continue
            tested = verdicts(options.models / name, seed=seed, contexts=200, reps=5)
            results = pd.concat(
                [
                    results,
                    tested[["organism", "seed", "check", "estimate", "pvalue", "pvalue_holm"]],
                ],
                ignore_index=True,
            )
            results.to_csv(options.out, index=False, float_format="%.5g")
            rejected = tested.loc[tested["pvalue_holm"].map(rejects), "check"]
            print(
                f"{name}, seed {seed}: {', '.join(rejected) or 'nothing'} rejected after Holm",
                file=sys.stderr,
                flush=True,
            )


if __name__ == "__main__":
    main()
