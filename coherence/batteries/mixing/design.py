"""The conditions of the battery, what a sampler without fault would do, agents, and the answers.

Five experiments of 20 points: one flip, two flips in one answer, three outcomes, decisions (placing
reads, matching pennies, positioning), and words. Source: supplementary scoring system of the
"failure to mix" study, which takes the parameter of a game for the best rate of the counted action.
In both games the equilibrium rate is one minus the parameter, as solving them shows: a more
rewarding action is watched more closely and has to be played less.

A simulated agent is a rule from the faultless rates of a part to its own, so that what the scores
say of it is known in advance. `expected_answers` gives its exact rates, `simulate_mixing` draws
from them.

A row of a table of answers is one answer, or `count` equal ones; a row with a `probability` is an
outcome whose rate is known exactly. Answers that cannot be read stay in the table with their
status, leave the denominator of the rates, and come back as bounds on every score.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from coherence.batteries.battery import AnswerColumn, AnswerTable, plain_text
from coherence.decoding.decode import PARSED, STATUSES
from coherence.errors import InputError, closest
from coherence.inputs import Floats, whole_number
from coherence.runs.formats import require_frame
from coherence.statistics.resample import Seed, as_generator

GAMES: dict[str, Callable[[float], Sequence[Sequence[float]]]] = {
    # The model wins by showing the same side: 100 p points for heads, 100 (1 - p) for tails.
    "pennies": lambda p: ((100 * p, 0.0), (0.0, 100 * (1 - p))),
    # The model earns only where the rival does not stand: 100 p in the luxury market, 100 (1 - p)
    # in the affordable one.
    "positioning": lambda p: ((0.0, 100 * p), (100 * (1 - p), 0.0)),
}
"""The games, by the name of their part of the battery: the payoffs of the model by the parameter in
(0, 1), shape (2, 2), against a rival who loses what the model wins."""


FLIPS = ("0 0", "0 1", "1 0", "1 1")
ORDERS = ("forward", "reverse")
MIDDLE = 0.4  # probability of outcome 1 among three, in every condition


@dataclass(frozen=True)
class BatteryPart:
    """A part of the battery."""

    name: str  # value of the `experiment` column
    number: int  # experiment that its points count for, 1 to 5
    title: str  # for tables and figures
    # the possible answers; those of `words` are the first and the second word of the pair
    outcomes: tuple[str, ...]
    probabilities: tuple[float, ...]  # published values of `p`


_GRID = tuple(i / 20 for i in range(21))
_TENTHS = tuple(i / 10 for i in range(1, 10))

PARTS = {
    part.name: part
    for part in (
        BatteryPart("flip", 1, "one flip", ("1", "0"), _GRID),
        BatteryPart("two_flips", 2, "two flips", FLIPS, _GRID),
        BatteryPart(
            "three_outcomes",
            3,
            "three outcomes",
            ("0", "1", "2"),
            tuple(i / 10 for i in range(6, -1, -1)),
        ),
        BatteryPart("reads", 4, "placing reads", ("A", "B"), _TENTHS),
        BatteryPart("pennies", 4, "matching pennies", ("heads", "tails"), _TENTHS),
        BatteryPart("positioning", 4, "positioning", ("luxury", "affordable"), _TENTHS),
        BatteryPart("words", 5, "words", ("first", "second"), (0.5,)),
    )
}
"""All parts by name; in `p` the instructed probability of the first outcome, of "1" in both flips,
or the parameter of a game."""

EXPERIMENTS = {1: "one flip", 2: "two flips", 3: "three outcomes", 4: "decisions", 5: "words"}


def literal_shares(name: str, p: Floats) -> Floats:
    """Return the outcome probabilities of a sampler that takes `p` for the rate everywhere.

    As the published scoring does: for the rate of the counted outcome, in games too.
    """
    if name == "two_flips":
        # Both flips by themselves, in the order of `FLIPS`.
        return np.stack([(1 - p) ** 2, (1 - p) * p, p * (1 - p), p**2], axis=1)
    if name == "three_outcomes":
        return np.stack([p, np.full_like(p, MIDDLE), 1 - MIDDLE - p], axis=1)
    return np.stack([p, 1 - p], axis=1)


def equilibrium_shares(name: str, p: Floats) -> Floats:
    """Return those of a faultless sampler: games at their equilibrium, else `literal_shares`."""
    if name in GAMES:
        best = optimal_rates(name, p)
        return np.stack([best, 1 - best], axis=1)
    return literal_shares(name, p)


def optimal_rates(name: str, p: Floats) -> Floats:
    """Return the best rates of the first outcome: `p`, but in games those of the equilibrium."""
    if name not in GAMES:
        return p.copy()
    # Each mix leaves the rival, who loses what the model wins, without a preference.
    payoffs = np.moveaxis(np.array([GAMES[name](float(parameter)) for parameter in p]), 0, -1)
    (a, b), (c, d) = payoffs
    return np.asarray((d - c) / (a - b - c + d))


_Rule = Callable[[str, Floats], Floats]
_CONDITION = ["experiment", "p", "item", "order"]
_PAIRS = tuple(f"word {number}/other {number}" for number in range(1, 12))


def _changed(change: Callable[[Floats], Floats]) -> _Rule:
    """Return the rule that changes the best rates; of two flips, those of each by itself."""

    def rule(name: str, p: Floats) -> Floats:
        if name != "two_flips":
            return change(equilibrium_shares(name, p))
        flip = change(np.stack([1 - p, p], axis=1))
        return np.asarray(np.einsum("mi,mj->mij", flip, flip).reshape(len(flip), 4))

    return rule


def _highest(shares: Floats) -> Floats:
    """Return rates that are all with the most probable outcome; ties are split evenly."""
    highest = np.abs(shares - shares.max(axis=1, keepdims=True)) < 1e-9
    return np.asarray(highest / highest.sum(axis=1, keepdims=True))


def _cubed(shares: Floats) -> Floats:
    # The last of three rates may miss 0 by a rounding error.
    cubes = np.maximum(shares, 0) ** 3
    return np.asarray(cubes / cubes.sum(axis=1, keepdims=True))


def _first(name: str, p: Floats) -> Floats:
    """The outcome that is listed first, whatever is asked; of words see `expected_answers`."""
    listed = 1 if name == "flip" else 0  # questions about a flip list 0 first, its second outcome
    return np.tile(np.eye(len(PARTS[name].outcomes))[listed], (len(p), 1))


MIXING_AGENTS: dict[str, tuple[str, _Rule]] = {
    "ideal": (
        "draws every outcome at the best rate, and plays games at their equilibrium",
        equilibrium_shares,
    ),
    "literal": (
        "takes p for the rate everywhere, in games too: the faultless sampler of the published "
        "scoring",
        literal_shares,
    ),
    "steep": ("draws, but with rates pushed towards 0 and 1", _changed(_cubed)),
    "argmax": ("names the most probable outcome every time", _changed(_highest)),
    "first": ("names the outcome that is listed first, whatever the rates", _first),
    "uniform": (
        "draws all outcomes at equal rates, whatever was asked",
        lambda name, p: np.full((len(p), len(PARTS[name].outcomes)), 1 / len(PARTS[name].outcomes)),
    ),
}
"""Agents by name: what they do, and their rule."""


def expected_answers(agent: str) -> pd.DataFrame:
    """Return the exact rates of an agent as a table of answers.

    Parameters
    ----------
    agent : str
        Name in `MIXING_AGENTS`.

    Returns
    -------
    DataFrame
        One row per condition and outcome, with `probability`.

    Raises
    ------
    InputError
        Unknown agent.

    Examples
    --------
    >>> answers = expected_answers("ideal")
    >>> answers.loc[[2, 3], ["experiment", "p", "answer", "probability"]]
      experiment     p answer  probability
    2       flip  0.05      1         0.05
    3       flip  0.05      0         0.95
    """
    if agent not in MIXING_AGENTS:
        raise InputError(
            f"agent must be one of {', '.join(MIXING_AGENTS)}; received {agent!r}. "
            f"{closest(agent, MIXING_AGENTS)}"
        )
    rows: list[tuple[object, ...]] = []
    for name, part in PARTS.items():
        conditions = [(p, "", "") for p in part.probabilities]
        if name == "words":
            conditions = [(0.5, pair, order) for pair in _PAIRS for order in ORDERS]
        shares = MIXING_AGENTS[agent][1](name, np.array([p for p, _, _ in conditions]))
        for (p, item, order), chances in zip(conditions, shares, strict=True):
            # The second word of the pair is listed first in the reverse order.
            turned = agent == "first" and order == "reverse"
            labels = item.split("/") if item else part.outcomes
            rows += [
                (agent, name, p, item, order, label, "ok", share)
                for label, share in zip(labels, chances[::-1] if turned else chances, strict=True)
            ]
    return pd.DataFrame(rows, columns=["model", *_CONDITION, "answer", "status", "probability"])


def simulate_mixing(agent: str, *, n_draws: int = 100, rng: Seed = None) -> pd.DataFrame:
    """Draw answers of an agent to the whole battery.

    Parameters
    ----------
    agent : str
        Name in `MIXING_AGENTS`.
    n_draws : int
        Answers per condition, at least 1.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    DataFrame
        One row per answer, with `draw`.

    Raises
    ------
    InputError
        Unknown agent, or no draw.

    Examples
    --------
    >>> answers = simulate_mixing("ideal", n_draws=20, rng=1)
    >>> len(answers), answers["experiment"].nunique()
    (1960, 7)
    """
    whole_number(n_draws, "n_draws", 1)
    generator = as_generator(rng)
    tables = []
    for asked, rows in expected_answers(agent).groupby(_CONDITION, sort=False):
        chances = rows["probability"].clip(
            lower=0
        )  # the last of three may miss 0 by a rounding error
        chosen = generator.choice(len(rows), size=n_draws, p=chances / chances.sum())
        drawn = {"draw": range(n_draws), "answer": rows["answer"].to_numpy()[chosen]}
        tables.append(pd.DataFrame(dict(zip(_CONDITION, asked, strict=True)) | drawn))
    return pd.concat(tables, ignore_index=True).assign(model=agent, status="ok")


COLUMNS = (
    AnswerColumn("model"),
    AnswerColumn("experiment", required=True, one_of=tuple(PARTS)),
    # Of words one half.
    AnswerColumn("p", number=True, low=0, high=1, may_lack=True, default=np.nan),
    AnswerColumn("item"),
    AnswerColumn("order"),
    AnswerColumn("answer", required=True),
    AnswerColumn("status", one_of=STATUSES),
    AnswerColumn("count", number=True, low=0, whole=True, default=1),
    AnswerColumn(
        "probability", number=True, low=0, high=1, above=1e-6, may_lack=True, default=np.nan
    ),
    AnswerColumn("draw", number=True, may_lack=True, default=np.nan),
)
MOST_DRAWS = 10_000
"""Answers to one condition that are scored as drawn ones; the exact expectations take time and
memory that grow with the square."""
_OF_PART = ["p", "item", "order"]
_KEYS = ["model", "experiment", *_OF_PART]
TEXTS = ("model", "experiment", "item", "order", "answer", "status")


def _with_status(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which answers without a status have one: parsed, where there are words."""
    if "status" in table.columns or "answer" not in table.columns:
        return table
    return table.assign(status=np.where(table["answer"].notna(), "ok", "unparsed"))


