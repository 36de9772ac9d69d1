"""Over evaluations: breaks if other effects are averaged, or a task that has none is counted."""

import pandas as pd
import pytest

import coherence
from coherence import simulate
from coherence.statistics.random_effects import random_effects

CHECKS = ["sufficiency", "iterated_expectation"]


@pytest.fixture(scope="module")
def runs():
    parts = [
        simulate("leaky", n_contexts=40, n_reps=1, rng=seed).assign(task=f"task {seed}<b>")
        for seed in range(4)
    ]
    return pd.concat([*parts, parts[0].assign(model="other")], ignore_index=True)


@pytest.mark.lengthy
def test_every_action_and_the_signed_gap_are_pooled_over_tasks(runs):
    report = coherence.analyze(runs, checks=CHECKS, rng=0)
    table = report.pooled
    assert set(table["n"]) == {4}
    # One task alone is no sample of tasks.
    assert "other" not in set(table["model"])
    leaky = [unit for unit in report.evaluations if unit.model == "leaky"]
    results = [result for unit in leaky for result in unit.results]
    covariance, gaps = ([each for each in results if each.check == name] for name in CHECKS)
    details = [each.details.set_index("component") for each in covariance]
    components = [name for name in details[0].index if name != "hidden shift of belief"]
    assert [*table.loc[table["check"] == "sufficiency", "component"]] == components
    row = table.set_index("component").loc[components[0]]
    columns = ("estimate", "standard_error", "allowed")
    values = [[each.loc[components[0], name] for each in details] for name in columns]
    over = random_effects(*values[:2], [40] * 4, values[2])
    assert (row["mean"], row["low"], row["sd"]) == (over.mean, over.low, over.sd)
    (gap,) = table.loc[table["check"] == "iterated_expectation", "mean"]
    signed = [each.statistic for each in gaps]
    assert min(signed) <= gap <= max(signed)
    assert "over 4 tasks (p " in " ".join(str(report).split())
    assert "<h3>leaky over its tasks</h3>" in report.to_html()
    assert '"pvalue_equal"' in report.to_json()


@pytest.mark.lengthy
def test_two_tasks_are_too_few(runs):
    two = runs[runs["task"].isin(["task 0<b>", "task 1<b>"])]
    report = coherence.analyze(two, checks=CHECKS, rng=0)
    assert report.pooled.empty
    assert "over its tasks" not in str(report)
