"""What a check declares of itself, once; planning, verdicts, reports, commands and pages read it.

A check is a file of this folder that ends in ``CHECK = Check(...)``, and a line in the list
`coherence.checks.CHECKS`. It takes arrays: `coherence.analysis.unit` reads them off the columns
of a unit and hands them over as `Facts`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from coherence.inputs import Floats
from coherence.rational.agent import RationalAgent
from coherence.result import CheckResult

ANY = "*"
"""Key of the sentences of variants that data name, such as pairs of actions."""
ALWAYS, ON_DEMAND, NEVER = "always", "on demand", "never"
FEWEST_DRAWS = 99
"""Draws of a null distribution that a test takes at the least, and all that twins need."""
INTERVAL_ALONE = "The published interval {position}; its error rate is not controlled."


@dataclass(frozen=True)
class Sentences:
    """What a result means, one plain sentence for each way in which it can end.

    Templates of `str.format`: ``{value}`` is the statistic, ``{variant}`` what follows the colon in
    the name of the result, ``{position}`` where its interval lies, ``{belief}`` the kind of belief
    ("stated belief"). A sentence that is left out is one that cannot be needed; a result that needs
    it all the same is an error.

    Parameters
    ----------
    rejected, kept : str
        The test rejects, or does not ("No sign that ...", with `sign`, where it is left out).
    sign : str
        What the test looks for, as a clause behind "that": what is said where it rejects alone and
        not after the correction, or where scatter of reports may be why.
    estimate : str
        There is no test.
    published : str
        The papers' own procedure was run.
    one_sided : bool
        Whether the test looks for effects above 0 alone.
    scatter_misleads : bool
        Whether the test takes reports as exact and rejects where they scatter around the belief.
    discrepancy : bool
        Whether the statistic measures a distance from coherence that noise adds to, so that a share
        of it can be noise.
    distance : bool
        Whether it cannot fall below 0, so that large values alone are extreme.
    untwinned : str
        Why rational twins of the data have no such statistic; empty where they do.
    """

    rejected: str = ""
    kept: str = ""
    sign: str = ""
    estimate: str = ""
    published: str = ""
    one_sided: bool = False
    scatter_misleads: bool = False
    discrepancy: bool = False
    distance: bool = False
    untwinned: str = ""


@dataclass(frozen=True)
class Facts:
    """What one (task, model) offers a check: its rows that hold all that the check needs.

    Parameters
    ----------
    belief : ndarray, shape (n,) or (n, n_states)
        Stated belief in the second of two states, or in every state.
    action : Series, length n, or DataFrame, shape (n, n_actions)
        Labels, or the probability of each action in a column of its name; null where there is none,
        which only rows that the check does not need can be.
    truth : Series, length n
        Labels; null where there is none.
    state : Series, length n
        `truth` as 0 or 1, NaN where it is not known or has another number of states.
    positive : Any
        Label of `truth` that is 1; None where its labels say so themselves, or are no two states.
    exact : Series, length n
        Exact posterior; NaN where it is not known.
    context : Series, length n
        Ids of the evidence.
    features : DataFrame or None
        Evidence columns in which these rows have any value.
    n_asked : int
        Rows that were asked what the check needs, readable or not.
    runs : DataFrame
        Every row of the unit, other wordings and beliefs given z included.
    reference : str
        The prompt of all rows above.
    published : bool
        Whether the papers' own procedures were asked for.
    computed : bool
        Whether beliefs were computed from a model's distribution, so that they have no noise.
    group : Series or None
        What contexts share beyond their belief, such as a template; None where nothing was named.
    """

    belief: Floats
    action: pd.Series | pd.DataFrame
    truth: pd.Series
    state: "pd.Series[float]"
    positive: Any
    exact: "pd.Series[float]"
    context: pd.Series
    features: pd.DataFrame | None
    n_asked: int
    runs: pd.DataFrame
    reference: str
    published: bool
    computed: bool = False
    group: pd.Series | None = None

    @property
    def actions(self) -> list[str]:
        """Actions that some row chose, or gives a probability, in sorted order."""
        if isinstance(self.action, pd.DataFrame):
            return sorted(str(name) for name in self.action if self.action[name].any())
        return sorted(self.action.unique())

    @property
    def n_dropped(self) -> int:
        """Rows that were asked and could not be read."""
        return self.n_asked - len(self.belief)


@dataclass(frozen=True)
class Original:
    """The data that a twin is a twin of, for the statistic that is to be compared with theirs.

    Parameters
    ----------
    results : mapping
        Name -> result of every check that ran.
    agent : RationalAgent
        The agent that was fitted to them, whose twin this is.
    kept : dict
        What a check keeps from one twin to the next, because all have rows of the same kind.
    """

    results: Mapping[str, CheckResult]
    agent: RationalAgent
    kept: dict[str, Any] = field(default_factory=dict, compare=False)


Effects = Callable[[Original, np.random.Generator | None], Mapping[str, float] | None]
"""Computes the statistics alone, by name of the result, of the effect that the original shows.

None where only the check itself can."""


@dataclass(frozen=True)
class Call:
    """One run of a check, ready to be sent to another process.

    Parameters
    ----------
    function : callable
        The check with its arguments (`functools.partial`), but for `rng`.
    n_dropped : int, optional
        Rows left out before the call; None where the function counts them itself.
    draws : bool
        Whether the function takes `rng`.
    fewest : mapping
        Options of the function with which its statistics are quickest to have, such as few draws of
        a null distribution that only the p-value needs.
    effects : callable, optional
        A quicker way to the statistics than the function with `fewest`, or one that keeps to the
        effect of the original where the function chooses what it reports.
    twins : str
        Whether rational twins of the data have it: `ALWAYS`, `ON_DEMAND` where it takes long, or
        `NEVER` where it would not be a statistic of theirs.
    """

    function: Callable[..., CheckResult | list[CheckResult]]
    n_dropped: int | None = None
    draws: bool = True
    fewest: Mapping[str, int] = field(default_factory=dict)
    effects: Effects | None = None
    twins: str = ALWAYS

    def statistics(self, original: Original, rng: np.random.Generator | None) -> dict[str, float]:
        """Return the statistics of a twin by name of the result."""
        alone = None if self.effects is None else self.effects(original, rng)
        if alone is not None:
            return dict(alone)
        options: dict[str, Any] = {} if rng is None else {"rng": rng}
        outcome = self.function(**self.fewest, **options)
        results = outcome if isinstance(outcome, list) else [outcome]
        return {result.check: result.statistic for result in results}


CallsAndNotes = Iterator[Call | str]
"""The calls of a check, in the order of their results, and notes on what is left out and why."""


@dataclass(frozen=True)
class Check:
    """Declaration of a check.

    Parameters
    ----------
    name : str
        What users ask for and results are called, before a colon and the variant.
    needs : tuple of str
        An entry of `coherence.table.needs.EVIDENCE`; it decides which rows the check is given.
    sentences : mapping
        Variant of the result, "" for none and `ANY` for every other -> what it says.
    plan : callable
        Turns facts into calls and notes; only called where there are rows with what is needed.
    states_named : bool
        Of two states, the check must know which belief is in which.
    parts : tuple of Check
        Further checks that run whenever this one does, on the same rows.
    """

    name: str
    needs: tuple[str, ...]
    sentences: Mapping[str, Sentences]
    plan: Callable[[Facts], CallsAndNotes]
    states_named: bool = False
    parts: tuple["Check", ...] = ()

    @property
    def spoken(self) -> str:
        """The name in a sentence."""
        return self.name.replace("_", " ")
