"""Monotone pairwise choice: among two actions, the share of one must move with the belief.

For an expected-utility maximiser the utility difference of two actions is linear in the belief, so
that, if irrelevant alternatives do not matter, the share of one among the two is monotone in it.
Beliefs are cut into quantile bins; the test asks whether the largest drop between any two bins
exceeds what contexts alone produce when all shares are equal, the least favourable monotone case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.checks.check import ANY, FEWEST_DRAWS, Call, CallsAndNotes, Check, Facts, Sentences
from coherence.checks.direction import CHECK as DIRECTION
from coherence.checks.direction import single_belief
from coherence.errors import InputError, closest
from coherence.inputs import (
    MIN_CONTEXTS,
    Actions,
    Codes,
    Floats,
    as_actions,
    as_contexts,
    require,
    require_aligned,
    whole_number,
)
from coherence.result import CheckResult, Interval, rejects
from coherence.statistics.drops import (
    MIN_CONTEXTS_PER_BIN,
    BinnedPair,
    Drops,
    binned_pair,
    largest_drop,
)
from coherence.statistics.resample import Seed, Units, as_generator, as_units
from coherence.table.needs import CHOICES

NO_PUBLISHED = "Fisher's test counts chosen actions, and here actions are probabilities"
UNIT = "share"
UNIT_PUBLISHED = "fraction of bin pairs"
SIGNS = {"increasing": (1,), "decreasing": (-1,), "either": (1, -1)}
FEWEST = {"n_draws": FEWEST_DRAWS}
# The first one's share must rise with the belief.
ORDERED_PAIRS = (("yes", "no"), ("yes", "defer"), ("defer", "no"))


def monotone_choice_test(
    belief: ArrayLike,
    action: ArrayLike,
    *,
    pair: tuple[Any, Any],
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    direction: str = "increasing",
    n_bins: int = 5,
    n_draws: int = 9_999,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Test whether the share of one action among two is monotone in the stated belief.

    Null: among the choices in `pair`, the share of the first is non-decreasing in the belief bin
    (for ``direction="increasing"``). Where actions are probabilities, its share in the probability
    of the two, averaged within the bin.

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probabilities in [0, 1].
    action : array-like, shape (n,) or (n, n_actions)
        Labels, or the probability of each action; a DataFrame's columns name the actions.
    pair : tuple of two labels
        First action and the one it is compared with.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    group : array-like, shape (n,), optional
        What contexts share beyond their belief, such as a template: groups are then the units, at
        least ten of them. Constant within a context.
    direction : {"increasing", "decreasing", "either"}
        How the share must move with the belief. "either" rejects only if both directions are
        rejected.
    n_bins : int
        Quantile bins of the belief; fewer where beliefs tie.
    n_draws : int
        Draws from the null distribution.
    published : bool
        The published procedure instead: Fisher's exact test for every pair of bins that violates
        the order, uncorrected and over rows; `statistic` is the fraction of all pairs of bins with
        a significant violation, and there is no p-value.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    CheckResult
        `statistic` is the largest drop of the share from one bin to a later one (negative: rising
        everywhere, with that margin), with an interval for the largest true drop (conservative
        where several pairs of bins tie for the largest) and one p-value for the pair. `details`
        lists the pairs of bins j < k with their mean beliefs, shares and 95% intervals (over
        contexts), numbers of rows, p-values (adjusted for all pairs of bins) and whether they
        violate. Where actions are probabilities, the numbers are their sums, with standard errors.

    Raises
    ------
    InputError
        An array breaks its rule, or `pair` or `direction` is unknown.

    Notes
    -----
    Assumes independent contexts and, for three or more actions, independence of irrelevant
    alternatives. The covariance of the shares is estimated with contexts as units; the null
    distribution is a multivariate t at equal shares, where the largest violation is stochastically
    largest among monotone shares.

    Probabilities of actions spare the coin toss: shares vary over contexts alone. A bin counts with
    the effective number of its contexts, each weighed by the probability that it gives the pair.
    There is no published procedure for them.

    References
    ----------
    Robertson, Wright and Dykstra (1988), Order Restricted Statistical Inference, section 2.3.

    Examples
    --------
    >>> belief, action = [0.2, 0.8] * 50, ["treat", "wait"] * 50  # treated where it is less likely
    >>> monotone_choice_test(belief, action, pair=("treat", "wait"), rng=1).pvalue
    0.0001
    """
    _require_options(pair, direction)
    require_aligned(belief=belief, action=action, context=context, group=group)
    values = single_belief(belief, "monotone_choice_test")
    actions = as_actions(action, len(values))
    _require_known(pair, action, actions)
    policies, labels = actions.probabilities is not None, actions.labels
    of_row, contexts = as_contexts(context, len(values))
    units = as_units(group, of_row, contexts)
    n_bins = whole_number(n_bins, "n_bins", 2)
    n_draws = whole_number(n_draws, "n_draws", FEWEST_DRAWS)
    chosen = [label for label in pair if label in labels]
    first, mass = (_probability_of(wanted, actions) for wanted in (pair[:1], pair))
    in_pair = mass > 0
    settings = {
        "pair": list(pair),
        "direction": direction,
        "n_bins": n_bins,
        "published": published,
        "unit of resampling": "row" if published else units.name,
    }
    result = _untested(pair, of_row[in_pair], settings)
    declined = NO_PUBLISHED if published and policies else ""
    few_groups = "" if published else units.too_few
    if reason := _too_little(pair, chosen, len(contexts)) or declined or few_groups:
        return replace(result, reason=reason)

    unit = units.of_context[of_row]
    binned = binned_pair(values, first, mass, unit, n_bins=n_bins, policies=policies)
    if binned is None:
        few = units.said(f"fewer than two belief bins have {MIN_CONTEXTS_PER_BIN} contexts")
        return replace(result, reason=f"{few} with a choice from the pair")
    sign, drops = drops_of_pair(binned, direction, n_draws, as_generator(rng))
    # Probabilities are no trials of which a share could be counted: its error is over contexts.
    error = np.sqrt(np.diag(binned.covariance)) if policies else None
    details = _bin_pairs(drops, binned, error)
    result = replace(result, settings={**result.settings, "n_bins_used": binned.share.size})
    if published:
        return _published(result, details, sign)
    toward = "increasing" if sign == 1 else "decreasing"
    return _tested(result, drops, details, n_draws, toward, units)


