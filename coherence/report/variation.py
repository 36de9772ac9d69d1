"""What moves in the answers of one (task, model): beliefs with the truth, and the choices.

A test of coherence can see little where beliefs and choices hardly vary, whatever its p-value. So
this is what a report says first, and what the room that a passed test leaves is held against.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from coherence.printable import capitalised, clean, counted, format_numbers
from coherence.runs.runs import Runs
from coherence.statistics.figure_tables import over_contexts

NARROW_SD = 0.05
"""Standard deviation of beliefs over contexts below which they hardly vary."""
ONE_SIDED_SHARE = 0.95
"""Share of the most frequent action from which choices hardly vary."""
MOST_ACTIONS = 5


@dataclass(frozen=True)
class Variation:
    """How far beliefs and choices vary between contexts, under the reference prompt."""

    # low, high, sd: range and standard deviation of the contexts' mean beliefs; NaN where belief is
    # not one number or nothing is known
    low: float = math.nan
    high: float = math.nan
    sd: float = math.nan
    truth: str = ""  # what belief is held against: "exact posterior", "state" or ""
    # truth_low, truth_high: its range
    truth_low: float = math.nan
    truth_high: float = math.nan
    # spearman's, of mean belief with it over contexts; NaN where one of them is constant
    rank_correlation: float = math.nan
    # action -> its share, the most frequent first
    actions: Mapping[str, float] = field(default_factory=dict)
    # standard deviation over contexts of the share of the action that varies most
    action_sd: float = math.nan
    n_contexts: int = 0  # with a parsed belief
    of: str = "case"  # what means are of: where persons judge, each judgement

    @property
    def narrow(self) -> bool:
        """Whether beliefs hardly vary between contexts."""
        return self.sd < NARROW_SD

    @property
    def one_sided(self) -> bool:
        """Whether nearly all choices are one action."""
        return max(self.actions.values(), default=0.0) >= ONE_SIDED_SHARE


def variation(beliefs: pd.DataFrame, runs: Runs, reference: pd.DataFrame) -> Variation:
    """Measure how far beliefs and choices vary, of parsed `beliefs` or all rows of `reference`."""
    drawn = any(name in beliefs for name in ("action", *runs.policies))
    table = beliefs if drawn else runs.table
    if "loss" in runs.names:  # choices at stakes may have no belief of their own
        table = reference
    policies = [name for name in runs.policies if name in table and table[name].notna().any()]
    if policies:
        chosen = table[policies].astype(float).rename(columns=runs.action_names)
        chosen = chosen[chosen.notna().all(axis=1)]
    elif "action" in table and table["action"].notna().any():
        chosen = pd.get_dummies(table["action"].dropna().astype(str), dtype=float)
    else:
        chosen = pd.DataFrame()
    shares = chosen.mean().sort_values(ascending=False, kind="stable")
    actions = {str(name): float(share) for name, share in shares.items()}
    action_sd = math.nan
    if len(chosen):
        by_action = chosen.groupby(table.loc[chosen.index, "context"]).mean().std()
        action_sd = float(by_action.max())
    judged = "person" in runs.names  # at the belief of each: those of a case may average out
    if judged:
        whose = runs.table["person"].reindex(beliefs.index)
        each = pd.Series([*zip(beliefs["context"], whose, strict=True)], beliefs.index)
        beliefs = beliefs.assign(context=each)
    means, of_truth = over_contexts(beliefs)
    if means.empty:
        return Variation(actions=actions, action_sd=action_sd)
    belief, truth = means["belief"], means["truth"]
    ranks = means.dropna().rank()
    constant = len(ranks) < 3 or (ranks.nunique() < 2).any()
    return Variation(
        float(belief.min()),
        float(belief.max()),
        float(belief.std()) if len(belief) > 1 else math.nan,
        of_truth,
        float(truth.min()),
        float(truth.max()),
        math.nan if constant else float(ranks["belief"].corr(ranks["truth"])),
        actions,
        action_sd,
        len(means),
        "judgement" if judged else "case",
    )


def moves_sentence(moves: Variation | None) -> str:
    """Say what moves: range of beliefs and of the truth, their rank correlation, action shares."""
    if moves is None:
        return ""
    parts = []
    if not math.isnan(moves.low):
        text = f"beliefs {_number(moves.low)} to {_number(moves.high)}"
        text += "" if math.isnan(moves.sd) else f" (SD {format_numbers([moves.sd])[0]})"
        if moves.truth == "exact posterior":
            text += (
                f" while the exact posterior runs from {_number(moves.truth_low)} to "
                f"{_number(moves.truth_high)}"
            )
        if not math.isnan(moves.rank_correlation):
            against = "" if moves.truth == "exact posterior" else f" with the {moves.truth}"
            text += f" (rank correlation{against} {moves.rank_correlation:z.2f})"
        of = counted(moves.n_contexts, moves.of) if moves.n_contexts else "cases"
        parts.append(f"{text}, means of {of}")
    if moves.actions:
        shares = list(moves.actions.items())
        named = [f"{clean(name, limit=30)} {share:.1%}" for name, share in shares[:MOST_ACTIONS]]
        if len(shares) > MOST_ACTIONS:
            named.append(f"{len(shares) - MOST_ACTIONS} more")
        parts.append(f"actions {', '.join(named)}")
    return f"{'; '.join(parts)}." if parts else ""


def stillness(moves: Variation) -> str:
    """Say how little beliefs or choices vary, which they do."""
    said = []
    if moves.narrow:
        low, high = (f"{100 * end:.0f}" for end in (moves.low, moves.high))
        said.append(f"it states {low}%" if low == high else f"it states {low} to {high}%")
        if moves.truth:
            ends = f"{100 * moves.truth_low:.0f} to {100 * moves.truth_high:.0f}%"
            said[-1] += f" where the {moves.truth} runs from {ends}"
    if moves.one_sided:
        action, share = next(iter(moves.actions.items()))
        said.append(f"{share:.1%} of its choices are {clean(action, limit=30)}")
    return f"{capitalised(', and '.join(said))}."


def little_sentence(moves: Variation | None) -> str:
    """Warn where beliefs or choices hardly vary; empty where they do, or nothing is known."""
    if moves is None or not (moves.narrow or moves.one_sided):
        return ""
    narrow = f"beliefs (SD {format_numbers([moves.sd])[0]})" if moves.narrow else ""
    action = next(iter(moves.actions), "")
    one = f"choices ({clean(action, limit=30)} {moves.actions[action]:.1%})" if action else ""
    hardly = " and ".join(filter(None, [narrow, one if moves.one_sided else ""]))
    return f"{capitalised(hardly)} hardly vary: tests of belief against choice can see little here."


def _number(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 or value < 5e-4 else f"{value:.3f}"
