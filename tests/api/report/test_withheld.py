"""What a verdict does not stand by is in no door of a report."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import analyze, simulate
from coherence.statistics.random_effects import random_effects


@pytest.fixture(scope="module")
def still():
    """Beliefs within two points of .45, whatever the posterior, and choices by chance."""
    rng = np.random.default_rng(5)
    posterior = rng.uniform(0.02, 0.98, 60).round(2)
    truth = (rng.random(60) < posterior).astype(int)
    rows = pd.DataFrame({"context": range(60), "theta": truth, "p_true": posterior}).loc[
        np.repeat(np.arange(60), 3)
    ]
    rows["p"] = rng.choice([0.44, 0.45, 0.46], 60)[rows["context"]]
    rows["action"] = rng.choice(["yes", "no"], len(rows))
    return rows.assign(truth_kind="drawn").reset_index(drop=True)


def test_no_door_gives_the_effect_of_what_hardly_moves(still):
    report = analyze(still, rng=1)
    verdict = report.verdicts.iloc[0]
    assert verdict["verdict"] == "hardly_moves"
    assert (
        verdict[["estimate", "low", "high", "pvalue", "hidden_share", "plain_average"]].isna().all()
    )
    row = report.results.set_index("check").loc["sufficiency"]
    assert row[["estimate", "low", "high", "pvalue", "pvalue_bh"]].isna().all()
    assert row["reason"] == "cannot tell: hardly moves"
    assert not {"p_direction", "p_turn"} & set(json.loads(row["settings"]))
    (record,) = json.loads(report.to_json())["evaluations"]
    (primary,) = (each for each in record["results"] if each["check"] == "sufficiency")
    assert primary["estimate"] is None
    assert primary["details"] == []
    for name in ("hidden_share", "plain_average", "slope"):
        assert primary["also"][name]["value"] is None
        assert primary["also"][name]["reason"]
    assert "Undefined: cannot tell: hardly moves." in report.to_html()


def test_a_table_of_which_one_can_tell_keeps_its_numbers(still):
    chosen = np.random.default_rng(6).random(len(still)) < still["p_true"]
    moved = still.assign(p=still["p_true"].round(1), action=np.where(chosen, "yes", "no"))
    verdict = analyze(moved, checks=["sufficiency"], rng=1).verdicts.iloc[0]
    assert not math.isnan(verdict["estimate"])


# Over evaluations: breaks if other effects are averaged, or a task that has none is counted.


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
