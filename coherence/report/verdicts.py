"""The verdicts of an evaluation (a model on a task): a short list, one of which every one gets."""

from enum import StrEnum


class Verdict(StrEnum):
    """What the primary test and the checks that stand before it say, in the order they are asked.

    `coherence.analysis.decision` decides.
    """

    KNOWS_TRUTH = "knows_truth"
    """Its answers know the realised state beyond all evidence."""
    OTHER_BELIEF = "other_belief"
    """Its beliefs look like confidences in its own answers, not like beliefs in a state."""
    TOO_FEW_CASES = "too_few_cases"
    HARDLY_MOVES = "hardly_moves"
    NOTHING_OPEN = "nothing_open"
    """Its beliefs leave nothing of the state open that choices could know besides."""
    ACTS_ON_MORE = "acts_on_more"
    ACTS_ON_MORE_TURNING = "acts_on_more_turning"
    """The same, in different directions at different beliefs."""
    ACTS_OR_NOISY = "acts_on_more_or_noisy"
    """The same, or its reports are noisy: single, or not telling beliefs apart."""
    NOISE_EXPLAINS = "noise_explains"
    """It looks like it, but the spread or the rounding of its reports can explain it."""
    WITHIN_MARGIN = "within_margin"
    DOES_NOT_FOLLOW = "does_not_follow"
    """Its choices are not seen to rise with its beliefs."""
    NO_EVIDENCE = "no_evidence"
    FORECASTS = "forecasts"
    """Beliefs without actions: scores."""
    NOT_TESTED = "not_tested"
    """The primary test was not run."""
    IGNORES_STAKES = "ignores_stakes"
    """Of a table with stakes, whose verdict stands first: its choices do not move with them."""
    ACTS_WHERE_IT_PAYS = "acts_where_it_pays"
    MOVES_WITH_STAKES = "moves_with_stakes"
    STAKES_OPEN = "stakes_open"

    @property
    def accuses(self) -> bool:
        """Whether it says that the stated belief is not the one acted on."""
        return self in (Verdict.ACTS_ON_MORE, Verdict.ACTS_ON_MORE_TURNING)

    @property
    def marked(self) -> bool:
        """Whether the primary test rejects and the verdict says what it found."""
        return self.accuses or self in (
            Verdict.KNOWS_TRUTH,
            Verdict.ACTS_OR_NOISY,
            Verdict.IGNORES_STAKES,
        )

    @property
    def reason(self) -> str:
        """Why numbers are withheld that a verdict which cannot tell does not stand by."""
        return f"cannot tell: {self.value.replace('_', ' ')}"

    @property
    def open(self) -> bool:
        """Whether the data cannot tell."""
        return self in (
            Verdict.OTHER_BELIEF,
            Verdict.TOO_FEW_CASES,
            Verdict.HARDLY_MOVES,
            Verdict.NOTHING_OPEN,
            Verdict.STAKES_OPEN,
        )
