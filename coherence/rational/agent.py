"""The nearest rational agent: one latent belief per context behind noisy reports and choices.

`coherence.rational.fit` fits it in three steps: what reports tell of each belief
(`coherence.rational.belief`), a logit of the state on it (the calibration), and a logit of choices
on it (`coherence.rational.choice`). Their equations are stacked, so that every interval holds the
error of all steps, with contexts or groups as clusters and whatever dependence within them (Huber's
sandwich; Godambe 1960).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from scipy.linalg import svd
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit

from coherence.inputs import Floats, require
from coherence.rational.belief import LEAST, MOST_SD, STEP, Beliefs
from coherence.rational.choice import (
    CURVE,
    THRESHOLD_COLUMNS,
    FittedLogit,
    Logit,
    crossing,
    powers,
    threshold_table,
)
from coherence.rational.moments import BeyondBelief, beyond_belief
from coherence.result import Interval, html_card, wrapped
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.resample import Clusters
from coherence.table.printable import counted

METHOD = "t over {clusters}, all fitted parameters included"
FEWEST_OPEN = 20.0  # contexts whose state the belief leaves open, in contexts of belief 1/2
FEWEST_F = 10.0  # Staiger and Stock's rule for ratios whose denominator may be nothing
NEAR = 0.1  # beliefs whose reports tell the within-context SD at one belief
LITTLE_OPEN = (
    "the beliefs of {n} contexts leave as much open about the state as {left:.1f} contexts of "
    "belief 1/2, and a test needs {fewest:g}"
)
NO_NOISE = "reports do not scatter around a belief: residual_covariance_test is the test of them"
WEAK = (
    "choice hardly follows the belief (F = {strength:.1f}, below {fewest:g}), so that no hidden "
    "shift can be estimated"
)
SMALLEST = 0.1  # of the moves of the prior that are followed, in units of the largest
_CUTOFF = 1e-9  # directions that no equation moves with: only differences of utilities count
_LEAST_ROOM = 1e-6  # agreement, per context, that tastes could add: below it nothing is told

Quantity = Callable[[Any, Floats], Floats]
"""Distribution of each context's belief, parameters of choices -> (n_contexts, n_quantities)."""


