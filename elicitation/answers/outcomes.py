"""The probability of outcomes that take several tokens, read off a model instead of drawn from it.

An answer is a text, and tokens are only the way in which the model writes it: "0.25" may come as
one token or as four, with a blank before it or without, and the same token may go on after it. What
is computed here is the probability of an event of the text, summed over all token sequences that
make it so; nothing depends on the usual way to cut a text into tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coherence.errors import InputError
from elicitation.models.base import ScoringModel
from elicitation.spelling.spellings import Boundary, Spelling, require_exclusive, spellings_of
from elicitation.spelling.tokenizations import SpellingMasses

Outcomes = Sequence[str] | Mapping[str, Sequence[str]]


@dataclass(frozen=True, eq=False)
class OutcomeProbabilities:
    """Probabilities of outcomes, one row per text.

    Parameters
    ----------
    probabilities : DataFrame, shape (n_texts, n_outcomes)
        As the model has them: a row sums to its `answer_mass`.
    unresolved : Series, shape (n_texts,)
        What any outcome may lack at most, because improbable token sequences were given up; no more
        than the tolerance.
    """

    probabilities: pd.DataFrame
    unresolved: "pd.Series[float]"

    @property
    def answer_mass(self) -> "pd.Series[float]":
        """Probability that the answer is any of the outcomes."""
        return self.probabilities.sum(axis=1).rename("answer_mass")

    @property
    def normalised(self) -> pd.DataFrame:
        """Probabilities given that the answer is one of the outcomes; missing at answer mass 0."""
        mass = self.answer_mass
        # Nothing can be said about the outcomes where no answer is any of them.
        return self.probabilities.div(mass.where(mass > 0), axis=0)


def outcome_probabilities(
    model: ScoringModel,
    texts: Sequence[str],
    outcomes: Outcomes,
    *,
    boundary: Boundary = "auto",
    leading_space: bool = True,
    ignore_case: bool = False,
    tolerance: float = 1e-6,
) -> OutcomeProbabilities:
    """Read the probability of every outcome after every text.

    The probability of an outcome is that of this event, at temperature 1: the answer, as bytes up
    to its first special token, begins with one of the spellings of the outcome, and nothing that
    the boundary forbids follows directly. What comes later in the answer does not matter. "1" is
    thus neither the beginning of "12" nor of "1.5", but "1", "1." and "1 in all" are all answers of
    1.

    Parameters
    ----------
    model : ScoringModel
        A model that gives probabilities, such as a `CausalModel`.
    texts : sequence of str
        Questions, as in a `Request`.
    outcomes : sequence of str, or mapping of str to sequence of str
        Outcomes, or their names with one or more ways to write each; no two may overlap.
    boundary : {"auto", "number", "word", "none"}
        What must not follow a spelling: "number", a digit, or a point or comma with a digit;
        "word", a letter or a digit; "none", nothing is forbidden. "auto" takes "number" after a
        digit, "word" after a letter, "none" after anything else.
    leading_space : bool
        Whether a spelling counts with a blank before it as well.
    ignore_case : bool
        Whether a spelling counts in lower case, in upper case and with a capital as well.
    tolerance : float
        In [0, 1): token sequences are given up, the least probable first, as long as all of them
        together are no more probable than this; 0 follows every one. What was given up is in
        `unresolved`.

    Returns
    -------
    OutcomeProbabilities
        Raw and normalised, with the answer mass.

    Raises
    ------
    InputError
        A model without such probabilities, no text, outcomes that overlap, a tokenizer that cannot
        be read byte by byte, or a text that does not fit into the model's context.

    Examples
    --------
    >>> import tempfile
    >>> from elicitation import load_causal_model
    >>> from elicitation.training.organisms.untrained import make_untrained_model
    >>> folder = tempfile.TemporaryDirectory()
    >>> model = load_causal_model(make_untrained_model(folder.name + "/blank"))
    >>> found = outcome_probabilities(model, ["The die shows"], ["1", "2"])
    >>> found.probabilities.columns.tolist()
    ['1', '2']
    >>> folder.cleanup()
    """
    spellings = spellings_of(
        outcomes, boundary=boundary, leading_space=leading_space, ignore_case=ignore_case
    )
    require_exclusive(spellings)
    read = _masses(model, texts, spellings, tolerance)
    return OutcomeProbabilities(
        _by_outcome(spellings, read.masses), pd.Series(read.unresolved, name="unresolved")
    )


def _masses(
    model: ScoringModel,
    texts: Sequence[str],
    spellings: list[Spelling],
    tolerance: float,
) -> SpellingMasses:
    if not isinstance(model, ScoringModel):
        raise InputError(
            "exact probabilities need a model that gives those of outcomes over all spellings; "
            f"{model.name} does not. Use a local causal model."
        )
    # A single text is a sequence of characters, each of which would be asked.
    if isinstance(texts, str) or not len(texts):
        raise InputError(f"texts must be a sequence of one or more texts; received {texts!r}.")
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance must be in [0, 1); received {tolerance}.")
    return model.spelling_masses(model.encode(texts), spellings, tolerance=tolerance)


def _by_outcome(spellings: list[Spelling], masses: NDArray[np.float64]) -> pd.DataFrame:
    names = list(dict.fromkeys(spelling.outcome for spelling in spellings))
    belongs = np.array(
        [[spelling.outcome == name for name in names] for spelling in spellings], dtype=np.float64
    )
    # No two spellings of an outcome overlap, so that their masses add up.
    return pd.DataFrame(masses @ belongs, columns=names)
