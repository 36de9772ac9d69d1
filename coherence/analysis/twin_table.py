"""The runs table of a rational twin: rows of an evaluation, answered by the agent fitted to it.

Judged choices are those of `coherence.rational.twin`. All else is asked of the same beliefs: other
wordings with the noise that each shows, beliefs given a variable that average out to the belief.
What was left empty stays empty.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.evaluation import EvaluationRows
from coherence.inputs import Codes, Floats
from coherence.rational.agent import RationalAgent
from coherence.rational.belief import Grid, grid_of
from coherence.rational.questions import Question, StatedShares, average_out, fit_question
from coherence.rational.twin import belief_points, sample_twin
from coherence.table.runs import all_computed

OF_Z = ("z", "z_state", "p_z")
KEPT = ("context", "rep", "prompt", "action", "theta", "p_true", "belief_kind", *OF_Z)


@dataclass(frozen=True)
class _Asked:
    """Rows of one wording that hold a belief and are no judged choices."""

    rows: Codes  # positions in the table
    context: Codes  # of each row
    question: Question
    of_group: Codes  # context of each group of the question


class GivenZ:
    """Rows of one evaluation with a belief given a variable, which average out in a twin.

    What reports tell of each belief given a state of z is drawn, then moved as little as possible
    until the identity holds with the twin's belief (`coherence.rational.questions`); reports and
    stated shares of z scatter around that as they do in the table.

    Groups of reports are pieces, a context with a variable and one of its states; the pieces of one
    context and variable are those of a gap.

    Parameters
    ----------
    table : DataFrame
        Rows of the evaluation with the columns ``rep``, `OF_Z`, and ``context`` as codes.
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


