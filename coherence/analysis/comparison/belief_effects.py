"""Effects of beliefs alone: how far from the truth, how steady, how readable."""

from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.comparison.measured import (
    Answers,
    Estimate,
    Unfit,
    case_ids,
    mean_by_context,
)
from coherence.checks.calibration import (
    N_BINS,
    bin_totals,
    calibration_estimates,
    pseudo_values,
)
from coherence.checks.consistency import TOO_FEW, context_squares
from coherence.inputs import Floats
from coherence.statistics.bins import belief_bins
from coherence.table.audit import row_statuses
from coherence.table.schema import READABLE, has_action

SEVERAL = "beliefs are over more than two states"


def _against(answers: Answers, target: str) -> tuple[Floats, Floats, pd.Series]:
    """Beliefs in one of two states with what they are held against, and their contexts."""
    unit = answers.unit
    if not unit.in_two_states:
        raise Unfit(SEVERAL)
    if unit.unpaired:
        raise Unfit(unit.unpaired)
    known = unit.state if target == "theta" else unit.stated.get("p_true", unit.state * np.nan)
    rows = unit.stated[known.notna()]
    if rows.empty:
        raise Unfit("no readable belief" if unit.stated.empty else f"no {target}")
    return unit.belief(rows), np.asarray(known[rows.index], dtype=np.float64), rows["context"]


def squared_error(answers: Answers, target: str) -> "pd.Series[float]":
    """Return the mean squared error of each case to what `target` holds."""
    belief, aim, context = _against(answers, target)
    return mean_by_context((belief - aim) ** 2, context)


def calibration_error(answers: Answers, seed: int, target: str) -> Estimate:
    """Estimate the gaps of bins of belief without what chance adds, with its pseudo-values."""
    belief, aim, context = _against(answers, target)
    exact = target == "p_true"
    against: dict[str, Any] = {"p_true": aim} if exact else {"truth": aim}
    wanted = f"calibration:calibration_error{'_exact' if exact else ''}"
    group = answers.unit.stated.get("group")
    against["group"] = None if group is None else group[context.index]
    results = calibration_estimates(belief, **against, context=context, positive=None)
    (result,) = [each for each in results if each.check == wanted]
    codes, contexts = pd.factorize(context, sort=True)
    totals = bin_totals(belief_bins(belief, N_BINS), belief - aim, codes, len(contexts))
    return Estimate(result.statistic, result.interval, pseudo_values(*totals), result.reason)


def cases_with_target(answers: Answers, target: str) -> "pd.Index[Any]":
    """Return the cases with a readable belief and a value of `target`."""
    return case_ids(_against(answers, target)[2].unique())


def wording_squares(answers: Answers) -> "pd.Series[float]":
    """Return the squared difference of each case between wordings, without noise."""
    unit = answers.unit
    if unit.states:
        raise Unfit("beliefs have a column for every state")
    if not answers.prompts:
        raise Unfit("no other wording was asked of every model")
    readable = set(unit.elsewhere.loc[unit.elsewhere["p"].notna(), "prompt"])
    unread = [name for name in answers.prompts if name not in readable]
    if unread or unit.stated.empty:
        raise Unfit(f"no readable belief under {(unread or [answers.reference])[0]!r}")
    plain = unit.rows[unit.rows["z_state"].isna()]
    squares = context_squares(plain, reference=answers.reference, prompts=answers.prompts)
    if squares.empty:
        raise Unfit(TOO_FEW.partition(";")[0])
    return squares


def report_variance(answers: Answers) -> "pd.Series[float]":
    """Variance of the reports of each case, the mean over states where there are several."""
    unit = answers.unit
    if unit.stated.empty:
        raise Unfit("no readable belief")
    beliefs = pd.DataFrame(unit.belief(unit.stated).reshape(len(unit.stated), -1))
    context = unit.stated["context"].to_numpy()
    variance = beliefs.groupby(context, sort=True).var(ddof=1).mean(axis="columns")
    if unit.computed:  # expectations themselves, which asking again would not change
        return variance.fillna(0.0)
    variance = variance.dropna()
    if variance.empty:
        raise Unfit("reports are not repeated")
    return variance


def unread_share(answers: Answers) -> "pd.Series[float]":
    """Return the share of the answers about each case that could not be read.

    Of the wordings and variables z that all models were asked: another mixture of questions is
    another rate, whoever answers.
    """
    rows = answers.unit.rows
    shared = rows["prompt"].isin([answers.reference, *answers.prompts])
    if "z" in rows.columns:
        shared &= rows["z"].isna() | rows["z"].astype(str).isin(answers.variables)
    acted = has_action(rows)
    if "raw_action" in rows.columns:
        acted |= rows["raw_action"].notna()
    if (acted & ~shared).any():
        raise Unfit("its actions were asked with a wording that not every model was asked")
    rows = rows[shared]
    lost = ~np.isin(row_statuses(rows, answers.reference), READABLE)
    return mean_by_context(lost, rows["context"])