@dataclass(frozen=True, eq=False)
class Counts:
    """Answers to one part of the battery by one model."""

    part: str  # name in `coherence.batteries.mixing.design.PARTS`.
    conditions: pd.DataFrame  # shape (n_conditions, 3): `p`, `item`, `order`; sorted
    # shape (n_conditions, n_outcomes): parsed answers by outcome; probabilities where `exact`
    weights: Floats
    # shape (n_conditions, n_statuses): unparsed answers by status, in the unit of `weights`
    failures: pd.DataFrame
    exact: bool  # whether the rates are known and not drawn

    @property
    def p(self) -> Floats:
        """Instructed probabilities or parameters, shape (n_conditions,)."""
        return self.conditions["p"].to_numpy(dtype=np.float64)

    @property
    def parsed(self) -> Floats:
        """Readable answers by condition, shape (n_conditions,)."""
        return np.asarray(self.weights.sum(axis=1), dtype=np.float64)

    @property
    def shares(self) -> Floats:
        """Rates of the outcomes among parsed answers; NaN where there are none."""
        total = self.parsed[:, None]
        return np.divide(
            self.weights, total, out=np.full_like(self.weights, np.nan), where=total > 0
        )

    @property
    def draws(self) -> Floats:
        """Draws behind the rates; infinite where they are exact."""
        return np.full(len(self.weights), np.inf) if self.exact else self.parsed

    @property
    def unparsed(self) -> Floats:
        """Share of unparsed answers by condition, refused ones included."""
        lost = self.failures.to_numpy(dtype=np.float64).sum(axis=1)
        return np.asarray(lost / (lost + self.parsed))

    @property
    def refused(self) -> Floats:
        """Share of refused answers by condition."""
        lost = self.failures.to_numpy(dtype=np.float64)
        refused = self.failures["refused"].to_numpy(dtype=np.float64)
        return np.asarray(refused / (lost.sum(axis=1) + self.parsed))


