"""Dice: the sum of one to a few fair dice, alone, after earlier rolls, or with something known about it."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from coherence.errors import InputError
from elicitation.batteries.revealed.setting import (
    REFERENCE,
    Decomposition,
    Setting,
    Wording,
    condition,
    in_words,
    listed,
    tell_all,
)

OBSERVATIONS = ("smaller", "larger", "even", "odd", "not first", "not middle")
MOST_FACES = 100
"""Settings, and the outcomes of each, grow with the faces: a grid of more would take minutes to lay
out and days to ask."""
PAIRS = (
    *(
        (size, other)
        for size in ("smaller", "larger")
        for other in ("even", "odd", "not first", "not middle")
    ),
    ("even", "not first"),
    ("even", "not middle"),
)

_ONE = (
    Wording(
        REFERENCE,
        {
            "setup": "A die has {faces} faces, numbered from 1 to {faces}. Each face is equally likely to come up.",
            "roll": "The die is rolled.",
            "seen": "Somebody looks at it and says that the result is {facts}.",
            "end": "The result is the number",
            "before": "The die was rolled before, and the result was {results}.",
            "befores": "The die was rolled {k} times before, and the results were {results}.",
            "again": "Earlier rolls have no influence on later ones. The die is rolled again.",
            "end again": "The new result is the number",
            "added": "The die is rolled again, and the results of all rolls are added.",
            "end added": "The total is the number",
        },
    ),
    Wording(
        "story",
        {
            "setup": "Mia has a fair die whose {faces} sides carry the numbers 1 to {faces}.",
            "roll": "She throws it.",
            "seen": "She covers it with her hand and only tells us that its number is {facts}.",
            "end": "When we look, the die shows the number",
            "before": "Her last throw gave {results}.",
            "befores": "Her last {k} throws gave {results}.",
            "again": "A die has no memory. She throws it once more.",
            "end again": "This time it shows the number",
            "added": "She throws it once more and adds this to what she had.",
            "end added": "Altogether she now has the number",
        },
    ),
    Wording(
        "record",
        {
            "setup": "Fair die, faces 1 to {faces}",
            "roll": "Rolls: one",
            "seen": "Known about the result: {facts}",
            "end": "Result:",
            "before": "Previous result: {results}",
            "befores": "Previous {k} results: {results}",
            "again": "Rolls do not influence each other",
            "end again": "Next result:",
            "added": "Rolls do not influence each other",
            "end added": "Total of all rolls, the next one included:",
        },
        "\n",
    ),
)
_MANY = (
    Wording(
        REFERENCE,
        {
            "setup": "There are {n} dice. Each die has {faces} faces, numbered from 1 to {faces}, and each face is equally likely to come up.",
            "roll": "All dice are rolled, and their numbers are added.",
            "seen": "Somebody looks at them and says that the sum is {facts}.",
            "end": "The sum is the number",
            "before": "All dice were rolled before, and the sum was {results}.",
            "befores": "All dice were rolled {k} times before, and the sums were {results}.",
            "again": "Earlier rolls have no influence on later ones. All dice are rolled again.",
            "end again": "The new sum is the number",
            "added": "All dice are rolled again, and the sums of all rolls are added.",
            "end added": "The total is the number",
            "one by one": "The dice are rolled one after the other.",
            "end first": "The first die shows the number",
            "first": "The first die shows {first}. The other dice are rolled too, and the numbers of all dice are added.",
        },
    ),
    Wording(
        "story",
        {
            "setup": "Mia has {n} fair dice. The {faces} sides of each carry the numbers 1 to {faces}.",
            "roll": "She throws them all and counts the points together.",
            "seen": "She covers them with her hands and only tells us that the points together are {facts}.",
            "end": "Together the dice show the number",
            "before": "Her last throw of all the dice came to {results}.",
            "befores": "Her last {k} throws of all the dice came to {results}.",
            "again": "Dice have no memory. She throws them all once more.",
            "end again": "This time they come to the number",
            "added": "She throws them all once more and adds this to what she had.",
            "end added": "Altogether she now has the number",
        },
    ),
    Wording(
        "record",
        {
            "setup": "{n} fair dice, faces 1 to {faces} on each, the sum counts",
            "roll": "Rolls: one",
            "seen": "Known about the sum: {facts}",
            "end": "Sum:",
            "before": "Previous sum: {results}",
            "befores": "Previous {k} sums: {results}",
            "again": "Rolls do not influence each other",
            "end again": "Next sum:",
            "added": "Rolls do not influence each other",
            "end added": "Total of all rolls, the next one included:",
        },
        "\n",
    ),
)


def sum_of_dice(n: int, faces: int) -> dict[int, Fraction]:
    """Return the distribution of the sum of fair dice, by convolution.

    Parameters
    ----------
    n : int
        Number of dice, positive.
    faces : int
        Faces of each, from 2 to 100.

    Returns
    -------
    dict of int to Fraction
        From n to n * faces.

    Examples
    --------
    >>> sum_of_dice(2, 6)[7]
    Fraction(1, 6)
    """
    if n < 1 or not 2 <= faces <= MOST_FACES:
        raise InputError(
            f"dice must be at least 1 and faces from 2 to {MOST_FACES}; received {n} and {faces}."
        )
    counts = {0: 1}
    for _ in range(n):
        longer: dict[int, int] = {}
        for total, ways in counts.items():
            for face in range(1, faces + 1):
                longer[total + face] = longer.get(total + face, 0) + ways
        counts = longer
    return {total: Fraction(ways, faces**n) for total, ways in counts.items()}


def middle(n: int, faces: int) -> int:
    """Return the middle of the possible sums, rounded down; "larger" is above it, and "smaller" is the rest."""
    return (n + n * faces) // 2


def agrees(total: int, observation: str, *, first: int, middle: int) -> bool:
    """Return whether a sum agrees with an observation.

    Parameters
    ----------
    total : int
        The sum.
    observation : str
        One of `OBSERVATIONS`.
    first, middle : int
        The smallest sum, and the one in the middle.

    Returns
    -------
    bool
        Whether it does.

    Raises
    ------
    InputError
        Unknown observation.
    """
    if observation not in OBSERVATIONS:
        raise InputError(
            f"observation must be one of {', '.join(OBSERVATIONS)}; received {observation!r}."
        )
    return {
        "smaller": total <= middle,
        "larger": total > middle,
        "even": total % 2 == 0,
        "odd": total % 2 == 1,
        "not first": total != first,
        "not middle": total != middle,
    }[observation]


def single(n: int, faces: int) -> Setting:
    """Return the setting of one roll of `n` dice."""
    return _setting(n, faces, "single", ("setup", "roll"), "end", in_words(sum_of_dice(n, faces)))


def observed(n: int, faces: int, observations: Sequence[str]) -> Setting:
    """Return the setting of one roll of which something is known.

    Parameters
    ----------
    n, faces : int
        See `sum_of_dice`.
    observations : sequence of str
        One or more of `OBSERVATIONS`; all of them hold.

    Returns
    -------
    Setting
        With the truth conditioned on the observations.

    Raises
    ------
    InputError
        Unknown observation, none, or one that rules out every sum.
    """
    if not observations:
        raise InputError("observations must name at least one; received none. Use single instead.")
    first, centre = n, middle(n, faces)
    whole = sum_of_dice(n, faces)
    holds = {
        total: all(agrees(total, one, first=first, middle=centre) for one in observations)
        for total in whole
    }
    phrases = {
        "smaller": f"at most {centre}",
        "larger": f"more than {centre}",
        "even": "even",
        "odd": "odd",
        "not first": f"not {first}",
        "not middle": f"not {centre}",
    }
    variant = (
        "observation"
        if len(observations) == 1
        else "two observations"
        if len(observations) == 2
        else "more observations"
    )
    return _setting(
        n, faces, variant, ("setup", "roll", "seen"), "end", in_words(condition(whole, holds)),
        facts=listed([phrases[one] for one in observations]), observation=", ".join(observations),
    )  # fmt: skip


def repeated(n: int, faces: int, previous: Sequence[int], *, dependent: bool) -> Setting:
    """Return the setting of a roll after earlier ones.

    Parameters
    ----------
    n, faces : int
        See `sum_of_dice`.
    previous : sequence of int
        Earlier sums, one or more.
    dependent : bool
        Whether the outcome is the total of all rolls, so that earlier ones shift it, or the new
        roll alone.

    Returns
    -------
    Setting
        Its truth is that of a single roll, shifted if dependent.

    Raises
    ------
    InputError
        No earlier sum, or one that the dice cannot give.
    """
    whole = sum_of_dice(n, faces)
    if not previous or any(result not in whole for result in previous):
        raise InputError(
            f"previous must hold sums from {n} to {n * faces}; received {list(previous)!r}."
        )
    before = "before" if len(previous) == 1 else "befores"
    shift = sum(previous) if dependent else 0
    how = "added" if dependent else "again"
    return _setting(
        n, faces, "dependent" if dependent else "independent", ("setup", before, how), f"end {how}", in_words(whole, shift),
        results=listed(previous), k=len(previous), previous=previous, shift=shift,
    )  # fmt: skip


def decompose(n: int, faces: int) -> Decomposition:
    """Take one roll of two or more dice apart by the first die.

    Parameters
    ----------
    n : int
        Number of dice, at least 2.
    faces : int
        Faces of each.

    Returns
    -------
    Decomposition
        In the reference wording.

    Raises
    ------
    InputError
        A single die has no first one.
    """
    if n < 2:
        raise InputError(f"dice must be at least 2 to be taken apart by the first; received {n}.")
    part = _setting(
        n, faces, "first", ("setup", "one by one"), "end first", in_words(sum_of_dice(1, faces))
    )
    given = {}
    for face in range(1, faces + 1):
        rest = sum_of_dice(n - 1, faces)
        truth = {str(total): rest.get(total - face, Fraction(0)) for total in sum_of_dice(n, faces)}
        given[str(face)] = _setting(
            n, faces, "given first", ("setup", "one by one", "first"), "end", truth, first=face
        )
    return Decomposition(single(n, faces), f"first die of {faces} faces", part, given)


def grid(n_dice: Sequence[int], faces: Sequence[int]) -> list[Setting]:
    """Return all variants of dice, with every possible previous result, every observation and every pair of `PAIRS`."""
    settings = []
    for n in n_dice:
        for f in faces:
            settings.append(single(n, f))
            results = list(sum_of_dice(n, f))
            settings += [
                repeated(n, f, [result], dependent=dependent)
                for dependent in (False, True)
                for result in results
            ]
            settings += [
                observed(n, f, observations)
                for observations in (*((one,) for one in OBSERVATIONS), *PAIRS)
            ]
    return settings


def several_previous(n: int, faces: int, *, dependent: bool) -> list[Setting]:
    """Return settings with two and three earlier results: pairs of the lowest, middle and highest sum, and one of them three times."""
    low, centre, high = n, middle(n, faces), n * faces
    histories = [list(pair) for pair in combinations((low, centre, high), 2)] + [
        [sums] * 3 for sums in (low, centre, high)
    ]
    return [repeated(n, faces, history, dependent=dependent) for history in histories]


def _setting(
    n: int,
    faces: int,
    variant: str,
    parts: tuple[str, ...],
    end: str,
    truth: dict[str, Fraction],
    *,
    observation: str = "",
    previous: Sequence[int] = (),
    shift: int = 0,
    **values: object,
) -> Setting:
    wordings = _ONE if n == 1 else _MANY
    filled = {"n": n, "faces": faces, **values}
    plural = "1 die" if n == 1 else f"{n} dice"
    details = (
        observation
        or (f"after {listed(previous)}" if previous else "")
        or (f"given {values['first']}" if "first" in values else "")
    )
    own = f"{plural} of {faces} faces"
    subjects = {
        "end": "the result is {}" if n == 1 else "the sum is {}",
        "end again": "the new result is {}" if n == 1 else "the new sum is {}",
    }
    has_parts = [
        wording for wording in wordings if all(part in wording.pieces for part in (*parts, end))
    ]
    return Setting(
        scenario="dice",
        variant=variant,
        group=f"{plural}, {observation or variant}"
        + (f", {len(previous)} results" if len(previous) > 1 else ""),
        name="/".join(["dice", variant, own, *([details] if details else [])]),
        parameters={
            "n": str(n),
            "faces": str(faces),
            "observation": observation,
            "previous": ", ".join(map(str, previous)),
        },
        truth=truth,
        texts=tell_all(has_parts, (*parts, end), filled),
        story=wordings[0].tell(parts, filled),
        claim=subjects.get(
            end, "the total is {}" if end == "end added" else "the first die shows {}"
        ),
        previous=str(previous[-1]) if previous else "",
        shift=shift,
        baseline=f"dice/single/{own}" if previous else "",
    )