def drops_of_pair(
    binned: BinnedPair,
    direction: str,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[int, Drops]:
    """Study the drops of a pair in each direction allowed; return the sign of the one that counts.

    "either" is an intersection-union test: both directions must be rejected, so the better-fitting
    one decides.
    """
    by_sign = {
        sign: largest_drop(
            sign * binned.share,
            binned.covariance,
            degrees=binned.degrees,
            n_draws=n_draws,
            rng=rng,
        )
        for sign in SIGNS[direction]
    }
    return max(by_sign.items(), key=lambda item: item[1].pvalue)


def _untested(pair: tuple[Any, Any], context: Codes, settings: dict[str, Any]) -> CheckResult:
    """Result of the rows of a pair, whose contexts are given, before anything is computed."""
    toward = "monotone" if settings["direction"] == "either" else settings["direction"]
    published = settings["published"]
    return CheckResult(
        check=f"monotone_choice:{pair[0]}/{pair[1]}",
        null=f"the share of {pair[0]!r} among {pair[0]!r} and {pair[1]!r} is {toward} in belief",
        statistic=math.nan,
        unit=UNIT_PUBLISHED if published else UNIT,
        interval=None,
        pvalue=None if published else math.nan,
        n_rows=len(context),
        n_contexts=int(np.unique(context).size),
        settings=settings,
    )


def _require_options(pair: tuple[Any, Any], direction: str) -> None:
    if direction not in SIGNS:
        raise InputError(f"direction must be one of {', '.join(SIGNS)}; received {direction!r}.")
    require(
        isinstance(pair, tuple | list) and len(pair) == 2 and pair[0] != pair[1],
        f"pair must hold two different actions; received {pair!r}.",
    )


def _require_known(pair: tuple[Any, Any], action: Any, actions: Actions) -> None:
    """Refuse a label that is no action, such as a typo of one."""
    offered = set(actions.labels)
    if isinstance(action, pd.DataFrame):
        offered |= set(action.columns)
    elif isinstance(action, pd.Series) and isinstance(action.dtype, pd.CategoricalDtype):
        offered |= set(action.cat.categories)
    # Where every action that was seen is in the pair, the other one was simply never chosen.
    unclaimed = set(actions.labels) - set(pair)
    for label in pair:
        require(
            label in offered or not unclaimed,
            f"pair must hold labels of action; received {label!r}. "
            f"{closest(label, sorted(offered, key=str))} An action that was offered and never "
            "chosen is known as a category (pandas.Categorical) or a column.",
        )


def _too_little(pair: tuple[Any, Any], chosen: list[Any], n_contexts: int) -> str:
    """Say why a pair cannot be tested; empty if it can."""
    if not chosen:
        return f"neither {pair[0]!r} nor {pair[1]!r} was chosen"
    if len(chosen) < 2:
        return f"of {pair[0]!r} and {pair[1]!r} only {chosen[0]!r} was chosen"
    return (
        f"{n_contexts} contexts are fewer than {MIN_CONTEXTS}" if n_contexts < MIN_CONTEXTS else ""
    )


def _tested(
    result: CheckResult,
    drops: Drops,
    details: pd.DataFrame,
    n_draws: int,
    direction: str,
    units: Units,
) -> CheckResult:
    method = units.said("for the largest over pairs of bins, contexts as units")
    return replace(
        result,
        statistic=float(drops.drop.max()),
        interval=Interval(drops.low, drops.high, 0.95, method).within(-1.0, 1.0),
        pvalue=drops.pvalue,
        settings={**result.settings, "n_draws": n_draws, "direction_tested": direction},
        details=details,
        assumptions=(
            units.said("contexts are independent"),
            "irrelevant alternatives do not matter",
        ),
    )


def _probability_of(labels: Sequence[Any], actions: Actions) -> Floats:
    """Probability of some actions together in each row; those that nobody takes add nothing."""
    columns = [actions.labels.index(label) for label in labels if label in actions.labels]
    return np.asarray(actions.share[:, columns].sum(axis=1))


def _bin_pairs(drops: Drops, binned: BinnedPair, error: Floats | None) -> pd.DataFrame:
    """List every pair of bins j < k, with the p-value of its violation."""
    columns: dict[str, Any] = {}
    for name, values in (
        ("bin", None),
        ("belief", binned.belief),
        ("share", binned.share),
        ("n", binned.rows),
        ("low", binned.low),
        ("high", binned.high),
    ):
        for side, bins in (("j", drops.j), ("k", drops.k)):
            columns[f"{name}_{side}"] = bins if values is None else values[bins]
    table = pd.DataFrame(columns | {"pvalue": drops.adjusted, "violation": drops.drop > 0})
    if (binned.rows % 1 == 0).all():  # numbers of choices, and of probabilities their sums
        table = table.astype({"n_j": int, "n_k": int})
    if error is not None:
        table = table.assign(se_j=error[drops.j], se_k=error[drops.k])
    return table.assign(significant=_significant)


def _significant(table: pd.DataFrame) -> pd.Series[bool]:
    return table["violation"] & table["pvalue"].map(rejects)


def _published(result: CheckResult, details: pd.DataFrame, sign: int) -> CheckResult:
    """Test each violating pair of bins for itself, over rows and uncorrected."""
    pvalues = []
    for pair in details.itertuples():
        chosen, rows = ({"j": 0, "k": 0} for _ in range(2))
        for side in ("j", "k"):
            rows[side] = getattr(pair, f"n_{side}")
            chosen[side] = round(getattr(pair, f"share_{side}") * rows[side])
        # Fisher's test of the bin that must not have the larger share.
        order = ("j", "k") if sign == 1 else ("k", "j")
        table = [[chosen[side], rows[side] - chosen[side]] for side in order]
        exact = (
            stats.fisher_exact(np.array(table), alternative="greater") if pair.violation else None
        )
        pvalues.append(math.nan if exact is None else float(exact.pvalue))
    details = details.assign(pvalue=pvalues).assign(significant=_significant)
    return replace(
        result,
        statistic=float(details["significant"].mean()),
        details=details,
        assumptions=(
            "rows are independent",
            "irrelevant alternatives do not matter",
            "pairs of bins are not corrected for their number",
        ),
    )


def action_pairs(actions: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    """Pair actions, the one whose share must rise with the belief first."""
    by_name = {action.lower(): action for action in actions}
    if len(by_name) == len(actions) and set(by_name) <= {"yes", "no", "defer"}:
        ordered = [pair for pair in ORDERED_PAIRS if set(pair) <= set(by_name)]
        return [(by_name[first], by_name[second]) for first, second in ordered], "increasing"
    return list(combinations(actions, 2)), "either"


def _plan(facts: Facts) -> CallsAndNotes:
    pairs, toward = action_pairs(facts.actions)
    if not pairs:
        yield f"only the action {facts.actions[0]!r} was seen: monotone choice was not tested."
    elif toward == "either":
        yield "actions are not yes, no and defer: monotone choice was tested in either direction."
    for pair in pairs:
        test = partial(monotone_choice_test, facts.belief, facts.action, pair=pair)
        units = {"context": facts.context, "group": facts.group}
        options = {"direction": toward, "published": facts.published, **units}
        yield Call(partial(test, **options), facts.n_dropped, fewest=FEWEST)


CHECK = Check(
    name="monotone_choice",
    needs=CHOICES,
    sentences={
        ANY: Sentences(
            rejected="The choice share moves against the {belief}: "
            "no expected-utility maximiser who believes it chooses so.",
            sign="the choice share moves against the {belief}",
            kept="No sign that the choice share moves against the {belief}.",
            one_sided=True,
            discrepancy=True,
            published="{value:.0%} of bin pairs violate the order significantly (uncorrected).",
        )
    },
    plan=_plan,
    states_named=True,
    parts=(DIRECTION,),
)
