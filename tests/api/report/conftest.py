"""Reports made by hand, so that what a page must show is known without running a check."""

import numpy as np
import pandas as pd
import pytest

from coherence import CheckResult, Interval, Report, sufficiency_test
from coherence.checks.monotone import MonotoneResult
from coherence.report.evaluation import EvaluationReport
from coherence.report.verdicts import NOT_TESTED
from coherence.runs.notes import Code, Note, not_run
from coherence.statistics.figure_tables import figure_tables
from tests.api.tables import make_choices, make_pairs

STATUS_COLUMNS = ["question", "status", "rows"]
ASSUMED = ("contexts are independent", "beliefs are reported without error")


def make_results():
    gains = pd.DataFrame({"belief": [0.1, np.nan], "gain": [np.float32(0.5), np.inf]})
    rows = (1000, 200, 3)
    return (
        CheckResult(
            *("cmi", "the action is independent of the truth given the belief", 0.0312, "nats"),
            *(Interval(0.011, 0.0523, 0.95, "cluster jackknife"), 0.004, *rows),
            *({"k": 3, "n_permutations": np.int64(999)}, gains, ASSUMED),
        ),
        CheckResult(
            *("predictive_gain", "the truth adds nothing to the belief", 0.8, "% of log-loss"),
            *(Interval(-1.25, 2.9), 0.31, *rows),
        ),
        MonotoneResult(
            *("monotone_choice:yes/no", "the share of yes rises with the belief", 0.1),
            *("share of pairs", Interval(0.0, 0.3), 0.0004, 800, 198, 3, {"n_bins": 5}),
            details=make_pairs(),
            pair=["yes", "no"],
        ),
        CheckResult(
            *("prompt_consistency:mse", "root mean square difference from the standard prompt"),
            *(0.0712, "probability", Interval(0.06, 0.083), None, 1000, 200),
        ),
        CheckResult(
            *("iterated_expectation", "gaps are symmetric about zero", np.nan, "probability"),
            *(None, np.nan, 0, 0),
            reason="no row has z",
        ),
    )


SENTENCES = (
    "The actions carry information about the truth that the stated beliefs do not.",
    "No evidence that the truth improves the prediction of the actions.",
    "The choice of yes over no falls where the belief rises in 1 of 10 pairs of bins.",
    "Beliefs move by 7 points on average when the prompt asks for them under the MSE rule.",
    "Undefined: no row has z.",
)
CONCLUSION = (
    "2 of 3 tests reject: the actions tell of the truth (cmi); shares fall (monotone).",
    "A coherent agent fails anywhere in at most 5% of reports.",
)
NOTES = (
    not_run("no x_ columns: the context-adjusted gain was not run", "predictive_gain:features"),
    Note(Code.LEFT_OUT, "repetitions were taken as equally likely to be paired"),
)
STATUSES = [
    *(("belief and action", "ok", 997), ("belief and action", "refused", 3)),
    ("mse", "ok", 1000),
]


def with_shares(beliefs):
    """Return the tables of figures, with the one that the primary test makes."""
    names = ["belief", "action", "truth", "context"]
    shares = None
    if set(names) <= set(beliefs):
        shares = sufficiency_test(**{name: beliefs[name] for name in names}, n_draws=99, rng=1)
        shares = shares.fitted
    tables, missing = figure_tables(beliefs)
    if shares is None:
        missing["choices_by_state"] = "the reason"
    else:
        tables["choices_by_state"] = shares
    return {"figures": tables, "no_figures": missing}


def make_unit(task="asia", model="small-lm", beliefs=None, **changes):
    fields = {
        "results": make_results(),
        "verdicts": SENTENCES,
        "verdict": NOT_TESTED,
        "notes": NOTES,
        "conclusion": CONCLUSION,
        "statuses": pd.DataFrame(STATUSES, columns=STATUS_COLUMNS),
        **with_shares(make_choices() if beliefs is None else beliefs),
    }
    return EvaluationReport(task, model, **fields | changes)


@pytest.fixture
def unit():
    return make_unit


def make_report():
    few = {"results": make_results()[:2], "verdicts": SENTENCES[:2]}
    few["beliefs"] = pd.DataFrame({"context": []})  # nothing to draw
    settings = {"seed": 0, "version": "0.1.0", "published": False}
    return Report((make_unit(), make_unit(model="large-lm", **few)), settings)


@pytest.fixture
def report():
    return make_report()
