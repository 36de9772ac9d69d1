"""Reports made by hand, so that what a page must show is known without running a check."""

import numpy as np
import pandas as pd
import pytest

from coherence import CheckResult, Interval, Report
from coherence.report.evaluation import EvaluationReport
from coherence.statistics.figure_tables import figure_tables
from coherence.table.notes import Code, Note, not_run
from tests.api.tables import make_choices, make_pairs


def make_results():
    return (
        CheckResult(
            "cmi",
            "the action is independent of the truth given the belief",
            0.0312,
            "nats",
            Interval(0.011, 0.0523, 0.95, "cluster jackknife"),
            0.004,
            1000,
            200,
            3,
            {"k": 3, "n_permutations": np.int64(999)},
            pd.DataFrame({"belief": [0.1, np.nan], "gain": [np.float32(0.5), np.inf]}),
            ("contexts are independent", "beliefs are reported without error"),
        ),
        CheckResult(
            "predictive_gain",
            "the truth adds nothing to the belief",
            0.8,
            "% of log-loss",
            Interval(-1.25, 2.9),
            0.31,
            1000,
            200,
            3,
        ),
        CheckResult(
            "monotone_choice:yes/no",
            "the share of yes rises with the belief",
            0.1,
            "share of pairs",
            Interval(0.0, 0.3),
            0.0004,
            800,
            198,
            3,
            {"pair": ["yes", "no"], "direction": "increasing", "n_bins": 5},
            make_pairs(),
        ),
        CheckResult(
            "prompt_consistency:mse",
            "root mean square difference from the standard prompt",
            0.0712,
            "probability",
            Interval(0.06, 0.083),
            None,
            1000,
            200,
        ),
        CheckResult(
            "iterated_expectation",
            "gaps are symmetric about zero",
            float("nan"),
            "probability",
            None,
            float("nan"),
            0,
            0,
            reason="no row has z",
        ),
    )


VERDICTS = (
    "The actions carry information about the truth that the stated beliefs do not: these cannot be "
    "the beliefs acted on.",
    "No evidence that the truth improves the prediction of the actions; gains up to 2.9% remain "
    "possible.",
    "The choice of yes over no falls where the belief rises in 1 of 10 pairs of bins.",
    "Beliefs move by 7 points on average when the prompt asks for them under the MSE rule.",
    "Undefined: no row has z.",
)


def make_unit(task="asia", model="small-lm", beliefs=None, **changes):
    fields = {
        "results": make_results(),
        "verdicts": VERDICTS,
        "notes": (
            not_run(
                "no x_ columns: the context-adjusted gain was not run", "predictive_gain:features"
            ),
            Note(Code.LEFT_OUT, "repetitions were taken as equally likely to be paired"),
        ),
        "conclusion": (
            "2 of 3 tests reject: the actions tell of the truth (cmi); shares fall (monotone).",
            "A coherent agent fails anywhere in at most 5% of reports.",
        ),
        "cautions": (Note(Code.REPORT_NOISE, "Report noise is not known."),),
        "statuses": pd.DataFrame(
            {
                "question": ["belief and action"] * 2 + ["mse"],
                "status": ["ok", "refused", "ok"],
                "rows": [997, 3, 1000],
            },
        ),
        "bounds": pd.DataFrame(
            {
                "quantity": ["mean belief"],
                "label": ["standard"],
                "asked": [1000],
                "unreadable": [3],
                "estimate": [0.5],
                "low": [0.4985],
                "high": [0.5015],
            }
        ),
        "unreadable": pd.DataFrame(
            {
                "context": ["c17"],
                "status": ["unparsed"],
                "raw_belief": ["I would rather not say " * 30],
                "raw_action": [None],
            },
        ),
        "figures": figure_tables(make_choices() if beliefs is None else beliefs),
    } | changes
    return EvaluationReport(task, model, **fields)


@pytest.fixture
def unit():
    return make_unit


def make_report():
    return Report(
        (
            make_unit(),
            make_unit(model="large-lm", results=make_results()[:2], verdicts=VERDICTS[:2]),
        ),
        {"seed": 0, "version": "0.1.0", "published": False},
    )


@pytest.fixture
def report():
    return make_report()