class TwinTable:
    """Draws runs tables like an evaluation's, of twins of the agent that was fitted to it.

    Parameters
    ----------
    evaluation : EvaluationRows
        Rows of one (task, model).
    agent : RationalAgent
        Fitted to its judged choices.
    """

    def __init__(self, evaluation: EvaluationRows, agent: RationalAgent) -> None:
        self.agent, self.belief_columns = agent, evaluation.states or ["p"]
        kept = [name for name in KEPT if name in evaluation.rows]
        self.rows = evaluation.rows[
            [*kept, *self.belief_columns, *evaluation.policies]
        ].reset_index(drop=True)
        position = pd.Series(np.arange(len(evaluation.rows)), index=evaluation.rows.index)
        self.judged = position[evaluation.complete_cases.index].to_numpy()
        # Numbers in the order of the names, which checks sort faster.
        self.context, contexts = pd.factorize(self.rows["context"], sort=True)
        self.rows["context"] = self.context
        self.of_agent = np.full(len(contexts), -1)
        self.of_agent[self.context[self.judged]] = agent.data.context
        readable = evaluation.rows[self.belief_columns].notna().all(axis=1).to_numpy()
        self.belief = np.full(len(self.rows), np.nan)
        self.belief[readable] = evaluation.belief(evaluation.rows[readable])
        grid = grid_of(self.belief[self.judged])
        self.rounding: Grid | None = grid if grid.rounded and not agent.noisy else None
        self.labels = self._labels()
        wordings = [
            evaluation.reference_rows,
            *(rows for _, rows in evaluation.other_prompts.groupby("prompt", sort=True)),
        ]
        self.plain = list(self._plain([position[rows.index].to_numpy() for rows in wordings]))
        self.given = self._given(evaluation.reference)

    def _labels(self) -> list[object]:
        """Return what the two states are called.

        Of several that are not the one believed in, the most frequent stands for all.
        """
        theta = self.rows["theta"].iloc[self.judged]
        return [theta[self.agent.data.truth == code].mode().iloc[0] for code in (0, 1)]

    def _question(self, rows: Codes, group: Codes, n_groups: int) -> Question:
        """Fit how rows are answered, given the group of each row."""
        return fit_question(
            self.belief[rows],
            group,
            n_groups,
            computed=all_computed(self.rows.iloc[rows], self.belief_columns),
            otherwise=float(self.agent.noise["sd"].iloc[0]),
        )

    def _plain(self, wordings: list[Codes]) -> Iterator[_Asked]:
        for asked in wordings:
            rows = asked[~np.isnan(self.belief[asked])]
            drawn = rows[~np.isin(rows, self.judged)]
            if drawn.size:
                group, of_group = pd.factorize(self.context[rows])
                question = self._question(rows, group, of_group.size)
                yield _Asked(drawn, self.context[drawn], question, of_group)

    def _given(self, reference: str) -> GivenZ | None:
        """Gather beliefs given a variable under the reference prompt, or under none."""
        if not {*OF_Z, "p"} <= set(self.rows):
            return None
        asked = (self.rows["prompt"] == reference) | self.rows["prompt"].isna()
        asked &= self.rows["z_state"].notna()
        rows = np.flatnonzero(asked.to_numpy() & ~np.isnan(self.belief))
        table = self.rows[["rep", *OF_Z]].assign(context=self.context)
        return GivenZ(table, rows, self._question) if rows.size else None

    def draw(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw the table of a twin."""
        point = belief_points(self.agent, rng)
        choices = sample_twin(self.agent, rng, points=point)
        belief = self._beliefs(point, rng)
        reports = self.belief.copy()
        reports[self.judged] = choices["p"]
        for asked in self.plain:
            reports[asked.rows] = asked.question.reports(belief[asked.context], rng)
        columns: dict[str, Any] = {"theta": self._states(choices, belief, rng)}
        if "p_true" in choices:
            columns["p_true"] = self._exact(choices)
        if self.given is not None:
            reports[self.given.rows], said = self.given.draw(belief, rng)
            shares = self.rows["p_z"].to_numpy(dtype=np.float64, copy=True)
            shares[self.given.stated] = said
            columns["p_z"] = shares
        both = [1 - reports, reports][-len(self.belief_columns) :]
        columns |= dict(zip(self.belief_columns, both, strict=True))
        if self.agent.data.policy is None:
            action = self.rows["action"].to_numpy(dtype=object, copy=True)
            action[self.judged] = choices["action"]
            columns["action"] = action
        return self.rows.assign(**columns)

    def _beliefs(self, point: Codes, rng: np.random.Generator) -> Floats:
        """Return the belief of every context: the agent's, else what other reports tell of it."""
        belief = np.full(self.of_agent.size, np.nan)
        inside = self.of_agent >= 0
        held = self.agent.held.points[point]
        if self.rounding:
            # What is reported is the belief rounded; what else is asked of it rounds anew.
            held = self.rounding.within_step(held, rng)
        belief[inside] = held[self.of_agent[inside]]
        for asked in self.plain:
            further = asked.question.beliefs(rng)
            unknown = np.isnan(belief[asked.of_group])
            belief[asked.of_group[unknown]] = further[unknown]
        return belief

    def _exact(self, choices: pd.DataFrame) -> Floats:
        """Return the exact posterior of every row: of the agent's contexts those of the twin."""
        exact = self.rows["p_true"].to_numpy(dtype=np.float64, copy=True)
        of_context = np.full(self.of_agent.size, np.nan)
        of_context[self.context[self.judged]] = choices["p_true"]
        given = self.rows["z_state"].notna() if "z_state" in self.rows else False
        changed = ~np.isnan(of_context[self.context]) & ~np.asarray(given)
        exact[changed] = of_context[self.context][changed]
        return exact

    def _states(
        self, choices: pd.DataFrame, belief: Floats, rng: np.random.Generator
    ) -> "pd.Series[Any]":
        """Return the state of every row whose state is known."""
        data, points = self.agent.data, self.agent.held.points
        nearest = np.abs(points[:, None] - np.nan_to_num(belief)).argmin(axis=0)
        state = rng.random(belief.size) < self.agent.state[nearest]
        state[self.context[self.judged]] = (choices["theta"] == data.states[1]).to_numpy()
        theta = self.rows["theta"]
        drawn = pd.Series(np.array(self.labels, dtype=object)[state[self.context].astype(int)])
        return drawn.astype(theta.dtype).where(theta.notna())
