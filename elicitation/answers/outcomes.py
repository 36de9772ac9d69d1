"""The probability of outcomes that take several tokens, read off a model instead of drawn from it.

An answer is a text, and tokens are only the way in which the model writes it: "0.25" may come as
one token or as four, with a blank before it or without, and the same token may go on after it. What
is computed here is the probability of an event of the text, summed over all token sequences that
make it so; nothing depends on the usual way to cut a text into tokens.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coherence.errors import InputError
from elicitation.models.base import OutcomeModel, ScoringModel
from elicitation.spelling.spellings import Boundary, Spelling, collisions_of, spellings_of
from elicitation.spelling.tokenizations import Part, SpellingMasses, count_cuts

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
    model: OutcomeModel,
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
    model : OutcomeModel
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
    # An answer that counts for two outcomes would make the probabilities sum to more than its mass.
    for collision in collisions_of(spellings):
        if collision.overlap != "none":
            first, second = collision.first, collision.second
            raise InputError(
                "outcomes must exclude each other; "
                f"{first.outcome!r} written {first.text.decode()!r} overlaps with "
                f"{second.outcome!r} written {second.text.decode()!r}. Choose another boundary, "
                "or other spellings; audit_outcomes lists all such pairs."
            )
    read = _masses(model, texts, spellings, tolerance)
    return OutcomeProbabilities(
        _by_outcome(spellings, read.masses), pd.Series(read.unresolved, name="unresolved")
    )


def _masses(
    model: OutcomeModel,
    texts: Sequence[str],
    spellings: list[Spelling],
    tolerance: float,
    *,
    itemised: bool = False,
) -> SpellingMasses:
    if not isinstance(model, OutcomeModel):
        raise InputError(
            "exact probabilities need a model that gives those of outcomes over all spellings; "
            f"{model.name} does not. Use a local causal model."
        )
    # A single text is a sequence of characters, each of which would be asked.
    if isinstance(texts, str) or not len(texts):
        raise InputError(f"texts must be a sequence of one or more texts; received {texts!r}.")
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance must be in [0, 1); received {tolerance}.")
    return model.spelling_masses(
        model.encode(texts), spellings, tolerance=tolerance, itemised=itemised
    )


def _by_outcome(spellings: list[Spelling], masses: NDArray[np.float64]) -> pd.DataFrame:
    names = list(dict.fromkeys(spelling.outcome for spelling in spellings))
    belongs = np.array(
        [[spelling.outcome == name for name in names] for spelling in spellings], dtype=np.float64
    )
    # No two spellings of an outcome overlap, so that their masses add up.
    return pd.DataFrame(masses @ belongs, columns=names)


@dataclass(frozen=True, eq=False)
class OutcomeAudit:
    """How a model writes outcomes.

    Parameters
    ----------
    spellings : DataFrame
        One row per spelling: `outcome`, `spelling`, `n_paths` (ways to cut it into tokens), `mass`
        (probability, mean over the texts), `share` (of the outcome's mass).
    paths : DataFrame
        One row per spelling and token sequence: `outcome`, `spelling`, `tokens` (those before the
        one that decides), `usual` (the tokenizer would have written it so), `mass` (mean over the
        texts).
    collisions : DataFrame
        One row per pair of spellings of different outcomes of which one begins with the other:
        `outcome`, `spelling`, `other_outcome`, `other_spelling`, and `overlap`: "none" if the
        boundary tells them apart, else "part" or "whole".
    answer_mass : Series
        For every text the probability that the answer is any of the outcomes; missing where
        outcomes overlap, for then the masses do not add up.
    unresolved : Series
        For every text what the masses may lack at most.
    """

    spellings: pd.DataFrame
    paths: pd.DataFrame
    collisions: pd.DataFrame
    answer_mass: "pd.Series[float]"
    unresolved: "pd.Series[float]"

    @property
    def outside(self) -> "pd.Series[float]":
        """For every text the probability that the answer is none of the outcomes."""
        return (1 - self.answer_mass).rename("outside")


def audit_outcomes(
    model: ScoringModel,
    texts: Sequence[str],
    outcomes: Outcomes,
    *,
    boundary: Boundary = "auto",
    leading_space: bool = True,
    ignore_case: bool = False,
    tolerance: float = 1e-6,
) -> OutcomeAudit:
    """List how a model spells outcomes, which of them collide, and what is left outside.

    Parameters
    ----------
    model, texts, outcomes, boundary, leading_space, ignore_case, tolerance
        As of `outcome_probabilities`; outcomes may overlap.

    Returns
    -------
    OutcomeAudit
        Tables to read before the probabilities are trusted.

    Raises
    ------
    InputError
        As of `outcome_probabilities`, but for outcomes that overlap.

    Examples
    --------
    >>> import tempfile
    >>> from elicitation import load_causal_model
    >>> from elicitation.training.organisms.untrained import make_untrained_model
    >>> folder = tempfile.TemporaryDirectory()
    >>> model = load_causal_model(make_untrained_model(folder.name + "/blank"))
    >>> audit = audit_outcomes(model, ["The die shows"], ["1", "2"])
    >>> audit.spellings["outcome"].unique().tolist()
    ['1', '2']
    >>> folder.cleanup()
    """
    spellings = spellings_of(
        outcomes, boundary=boundary, leading_space=leading_space, ignore_case=ignore_case
    )
    read = _masses(model, texts, spellings, tolerance, itemised=True)
    vocabulary = model.vocabulary
    table = pd.DataFrame(
        {
            "outcome": [spelling.outcome for spelling in spellings],
            "spelling": [spelling.text.decode() for spelling in spellings],
            "n_paths": [count_cuts(spelling.text, vocabulary) for spelling in spellings],
            "mass": read.masses.mean(axis=0),
        }
    )
    # An outcome without mass has no shares: missing, and not a division by zero.
    totals = table.groupby("outcome")["mass"].transform("sum")
    table["share"] = table["mass"] / totals.replace(0, np.nan)
    # Spellings of one outcome may begin alike: that costs nothing, they are added up.
    crossings = [
        (shorter.outcome, shorter.text.decode(), longer.outcome, longer.text.decode(), overlap)
        for collision in collisions_of(spellings)
        for shorter, longer, overlap in [(collision.first, collision.second, collision.overlap)]
        if shorter.outcome != longer.outcome
    ]
    collisions = pd.DataFrame(
        crossings, columns=["outcome", "spelling", "other_outcome", "other_spelling", "overlap"]
    )
    # Overlapping events count twice in a sum, and how much of them is not known here.
    adds_up = bool((collisions["overlap"] == "none").all())
    answer_mass = read.masses.sum(axis=1) if adds_up else np.full(len(texts), np.nan)
    return OutcomeAudit(
        table,
        _paths(model, texts, spellings, read.parts),
        collisions,
        pd.Series(answer_mass, name="answer_mass"),
        pd.Series(read.unresolved, name="unresolved"),
    )


def _paths(
    model: ScoringModel, texts: Sequence[str], spellings: list[Spelling], parts: list[Part]
) -> pd.DataFrame:
    """Return the table of token sequences, the most probable first."""
    before = model.encode(texts[:1])[0]
    usual: list[tuple[int, ...] | None] = []
    for spelling in spellings:
        whole = model.encode(texts[:1], answer=spelling.text.decode())[0]
        written = tuple(whole[len(before) :])
        # Where nothing is forbidden, the last token decides, and is not among those before the
        # decision.
        written = written if spelling.forbidden else written[:-1]
        # A tokenizer may merge the end of the text with the beginning of the spelling: then there
        # is no usual way to write it here.
        usual.append(written if whole[: len(before)] == before else None)
    # One row per sequence, whichever of the texts it follows.
    masses: dict[tuple[int, tuple[int, ...]], float] = defaultdict(float)
    for part in parts:
        masses[part.spelling, part.tokens] += part.mass / len(texts)
    pieces = model.vocabulary.spelling
    rows = [
        (
            spellings[k].outcome,
            spellings[k].text.decode(),
            tuple((pieces[token] or b"").decode(errors="replace") for token in tokens),
            tokens == usual[k],
            mass,
        )
        for (k, tokens), mass in masses.items()
        if mass > 0
    ]
    table = pd.DataFrame(rows, columns=["outcome", "spelling", "tokens", "usual", "mass"])
    return table.sort_values("mass", ascending=False, kind="stable").reset_index(drop=True)
