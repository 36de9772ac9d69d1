"""The tables that figures of beliefs draw: shares, bins, intervals and histograms.

Computed once, from the parsed beliefs of one evaluation: ``belief``, ``context`` and, where known,
``action`` or ``action_<label>`` (probabilities), ``truth`` (0 or 1) and ``p_true``. A figure adds
nothing to them, and ``results.json`` holds them as they are.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from coherence.errors import InputError
from coherence.inputs import Codes, Floats
from coherence.runs.columns import Column
from coherence.runs.runs import Runs
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.knn import belief_bins
from coherence.statistics.mean_interval import mean_interval
from coherence.statistics.permutation import Contexts, contexts_of
from coherence.statistics.report_noise import in_round_numbers, outside_heaps
from coherence.statistics.resample import context_means
from coherence.statistics.sequences import beyond_belief, in_canonical_direction
from coherence.statistics.shares import context_shares

EXACT, STATE = "exact posterior", "state"
"""What beliefs are compared with."""
WHOLE_FROM = 0.5
"""Width from which probabilities are shown on the whole of [0, 1]."""
MOST_CONTEXTS = 400  # evenly spaced beyond; more points hide each other
MOST_HISTOGRAMS = 6
N_BINS = 10
SIDE_BINS = 8
CONTEXTS_PER_SIDE = 5
"""Contexts of each side that a bin needs; neighbours are joined until they have them."""
FORETOLD = 1e-9  # a posterior that is as the belief foretells it is on neither side
_PER_UNIT = tuple(n * 10**power for power in range(1, 6) for n in (2, 5, 10))
_FEWEST_BARS = 10  # from the least belief to the largest


_EDGES = (
    Column("low", "number", "Lower edge of the bar."),
    Column("high", "number", "Upper edge of the bar."),
)
_TRUTH = Column("compared_with", "text", f"What beliefs are compared with: {EXACT} or {STATE}.")
_SIZES = (Column("n_rows", "integer", "Rows."), Column("n_contexts", "integer", "Contexts."))
TABLES: Mapping[str, tuple[str, tuple[Column, ...]]] = {
    "contexts": (
        f"Means of contexts, of more than {MOST_CONTEXTS} evenly spaced ones.",
        (
            Column("context", "text", "Name of the context."),
            Column("belief", "probability", "Mean belief."),
            Column("truth", "probability", "Mean of what it is compared with."),
            _TRUTH,
        ),
    ),
    "choices_by_state": (
        "Share of each action where the state is above or below what the belief foretells of it, "
        "at the mean belief of a bin, as the primary test takes it.",
        (
            Column("action", "text", "The action."),
            Column("bin", "integer", "Bin of the belief, from 0."),
            Column("state", "integer", "1 above (a realised state: 1), 0 below."),
            Column("belief", "probability", "Mean belief of the bin."),
            Column("share", "probability", "Share of the action at that belief."),
            Column("low", "probability", "Lower end of its 95% interval over contexts."),
            Column("high", "probability", "Upper end."),
            Column("n_contexts", "integer", "Contexts."),
        ),
    ),
    "beliefs": (
        "Histogram of the beliefs of each action.",
        (
            Column("action", "text", "The action; empty for rarer ones, or without actions."),
            Column("n_actions", "integer", "Actions that were gathered; 0 without actions."),
            *_EDGES,
            Column("n", "positive", "Rows, or their summed probabilities of the action."),
        ),
    ),
    "forecasts": (
        "Histogram of all beliefs.",
        (*_EDGES, Column("n", "integer", "Rows.")),
    ),
    "calibration": (
        "Beliefs and what they are compared with, in bins of about equally many rows.",
        (
            Column("belief", "probability", "Mean belief."),
            Column("outcome", "probability", "Mean of what it is compared with."),
            _TRUTH,
            Column("low", "probability", "Lower end of the 95% interval of outcome."),
            Column("high", "probability", "Upper end."),
            Column("gap", "number", "outcome less belief."),
            Column("gap_low", "number", "Lower end of its 95% interval over contexts."),
            Column("gap_high", "number", "Upper end."),
            *_SIZES,
        ),
    ),
}
"""Name of a table -> what it holds, and its columns."""


def figure_tables(beliefs: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    """Return every table that the beliefs of an evaluation allow, and why others are not there."""
    if "belief" not in beliefs or beliefs["belief"].isna().all():
        absent = ("contexts", "beliefs", "forecasts", "calibration")
        why = "no row has a parsed belief that is one number"
        return {}, dict.fromkeys(absent, why)
    tables, missing = {}, {}
    tables["beliefs"] = belief_bars(beliefs)
    tables["forecasts"] = bars_of(beliefs["belief"].dropna())
    means, of_truth = over_contexts(beliefs)
    means = means.dropna()
    if of_truth and len(means) > 1:
        shown = spaced(means).reset_index(names="context").assign(compared_with=of_truth)
        tables["contexts"] = shown.astype({"context": str})
    if outcome_of(beliefs) is None:
        missing["calibration"] = "neither a truth coded 0/1 nor the exact posterior is known"
    else:
        tables["calibration"] = calibration_bins(beliefs)
    order = {name: [column.name for column in columns] for name, (_, columns) in TABLES.items()}
    return {name: table[order[name]] for name, table in tables.items()}, missing


# Means of contexts


def over_contexts(beliefs: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return mean belief and truth of every context, and which truth it is (NaN, "" of none)."""
    if "belief" not in beliefs:
        return pd.DataFrame(columns=["belief", "truth"], dtype=float), ""
    known = beliefs[beliefs["belief"].notna()]
    numeric = {n: pd.to_numeric(known[n], "coerce") for n in ("p_true", "truth") if n in known}
    found = [name for name, values in numeric.items() if values.notna().any()]
    known = known.assign(**numeric)
    by_context = known.groupby("context", sort=False)
    belief = by_context["belief"].mean().astype(float)
    truth = by_context[found[0]].mean().astype(float) if found else math.nan
    of_truth = {"p_true": EXACT, "truth": STATE}[found[0]] if found else ""
    return pd.DataFrame({"belief": belief, "truth": truth}), of_truth


