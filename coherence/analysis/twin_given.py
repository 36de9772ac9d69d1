"""Beliefs given a variable in the runs table of a twin: they average out, and only noise does not.

What reports tell of each belief given a state of z is drawn, then moved as little as possible until
the identity holds with the twin's belief (`coherence.rational.questions`); reports and stated
shares of z scatter around that as they do in the table.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from coherence.inputs import Codes, Floats
from coherence.rational.questions import Question, StatedShares, average_out

OF_Z = ("z", "z_state", "p_z")


class GivenZ:
    """Rows of one unit with a belief given a variable.

    Groups of reports are pieces, a context with a variable and one of its states; the pieces of one
    context and variable are those of a gap.

    Parameters
    ----------
    table : DataFrame
        Rows of the unit with the columns ``rep``, `OF_Z`, and ``context`` as codes.
    rows : ndarray of int, shape (n,)
        Positions of those with a belief given z.
    question : callable
        Rows, piece of each row and number of pieces -> how they are answered.
    """

    def __init__(
        self, table: pd.DataFrame, rows: Codes, question: Callable[[Codes, Codes, int], Question]
    ) -> None:
        given = table.iloc[rows].assign(state=lambda some: pd.factorize(some["z_state"])[0])
        given["gap"] = given.groupby(["context", "z"], observed=True, dropna=False).ngroup()
        number = given.groupby(["gap", "state"]).ngroup()
        self.rows, self.piece = rows, np.asarray(number, dtype=np.int64)
        pieces: pd.DataFrame = given.iloc[np.unique(self.piece, return_index=True)[1]]
        self.gap = pieces["gap"].to_numpy(dtype=np.int64)
        self.state = pieces["state"].to_numpy(dtype=np.int64)
        gaps: pd.DataFrame = pieces.drop_duplicates("gap")
        self.context = gaps["context"].to_numpy(dtype=np.int64)
        n_states = gaps["z"].map(pieces.groupby("z", observed=True)["state"].nunique())
        self.whole = np.bincount(self.gap) == n_states.to_numpy()
        self.question = question(rows, self.piece, len(pieces))
        self._read_shares(given)

    def _read_shares(self, given: pd.DataFrame) -> None:
        stated = given["p_z"].notna().to_numpy()
        self.stated, told = self.rows[stated], given[stated]
        self.answer = told.groupby(["gap", "rep"]).ngroup().to_numpy()
        self.column = told["state"].to_numpy()
        shape = int(self.answer.max(initial=-1)) + 1, int(given["state"].max()) + 1
        matrix, group = np.full(shape, np.nan), np.zeros(shape[0], dtype=np.int64)
        matrix[self.answer, self.column], group[self.answer] = told["p_z"], told["gap"]
        self.shares = StatedShares(matrix, group, self.context.size)

    def draw(self, belief: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw reports of the beliefs given z, and stated shares."""
        shares = self.shares.shares(rng)
        held, target = self.question.beliefs(rng), belief[self.context]
        weight = shares[self.gap, self.state]
        able = self.whole & (shares.sum(axis=1) > 0) & ~np.isnan(target)
        some = able[self.gap]
        number = np.cumsum(able) - 1
        held[some] = average_out(
            held[some],
            self.question.spread[some],
            weight[some],
            number[self.gap[some]],
            target[able],
        )
        said = self.shares.state(shares, rng)[self.answer, self.column]
        return self.question.reports(held[self.piece], rng), said
