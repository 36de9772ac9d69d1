"""What a report knows of one (task, model): plain data that every renderer reads.

`coherence.analyze` fills it. It stands below the renderers, `coherence.report.report` above them.
"""

from dataclasses import dataclass, field

import pandas as pd

from coherence.rational.sensitivity import Sensitivity
from coherence.report.movement import Movement
from coherence.result import CheckResult
from coherence.statistics.scatter import Scatter
from coherence.table.answering import Answering


@dataclass(frozen=True)
class Unit:
    """All checks of one (task, model).

    Parameters
    ----------
    task, model : str
        Names as they stand in the runs table; untrusted text.
    results : tuple of CheckResult
        In the order of the checks.
    verdicts : tuple of str
        One plain sentence per result.
    notes : tuple of str
        What was left out and why, what was assumed, warnings.
    alerts : tuple of str
        Those of the notes on which every p-value and interval hangs; they stand beside the
        conclusion.
    statuses : DataFrame
        Columns ``question`` (prompt name, prompt name "with action", or "given z"), ``status``,
        ``rows``.
    beliefs : DataFrame
        The readable beliefs under the reference prompt: ``belief``, ``context`` and, where known,
        ``action`` or ``action_<label>`` (probabilities), ``truth`` (0 or 1) and ``p_true``.
    unreadable : DataFrame
        Up to a handful of rows with status neither ok nor repaired: ``context``, ``prompt``,
        ``z_state``, ``status`` and the raw answers, as far as known; untrusted text.
    bounds : DataFrame
        From ``coherence.table.audit.worst_case_bounds``: rates if all unreadable answers had gone
        one way or the other.
    answering : Answering or None
        How the answers were got; None where that was not asked.
    conclusion : tuple of str
        What the tests together say, and how sure one can be.
    cautions : tuple of str
        What may mislead tests.
    scatter : Scatter or None
        How far reports of equal evidence lie apart; None where that was not asked.
    rows : DataFrame
        All rows of the runs table that belong to it, for the pages of answers; untrusted text.
    labels : DataFrame
        ``question`` and ``status`` of each of them, from `coherence.table.audit.label_rows`.
    sensitivity : Sensitivity or None
        How much unseen noise would explain a hidden shift; None where that was not asked, or the
        test of the rational agent does not reject.
    movement : Movement or None
        How far beliefs and choices vary; None where that was not asked.
    """

    task: str
    model: str
    results: tuple[CheckResult, ...]
    verdicts: tuple[str, ...]
    notes: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    statuses: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)
    beliefs: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)
    unreadable: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)
    bounds: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)
    answering: Answering | None = None
    conclusion: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    scatter: Scatter | None = None
    rows: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)
    labels: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)
    sensitivity: Sensitivity | None = None
    movement: Movement | None = None

    @property
    def other_notes(self) -> tuple[str, ...]:
        """The notes that are no alerts."""
        return tuple(note for note in self.notes if note not in self.alerts)
