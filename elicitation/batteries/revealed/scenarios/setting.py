"""A setting: a little chance experiment with the exact probability of every outcome.

It is told in several wordings, each unfinished where the outcome comes next: what a model thinks
likely to come there is the belief that it reveals.
"""

import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from coherence.errors import InputError

REFERENCE = "standard"
"""The wording that every scenario has, and that questions with options and bets are made of."""


@dataclass(frozen=True)
class Wording:
    """One way to tell a scenario."""

    name: str  # value of the `wording` column
    pieces: Mapping[str, str]  # parts of the text, with places for the parameters in braces
    joiner: str = " "  # what stands between two parts

    def tell(self, parts: Sequence[str], values: Mapping[str, object]) -> str:
        """Return the named parts, filled in and joined."""
        return self.joiner.join(self.pieces[part].format(**values) for part in parts)


@cache
def wordings_of(scenario: str) -> tuple[Wording, ...]:
    """Return the wordings of a scenario, a table of ``wordings.toml``; the first is `REFERENCE`."""
    file = files("elicitation.batteries.revealed.scenarios") / "wordings.toml"
    told = tomllib.loads(file.read_text(encoding="utf-8"))[scenario]
    return tuple(Wording(name, pieces, pieces.pop("joiner", " ")) for name, pieces in told.items())


@dataclass(frozen=True)
class Event:
    """Some of the outcomes, in words."""

    claim: str  # half a sentence, such as "the sum is more than 7"
    outcomes: tuple[str, ...]  # outcomes that make it true


@dataclass(frozen=True)
class Setting:
    """A chance experiment with fixed parameters."""

    scenario: str  # "dice", "coins", "choice" or "preference"
    variant: str  # "single", "independent", "dependent", "observation" or "two observations"
    group: str  # row of a summary that the setting belongs to; settings of a group are averaged
    name: str  # unique among all settings
    parameters: Mapping[str, str]  # what the setting can be selected by
    # exact probability of every outcome, in the order in which the text lists them; outcomes that
    # an observation rules out have 0
    truth: Mapping[str, Fraction]
    texts: Mapping[str, str]  # unfinished text by wording; the outcome comes next
    story: str  # the experiment without the unfinished sentence
    claim: str  # half a sentence with braces for the outcome
    previous: str = ""  # the last result that the text mentions; empty if none
    shift: int = 0  # what earlier results add to the outcome
    baseline: str = ""  # name of the same setting without earlier results; empty if this is one
    # shared by the two settings that list the same options in either order; empty if there is no
    # order
    pair: str = ""

    def __post_init__(self) -> None:
        # Exactly 1, since fractions do not round.
        if sum(self.truth.values()) != 1:
            raise InputError(
                f"truth of setting {self.name!r} must sum to 1; "
                f"it sums to {sum(self.truth.values())}."
            )

    @property
    def outcomes(self) -> tuple[str, ...]:
        """All outcomes, in the order of the text."""
        return tuple(self.truth)

    @property
    def support(self) -> tuple[str, ...]:
        """Outcomes that can happen."""
        return tuple(outcome for outcome, probability in self.truth.items() if probability > 0)

    @property
    def numeric(self) -> bool:
        """Whether the outcomes are numbers."""
        return all(outcome.isdigit() for outcome in self.outcomes)

    @property
    def asked(self) -> str:
        """The outcome whose probability is asked for, spread over the possible ones."""
        return self.support[_spread(self.name, len(self.support))]

    @property
    def event(self) -> Event | None:
        """An event to bet on: numbers above a bound, or one option; None where nothing is open."""
        if len(self.support) < 2:
            return None
        if not self.numeric:
            return Event(self.claim.format(self.asked), (self.asked,))
        # Never the last one: nothing lies above it, and the event could not happen.
        bound = self.support[_spread(f"{self.name} bound", len(self.support) - 1)]
        return Event(
            self.claim.format(f"more than {bound}"),
            tuple(outcome for outcome in self.outcomes if int(outcome) > int(bound)),
        )

    @property
    def wager(self) -> Event:
        """The event to bet on, where there is one."""
        assert self.event is not None, "settings to bet on were chosen by their events"
        return self.event

    def probability(self, event: Event) -> Fraction:
        """Return the exact probability of an event."""
        return sum((self.truth[outcome] for outcome in event.outcomes), Fraction(0))


@dataclass(frozen=True)
class Decomposition:
    """A setting split by a part that comes first, for the law of iterated expectation."""

    whole: Setting  # the setting
    label: str  # name of the part
    part: Setting  # the part alone, such as the first of two dice
    # the whole, given each outcome of the part; outcomes as in `whole`
    given: Mapping[str, Setting]


def told(
    scenario: str,
    variant: str,
    kind: str,
    group: str,
    *,
    wordings: str,
    parts: Sequence[str],
    end: str,
    values: Mapping[str, object],
    truth: Mapping[str, Fraction],
    claim: str,
    details: str = "",
    previous: str = "",
    shift: int = 0,
    pair: str = "",
    **parameters: str,
) -> Setting:
    """Return a setting of some kind, told in every wording that has all the parts and the end.

    `details` tell settings of a kind apart that follow no earlier result.
    """
    known = wordings_of(wordings)
    details = f"after {previous}" if previous else details
    return Setting(
        scenario,
        variant,
        group,
        "/".join(filter(None, [scenario, variant, kind, details])),
        parameters={**parameters, "previous": previous},
        truth=truth,
        texts={
            wording.name: wording.tell([*parts, end], values)
            for wording in known
            if {*parts, end} <= {*wording.pieces}
        },
        story=known[0].tell(parts, values),
        claim=claim,
        previous=previous,
        shift=shift,
        baseline=f"{scenario}/single/{kind}" if previous else "",
        pair="/".join(filter(None, [scenario, variant, pair, details])) if pair else "",
    )


def after(
    distribution: Mapping[int, Fraction], previous: int, *, dependent: bool
) -> dict[str, Any]:
    """Return what `told` says of an experiment after the result of an earlier one of its kind.

    Where the two are `dependent`, the earlier result is added.
    """
    how, shift = ("added", previous) if dependent else ("again", 0)
    return {
        "variant": "dependent" if dependent else "independent",
        "parts": ("setup", "before", how),
        "end": f"end {how}",
        "truth": in_words(distribution, shift),
        "previous": str(previous),
        "shift": shift,
    }


def listed(items: Sequence[object]) -> str:
    """Return items as in a sentence: "2, 3 and 5"."""
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def condition_truth(
    distribution: Mapping[int, Fraction], holds: Mapping[int, bool]
) -> dict[int, Fraction]:
    """Condition a distribution on an observation."""
    total = sum(
        (probability for outcome, probability in distribution.items() if holds[outcome]),
        Fraction(0),
    )
    return {
        outcome: probability / total if holds[outcome] else Fraction(0)
        for outcome, probability in distribution.items()
    }


def in_words(distribution: Mapping[int, Fraction], shift: int = 0) -> dict[str, Fraction]:
    """Return a distribution over numbers as one over their digits, each raised by `shift`."""
    return {str(number + shift): probability for number, probability in distribution.items()}


def _spread(text: str, n: int) -> int:
    """Return a number below `n` that looks like chance."""
    # From the text alone, so that a setting is asked about in the same way in every grid; not
    # hash(), which differs between runs.
    return zlib.crc32(text.encode()) % n
