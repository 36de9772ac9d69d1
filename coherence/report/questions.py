"""Results under the questions that they answer, in plain words, and which of them lead.

The one place that says what a check asks: terminal, page and notebook read it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from coherence.report.movement import little_sentence
from coherence.report.unit import Unit
from coherence.report.wording import clean
from coherence.result import CheckResult, Outcome

FURTHER = "What else was estimated"
QUESTIONS = {
    "Is it the belief acted on?": {
        "residual_covariance": "choices at equal belief",
        "cmi": "what the truth adds to the belief",
        "predictive_gain": "what the truth would help to predict",
        "predictive_gain:features": "what the evidence and truth would help to predict",
        "rational_agent": "beside the nearest rational agent",
    },
    "Do choices follow the belief?": {
        "monotone_choice": "a choice falls where its belief rises",
        "monotone_direction": "choices turn within the range of beliefs",
    },
    "Do beliefs hang together?": {
        "prompt_consistency": "prompt variants apart",
        "iterated_expectation": "average gap to the belief after evidence",
        "iterated_expectation:noise_removed": "size of these gaps, report noise removed",
        "iterated_expectation:relative": "gaps, relative to the belief",
        "iterated_expectation:random_forest": "gaps to a random forest, relative to the belief",
    },
    "Are they right?": {
        "calibration:rmse": "RMSE to the exact posterior",
        "calibration:brier": "Brier score",
        "calibration": "calibration error",
    },
}
"""Question -> name of a check or of one of its results -> what it says in plain words."""
_COMPARED = "prompt_consistency"
"""Its estimates are one quantity of several prompts: the largest leads, lest it be hidden."""
_BY_PAIR = "monotone_choice"
"""One test a pair of actions: the smallest p-value leads."""
_CANCELLING = "iterated_expectation:noise_removed"
"""The size of gaps, which cancel in the tested mean where they have both signs."""


@dataclass(frozen=True)
class Answer:
    """A result under its question."""

    words: str  # what it says in plain words; empty where no question is known
    result: CheckResult  # the numbers
    verdict: str  # its sentence
    leads: bool  # whether it stands in the default report; the others are secondary estimates

    @property
    def name(self) -> str:
        """The check's name in brackets behind the plain words, or alone."""
        check = clean(self.result.check)
        return f"{self.words} ({check})" if self.words else check


def answers(
    results: Sequence[CheckResult], verdicts: Sequence[str]
) -> list[tuple[str, list[Answer]]]:
    """Group results by question."""
    lead = leading(results)
    pair, n_pairs = _pair(results)
    groups: dict[str, list[Answer]] = {question: [] for question in (*QUESTIONS, FURTHER)}
    for result, verdict in zip(results, verdicts, strict=True):
        question, words = _asked(result.check)
        leads = any(result is leader for leader in lead)
        if n_pairs > 1 and result is pair:
            words += f", smallest p of {n_pairs} pairs"
        groups[question].append(Answer(words, result, verdict, leads))
    return [(question, group) for question, group in groups.items() if group]


def _asked(check: str) -> tuple[str, str]:
    for name in (check, check.partition(":")[0]):
        for question, known in QUESTIONS.items():
            if name in known:
                return question, known[name]
    return FURTHER, ""


def leading(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the tests, and of a check without one the first estimate, of prompts the largest.

    Of the tests of pairs of actions that with the smallest p-value leads, and every other that
    rejects. Gaps that cancel in the tested mean of the iterated expectation stand with it where
    their size is clear of 0.
    """
    tested = {_family(result) for result in results if result.pvalue is not None}
    first: dict[str, CheckResult] = {}
    for result in results:
        leader = first.setdefault(_family(result), result)
        if _family(result) == _COMPARED and not leader.statistic >= result.statistic:
            known = not math.isnan(result.statistic)
            first[_COMPARED] = result if known else leader
    pair, _ = _pair(results)
    return [
        result
        for result in results
        if (
            result.pvalue is not None
            and (
                _family(result) != _BY_PAIR
                or result is pair
                or result.outcome() in (Outcome.REJECTED, Outcome.UNCORRECTED)
            )
        )
        or (_family(result) not in tested and first[_family(result)] is result)
        or (result.check == _CANCELLING and result.interval and result.interval.low > 0)
    ]


def _pair(results: Sequence[CheckResult]) -> tuple[CheckResult | None, int]:
    """Return the test of a pair of actions with the smallest p-value, and how many there are."""
    pairs = [result for result in results if _family(result) == _BY_PAIR]
    return min(pairs, key=_pvalue, default=None), len(pairs)


def _pvalue(result: CheckResult) -> float:
    missing = result.pvalue is None or math.isnan(result.pvalue)
    return math.inf if missing else float(result.pvalue or 0.0)


def _family(result: CheckResult) -> str:
    return result.check.partition(":")[0]


def next_step(unit: Unit) -> str:
    """Say what to do next, by what was found; empty where nothing was tested."""
    if any(result.outcome() is Outcome.REJECTED for result in unit.results):
        return (
            "Look at the figure and at what was said. Do the contexts share a template (--group)? "
            "Do reports vary (rational_agent, --twin)?"
        )
    if not any(result.pvalue is not None for result in unit.results):
        return ""
    if little_sentence(unit.movement):
        return (
            "Another prompt, task or way of answering, under which beliefs and choices vary: more "
            "contexts would show no more."
        )
    return (
        "'coherence power --like' tells how many contexts would show a smaller effect; --margin X "
        "tells whether the effects shown lie within X."
    )
