"""Tables made by hand, so that what a figure must show is known."""

from itertools import combinations

import numpy as np
import pandas as pd

from coherence.checks.calibration import calibration_of
from coherence.statistics.evaluation import evaluation_data

SHARES = (0.10, 0.35, 0.80, 0.45, 0.90)
BINS = pd.DataFrame({"belief": (0.08, 0.29, 0.52, 0.71, 0.93), "n": (180, 160, 200, 140, 120)})


def make_pairs(shares=SHARES, significant=((2, 3),)):
    """All bin pairs; a pair is reversed when the later share is the lower one."""
    first, second = map(list, zip(*combinations(range(len(shares)), 2), strict=True))
    bins = BINS[: len(shares)].assign(share=shares)
    of_pairs = (
        bins.loc[at].reset_index().rename(columns={"index": "bin"}).add_suffix(f"_{end}")
        for end, at in (("j", first), ("k", second))
    )
    table = pd.concat(of_pairs, axis="columns")
    found = [pair in significant for pair in zip(first, second, strict=True)]
    reversed_ = table["share_k"] < table["share_j"]
    pvalue = np.where(found, 0.004, 0.8)
    return table.assign(pvalue=pvalue, violation=reversed_, significant=found)


def make_choices(*, actions=("yes", "no", "defer"), p_true=True, n_contexts=60, n_reps=5):
    rng = np.random.default_rng(4)
    posterior = rng.uniform(size=n_contexts)
    truth = (rng.uniform(size=n_contexts) < posterior).astype(int)
    context = np.repeat(np.arange(n_contexts), n_reps)
    reported = posterior[context] + rng.normal(0, 0.08, context.size)
    belief = np.clip(np.round(reported * 20) / 20, 0, 1)
    noise = rng.gumbel(size=(context.size, len(actions)))
    scores = belief[:, None] * np.linspace(4, -4, len(actions)) + noise
    action = np.array(actions, dtype=object)[scores.argmax(axis=1)]
    columns = {"belief": belief, "action": action, "truth": truth[context], "context": context}
    return pd.DataFrame(columns | ({"p_true": posterior[context]} if p_true else {}))


def read_exactly(source):
    """Read a CSV file with the numbers that Python reads: pandas 2 is off in the last place."""

    def numbers(column):
        try:
            return column.map(float)
        except ValueError:
            return column

    return pd.read_csv(source, dtype=str).apply(numbers)


def calibration(belief, truth=None, *, p_true=None, **known):
    data = evaluation_data(belief, None, truth, posterior=p_true, one_truth=False, **known)
    known = [False] * (p_true is not None) + [True] * (truth is not None)
    return [calibration_of(data, by_state=of) for of in known]
