"""What the primary test finds, beside what every result has, and why it may find nothing.

Reports read these fields.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from coherence.inputs import few_contexts
from coherence.result import CheckResult, Lack, by_variant
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.report_noise import Reports

SETTLED = "the stated belief settles the action, and leaves the state nothing to move"
SEPARATED = (
    "a threshold of the belief separates the states, "
    "which leaves no other state to compare with at equal belief"
)
MOVES_MOST = "beliefs give no direction, and p is that of the difference that moves most, {}"
NO_SPREAD = "no interval, because {} leave nothing of choices to chance"
ONCE = "one state was seen in {n} contexts, and an interval takes {fewest}"
FEWEST_OF_STATE = 3


@dataclass(frozen=True, repr=False)
class Sufficiency(CheckResult):
    """Result of `coherence.sufficiency_test`; None is what does not apply, or was not found."""

    test: str | None = None  # which was run, in words
    state: str | None = None  # "exact" or "realised": what stands for the truth
    action: str | None = None  # whose difference is shown, in two states
    states: list[str] | None = None  # that difference's first state, and the other
    reports: Reports | None = None  # what reports tell of their noise
    # of the direction with reports as exact, and beyond what is allowed for; of the turn
    p_direction: float | None = None
    p_beyond: float | None = None
    p_turn: float | None = None
    turns: bool | None = None  # whether the turn alone rejects
    allowed: float | None = None  # as much of the estimate may be belief that is not said
    n_untold: int | None = None  # contexts whose reports do not tell beliefs apart
    # beliefs that stand for more than their step, and what was done with them
    left_out: str | None = None
    in_heaps: str | None = None
    taken_for: str | None = None
    coarse: bool | None = None  # whether steps hide beliefs, where no test allows for that
    small_groups: bool | None = None  # whether groups do not show curves of their own
    settled: bool | None = None  # whether the belief settles the action
    n_draws: int | None = None
    n_persons: int | None = None
    n_counting: float | None = None  # equal contexts that tell as much, of persons

    @property
    def hides_all(self) -> bool:
        """Whether what reports may leave unsaid is more than any difference can be."""
        return abs(self.allowed or 0.0) >= 1


def primary_of(results: Iterable[CheckResult]) -> Sufficiency | None:
    """Return the result of the primary test; None where it was not run."""
    return by_variant(results, Sufficiency).get("")


def lack_of(data: EvaluationData) -> Lack:
    """Tell what data of which no check can say anything lack; `OPEN` where one can."""
    if data.own_answer is not None:
        return Lack.BELIEF
    if len(data.actions) < 2:
        return Lack.ACTIONS
    return Lack.CASES if few_contexts(data.n_contexts) else Lack.OPEN


def rare_state(holds: NDArray[Any]) -> str:
    """Say that a state, 1 where it holds, is too rare for an interval; empty where it is not."""
    n = int(min((holds == 1).sum(), (holds != 1).sum()))
    return "" if n >= FEWEST_OF_STATE else ONCE.format(n=n, fewest=FEWEST_OF_STATE)
