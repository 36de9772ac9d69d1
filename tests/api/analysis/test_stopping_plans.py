"""A table that says when asking was to stop: its primary test allows for looking."""

import math

import pandas as pd
import pytest

import coherence
from coherence import CoherenceError, sequential_test

LOOKS = "looks=5 most=300 seed=7"


@pytest.fixture(scope="module")
def runs():
    table = coherence.simulate("leaky", n_contexts=180, n_reps=1, iterated=False, rng=1)
    place = pd.factorize(table["context"])[0] + 1
    return table.assign(plan=LOOKS, arrival=place, p=table["p"].round(1))


def primary(table, **options):
    (evaluation,) = coherence.analyze(table, checks=["sufficiency"], **options).evaluations
    return evaluation.results[0]


def stated(runs):
    return {"data": runs[runs["action"].notna()], "exact": "p_true", "context": "context"}


def test_the_verdict_takes_the_sequential_pvalue_however_rows_are_sorted_or_stored(runs, tmp_path):
    alone = sequential_test("p", "action", **stated(runs), most=300, rng=7)
    mixed = runs.sample(frac=1, random_state=1)
    coherence.write_runs(mixed, tmp_path / "runs.csv")
    other = coherence.simulate("rational", n_contexts=60, n_reps=1, iterated=False, rng=2)
    for table in (runs, mixed, coherence.read_runs(tmp_path / "runs.csv")):
        found = primary(table, rng=3)
        assert (found.pvalue, found.low, found.high) == (alone.pvalue, alone.low, alone.high)
        assert found.settings["stopped"] == 120
    together = coherence.analyze(pd.concat([mixed, other]), checks=["sufficiency"], rng=3)
    assert [each.results[0].settings.get("plan") for each in together.evaluations] == [LOOKS, None]
    assert together.evaluations[0].results[0].pvalue == alone.pvalue
    axes = coherence.plots.plot_evidence(found)
    assert len(axes.lines[0].get_xdata()) == 5


def test_one_note_says_which_pvalues_allow_for_looking_and_other_checks_are_as_they_were(runs):
    names = ["sufficiency", "cmi"]
    planned = coherence.analyze(runs, checks=names, rng=1)
    fixed = coherence.analyze(runs.drop(columns=["plan", "arrival"]), checks=names, rng=1)
    (evaluation,), (usual,) = planned.evaluations, fixed.evaluations
    assert [note.code for note in evaluation.notes].count("plan") == 1
    assert LOOKS in str(planned)
    assert evaluation.results[1].pvalue == usual.results[1].pvalue
    wide, narrow = (each.results[0].high - each.results[0].low for each in (evaluation, usual))
    assert wide > narrow
    by_rows = coherence.analyze(runs.drop(columns="arrival"), checks=["sufficiency"], rng=1)
    assert "order of their first rows" in str(by_rows)


def test_evidence_gives_its_own_pvalue_and_no_interval(runs):
    found = primary(runs.assign(plan="evidence=20"))
    assert found.pvalue == sequential_test("p", "action", **stated(runs), evidence=20).pvalue
    assert found.interval is None
    assert 0 < found.statistic < 1
    few = primary(runs[runs["arrival"] <= 40])  # before the first look
    assert math.isnan(few.pvalue)
    assert few.lack == "cases"
    lost = coherence.analyze(runs[runs["arrival"] != 180], checks=["sufficiency"], rng=1)
    assert "up to the look at 120; 59 cases" in " ".join(str(lost).split())


@pytest.mark.parametrize(
    ("broken", "remedy"),
    [
        ({"plan": "looks=5"}, "most=300"),
        ({"plan": "evidence=0.5"}, "above 1"),
        ({"plan": "looks=5 most=100 seed=7"}, "--where 'arrival <= 100'"),
        ({"arrival": 1}, "Leave the column out"),
    ],
)
def test_a_plan_that_cannot_be_kept_is_refused_with_a_remedy(runs, broken, remedy):
    with pytest.raises(CoherenceError, match=remedy):
        coherence.analyze(runs.assign(**broken))
    mixed = runs.assign(plan=runs["plan"].where(runs["arrival"] > 3, "looks=4 most=300 seed=7"))
    with pytest.raises(CoherenceError, match="same in all rows"):
        coherence.analyze(mixed)


def test_a_plan_of_another_kind_is_a_column_of_the_owner(runs):
    foreign = runs[["context", "p", "action", "theta"]].dropna()
    found = coherence.analyze(foreign.assign(plan="gold"), checks=["sufficiency"], rng=1)
    assert "column of your own" in str(found)
    assert "plan" not in found.evaluations[0].results[0].settings
