"""Answers of one simulated study, as arrays that the checks of a plan take without a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from coherence.inputs import Actions, Codes, Floats
from coherence.statistics.choices import ChoiceData


@dataclass(frozen=True)
class Sample:
    """Answers of one simulated study: a row per context and repetition, contexts together.

    Parameters
    ----------
    belief : ndarray, shape (n,)
        Stated belief in the state 1.
    action : Actions
        What was chosen, or the probability of each action; labels that nobody chose are left out.
    truth : ndarray of int, shape (n_contexts,)
        Realised state of each context, 0 or 1.
    n_reps : int
        Rows of each context.
    gaps : ndarray, shape (n_contexts,), optional
        Mean over repetitions of the belief less the average of the beliefs given a variable.
    wordings : mapping
        Name of another wording -> stated beliefs, shape (n,).
    """

    belief: Floats
    action: Actions
    truth: Codes
    n_reps: int
    gaps: Floats | None = None
    wordings: Mapping[str, Floats] = field(default_factory=dict)

    @cached_property
    def context(self) -> Codes:
        """Context of each row, shape (n,)."""
        return np.repeat(np.arange(self.truth.size), self.n_reps)

    @cached_property
    def choices(self) -> ChoiceData:
        """What `coherence.statistics.choices.as_choices` makes of the same answers."""
        states, codes = np.unique(self.truth, return_inverse=True)
        return ChoiceData(
            belief=self.belief,
            action=self.action.codes,
            truth=codes[self.context],
            context=self.context,
            actions=self.action.labels,
            states=tuple(states.tolist()),
            contexts=tuple(range(self.truth.size)),
            policy=self.action.probabilities,
        )

    @property
    def actions(self) -> "pd.Series[str] | pd.DataFrame":
        """Actions as a user passes them: labels, or a column of probabilities for each."""
        labels = list(self.action.labels)
        if self.action.probabilities is not None:
            return pd.DataFrame(self.action.probabilities, columns=labels)
        return pd.Series(np.array(labels, dtype=object)[self.action.codes])


def chosen(codes: Codes, labels: tuple[str, ...]) -> Actions:
    """Return chosen actions, of which some label may not occur."""
    seen, numbered = np.unique(codes, return_inverse=True)
    return Actions(numbered, tuple(labels[code] for code in seen))


def as_policies(probabilities: Floats, labels: tuple[str, ...]) -> Actions:
    """Return actions with probabilities; as `coherence.inputs.as_actions`, 0 and 1 name a choice.

    Parameters
    ----------
    probabilities : ndarray, shape (n, n_actions)
        Rows that sum to 1.
    labels : tuple of str
        Sorted names of the columns.

    Returns
    -------
    Actions
        Without the actions that have no probability anywhere.
    """
    if np.isin(probabilities, (0.0, 1.0)).all():
        return chosen(probabilities.argmax(axis=1), labels)
    seen = np.flatnonzero(probabilities.any(axis=0))
    return Actions(
        np.zeros(0, dtype=np.int64), tuple(labels[code] for code in seen), probabilities[:, seen]
    )
