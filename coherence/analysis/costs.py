"""What the answers of a planned study cost: prompts, tokens, money and hours."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coherence.agents import PROMPTS
from coherence.checks.catalogue import declaration
from coherence.inputs import require, whole_number
from coherence.table.needs import ACTION, NEEDS_GIVEN_Z, NEEDS_PROMPT_VARIANTS

_GIVEN_Z = 3  # prompts for a variable of two states: its probability, and two beliefs given it


@dataclass(frozen=True)
class Costs:
    """What an answer costs.

    Parameters
    ----------
    tokens_in, tokens_out : float, optional
        Tokens of one prompt, and of one answer with its thinking.
    price_in, price_out : float, optional
        Price of a million tokens of prompts, and of answers, in any currency.
    per_minute : float, optional
        Answers a minute.
    prompts_per_rep : int, optional
        Prompts for one repetition of one context; None counts what the checks need.

    Raises
    ------
    InputError
        A number below 0 or infinite, a rate of 0, or a price without the tokens that it is of.

    Examples
    --------
    >>> costs = Costs(tokens_in=400, tokens_out=50, price_in=1.0, price_out=4.0, per_minute=60)
    >>> costs.of([200], [5], prompts_per_rep=2)[["n_prompts", "price", "hours"]].round(2)
       n_prompts  price  hours
    0       2000    1.2   0.56
    """

    tokens_in: float | None = None
    tokens_out: float | None = None
    price_in: float | None = None
    price_out: float | None = None
    per_minute: float | None = None
    prompts_per_rep: int | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that are not costs."""
        for name in ("tokens_in", "tokens_out", "price_in", "price_out", "per_minute"):
            value = getattr(self, name)
            require(
                value is None or 0 <= value < math.inf,
                f"{name} must be at least 0 and finite; received {value!r}.",
            )
        require(
            self.per_minute is None or self.per_minute > 0,
            f"per_minute must be above 0; received {self.per_minute!r}. "
            "Leave it out where the rate is not known.",
        )
        if self.prompts_per_rep is not None:
            whole_number(self.prompts_per_rep, "prompts_per_rep", 1)
        for side in ("in", "out"):
            priced = getattr(self, f"price_{side}") is not None
            require(
                not priced or getattr(self, f"tokens_{side}") is not None,
                f"price_{side} needs tokens_{side}; received none. "
                "A dry run of 'coherence elicit' counts them.",
            )

    def of(
        self, n_contexts: Iterable[float], n_reps: Iterable[int], *, prompts_per_rep: int
    ) -> pd.DataFrame:
        """Return what studies cost.

        Parameters
        ----------
        n_contexts, n_reps : iterable
            Size of each study; NaN where there is none.
        prompts_per_rep : int
            Prompts for one repetition of one context, unless these costs say how many.

        Returns
        -------
        DataFrame
            Columns ``n_prompts``, ``tokens_in``, ``tokens_out``, ``price``, ``hours``; those that
            nothing was said about are left out.
        """
        each = self.prompts_per_rep or prompts_per_rep
        sizes = np.asarray(list(n_contexts), dtype=np.float64) * np.asarray(list(n_reps)) * each
        whole = not np.isnan(sizes).any()
        table = {"n_prompts": sizes.astype(np.int64) if whole else sizes}
        for side in ("in", "out"):
            tokens = getattr(self, f"tokens_{side}")
            if tokens is not None:
                table[f"tokens_{side}"] = sizes * tokens
        priced = [side for side in ("in", "out") if getattr(self, f"price_{side}") is not None]
        if priced:
            parts = [table[f"tokens_{side}"] * getattr(self, f"price_{side}") for side in priced]
            table["price"] = np.sum(parts, axis=0) / 1e6
        if self.per_minute is not None:
            table["hours"] = sizes / self.per_minute / 60
        return pd.DataFrame(table)


def prompts_for(checks: Iterable[str]) -> int:
    """Count the prompts of one repetition of one context that some checks need.

    >>> prompts_for(["sufficiency"]), prompts_for(["cmi", "iterated_expectation"])
    (2, 5)
    """
    needs = [declaration(name).needs for name in checks]
    acted = any(ACTION in need for need in needs)
    wordings = len(PROMPTS) - 1 if NEEDS_PROMPT_VARIANTS in needs else 0
    return 1 + acted + wordings + (_GIVEN_Z if NEEDS_GIVEN_Z in needs else 0)
