"""What tests share: seeds, processes, and contexts, which no bootstrap, group or fold splits.

Repetitions of a context share the evidence, the realised state and whatever else the model makes of
it, so the context is the cluster of resampling everywhere (Cameron and Miller 2015, section III).
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from coherence.errors import InputError
from coherence.inputs import MIN_CONTEXTS, Codes, Floats, as_codes, of_contexts
from coherence.result import LEVEL, Interval

Seed = np.random.Generator | int | None
T = TypeVar("T")
Progress = Callable[[int, int, str], None]
"""Called with (done, total, label), where the label is that of the call that is waited for."""

LONGER = 10  # times as many draws where the first leave the verdict open
NUMBERS_HELD = 2_000_000  # numbers of resamples that are in memory together


def as_generator(rng: Seed) -> np.random.Generator:
    """Return a generator for a seed, a generator or None (fresh entropy)."""
    try:
        if isinstance(rng, bool):
            raise TypeError
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            "rng must be None, a whole number of at least 0 or a numpy.random.Generator; received "
            f"{rng!r}."
        ) from None


def as_seed(rng: Seed) -> int:
    """Return a whole number as it is; of a generator, or fresh entropy for None, one that it draws.

    What several checks are run with: each then has a stream of its own (`check_stream`).
    """
    generator = as_generator(rng)
    whole = isinstance(rng, int | np.integer)
    return int(rng) if whole else int(generator.integers(2**63))  # type: ignore[arg-type]


def check_stream(rng: Seed, check: str) -> np.random.Generator:
    """Return the generator of a check: made of the seed and of a digest of the check's name.

    So no other check, evaluation or order of rows moves a check's numbers, and a check by itself
    has the numbers that it has in `analyze` with the same seed.
    """
    digest = hashlib.sha256(check.encode()).digest()
    key = tuple(int.from_bytes(digest[at : at + 4], "big") for at in (0, 4))
    return np.random.default_rng(np.random.SeedSequence(as_seed(rng), spawn_key=key))


def near_level(pvalue: float, n_draws: int) -> bool:
    """Tell whether a p-value lies within two Monte Carlo errors of the level.

    It is then drawn `LONGER` times as long; if it still does, the verdict hangs on the draws.
    """
    return abs(pvalue - LEVEL) <= 2 * math.sqrt(LEVEL * (1 - LEVEL) / n_draws)


def context_means(values: Floats, context: Codes, n_contexts: int) -> Floats:
    """Average one column or several by context, shape (n_contexts,) or (n_contexts, n_columns)."""
    sizes: Floats = np.bincount(context, minlength=n_contexts).astype(np.float64)
    with np.errstate(invalid="ignore"):  # NaN of a context without rows
        means = [np.bincount(context, of, n_contexts) / sizes for of in np.atleast_2d(values.T)]
    return np.asarray(means[0] if values.ndim == 1 else np.stack(means, axis=1))


def less_means(values: Floats, code: Codes) -> Floats:
    """Take the mean of each code out of one column or several, shape (n,) or (n, n_columns)."""
    return np.asarray(values - context_means(values, code, int(code.max()) + 1)[code])


def groups_of_contexts(
    group: ArrayLike, context: Codes, contexts: tuple[Any, ...]
) -> tuple[Codes, tuple[Any, ...]]:
    """Return the group of each context as a code, and labels; refuse those that cut through one."""
    codes, labels = as_codes(group, "group", len(context))
    remedy = "Give each context one group."
    return of_contexts(codes, labels, context, contexts, "group", remedy), labels


@dataclass(frozen=True)
class Clusters:
    """The clusters of resampling: contexts, or the groups that they belong to."""

    name: str  # "context" or "group"
    of_context: Codes  # shape (n_contexts,): number of the cluster of each context

    @property
    def n(self) -> int:
        """How many there are."""
        return int(self.of_context.max(initial=-1)) + 1

    @property
    def effective(self) -> float:
        """How many equal ones tell as much: Kish's number, by the contexts that each holds."""
        sizes = np.bincount(self.of_context).astype(np.float64)
        return float(sizes.sum() ** 2 / (sizes**2).sum()) if sizes.size else 0.0

    @property
    def too_few(self) -> str:
        """Say that there are too few groups to tell what they vary by; empty if there are not."""
        # One group with half of the contexts speaks for all others: in simulations thirty groups
        # that weigh like five cover .64 and reject .10 to .15, thirty equal ones .92 and .05.
        if self.name == "context" or round(self.effective) >= MIN_CONTEXTS:
            return ""
        if self.n >= MIN_CONTEXTS:
            return (
                f"{self.n} groups of unequal size tell as much as {self.effective:.1f} equal ones, "
                f"too few to be the clusters; {MIN_CONTEXTS} are needed"
            )
        few = "1 group is" if self.n == 1 else f"{self.n} groups are"
        return f"{few} too few to be the clusters; {MIN_CONTEXTS} are needed"

    def among(self, contexts: Any) -> "Clusters":
        """Return the clusters of some contexts, numbered anew."""
        return Clusters(self.name, np.unique(self.of_context[contexts], return_inverse=True)[1])

    def values(self, of_contexts: Floats) -> Floats:
        """Return one value (or row) per cluster whose mean is that of the values of contexts.

        Of a group it is what its contexts add to the mean, to first order (the linearised values of
        cluster sampling), so that whatever takes independent values may take these.
        """
        if self.name == "context":
            return of_contexts
        mean = of_contexts.mean(axis=0)
        added = np.zeros((self.n, *of_contexts.shape[1:]))
        np.add.at(added, self.of_context, of_contexts - mean)
        return np.asarray(mean + self.n / len(of_contexts) * added)

    @property
    def plural(self) -> str:
        """What several of them are called."""
        return f"{self.name}s"

    @property
    def independent(self) -> str:
        """What tests and intervals assume of them."""
        return f"{self.plural} are independent"