def check_answers(answers: pd.DataFrame) -> pd.DataFrame:
    """Return a table with all `COLUMNS` in their types, and the number of each row's `outcome`."""
    answers = require_frame(answers, "answers")
    checked = AnswerTable(_with_status(answers), COLUMNS)
    table = checked.table
    # A rounding error in p must not part one condition in two.
    table["p"] = table["p"].round(9)
    part, words = table["experiment"], table["experiment"] == "words"
    lacks = table["p"].isna() & ~checked.not_numbers("p")
    checked.refuse(lacks & ~words, "column 'p' must hold probabilities in [0, 1]", "p")
    table.loc[words & lacks, "p"] = 0.5
    # At the ends one action is always best, and no equilibrium mixes.
    certain = part.isin(list(GAMES)) & table["p"].isin([0.0, 1.0])
    checked.refuse(certain, "the parameter of a game must lie strictly between 0 and 1", "p")
    above = (part == "three_outcomes") & (table["p"] > 1 - MIDDLE + 1e-9) & (table["p"] <= 1)
    rule = f"the probability of outcome 0 among three must be at most {1 - MIDDLE:g}"
    checked.refuse(above, rule, "p")
    item = table["item"]
    paired = item.str.count("/").eq(1) & ~item.str.startswith("/") & ~item.str.endswith("/")
    rule = "column 'item' must name the two words of 'words' as 'first/second'"
    checked.refuse(words & ~paired, rule, "item")
    rule = f"column 'order' must be {' or '.join(ORDERS)} for 'words'"
    checked.refuse(words & ~table["order"].isin(ORDERS), rule, "order")
    table["outcome"] = _outcomes(table)
    if not checked.errors:
        checked.refuse(
            table["status"].isin(PARSED) & (table["outcome"] < 0),
            "a parsed 'answer' must be one of the outcomes of its experiment",
            "answer",
            "Give it the status that says why it is none; outcomes: docs/batteries.md#mixing.",
        )
    if not checked.errors:
        _check_conditions(checked)
    checked.raise_errors()
    return table