@dataclass(frozen=True, repr=False)
class RationalAgent:
    """A fitted rational agent.

    Parameters
    ----------
    data : EvaluationData
        What it was fitted to.
    held : Beliefs
        What its reports tell of its beliefs, and their noise.
    calibrated : FittedLogit
        How the state depends on the belief.
    chosen : FittedLogit
        Its utilities.
    settings : mapping
        Options that shaped the fit.
    cautions : tuple of str
        What a reader must know before the numbers.
    clusters : Clusters
        What is resampled, for intervals and the test: contexts, or groups of them.
    """

    data: EvaluationData = field(repr=False)
    held: Beliefs = field(repr=False)
    calibrated: FittedLogit = field(repr=False)
    chosen: FittedLogit = field(repr=False)
    settings: dict[str, Any]
    cautions: tuple[str, ...]
    clusters: Clusters = field(repr=False)

    @property
    def noise_unseen(self) -> bool:
        """Whether the noise of reports was neither given nor could be estimated."""
        return self.settings["noise"] is None

    def __repr__(self) -> str:
        """Return one line; `print` shows more."""
        n_rows, n_contexts = self.data.n_rows, self.data.n_contexts
        choices, contexts = counted(n_rows, "choice"), counted(n_contexts, "context")
        return f"<RationalAgent of {choices} in {contexts}>"

    def _lines(self) -> list[tuple[str, str]]:
        noise = self.noise.iloc[0]
        thresholds = "; ".join(
            f"{row.above} overtakes {row.below} at {row.belief:.3f} [{row.low:.3f}, {row.high:.3f}]"
            for row in self.thresholds.itertuples()
        )
        cautions = [] if self.converged else ["the fit did not come to its end"]
        return [
            ("sample", repr(self).removeprefix("<RationalAgent of ").removesuffix(">")),
            (
                "reports",
                f"scatter with SD {noise['sd']:.3f} [{noise['low']:.3f}, {noise['high']:.3f}]"
                if self.noisy
                else "do not scatter: the report is taken for the belief",
            ),
            ("thresholds", thresholds or "none: no belief in (0, 1) changes the best action"),
            ("lapses", f"{self.lapses:.3f} of the choices"),
            ("lasting taste", _with_interval(*self.taste)),
            ("hidden shift", _with_interval(*self.hidden_shift)),
            *(("caution", caution) for caution in (*cautions, *self.cautions)),
        ]

    def __str__(self) -> str:
        """Return a few readable lines."""
        lines = [f"{name}: {text}" for name, text in self._lines()]
        return wrapped("nearest rational agent", lines)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return html_card("nearest rational agent", self._lines())

    @property
    def noisy(self) -> bool:
        """Whether reports scatter around the belief."""
        return self.held.noisy

    @property
    def converged(self) -> bool:
        """Whether every fit came to its end."""
        return self.calibrated.converged and self.chosen.converged

    @property
    def state(self) -> Floats:
        """Probability of the state at each point of the beliefs."""
        return self._state(self.calibrated.parameters)

    def _state(self, parameters: Floats) -> Floats:
        free = np.asarray(self.calibrated.model.probabilities(parameters)[0][:, 1])
        if self.settings["calibration"] != "isotonic":
            return free
        return np.asarray(isotonic_regression(free, weights=self.held.distribution + 1e-300).x)

    @cached_property
    def posterior(self) -> Any:
        """Distribution of each context's belief over the points, given its reports and state."""
        return self.held.given(self.chosen.choices.truth, self.state)

    @cached_property
    def _nearby(self) -> dict[int, Beliefs]:
        """What reports tell under log standard deviations of some steps more or less."""
        if not self.noisy or self.held.known:
            return {0: self.held}
        return {k: self.held.at(self.held.sd * math.exp(k * STEP)) for k in range(-2, 3)}

    @cached_property
    def _tilts(self) -> tuple[Floats, Floats]:
        """Directions in which contexts move the logarithm of the prior, and how far each does."""
        if not self.noisy:
            return np.empty((0, self.held.points.size)), np.empty((self.data.n_contexts, 0))
        importance = np.sqrt(self.held.prior + LEAST)
        moves, sizes, directions = svd(
            self.held.influence_on_prior() * importance, full_matrices=False
        )
        count = int((sizes > SMALLEST * sizes[0]).sum())
        directions = directions[:count] / importance
        steps = STEP / np.abs(directions).max(axis=1)
        return directions * steps[:, None], moves[:, :count] * (sizes[:count] / steps)

    def _equations(
        self, chosen: FittedLogit, calibration: Floats, utilities: Floats, *, noise: int, tilt: Any
    ) -> tuple[list[Floats], Any]:
        """Every context's part of the stacked equations, and what is known of its belief."""
        held, truth, scores = self._nearby[noise].tilted(tilt), chosen.choices.truth, []
        if len(self._nearby) > 1:
            above, below = (self._nearby[noise + sign].tilted(tilt) for sign in (1, -1))
            scores.append((above.log_likelihood - below.log_likelihood)[:, None] / (2 * STEP))
        calibrated = self.calibrated
        scores.append(calibrated.model.scores(calibration, held.weight, calibrated.choices))
        weight = held.given(truth, self._state(calibration))
        scores.append(chosen.model.scores(utilities, weight, chosen.choices))
        return scores, weight

    def influences(
        self, chosen: FittedLogit, quantity: Quantity | None = None
    ) -> tuple[Floats, Floats]:
        """Return what each context adds to all parameters, and to a quantity of contexts."""

        def stacked(
            calibration: Floats, utilities: Floats, *, noise: int = 0, tilt: Any = None
        ) -> Floats:
            scores, weight = self._equations(chosen, calibration, utilities, noise=noise, tilt=tilt)
            values = [] if quantity is None else [quantity(weight, utilities)]
            return np.column_stack([*scores, *values])

        at = self.calibrated.parameters, chosen.parameters
        columns = []
        if len(self._nearby) > 1:
            moved = [stacked(*at, noise=sign).mean(axis=0) for sign in (1, -1)]
            columns.append((moved[0] - moved[1])[:, None] / (2 * STEP))
        columns.append(_derivative(lambda x: stacked(x, at[1]).mean(axis=0), at[0]))
        columns.append(_derivative(lambda x: stacked(at[0], x).mean(axis=0), at[1]))
        slopes, now = np.column_stack(columns), stacked(*at)
        n_parameters = slopes.shape[1]
        directions, moves = self._tilts
        for direction, move in zip(directions, moves.T, strict=True):
            up, down = (stacked(*at, tilt=1 + sign * direction).mean(axis=0) for sign in (1, -1))
            now = now + move[:, None] * (up - down) / 2
        scores, values = now[:, :n_parameters], now[:, n_parameters:]
        influence = -scores @ np.linalg.pinv(slopes[:n_parameters], rcond=_CUTOFF).T
        return influence, values + influence @ slopes[n_parameters:].T

    @cached_property
    def _influence(self) -> Floats:
        return self.influences(self.chosen)[0]

    @property
    def reach(self) -> float:
        """How many standard errors a 95% interval reaches to each side."""
        return float(stats.t.ppf(0.975, max(self.clusters.n - 1, 1)))

    def error(self, of_contexts: Floats) -> Any:
        """Return the standard error of the mean of values of contexts."""
        values, n = self.clusters.values(of_contexts), self.clusters.n
        # As in a regression, for the parameters that were fitted to the same clusters.
        small = (n - 1) / (n - min(self.n_fitted, n // 2))
        return values.std(axis=0, ddof=1) * math.sqrt(small / n)

    @property
    def n_fitted(self) -> int:
        """Number of free parameters: only differences of utilities count, lapses are one."""
        n_actions, of_weights = len(self.data.actions), len(self.chosen.model.weighting.start)
        in_choices = self.chosen.model.n_columns * (n_actions - 1) + 1 + of_weights
        return in_choices + self.calibrated.model.n_columns + len(self._nearby) // 2

    def _with_ends(
        self,
        function: Callable[[Floats], Floats],
        back: Callable[[Floats], Floats] = np.asarray,
        *,
        of: str = "choices",
        least: float = -np.inf,
        most: float = np.inf,
    ) -> pd.DataFrame:
        """Tabulate a function of the parameters of one step: value, low, high.

        `back` turns the scale on which the intervals are symmetric into that of the quantity.
        """
        n_chosen, n_calibrated = self.chosen.parameters.size, self.calibrated.parameters.size
        parameters, influence = self.chosen.parameters, self._influence[:, -n_chosen:]
        if of == "calibration":
            parameters = self.calibrated.parameters
            influence = self._influence[:, -n_chosen - n_calibrated : -n_chosen]
        moved = influence @ _derivative(function, parameters).T
        half = self.reach * self.error(moved)
        value = function(parameters)
        ends = np.clip([value - half, value + half], least, most)
        return pd.DataFrame({"value": back(value), "low": back(ends[0]), "high": back(ends[1])})

    @cached_property
    def thresholds(self) -> pd.DataFrame:
        """Beliefs at which the best action changes, with 95% intervals.

        Columns below, above (actions), belief, low, high, weight (what the weighting makes of the
        belief), cost_ratio (what choosing `above` wrongly costs, in units of what choosing it
        rightly gains).
        """
        model = self.chosen.model
        table, pairs = threshold_table(model, self.chosen.parameters, self.data.actions)
        if not pairs:
            return table.assign(low=[], high=[])[[*THRESHOLD_COLUMNS[:3], "low", "high"]]
        ends = self._with_ends(
            lambda x: np.array([crossing(model, x, *pair)[0] for pair in pairs]),
            least=0.0,
            most=1.0,
        )
        return table.assign(low=ends["low"], high=ends["high"])[
            ["below", "above", "belief", "low", "high", "weight", "cost_ratio"]
        ]

    @cached_property
    def utilities(self) -> pd.DataFrame:
        """Utility of each action in each state, in units of the extreme-value shock.

        Columns action, if_false, if_true, slope, standard_error (of the slope); the mean over
        actions is 0 in each state, because only differences count.
        """

        def in_states(parameters: Floats) -> Floats:
            constant, slope = self.chosen.model.utilities(parameters)
            both = np.stack([constant - slope, constant + slope, 2 * slope])
            return np.asarray((both - both.mean(axis=1, keepdims=True)).ravel())

        table = self._with_ends(in_states)
        values = table["value"].to_numpy().reshape(3, -1)
        errors = (table["high"] - table["value"]).to_numpy().reshape(3, -1) / self.reach
        columns = {"if_false": values[0], "if_true": values[1], "slope": values[2]}
        return pd.DataFrame(
            {"action": list(self.data.actions), **columns, "standard_error": errors[2]}
        )

    @property
    def lapses(self) -> float:
        """Share of choices that are any action, equally likely."""
        return self.chosen.model.lapses(self.chosen.parameters)

    @cached_property
    def taste(self) -> tuple[float, Interval | None]:
        """Share of choices that follow a lasting taste of their context, with its 95% interval.

        0 where the choices of a context are independent given its belief, 1 where they are all the
        same; NaN where no context has two. Nothing else of the agent depends on it, twins do.
        """
        # A context may bring something up that speaks for an action whenever it is asked about:
        # each choice is made with the context's lasting shock or with one of its own. Two choices
        # agree by the squared share more often than belief makes them; the share is the root of
        # the mean excess in units of what it could at most be. Every context with two choices
        # counts alike: over pairs, one that is asked often would outweigh all others.
        choices = self.chosen.choices
        sizes = choices.sums.sum(axis=1)
        pairs = sizes * (sizes - 1) / 2
        several = pairs > 0.5  # sums of probabilities miss whole numbers by rounding
        per_pair = np.divide(1.0, pairs, out=np.zeros_like(pairs), where=several)

        def agreement(weight: Any, utilities: Floats) -> Floats:
            chance = self.chosen.model.probabilities(utilities)[0]
            by_chance = np.asarray(weight @ (chance**2).sum(axis=1))
            by_taste = several * (1 - by_chance)
            excess = choices.agreeing * per_pair - several * by_chance
            return np.column_stack([excess, by_taste, by_taste * by_chance * per_pair])

        values = self.influences(self.chosen, agreement)[1]
        excess, room, scatter = values.mean(axis=0)
        if not room > _LEAST_ROOM:
            return math.nan, None
        squared = excess / room
        error = float(self.error((values[:, 0] - squared * values[:, 1]) / room))
        # Where hardly any pair disagrees the contexts are too much alike to show how sure this is:
        # at least as unsure as so many pairs of independent choices.
        least = math.sqrt(max(scatter, 0.0) / len(values)) / room
        half = self.reach * max(error, least)
        low, value, high = np.sqrt(np.clip([squared - half, squared, squared + half], 0.0, 1.0))
        return float(value), self._interval(float(low), float(high))

    def _interval(self, low: float, high: float) -> Interval:
        return Interval(low, high, 0.95, METHOD.format(clusters=self.clusters.plural))

    @cached_property
    def weighting(self) -> pd.DataFrame:
        """Parameters of the weighting with 95% intervals; no rows where beliefs count as they are.

        Columns parameter, value, low, high.
        """
        names = self.chosen.model.weighting.names
        if not names:
            return pd.DataFrame({"parameter": [], "value": [], "low": [], "high": []})
        table = self._with_ends(lambda x: np.asarray(self.chosen.model.shape(x)), np.exp)
        return pd.concat([pd.DataFrame({"parameter": list(names)}), table], axis=1)

    def weight(self, belief: ArrayLike = CURVE) -> Floats:
        """Return what the weighting makes of beliefs, in [0, 1]."""
        points = np.asarray(belief, dtype=np.float64)
        shape = self.chosen.model.shape(self.chosen.parameters)
        columns = self.chosen.model.weighting.columns(points, shape, 0.0)
        return np.asarray((columns[:, 1] + 1) / 2)

    @cached_property
    def noise(self) -> pd.DataFrame:
        """Noise of reports around the belief, with 95% intervals.

        Columns belief, sd, low, high. The first line (belief NaN) is the standard deviation of the
        noise before reports end at 0 and 1 and are rounded; the others are the standard deviation
        within contexts whose belief is within .1 of the one named, as seen (NaN where no context
        is). `settings` has the grid of the reports.
        """
        at = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
        sd = self.held.sd if self.noisy else 0.0
        lines = np.full((1 + at.size, 3), sd)
        if self.noisy and not self.held.known:
            half = self.reach * float(self.error(self._influence[:, 0]))
            lines[0] = np.minimum(sd * np.exp(np.minimum([0.0, -half, half], 9.0)), MOST_SD)
            squares = self.held.reports.squares
            degrees = self.held.reports.counts.sum(axis=1) - 1
            for row, belief in enumerate(at, start=1):
                near = np.asarray(
                    self.held.weight @ (np.abs(self.held.points - belief) <= NEAR + 1e-9)
                )
                known = float((near * degrees).mean())
                variance = float((near * squares).mean()) / known if known > 0 else math.nan
                error = self.error(near * (squares - variance * degrees) / known)
                ends = [variance, variance - self.reach * error, variance + self.reach * error]
                lines[row] = np.sqrt(np.maximum(ends, 0.0))
        belief_and_ends = np.column_stack([[math.nan, *at], lines])
        return pd.DataFrame(belief_and_ends, columns=["belief", "sd", "low", "high"])

    @cached_property
    def choice_curve(self) -> pd.DataFrame:
        """Probability of each action by belief held, lapses included, with 95% intervals.

        Columns action, belief, probability, low, high.
        """
        model, at = self.chosen.model, np.linspace(0.0, 1.0, 41)
        curve = Logit(at, model.n_actions, model.weighting, lapses=model.lapsing)
        table = self._with_ends(
            lambda x: _log_odds(curve.probabilities(x)[0]).T.ravel(), expit
        ).rename(columns={"value": "probability"})
        of = {
            "action": np.repeat(list(self.data.actions), at.size),
            "belief": np.tile(at, model.n_actions),
        }
        return pd.concat([pd.DataFrame(of), table], axis=1)

    @cached_property
    def calibration(self) -> pd.DataFrame:
        """Probability of the state by belief held, with 95% intervals.

        Columns belief, probability, low, high.
        """
        points = self.held.points
        at = np.unique(np.abs(points[:, None] - np.r_[0.0, CURVE, 1.0]).argmin(axis=0))
        table = self._with_ends(
            lambda x: _log_odds(self._state(x)[at]), expit, of="calibration"
        ).rename(columns={"value": "probability"})
        return pd.concat([pd.DataFrame({"belief": points[at]}), table], axis=1)

    @cached_property
    def beliefs(self) -> pd.DataFrame:
        """Belief of each context given its reports and its state: columns context, mean, sd."""
        mean = np.asarray(self.posterior @ self.held.points)
        square = np.asarray(self.posterior @ self.held.points**2)
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        return pd.DataFrame({"context": list(self.data.contexts), "mean": mean, "sd": spread})

    @cached_property
    def shifted(self) -> FittedLogit:
        """The agent's utilities with a belief that the state shifts; the shift is its last."""
        model = Logit(self.held.points, len(self.data.actions), powers(1, shifted=True))
        return model.fit(self.posterior, self.chosen.choices)

    @cached_property
    def strength(self) -> float:
        """How surely choices follow the belief: F of all slopes of the utilities being equal."""
        n_actions, n = len(self.data.actions), self.clusters.n
        slopes = self.shifted.model.utilities(self.shifted.parameters)[1]
        first = self._of_shifted.shape[1] - self.shifted.parameters.size + n_actions
        influence = self.clusters.values(self._of_shifted[:, first : first + n_actions])
        influence = influence - influence.mean(axis=1, keepdims=True)
        slopes = slopes - slopes.mean()
        inverse = np.linalg.pinv(influence.T @ influence / (n * (n - 1)), rcond=_CUTOFF)
        return float(slopes @ inverse @ slopes / (n_actions - 1))

    @cached_property
    def open_contexts(self) -> float:
        """How many contexts of belief 1/2 leave as much open about the state as these do."""
        share = float(self.held.distribution @ (self.state * (1 - self.state)))
        return 4 * share * self.data.n_contexts

    @property
    def no_shift(self) -> str:
        """Why there is no hidden shift; empty if there is one."""
        if self.open_contexts < FEWEST_OPEN:
            left = math.floor(10 * self.open_contexts) / 10  # 19.96 must not be shown as 20.0
            return LITTLE_OPEN.format(n=self.data.n_contexts, left=left, fewest=FEWEST_OPEN)
        if self.strength < FEWEST_F:
            return WEAK.format(strength=self.strength, fewest=FEWEST_F)
        return ""

    @cached_property
    def _of_shifted(self) -> Floats:
        return self.influences(self.shifted)[0]

    @cached_property
    def hidden_shift(self) -> tuple[float, Interval | None]:
        """How much higher the belief acted on is when the state is true, and its 95% interval.

        At equal belief held, that is with the noise of reports taken off. NaN without an interval
        where choices hardly follow the belief (`strength` below 10), because a shift is then read
        off slopes that may as well be none, and where the beliefs of all contexts together leave
        too little open about the state (`open_contexts` below 20).
        """
        if self.no_shift:
            return math.nan, None
        value = float(self.shifted.parameters[-1])
        half = self.reach * float(self.error(self._of_shifted[:, -1]))
        return value, self._interval(value - half, value + half)

    def test(self) -> BeyondBelief:
        """Test whether actions know more of the state than the belief does.

        Null: given the belief held, of which reports are independent noisy copies, action and state
        are uncorrelated.

        Returns
        -------
        BeyondBelief
            p-value, and the difference in the probability of each action between the states at
            equal belief; NaN with a reason where reports do not scatter, or where contexts or
            reports are too few.
        """
        if not self.noisy:
            return BeyondBelief(math.nan, pd.DataFrame(), reason=NO_NOISE)
        return beyond_belief(self.data)


def _derivative(function: Callable[[Floats], Floats], parameters: Floats) -> Floats:
    """Differentiate numerically; the last axis is the parameter."""
    steps = STEP * np.eye(parameters.size)
    columns = [(function(parameters + s) - function(parameters - s)) / (2 * STEP) for s in steps]
    return np.stack(columns, axis=-1)


def _log_odds(chance: Floats) -> Floats:
    return np.asarray(logit(chance.clip(1e-9, 1 - 1e-9)))


def _with_interval(value: float, interval: Interval | None) -> str:
    if math.isnan(value):
        return "cannot be told"
    ends = "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
    return f"{value:.3f}{ends}"


def require_agent(agent: object) -> None:
    """Raise unless this is a fitted agent."""
    require(
        isinstance(agent, RationalAgent),
        f"agent must be what fit_rational_agent returns; received {type(agent).__name__}.",
    )