def spaced(contexts: pd.DataFrame) -> pd.DataFrame:
    """Return as many contexts as a figure shows; not drawn, but equal for equal data."""
    return contexts.iloc[:: max(1, math.ceil(len(contexts) / MOST_CONTEXTS))]


# Histograms


def bars_of(values: "pd.Series[float]") -> pd.DataFrame:
    """Return the histogram of probabilities on the whole of [0, 1]."""
    return _bars(values, _edges(values, fine=False))


def belief_bars(beliefs: pd.DataFrame) -> pd.DataFrame:
    """Return the histogram of the beliefs of each action, on one scale; rare ones together."""
    rows = _by_action(beliefs)
    edges = _edges(rows["belief"])
    actions = rows["action"]
    # The order of a categorical is the user's: wait, treat, refer.
    levels = (
        list(actions.cat.categories)
        if isinstance(actions.dtype, pd.CategoricalDtype)
        else sorted(actions.dropna().unique(), key=str)
    )
    counts = actions.value_counts()
    present = [level for level in levels if counts.get(level, 0) > 0]
    # The most frequent are kept, in the order of the levels and not of their counts.
    most = MOST_HISTOGRAMS if len(present) <= MOST_HISTOGRAMS else MOST_HISTOGRAMS - 1
    frequent = {*sorted(present, key=lambda level: -counts[level])[:most]}
    kept = [level for level in present if level in frequent]
    gathered = len(present) - len(kept)
    shown = [(str(level), 1, rows[actions == level]) for level in kept]
    if gathered or not present:
        shown.append(("", gathered, rows[~actions.isin(kept)]))
    parts = [
        _bars(of["belief"], edges, of.get("weight")).assign(action=action, n_actions=n)
        for action, n, of in shown
    ]
    return pd.concat(parts, ignore_index=True)