def clusters_of(runs: pd.DataFrame, contexts: "pd.Index[Any]") -> Clusters:
    """Return the clusters of contexts of a runs table, given by id: themselves, or their groups."""
    if "group" not in runs.columns:
        return Clusters("context", np.arange(len(contexts)))
    codes, labels = as_codes(runs["context"], "context", len(runs))
    groups_of_contexts(runs["group"], codes, labels)
    group = runs.drop_duplicates("context").set_index("context")["group"]
    return Clusters("group", pd.factorize(group.loc[contexts])[0])


def jackknife_groups(n_contexts: int, n_groups: int, rng: np.random.Generator) -> Codes:
    """Assign contexts at random to groups of nearly equal size, shape (n_contexts,)."""
    return rng.permutation(np.arange(n_contexts) % min(n_groups, n_contexts))


def context_folds(
    context: Codes, content: NDArray[np.uint64], n_folds: int, seed: int | list[int]
) -> Codes:
    """Assign every row the fold of its context, contexts assigned at random, shape (n_rows,).

    A context draws its place from its number in `content`, shape (n_contexts,), and the seed, and
    folds are of nearly equal size: where a context more or less leaves the numbers of the others
    as they are, hardly one of them changes its fold.
    """
    salt = np.random.default_rng(seed).integers(2**64, dtype=np.uint64)
    place = np.argsort(np.argsort(pd.util.hash_array(content ^ salt)))
    folds: Codes = place * min(n_folds, place.size) // place.size
    return folds[context]


def bootstrap_counts(
    n_contexts: int, n_resamples: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw how often each context enters each bootstrap sample, shape (n_resamples, n_contexts)."""
    return rng.multinomial(n_contexts, np.full(n_contexts, 1 / n_contexts), size=n_resamples)


def percentile_interval(draws: Floats, over: str) -> Interval:
    """Return the central 95% of draws of a bootstrap over rows or contexts, undefined ones out."""
    low, high = np.nanquantile(draws, [(1 - 0.95) / 2, (1 + 0.95) / 2])
    method = f"percentile bootstrap over {over}, {len(draws)} resamples"
    return Interval(float(low), float(high), 0.95, method)


def bootstrap_ratio(
    numerator: Floats, denominator: Floats, *, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """Bootstrap a ratio of sums over contexts."""
    batch = max(1, NUMBERS_HELD // numerator.size)
    ratios = []
    for start in range(0, n_resamples, batch):
        counts = bootstrap_counts(numerator.size, min(batch, n_resamples - start), rng)
        ratios.append(np.asarray(counts @ numerator) / np.asarray(counts @ denominator))
    return np.concatenate(ratios)


def run_calls(
    function: Callable[..., T],
    arguments: Iterable[tuple[Any, ...]],
    n_jobs: int = 1,
    *,
    progress: Progress | None = None,
    labels: Sequence[str] = (),
) -> Iterator[T]:
    """Call a function with every tuple of arguments, and yield what comes back in their order.

    Runs over processes, or wherever `joblib.parallel_config` says. `progress` is called before the
    first and after each; their names are `labels`.
    """
    if progress is not None and labels:
        progress(0, len(labels), labels[0])
    # Backends hash the function that they are given, and waited for ever on a method of an object
    # that cannot be hashed; so it goes as an argument.
    calls = (delayed(call)(function, *each) for each in arguments)
    running = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    for done, outcome in enumerate(running, start=1):
        yield outcome
        if progress is not None:
            progress(done, len(labels), labels[min(done, len(labels) - 1)])


def call(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function."""
    return function(*arguments)