def _check_conditions(checked: AnswerTable) -> None:
    """Add what is wrong with conditions as wholes, where every row for itself is right."""
    table, errors = checked.table, checked.errors
    exact = table["probability"].notna()
    share_exact = exact.groupby([table["model"], table["experiment"]]).mean()
    for (_, part), share in zip(share_exact.index.to_list(), share_exact, strict=True):
        if 0 < share < 1:
            errors.append(
                f"the rows of {part!r} must all have a 'probability', or none; "
                f"{share:.0%} have one."
            )
    totals = table.groupby(_KEYS, sort=False)["probability"].sum()
    if len(over := totals[totals > 1 + 1e-6]):
        errors.append(
            "the probabilities of a condition must sum to at most 1; "
            f"those of {_condition(over.index[0])} sum to {over.iloc[0]:g}."
        )
    remedy = "Leave rows out, or number the draws anew."
    checked.unique([*_KEYS, "draw"], ~exact & table["draw"].notna(), remedy=remedy)
    # Of exact rates an outcome has one row; of drawn answers it may have any number.
    parsed = exact & table["status"].isin(PARSED)
    remedy = "Leave rows out, or add their probabilities up."
    checked.unique([*_KEYS, "outcome"], parsed, named="answer", remedy=remedy)
    answers = table[~exact].groupby(_KEYS, sort=False)["count"].sum()
    if len(none := answers[answers == 0]):
        errors.append(
            f"every condition must have answers; the counts of {len(none)} are all 0, "
            f"the first is {_condition(none.index[0])}. Leave their rows out."
        )
    if len(many := answers[answers > MOST_DRAWS]):
        errors.append(
            f"a condition must have at most {MOST_DRAWS} answers; {len(many)} have more, "
            f"the first is {_condition(many.index[0])} with {many.iloc[0]:g}. Rates of so many "
            "are hardly noisy: give exact rates in 'probability' instead of 'count'."
        )


