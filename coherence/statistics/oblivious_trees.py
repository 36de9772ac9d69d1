"""Boosted oblivious trees over merged rows, several fits side by side.

An oblivious tree asks the same question of all its leaves on one level, so that a tree of depth d
is d questions and 2^d values. These are the trees of CatBoost with plain boosting and without its
random parts: the same questions, scores, steps and penalty.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats

LEARNING_RATE = 0.3
PENALTY = 3.0  # of the squared values of leaves, where every row counts once
# Scores that differ by less are equal, and the first question is asked: sums in another order do
# not change a tree.
SCORE_ROUNDING = 1e-10
BLOCK = 1 << 16  # elements that one count takes; more gain nothing and take memory


@dataclass(frozen=True)
class Columns:
    """What questions may be asked about cells.

    Parameters
    ----------
    codes : ndarray of int, shape (n_fits or 1, n_cells, n_columns)
        Bins or levels from 0; with one entry on the first axis all fits see the same.
    spelled : ndarray of bool, shape (n_columns,)
        Whether a column is a category, asked "is it this level?", or a number, asked "is it above
        this bin?".
    """

    codes: Codes
    spelled: NDArray[np.bool_]


@dataclass(frozen=True)
class _Block:
    """Neighbouring columns that are counted together."""

    first: int  # bin, of all columns' bins one after the other
    codes: Codes  # (n_fits or 1, n_cells, n_columns of the block), from 0
    last: Codes  # (n_bins,): the last bin of each bin's column
    levels: Codes  # bins that are levels of categories


class ObliviousTrees:
    """Boosted trees of several fits to the same cells, which differ in weights.

    Parameters
    ----------
    columns : Columns
        What the trees see of each cell.
    weights : ndarray, shape (n_actions, n_fits, n_cells)
        Weight with which each fit learns an action in a cell. Every action occurs in every fit.
    depth : int
        Questions of each tree.

    Notes
    -----
    The loss is log-loss: one margin for two actions, and one for each action where there are more.
    A tree asks, level by level, the question with the largest cosine between the gradients and the
    values that leaves would get; bins without a training row offer none, and the border between two
    bins lies halfway. Growing stops where a level no longer parts any rows. Leaves take one
    penalised Newton step, shortened by the learning rate.

    References
    ----------
    Prokhorenkova et al. (2018), CatBoost: unbiased boosting with categorical features.
    """

    def __init__(self, columns: Columns, weights: Floats, depth: int) -> None:
        self.depth, self.n_fits = depth, weights.shape[1]
        self.weight: Floats = weights.sum(axis=0)
        # One margin is enough for two actions.
        self._target = weights[1:] if len(weights) == 2 else weights
        self._margins = np.zeros(self._target.shape)
        self._fit = np.arange(self.n_fits)[:, None]
        n_bins = columns.codes.max(axis=(0, 1)) + 1
        first = np.concatenate([[0], np.cumsum(n_bins)])
        self._column = np.repeat(np.arange(n_bins.size), n_bins)
        self._spelled = columns.spelled
        self._codes = columns.codes + first[:-1]
        self._blocks = list(self._in_blocks(first))
        self._offered = self._questions(first)
        self._questions_asked: list[Codes] = []
        self._values: list[Floats] = []
        self.log_chances = self._log_chances(self._margins)

    def _in_blocks(self, first: Codes) -> Iterator[_Block]:
        """Yield neighbouring columns, as many as one count takes."""
        n_columns = self._spelled.size
        per_block = max(1, BLOCK // (self.n_fits * self._codes.shape[1]))
        for start in range(0, n_columns, per_block):
            end = min(start + per_block, n_columns)
            column = self._column[first[start] : first[end]]
            yield _Block(
                first=int(first[start]),
                codes=self._codes[..., start:end] - first[start],
                last=first[column + 1] - 1 - first[start],
                levels=np.flatnonzero(self._spelled[column]),
            )

    def _questions(self, first: Codes) -> NDArray[np.bool_]:
        """Which questions each fit may ask, shape (n_fits, n_questions)."""
        offered = np.zeros((self.n_fits, int(first[-1])), dtype=bool)
        codes = np.broadcast_to(self._codes, (self.n_fits, *self._codes.shape[1:]))
        for fit in range(self.n_fits):
            seen = codes[fit][self.weight[fit] > 0]
            counts = np.bincount(seen.ravel(), minlength=offered.shape[1])
            for column, spelled in enumerate(self._spelled):
                levels = np.flatnonzero(counts[first[column] : first[column + 1]])
                asked = levels if spelled else (levels[:-1] + levels[1:]) // 2
                offered[fit, first[column] + asked] = levels.size > 1
        return offered

    def _log_chances(self, margins: Floats) -> Floats:
        if len(margins) == 1:
            margins = np.concatenate([np.zeros_like(margins), margins])
        shifted = margins - margins.max(axis=0)
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=0)))

    def _answers(self, question: Codes) -> NDArray[np.bool_]:
        """Whether each cell answers yes to its fit's question, shape (n_fits, n_cells)."""
        column = self._column[question]
        fits = np.arange(self.n_fits) if self._codes.shape[0] > 1 else 0
        codes = self._codes[fits, :, column]
        asked = question[:, None]
        is_level = self._spelled[column][:, None]
        return np.asarray(np.where(is_level, codes == asked, codes > asked), dtype=np.bool_)

    def grow(self) -> None:
        """Add one tree to each fit."""
        chances = np.exp(self.log_chances)
        chances = chances[-len(self._target) :]
        gradients = self._target - self.weight * chances
        questions, leaf = self._grown(gradients)
        values = LEARNING_RATE * self._leaf_values(gradients, chances, leaf)
        self._margins += values[:, self._fit, leaf]
        self.log_chances = self._log_chances(self._margins)
        self._questions_asked.append(questions)
        self._values.append(values)

    def _grown(self, gradients: Floats) -> tuple[Codes, Codes]:
        """Questions of a tree, shape (n_fits, depth), -1 where there is none, and cells' leaves."""
        questions = np.full((self.n_fits, self.depth), -1)
        leaf = np.zeros(self.weight.shape, dtype=np.int64)
        growing = np.ones(self.n_fits, dtype=bool)
        sums = self._counted(gradients, leaf, 1, np.ones(self.weight.shape, dtype=bool))
        for level in range(self.depth):
            scores = self._scores(sums)
            best = scores.max(axis=1, keepdims=True)
            growing &= np.isfinite(best[:, 0])
            if not growing.any():
                break
            question = (scores >= best - SCORE_ROUNDING * np.abs(best)).argmax(axis=1)
            questions[growing, level] = question[growing]
            answers = self._answers(question) & growing[:, None]
            if level + 1 < self.depth:
                sums = self._parted(gradients, leaf, answers, sums)
            leaf += answers << level
            self._prune(questions, leaf, growing, level)
        return questions, leaf

    def _counted(
        self, gradients: Floats, leaf: Codes, n_leaves: int, chosen: NDArray[np.bool_]
    ) -> list[Floats]:
        """Sums of weights and gradients over some cells, by leaf and bin, of each block.

        Each has shape (1 + n_margins, n_fits, n_leaves, n_bins).
        """
        fit, cell = np.nonzero(chosen)
        node = fit * n_leaves + leaf[fit, cell]
        # Gradients of several margins sum to 0: the last is what the others leave.
        free = gradients[:-1] if len(gradients) > 1 else gradients
        values = [of_cell[fit, cell] for of_cell in (self.weight, *free)]
        found = []
        for block in self._blocks:
            n_bins, n_columns = block.last.size, block.codes.shape[-1]
            codes = block.codes[fit, cell] if len(block.codes) > 1 else block.codes[0][cell]
            where = ((node * n_bins)[:, None] + codes).ravel()
            sums = np.empty((1 + len(gradients), self.n_fits * n_leaves * n_bins))
            for kind, value in enumerate(values):
                spread = value if n_columns == 1 else np.repeat(value, n_columns)
                sums[kind] = np.bincount(where, weights=spread, minlength=sums.shape[1])
            if len(gradients) > 1:
                sums[-1] = -sums[1:-1].sum(axis=0)
            found.append(sums.reshape(-1, self.n_fits, n_leaves, n_bins))
        return found

    def _parted(
        self, gradients: Floats, leaf: Codes, answers: NDArray[np.bool_], sums: list[Floats]
    ) -> list[Floats]:
        """Sums after a question: the smaller side is counted, the other is what is left."""
        n_cells = answers.shape[1]
        yes_counted = answers.sum(axis=1) * 2 <= n_cells
        counted = self._counted(gradients, leaf, sums[0].shape[2], answers == yes_counted[:, None])
        parted = []
        for before, side in zip(sums, counted, strict=True):
            other, yes = before - side, yes_counted[:, None, None]
            both = np.where(yes, other, side), np.where(yes, side, other)
            parted.append(np.concatenate(both, axis=2))
        return parted

    def _scores(self, sums: list[Floats]) -> Floats:
        """Cosine of each question that may be asked, shape (n_fits, n_questions)."""
        scores = np.empty(self._offered.shape)
        for block, of_bins in zip(self._blocks, sums, strict=True):
            reached = of_bins.cumsum(axis=-1)
            right = reached[..., block.last] - reached
            right[..., block.levels] = of_bins[..., block.levels]
            # The same total for every column of the block, from its first.
            total = reached[..., block.last[0], None]
            scores[:, block.first : block.first + block.last.size] = _cosine(right, total - right)
        return np.where(self._offered, scores, -np.inf)

    def _prune(self, questions: Codes, leaf: Codes, growing: NDArray[np.bool_], level: int) -> None:
        """Take back a question that parts no rows, and end the trees in which there is one."""
        n_leaves = 2 << level
        node = (self._fit * n_leaves + leaf)[self.weight > 0]
        filled = np.bincount(node, minlength=self.n_fits * n_leaves) > 0
        for place in range(level + 1):
            pairs = filled.reshape(self.n_fits, -1, 2, 1 << place)
            parts = (pairs[:, :, 0] & pairs[:, :, 1]).any(axis=(1, 2))
            for fit in np.flatnonzero(growing & ~parts):
                growing[fit] = False
                kept = np.delete(questions[fit], place)
                questions[fit] = np.append(kept, -1)
                below, above = leaf[fit] & ((1 << place) - 1), leaf[fit] >> (place + 1)
                leaf[fit] = below | (above << place)

    def _leaf_values(self, gradients: Floats, chances: Floats, leaf: Codes) -> Floats:
        """Penalised Newton steps, shape (n_margins, n_fits, n_leaves)."""
        n_margins, n_leaves = len(gradients), 1 << self.depth
        node = (self._fit * n_leaves + leaf).ravel()

        def summed(values: Floats) -> Floats:
            counts = np.bincount(node, weights=values.ravel(), minlength=self.n_fits * n_leaves)
            return np.asarray(counts.reshape(self.n_fits, n_leaves), dtype=np.float64)

        slope = np.stack([summed(gradient) for gradient in gradients], axis=-1)
        curvature = np.zeros((self.n_fits, n_leaves, n_margins, n_margins))
        for k in range(n_margins):
            for other in range(k + 1):
                share = float(k == other) - chances[other]
                curvature[..., k, other] = summed(self.weight * chances[k] * share)
                curvature[..., other, k] = curvature[..., k, other]
        curvature += PENALTY * np.eye(n_margins)
        steps = np.linalg.solve(curvature, slope[..., None])[..., 0]
        return np.ascontiguousarray(np.moveaxis(steps, -1, 0))

    def predicted(self, iterations: Codes) -> Floats:
        """Probability of each action in each cell after the first trees of each fit.

        Parameters
        ----------
        iterations : ndarray of int, shape (n_fits,)
            Trees that count, of those grown.

        Returns
        -------
        ndarray, shape (n_actions, n_fits, n_cells)
        """
        margins = np.zeros(self._margins.shape)
        for tree in range(int(iterations.max())):
            questions, leaf = self._questions_asked[tree], np.zeros(self.weight.shape, np.int64)
            for level, question in enumerate(questions.T):
                leaf += (self._answers(question) & (question >= 0)[:, None]) << level
            counted = (tree < iterations)[:, None]
            margins += counted * self._values[tree][:, self._fit, leaf]
        return np.asarray(np.exp(self._log_chances(margins)))


def _cosine(right: Floats, left: Floats) -> Floats:
    """Cosine between gradients and leaf values, for sums of weights and gradients on both sides.

    Both have shape (1 + n_margins, n_fits, n_leaves, n_questions); the result has shape
    (n_fits, n_questions).
    """
    product, square = 0.0, 1e-100  # a node without any gradient has cosine 0
    for side in (right, left):
        weight, gradient = side[:1], side[1:]
        value = gradient / (weight + PENALTY)
        product = product + (value * gradient).sum(axis=(0, 2))
        square = square + (value * value * weight).sum(axis=(0, 2))
    return np.asarray(product / np.sqrt(square))
