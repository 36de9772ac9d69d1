"""plan_unit: what runs, in which order and from which stream, and a note for what does not."""

import numpy as np
import pandas as pd
import pytest

from coherence import CheckResult
from coherence.analysis.planning import Job, plan_unit
from coherence.analysis.unit import UnitRows
from coherence.checks import CHECKS
from coherence.checks.check import Call


def rows(n=20, **columns):
    base = {
        "context": np.arange(n),
        "rep": 0,
        "prompt": "standard",
        "z_state": None,
        "p": np.linspace(0.1, 0.9, n),
        "action": ["yes", "no"] * (n // 2),
        "theta": [0, 0, 1, 1] * (n // 4),
    }
    table = pd.DataFrame({**base, **columns})
    return table.drop(columns=[name for name in columns if columns[name] is None])


def planned(table, names=CHECKS, published=False, seed=0):
    streams = dict(zip(CHECKS, np.random.default_rng(seed).spawn(len(CHECKS)), strict=True))
    return plan_unit(UnitRows(table), names, published=published, streams=streams)


def test_checks_come_by_evidence_and_what_is_not_there_is_noted():
    jobs, notes = planned(rows())
    assert [job.check for job in jobs] == [
        "residual_covariance",
        "cmi",
        "predictive_gain",
        "rational_agent",
        "monotone_choice",
        "calibration",
    ]
    assert notes == [
        "no x_ columns: the context-adjusted gain was not run.",
        "no p_true: beliefs were compared with what happened, not with the exact posterior.",
        "only one prompt: prompt consistency was not checked.",
        "no z, z_state and p_z columns: the law of iterated expectation was not checked.",
    ]


def test_only_what_is_asked_for_is_planned_and_missed():
    jobs, notes = planned(rows(action=None), names=("cmi", "calibration"))
    assert [job.check for job in jobs] == ["calibration"]
    assert notes[0] == (
        "no action column (--action NAME, if it has another name): cmi was not run."
    )
    assert not any("monotone" in note for note in notes)


def test_every_job_draws_from_the_stream_of_its_check():
    """Neither other checks nor the order of asking move a check's numbers; estimates draw none."""
    together, _ = planned(rows(x_1=1.0))
    alone, _ = planned(rows(x_1=1.0), names=("predictive_gain",))
    draws = {
        number: [job.rng.random() for job in jobs if job.check == "predictive_gain"]
        for number, jobs in enumerate((together, alone))
    }
    assert draws[0] == draws[1]
    assert len(set(draws[0])) == 2
    # The moment test of the rational agent draws nothing either.
    drawless = {"calibration", "rational_agent"}
    assert all((job.rng is None) == (job.check in drawless) for job in together)


def test_published_procedures_leave_out_what_no_paper_has():
    jobs, _ = planned(rows(action=["yes", "no", "defer", "no"] * 5), published=True)
    names = [job.check for job in jobs]
    assert "residual_covariance" not in names
    assert names.count("monotone_choice") == 3  # the pairs, and no test of all actions at once
    jobs, _ = planned(rows(action=["yes", "no", "defer", "no"] * 5))
    assert [job.check for job in jobs].count("monotone_choice") == 4


def test_rows_left_out_are_counted_in_the_result():
    table = rows()
    table.loc[:2, "p"] = np.nan
    jobs, notes = planned(table, names=("calibration", "monotone_choice"))
    assert {job.call.n_dropped for job in jobs} == {3}
    assert notes[0].startswith("3 of 20 rows lack a parsed belief or action")
    assert {result.n_dropped for job in jobs for result in job.run()} == {3}


def test_a_theta_of_three_states_leaves_no_belief_to_be_monotone_in():
    jobs, notes = planned(rows(theta=["a", "b", "c", "a"] * 5), names=("monotone_choice", "cmi"))
    assert [job.check for job in jobs] == ["cmi"]
    assert notes[0] == (
        "theta has 3 states: monotone choice, and calibration to what happened, need two."
    )


@pytest.mark.parametrize("as_list", [True, False])
def test_a_job_returns_results_and_counts_rows_only_where_it_must(as_list):
    outcome = CheckResult("cmi", "null", 0.1, "nats", None, None, 5, 5, n_dropped=7)

    def check(rng=None):
        return [outcome] if as_list else outcome

    assert Job("cmi", Call(check), None).run() == [outcome]
    assert Job("cmi", Call(check, n_dropped=2), None).run()[0].n_dropped == 2


def test_a_job_hands_its_stream_over():
    def check(rng):
        return CheckResult("cmi", "null", rng.random(), "nats", None, None, 5, 5)

    drawn = Job("cmi", Call(check), np.random.default_rng(3)).run()[0].statistic
    assert drawn == np.random.default_rng(3).random()
