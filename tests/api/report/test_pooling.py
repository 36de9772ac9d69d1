"""Effects over tasks: breaks if other effects are averaged, or a task that has none is counted."""

import pandas as pd
import pytest

import coherence
from coherence import simulate
from coherence.statistics.random_effects import random_effects

CHECKS = ["residual_covariance", "iterated_expectation"]


@pytest.fixture(scope="module")
def runs():
    parts = [
        simulate("leaky", n_contexts=40, n_reps=1, rng=seed).assign(task=f"task {seed}<b>")
        for seed in range(4)
    ]
    return pd.concat([*parts, parts[0].assign(model="other")], ignore_index=True)


@pytest.fixture(scope="module")
def report(runs):
    return coherence.analyze(runs, checks=CHECKS, rng=0)


@pytest.mark.lengthy
def test_every_action_and_the_signed_gap_are_pooled_over_tasks(report):
    table = report.pooled
    assert set(table["n"]) == {4}
    # One task alone is no sample of tasks.
    assert "other" not in set(table["model"])
    details = [
        result.details.set_index("component")
        for unit in report.evaluations
        for result in unit.results
        if result.check == "residual_covariance" and unit.model != "other"
    ]
    components = [name for name in details[0].index if name != "hidden shift of belief"]
    assert [*table.loc[table["check"] == "residual_covariance", "component"]] == components
    row = table.set_index("component").loc[components[0]]
    over = random_effects(
        [each.loc[components[0], "estimate"] for each in details],
        [each.loc[components[0], "standard_error"] for each in details],
        [40] * 4,
    )
    assert (row["mean"], row["low"], row["sd"]) == (over.mean, over.low, over.sd)
    (gap,) = table.loc[table["check"] == "iterated_expectation", "mean"]
    signed = [
        result.statistic
        for unit in report.evaluations
        for result in unit.results
        if result.check == "iterated_expectation"
    ]
    assert min(signed) <= gap <= max(signed)


@pytest.mark.lengthy
def test_text_page_and_json_say_it(report):
    model = report.pooled["model"][0]
    assert f"{model} over its tasks" in str(report)
    assert "over 4 tasks (p " in " ".join(str(report).split())
    assert f"<h3>{model} over its tasks</h3>" in report.to_html()
    assert '"pvalue_equal"' in report.to_json()


@pytest.mark.lengthy
def test_two_tasks_are_too_few(runs):
    two = runs[runs["task"].isin(["task 0<b>", "task 1<b>"])]
    report = coherence.analyze(two, checks=CHECKS, rng=0)
    assert report.pooled.empty
    assert "over its tasks" not in str(report)
