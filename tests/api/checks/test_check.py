"""Declarations: what a contributor writes, and what is made of it."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from coherence import CheckResult, analyze, simulate
from coherence.checks import CHECKS, catalogue
from coherence.checks.check import Call, Check, Facts, Sentences
from coherence.table.needs import CHOICES, TARGETS
from coherence.table.runs import Runs


def facts(**changes):
    values = pd.Series([0.2, 0.8])
    fields = {
        "belief": np.array([0.2, 0.8]),
        "action": values,
        "truth": values,
        "state": values,
        "positive": None,
        "exact": values,
        "context": values,
        "features": None,
        "n_asked": 5,
        "runs": pd.DataFrame(),
        "reference": "standard",
        "published": False,
    }
    return Facts(**(fields | changes))


def test_what_was_asked_and_could_not_be_read_is_dropped():
    assert facts().n_dropped == 3
    assert facts(belief=np.full((5, 3), 1 / 3)).n_dropped == 0


def test_names_are_spoken_without_underscores():
    check = Check("mean_belief", CHOICES, {}, lambda facts: iter(()))
    assert check.spoken == "mean belief"


def test_a_check_asks_for_no_more_than_it_says():
    """Else each would need named states, or run without draws that it makes."""
    check = Check("mean_belief", CHOICES, {}, lambda facts: iter(()))
    assert (check.states_named, check.parts) == (False, ())
    call = Call(mean_belief)
    assert (call.n_dropped, call.draws) == (None, True)


def mean_belief(belief, *, level, rng=None):
    pvalue = 0.5 if level is None else level
    return CheckResult("mean_belief", "it is .5", belief.mean(), "", None, pvalue, len(belief), 2)


def declare(monkeypatch, needs):
    """One line in the list is all that another check takes."""

    def plan(facts):
        yield "mean belief is young."
        yield Call(partial(mean_belief, facts.belief, level=0.01), facts.n_dropped)

    sentences = {"": Sentences("It is not a half.", "It may be a half.", "it is not a half")}
    module = type("Module", (), {"CHECK": Check("mean_belief", needs, sentences, plan)})
    known = catalogue.import_module
    monkeypatch.setattr(
        catalogue,
        "import_module",
        lambda name: module if name.endswith(".mean_belief") else known(name),
    )
    monkeypatch.setitem(CHECKS, "mean_belief", "mean_belief")
    catalogue.declarations.cache_clear()


@pytest.mark.lengthy
@pytest.mark.parametrize("needs", [CHOICES, TARGETS])
def test_a_declared_check_is_planned_run_and_said(monkeypatch, needs):
    runs = simulate("rational", n_contexts=12, n_reps=2, rng=0)
    before = analyze(runs, checks=["monotone_choice"], rng=1).results
    declare(monkeypatch, needs)
    try:
        report = analyze(runs, checks=["mean_belief", "monotone_choice"], rng=1)
        rows = report.results.set_index("check")
        assert rows.loc["mean_belief", "verdict"] == "It is not a half."
        assert "mean belief is young." in report.units[0].notes
        assert catalogue.lacking(Runs(runs))["mean_belief"] == ()
        assert "It is not a half." in report.to_html()
        # Its stream comes after those of all others, which keep their numbers.
        old = before.set_index("check")["pvalue"].dropna()
        assert len(old)
        assert rows.loc[old.index, "pvalue"].tolist() == old.tolist()
    finally:
        catalogue.declarations.cache_clear()
