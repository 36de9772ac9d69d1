"""Reports made by hand, so that what a page must show is known without running a check."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from coherence.report.report import Report
from coherence.report.unit import Unit
from coherence.result import CheckResult, Interval

SHARES = (0.10, 0.35, 0.80, 0.45, 0.90)
BELIEFS = (0.08, 0.29, 0.52, 0.71, 0.93)
COUNTS = (180, 160, 200, 140, 120)


def make_pairs(shares=SHARES, significant=((2, 3),)):
    """All bin pairs; a pair is reversed when the later share is the lower one."""
    rows = []
    for j in range(len(shares)):
        for k in range(j + 1, len(shares)):
            rows.append(
                {
                    "bin_j": j,
                    "bin_k": k,
                    "belief_j": BELIEFS[j],
                    "belief_k": BELIEFS[k],
                    "share_j": shares[j],
                    "share_k": shares[k],
                    "n_j": COUNTS[j],
                    "n_k": COUNTS[k],
                    "pvalue": 0.004 if (j, k) in significant else 0.8,
                    "violation": shares[k] < shares[j],
                    "significant": (j, k) in significant,
                }
            )
    return pd.DataFrame(rows)


def make_choices(*, actions=("yes", "no", "defer"), p_true=True, n_contexts=60, n_reps=5):
    rng = np.random.default_rng(4)
    posterior = rng.uniform(size=n_contexts)
    truth = (rng.uniform(size=n_contexts) < posterior).astype(int)
    context = np.repeat(np.arange(n_contexts), n_reps)
    belief = np.clip(
        np.round((posterior[context] + rng.normal(0, 0.08, context.size)) * 20) / 20, 0, 1
    )
    scores = belief[:, None] * np.linspace(4, -4, len(actions)) + rng.gumbel(
        size=(context.size, len(actions))
    )
    table = pd.DataFrame(
        {
            "belief": belief,
            "action": np.array(actions, dtype=object)[scores.argmax(axis=1)],
            "truth": truth[context],
            "context": context,
        }
    )
    return table.assign(p_true=posterior[context]) if p_true else table


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
    "No sign that the truth improves the prediction of the actions; gains up to 2.9% remain "
    "possible.",
    "The choice of yes over no falls where the belief rises in 1 of 10 pairs of bins.",
    "Beliefs move by 7 points on average when the prompt asks for them under the MSE rule.",
    "Could not be computed.",
)


def make_unit(task="asia", model="small-lm", **changes):
    fields = {
        "results": make_results(),
        "verdicts": VERDICTS,
        "notes": (
            "no x_ columns: the context-adjusted gain was not run",
            "repetitions of a context were taken as equally likely to be paired with any action",
        ),
        "conclusion": (
            "2 of 3 tests reject: the actions tell of the truth (cmi); shares fall (monotone).",
            "A coherent agent fails anywhere in at most 5% of reports.",
        ),
        "cautions": ("How far reports scatter is not known.",),
        "statuses": pd.DataFrame(
            {
                "question": ["belief and action"] * 2 + ["mse"],
                "status": ["ok", "refused", "ok"],
                "rows": [997, 3, 1000],
            },
        ),
        "beliefs": make_choices(),
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
    } | changes
    return Unit(task, model, **fields)


@pytest.fixture
def pairs():
    return make_pairs


@pytest.fixture
def choices():
    return make_choices


@pytest.fixture
def unit():
    return make_unit


@pytest.fixture
def report():
    return Report(
        (
            make_unit(),
            make_unit(model="large-lm", results=make_results()[:2], verdicts=VERDICTS[:2]),
        ),
        {"seed": 0, "version": "0.1.0", "published": False},
    )


@pytest.fixture
def ax():
    return Figure().add_subplot()


@pytest.fixture
def drawn():
    """Return the artists of an axes that bear a gid."""
    return lambda ax, gid: [artist for artist in ax.get_children() if artist.get_gid() == gid]


@pytest.fixture
def ends():
    """Return the points of a line, rounded."""
    return lambda line: [
        (round(float(x), 6), round(float(y), 6))
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]
