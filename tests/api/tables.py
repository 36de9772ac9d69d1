"""Tables made by hand, so that what a figure must show is known."""

import numpy as np
import pandas as pd

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


def make_power(checks=("residual_covariance",), reps=(5,), quantity="power"):
    """A line of every power for each signal and number of repetitions."""
    rows = [
        {
            "check": check,
            "signal": signal,
            "n_reps": n_reps,
            "n_contexts": size,
            "quantity": quantity if signal or quantity == "precision" else "size",
            "power": min(1.0, 0.05 + signal * size / 40),
            "low": max(0.0, signal * size / 40 - 0.02),
            "high": min(1.0, 0.1 + signal * size / 40),
            "half_width": 1 / size,
        }
        for check in checks
        for signal in (0.0, 0.1, 0.2)
        for n_reps in reps
        for size in (25, 50, 100)
    ]
    return pd.DataFrame(rows)


def read_exactly(source):
    """Read a CSV file with the numbers that Python reads: pandas 2 is off in the last place."""

    def numbers(column):
        try:
            return column.map(float)
        except ValueError:
            return column

    return pd.read_csv(source, dtype=str).apply(numbers)