def _condition(key: Any) -> str:
    """Name a condition by what it has: the experiment, p or a pair of words, perhaps a model."""
    model, part, p, item, order = key
    condition = f"{part} {item!r} {order}" if item else f"{part} at p = {p:g}"
    return f"{condition} of model {model!r}" if model else condition


def _outcomes(table: pd.DataFrame) -> pd.Series[int]:
    """Return the number of each row's outcome in its part; -1 for none."""
    codes = pd.Series(-1, index=table.index)
    answers = plain_text(table["answer"]).map(_plain)
    pairs = table["item"].where(table["experiment"] == "words", "")
    for (name, pair), rows in answers.groupby([table["experiment"], pairs], sort=False):
        if name in PARTS:
            outcomes = str(pair).split("/") if pair else PARTS[str(name)].outcomes
            numbers = {_plain(outcome): number for number, outcome in enumerate(outcomes)}
            codes[rows.index] = rows.map(numbers).fillna(-1).astype(int)
    return codes


def _plain(answer: str) -> str:
    """Return an answer as it is compared: spreadsheets turn 0 into 0.0, and 0 1 may be 01."""
    return re.sub(r"(?<=^\d)(\.0$| (?=\d$))", "", answer.strip().casefold())


def count_checked(table: pd.DataFrame) -> dict[str, dict[str, Counts]]:
    """Count a table from `check_answers`, by model and part."""
    return {
        str(model): {
            str(part): _count(str(part), rows)
            for part, rows in by_model.groupby("experiment", sort=False)
        }
        for model, by_model in table.groupby("model", sort=False)
    }


def _count(part: str, rows: pd.DataFrame) -> Counts:
    exact = bool(rows["probability"].notna().any())
    weight = rows["probability"] if exact else rows["count"]
    condition = rows.groupby(_OF_PART, sort=True).ngroup()
    conditions = rows[_OF_PART].drop_duplicates().sort_values(_OF_PART, ignore_index=True)
    parsed = rows["status"].isin(PARSED).to_numpy()
    weights = np.zeros((len(conditions), len(PARTS[part].outcomes)))
    np.add.at(weights, (condition[parsed], rows["outcome"][parsed]), weight[parsed])
    failures = pd.DataFrame(
        {
            status: np.bincount(condition, weight * (rows["status"] == status), len(conditions))
            for status in STATUSES
            if status not in PARSED
        }
    )
    if exact:
        # What the probabilities lack to 1 went to no parsed answer.
        failures["unparsed"] += np.maximum(1 - weights.sum(axis=1) - failures.sum(axis=1), 0)
    return Counts(part, conditions, weights, failures, exact)