def _by_action(beliefs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for every action of an answer that may be counted, with its weight if any."""
    known = beliefs[beliefs["belief"].notna()]
    parts = [
        known[["belief"]].assign(action=action, weight=known[name])[known[name] > 0]
        for name, action in Runs(beliefs).action_names.items()
    ]
    if not parts and "action" in known:
        parts = [known[known["action"].notna()]]
    rows = pd.concat(parts, ignore_index=True) if parts else known.iloc[:0]
    # Without actions there is nothing to part the beliefs by.
    return rows if len(rows) else known.assign(action=None)


def _edges(values: "pd.Series[float]", *, fine: bool = True) -> Floats:
    """Return bin edges of width .05, between the round numbers where most values are round.

    With `fine`, values that take up less than half of [0, 1] have finer ones, from the least to the
    largest.
    """
    belief = values.to_numpy(dtype=np.float64)
    low, high = float(belief.min()), float(belief.max())
    per_unit, first, last = 20, 0.0, 20.0
    if fine and 0 < high - low < WHOLE_FROM:
        per_unit = next((n for n in _PER_UNIT if n * (high - low) >= _FEWEST_BARS), _PER_UNIT[-1])
        first, last = np.floor(low * per_unit + 1e-6), np.ceil(high * per_unit - 1e-6)
    # A belief of .35 on an edge would fall to either side, as its last binary digit has it.
    scaled = belief * per_unit
    mostly_round = np.mean(np.abs(scaled - np.rint(scaled)) < 1e-6) >= 0.5
    return np.asarray(np.arange(first - 0.5 if mostly_round else first, last + 1) / per_unit)


def _bars(
    values: "pd.Series[float]", edges: Floats, weights: "pd.Series[float] | None" = None
) -> pd.DataFrame:
    """Count values between edges, each with its weight where there are any."""
    weight = None if weights is None else weights.to_numpy(dtype=np.float64)
    counts = np.histogram(values.to_numpy(dtype=np.float64), edges, weights=weight)[0]
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "n": counts})


# Calibration


def outcome_of(beliefs: pd.DataFrame) -> tuple["pd.Series[float]", str] | None:
    """Return what beliefs are compared with: the exact posterior where known, else a 0/1 truth."""
    # The exact posterior is free of the luck in what happened.
    if "p_true" in beliefs and beliefs["p_true"].notna().any():
        return beliefs["p_true"].astype(float), EXACT
    if "truth" not in beliefs:
        return None
    # A categorical or text column may hold 0/1 as text, "1.0" among them.
    numbers = pd.to_numeric(beliefs["truth"].astype(object), errors="coerce").astype(float)
    known = beliefs["truth"].notna()
    # With three states or labels there is no share of one that a single belief is about.
    return (numbers, STATE) if known.any() and numbers[known].isin([0.0, 1.0]).all() else None


def calibration_bins(beliefs: pd.DataFrame, *, n_bins: int = N_BINS) -> pd.DataFrame:
    """Compare mean belief and mean outcome in bins with about equally many answers.

    Intervals are over contexts, whose rows share one outcome: of shares Wilson's; of exact
    posteriors that of their mean distance from the belief, which is no share of tosses.
    """
    known = outcome_of(beliefs)
    if known is None:
        raise InputError(
            "truth must be 0 or 1, or p_true be known, to compare beliefs with it. "
            "Recode the truth column."
        )
    outcome, compared_with = known
    rows = pd.DataFrame(
        {
            "belief": beliefs["belief"].astype(float),
            "outcome": outcome,
            "context": beliefs["context"].astype(object),
        }
    ).dropna()
    # Bins of equal counts: bins of equal width would leave rare beliefs to a handful of answers.
    rows = rows.assign(
        bin=belief_bins(rows["belief"].to_numpy(), n_bins), gap=rows["outcome"] - rows["belief"]
    )
    table = rows.groupby("bin").agg(
        belief=("belief", "mean"),
        outcome=("outcome", "mean"),
        n_contexts=("context", "nunique"),
        n_rows=("belief", "size"),
    )
    table["gap"] = table["outcome"] - table["belief"]
    if compared_with == EXACT:
        of_gap = np.array([_mean_ends(of_bin) for _, of_bin in rows.groupby("bin")])
        # Of a handful of contexts a mean's interval may leave the range of probabilities.
        ends = np.clip(of_gap + table[["belief"]].to_numpy(), 0.0, 1.0)
    else:
        shares = rows["outcome"].to_numpy(dtype=float)[:, None]
        contexts = pd.factorize(rows["context"])[0]
        _, low, high, _ = context_shares(shares, rows["bin"].to_numpy(), contexts, len(table))
        ends = np.column_stack([low[:, 0], high[:, 0]])
        of_gap = ends - table[["belief"]].to_numpy()
    table["low"], table["high"] = ends.T
    table["gap_low"], table["gap_high"] = of_gap.T
    return table.reset_index(drop=True).assign(compared_with=compared_with)


def _mean_ends(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the interval of the mean gap of a bin, with contexts as clusters."""
    of_context = rows.groupby("context")["gap"].agg(["mean", "size"])
    values, weights = (of_context[name].to_numpy(dtype=np.float64) for name in ("mean", "size"))
    interval = mean_interval(values, weights=weights) if len(values) > 1 else None
    return (math.nan, math.nan) if interval is None else (interval.low, interval.high)


# Choices on either side of what the belief foretells of the state: the picture of the null of
# `coherence.sufficiency_test`. Each share is brought to the mean belief of its bin by what the test
# takes out of choices.


def sides_of(left: Floats, state: Floats, *, exact: bool) -> Codes:
    """Tell on which side of what the belief foretells a state is: 0 below, 1 above, -1 neither.

    A realised state is 0 or 1 itself; of an exact posterior `left` is what the belief leaves.
    """
    if not exact:
        return np.asarray(state > 0.5, dtype=np.int64)
    return np.where(np.abs(left) > FORETOLD, left > 0, -1).astype(np.int64)


def shares_along(line: Contexts, contexts: Contexts, actions: Sequence[Any]) -> pd.DataFrame:
    """Tabulate `shares_by_side` of contexts along their belief."""
    state = beyond_belief(line, line.truth)[0]
    left = np.stack([beyond_belief(line, column)[0] for column in line.share.T], axis=1)
    at = pd.Index(contexts.order).get_indexer(pd.Index(line.order))
    belief, share = contexts.belief[at], contexts.share[at]
    side = sides_of(state, line.truth, exact=line.exact is not None)
    if not np.array_equal(belief, line.belief):  # the line is that of the other state
        left, side = -left, np.where(side < 0, side, 1 - side)
    return shares_by_side(belief, share, left, side, np.arange(len(side)), actions)


def state_shares(data: EvaluationData) -> pd.DataFrame:
    """Tabulate the shares that `coherence.sufficiency_test` compares, of an agent in two states."""
    data, _ = in_round_numbers(data)
    contexts = outside_heaps(data, contexts_of(data))[0]
    return shares_along(in_canonical_direction(contexts), contexts, data.actions)


def shares_by_side(
    belief: Floats, share: Floats, left: Floats, side: Codes, context: Codes, actions: Sequence[Any]
) -> pd.DataFrame:
    """Tabulate the shares of actions on both sides, in bins of the belief.

    `belief`, `side` and `context` have shape (n,); `share`, and `left`, what the belief leaves of
    it, shape (n, n_actions). Returns a row an action, bin and side (``state``), with the mean
    belief of the bin and the 95% interval over contexts of what lies beyond it; none where no bin
    has enough contexts on both sides.
    """
    bins = _joined(belief_bins(belief, SIDE_BINS), side, context)
    if bins is None:
        return pd.DataFrame()
    tables, n = [], int(bins.max()) + 1
    foretold = share - left
    for position in range(n):
        inside = bins == position
        for state in (0, 1):
            of_side = inside & (side == state)
            shown = foretold[inside].mean(axis=0) + left[of_side].mean(axis=0)
            columns = {"action": [str(label) for label in actions], "bin": position, "state": state}
            columns |= {"belief": belief[inside].mean()}
            n_contexts, reach = _reach(left[of_side], context[of_side])
            ends = {"share": shown, "low": shown - reach, "high": shown + reach}
            columns |= {name: end.clip(0.0, 1.0) for name, end in ends.items()}
            tables.append(pd.DataFrame(columns).assign(n_contexts=n_contexts))
    table = pd.concat(tables, ignore_index=True)
    place = {str(label): at for at, label in enumerate(actions)}
    return table.sort_values("action", key=lambda c: c.map(place), kind="stable", ignore_index=True)


def _reach(left: Floats, context: Codes) -> tuple[int, Floats]:
    """Count contexts; return half of the t interval of the mean of what is left, over contexts."""
    code = np.unique(context, return_inverse=True)[1]
    n = int(code.max()) + 1
    means, quantile = context_means(left, code, n), float(stats.t.ppf(0.975, n - 1))
    return n, np.asarray(quantile * means.std(axis=0, ddof=1) / math.sqrt(n))


def _joined(bins: Codes, side: Codes, context: Codes) -> Codes | None:
    """Join neighbouring bins until each has enough contexts on each side; None if none has."""
    joined = np.zeros(int(bins.max()) + 1, dtype=np.int64)
    seen: list[set[int]] = [set(), set()]
    number = 0
    for position in range(joined.size):
        joined[position] = number
        for state in (0, 1):
            inside = (bins == position) & (side == state)
            seen[state] |= set(np.unique(context[inside]).tolist())
        if min(map(len, seen)) >= CONTEXTS_PER_SIDE:
            seen, number = [set(), set()], number + 1
    if number == 0:
        return None
    # What is left at the upper end goes to the last bin that is full.
    return np.asarray(np.minimum(joined, number - 1)[bins])
