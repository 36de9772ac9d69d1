"""The nearest rational agent: one latent belief per context behind noisy reports and choices.

`coherence.rational.fit` fits it; what it returns tells what the agent believes, wants and reports,
and tests whether its actions know more of the state than its belief does.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from coherence.inputs import Floats, require
from coherence.rational.card import agent_lines
from coherence.rational.choice import ChoiceModel
from coherence.rational.engine import FittedBeliefs, FittedChoices, fit_choices, influences
from coherence.rational.influence import METHOD, reach, with_ends
from coherence.rational.latent import LatentModel
from coherence.rational.moments import BeyondBelief, beyond_belief
from coherence.rational.reports import TAIL, spread_at, tail_share
from coherence.rational.structure import CURVE, THRESHOLD_COLUMNS, crossing, threshold_table
from coherence.rational.taste import lasting_share
from coherence.rational.weighting import powers
from coherence.result import Interval, html_card
from coherence.statistics.choices import ChoiceData
from coherence.statistics.resample import Units
from coherence.table.printable import counted

FEWEST_OPEN = 20.0  # contexts whose state the belief leaves open, in contexts of belief 1/2
FEWEST_F = 10.0  # Staiger and Stock's rule for ratios whose denominator may be nothing
LITTLE_OPEN = (
    "the beliefs of {n} contexts leave as much open about the state as {left:.1f} contexts of "
    "belief 1/2, and a test needs {fewest:g}"
)
NO_NOISE = "reports do not scatter around a belief: residual_covariance_test is the test of them"
WEAK = (
    "choice hardly follows the belief (F = {strength:.1f}, below {fewest:g}), so that no hidden "
    "shift can be estimated"
)


@dataclass(frozen=True, repr=False)
class RationalAgent:
    """A fitted rational agent.

    Parameters
    ----------
    data : ChoiceData
        What it was fitted to.
    latent : FittedBeliefs
        Its beliefs, the noise of its reports and its calibration.
    chosen : FittedChoices
        Its utilities.
    settings : mapping
        Options that shaped the fit.
    cautions : tuple of str
        What a reader must know before the numbers.
    units : Units
        The units of all intervals and of the test: contexts, or groups of them.
    """

    data: ChoiceData = field(repr=False)
    latent: FittedBeliefs = field(repr=False)
    chosen: FittedChoices = field(repr=False)
    settings: dict[str, Any]
    cautions: tuple[str, ...]
    units: Units = field(repr=False)

    def __repr__(self) -> str:
        """Return one line; `print` shows more."""
        n_rows, n_contexts = self.data.n_rows, self.data.n_contexts
        choices, contexts = counted(n_rows, "choice"), counted(n_contexts, "context")
        return f"<RationalAgent of {choices} in {contexts}>"

    def _lines(self) -> list[tuple[str, str]]:
        unfinished = [] if self.converged else ["the fit did not come to its end"]
        return agent_lines(
            self.data,
            noise=self.noise if self.noisy else None,
            thresholds=self.thresholds,
            lapses=self.lapses,
            taste=self.taste,
            hidden_shift=self.hidden_shift,
            cautions=[*unfinished, *self.cautions],
        )

    def __str__(self) -> str:
        """Return a few readable lines."""
        lines = [f"{name}: {text}" for name, text in self._lines()]
        return "\n  ".join(["nearest rational agent", *lines])

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return html_card("nearest rational agent", self._lines())

    @property
    def noisy(self) -> bool:
        """Whether reports scatter around the belief."""
        return isinstance(self.latent.model, LatentModel)

    @property
    def converged(self) -> bool:
        """Whether every fit came to its end."""
        return self.latent.summit.converged and self.chosen.summit.converged

    @cached_property
    def _influence(self) -> Floats:
        return self.units.values(influences(self.latent, self.chosen)[0])

    def _with_ends(
        self,
        function: Callable[[Floats, Floats], Floats],
        back: Callable[[Floats], Floats] = np.asarray,
        **limits: float,
    ) -> pd.DataFrame:
        """Tabulate a function of the parameters of beliefs and of choices: value, low, high."""
        first = self.latent.parameters.size
        return pd.DataFrame(
            with_ends(
                lambda both: function(both[:first], both[first:]),
                np.concatenate([self.latent.parameters, self.chosen.parameters]),
                self._influence,
                back,
                **limits,
            )
        )

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
        found = self._with_ends(
            lambda _, chosen: np.array([crossing(model, chosen, *pair)[0] for pair in pairs]),
            least=0.0,
            most=1.0,
        )
        return table.assign(low=found["low"], high=found["high"])[
            ["below", "above", "belief", "low", "high", "weight", "cost_ratio"]
        ]

    @cached_property
    def utilities(self) -> pd.DataFrame:
        """Utility of each action in each state, in units of the extreme-value shock.

        Columns action, if_false, if_true, slope, standard_error (of the slope); the mean over
        actions is 0 in each state, because only differences count.
        """

        def in_states(_: Floats, chosen: Floats) -> Floats:
            constant, slope = self.chosen.model.utilities(chosen)
            both = np.stack([constant - slope, constant + slope, 2 * slope])
            return np.asarray((both - both.mean(axis=1, keepdims=True)).ravel())

        found = self._with_ends(in_states)
        values = found["value"].to_numpy().reshape(3, -1)
        errors = (found["high"] - found["value"]).to_numpy().reshape(3, -1) / reach(self.units.n)
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
        return lasting_share(self.latent, self.chosen, self.units)

    @cached_property
    def weighting(self) -> pd.DataFrame:
        """Parameters of the weighting with 95% intervals; no rows where beliefs count as they are.

        Columns parameter, value, low, high.
        """
        names = self.chosen.model.weighting.names
        if not names:
            return pd.DataFrame({"parameter": [], "value": [], "low": [], "high": []})
        found = self._with_ends(
            lambda _, chosen: np.asarray(self.chosen.model.shape(chosen)), np.exp
        )
        return pd.concat([pd.DataFrame({"parameter": list(names)}), found], axis=1)

    def weight(self, belief: ArrayLike = CURVE) -> Floats:
        """Return what the weighting makes of beliefs, in [0, 1]."""
        points = np.asarray(belief, dtype=np.float64)
        shape = self.chosen.model.shape(self.chosen.parameters)
        columns = self.chosen.model.weighting.columns(points, shape, 0.0)
        return np.asarray((columns[:, 1] + 1) / 2)

    @cached_property
    def noise(self) -> pd.DataFrame:
        """Noise of reports: standard deviation around the belief, before rounding.

        Columns belief (NaN for the mean over beliefs held), sd, low, high. `settings` has the grid
        of the reports, the shares of round numbers and of reports in the tails.
        """
        at = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
        model = self.latent.model
        if not isinstance(model, LatentModel):
            zero = np.zeros(at.size + 1)
            return pd.DataFrame({"belief": [np.nan, *at], "sd": zero, "low": zero, "high": zero})

        def log_spread(latent: Floats, _: Floats) -> Floats:
            noise = model.noise(latent)
            wider = 0.5 * math.log(1 + (TAIL**2 - 1) * tail_share(noise))
            points = spread_at(noise, model.points)
            mean = 0.5 * math.log(float(model.prior(latent) @ points**2))
            return np.asarray(np.r_[mean, np.log(spread_at(noise, at))] + wider)

        found = self._with_ends(log_spread, np.exp).rename(columns={"value": "sd"})
        return pd.concat([pd.DataFrame({"belief": [np.nan, *at]}), found], axis=1)

    @cached_property
    def choice_curve(self) -> pd.DataFrame:
        """Probability of each action by belief held, lapses included, with 95% intervals.

        Columns action, belief, probability, low, high.
        """
        model, at = self.chosen.model, np.linspace(0.0, 1.0, 41)
        curve = ChoiceModel(at, model.n_actions, model.weighting, lapses=model.lapsing)
        found = self._with_ends(
            lambda _, chosen: _log_odds(curve.probabilities(chosen)[0]).T.ravel(), expit
        ).rename(columns={"value": "probability"})
        of = {
            "action": np.repeat(list(self.data.actions), at.size),
            "belief": np.tile(at, model.n_actions),
        }
        return pd.concat([pd.DataFrame(of), found], axis=1)

    @cached_property
    def calibration(self) -> pd.DataFrame:
        """Probability of the state by belief held, with 95% intervals.

        Columns belief, probability, low, high.
        """
        model, points = self.latent.model, self.latent.model.points
        wanted = np.r_[0.0, CURVE, 1.0]
        at = np.unique(np.abs(points[:, None] - wanted).argmin(axis=0))
        found = self._with_ends(
            lambda latent, _: _log_odds(model.calibration(latent)[at]), expit
        ).rename(columns={"value": "probability"})
        return pd.concat([pd.DataFrame({"belief": points[at]}), found], axis=1)

    @cached_property
    def beliefs(self) -> pd.DataFrame:
        """Belief of each context given its reports and its state: columns context, mean, sd."""
        weight, points = self.latent.posterior.given_truth, self.latent.model.points
        mean = np.asarray(weight @ points)
        spread = np.sqrt(np.maximum(np.asarray(weight @ points**2) - mean**2, 0.0))
        return pd.DataFrame({"context": list(self.data.contexts), "mean": mean, "sd": spread})

    @cached_property
    def shifted(self) -> FittedChoices:
        """The agent's utilities with a belief that the state shifts; the shift is its last."""
        model = ChoiceModel(
            self.latent.model.points, len(self.data.actions), powers(1, shifted=True)
        )
        return fit_choices(self.latent, self.chosen.choices, model)

    @cached_property
    def strength(self) -> float:
        """How surely choices follow the belief: F of all slopes of the utilities being equal."""
        model, n_actions = self.shifted.model, len(self.data.actions)
        slopes = model.utilities(self.shifted.parameters)[1]
        first = self.latent.parameters.size + n_actions
        influence = self.units.values(self._of_shifted[:, first : first + n_actions])
        centred = slopes - slopes.mean(), influence - influence.mean(axis=1, keepdims=True)
        n = len(influence)
        covariance = centred[1].T @ centred[1] / (n * (n - 1))
        inverse = np.linalg.pinv(covariance, rcond=1e-9)
        return float(centred[0] @ inverse @ centred[0] / (n_actions - 1))

    @cached_property
    def open_contexts(self) -> float:
        """How many contexts of belief 1/2 leave as much open about the state as these do."""
        state = self.latent.model.calibration(self.latent.parameters)
        share = float(self.latent.model.prior(self.latent.parameters) @ (state * (1 - state)))
        return 4 * share * self.data.n_contexts

    @property
    def little_open(self) -> str:
        """Why there are too few states left to chance for a test; empty if there are enough."""
        if self.open_contexts >= FEWEST_OPEN:
            return ""
        left = math.floor(10 * self.open_contexts) / 10  # 19.96 must not be shown as 20.0
        return LITTLE_OPEN.format(n=self.data.n_contexts, left=left, fewest=FEWEST_OPEN)

    @property
    def no_shift(self) -> str:
        """Why there is no hidden shift; empty if there is one."""
        if self.little_open or self.strength >= FEWEST_F:
            return self.little_open
        return WEAK.format(strength=self.strength, fewest=FEWEST_F)

    @cached_property
    def _of_shifted(self) -> Floats:
        return influences(self.latent, self.shifted)[0]

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
        influence = self.units.values(self.shift_influence)
        value = float(self.shifted.parameters[-1])
        error = math.sqrt(float((influence**2).sum()) / (len(influence) * (len(influence) - 1)))
        reached = reach(self.units.n) * error
        return value, Interval(value - reached, value + reached, 0.95, self.units.said(METHOD))

    @property
    def shift_influence(self) -> Floats:
        """What each context adds to the hidden shift, times their number: mean 0 over contexts.

        Shape (n_contexts,), in the order of ``data.contexts``.
        """
        return np.asarray(self._of_shifted[:, -1])

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
        return beyond_belief(self.data, self.units)


def _log_odds(chance: Floats) -> Floats:
    return np.asarray(logit(chance.clip(1e-9, 1 - 1e-9)))


def require_agent(agent: object) -> None:
    """Raise unless this is a fitted agent."""
    require(
        isinstance(agent, RationalAgent),
        f"agent must be what fit_rational_agent returns; received {type(agent).__name__}.",
    )
