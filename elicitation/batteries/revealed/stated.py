"""Questions with options: the probability of one outcome, and a bet on an event. Every option stands in every place equally often."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from elicitation.batteries.revealed.setting import Setting

LETTERS = ("A", "B", "C", "D")
YES, NO = "yes", "no"
_ANSWER = "Answer with one letter.\nAnswer:"


@dataclass(frozen=True)
class OptionQuestion:
    """A question that is answered with a letter.

    Parameters
    ----------
    text : str
        Ends where the letter comes.
    letters : tuple of str
        Letters of the options.
    options : tuple of str
        Options, in the order of the letters.
    """

    text: str
    letters: tuple[str, ...]
    options: tuple[str, ...]


def distractors(setting: Setting) -> tuple[Fraction, Fraction, Fraction]:
    """Return three wrong answers to the question for the probability of `setting.asked`.

    Parameters
    ----------
    setting : Setting
        The setting.

    Returns
    -------
    tuple of Fraction
        Distinct, in (0, 1), none the truth. Plausible mistakes come first: all outcomes equally
        likely, the possible ones equally likely, the complement, twice and half the truth.
    """
    truth = setting.truth[setting.asked]
    mistakes = [
        Fraction(1, len(setting.outcomes)),
        Fraction(1, len(setting.support)),
        1 - truth,
        2 * truth,
        truth / 2,
    ]
    fillers = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), Fraction(3, 4)]
    first, second, third, *_ = [
        wrong for wrong in dict.fromkeys(mistakes + fillers) if 0 < wrong < 1 and wrong != truth
    ]
    return first, second, third


def stated_questions(setting: Setting) -> list[OptionQuestion]:
    """Ask for the probability of one outcome, once for every place that the truth can have.

    Parameters
    ----------
    setting : Setting
        The setting; its `asked` outcome is the one asked for.

    Returns
    -------
    list of OptionQuestion
        Four, with the same options rotated; the truth is the option at the place of the question in
        the list.

    Examples
    --------
    >>> from elicitation.batteries import dice
    >>> print(stated_questions(dice.single(1, 6))[1].text)
    A die has 6 faces, numbered from 1 to 6. Each face is equally likely to come up. The die is
    rolled. \
What is the probability that the result is 4?
    A. 1/12
    B. 1/6
    C. 5/6
    D. 1/3
    Answer with one letter.
    Answer:
    """
    options = [str(value) for value in (setting.truth[setting.asked], *distractors(setting))]
    question = (
        f"{setting.story} What is the probability that {setting.claim.format(setting.asked)}?"
    )
    return [
        _question(question, options[-place:] + options[:-place] if place else options)
        for place in range(len(LETTERS))
    ]


def bet_questions(setting: Setting) -> list[OptionQuestion]:
    """Offer a bet at even odds on the event of a setting, with the options in both orders.

    Parameters
    ----------
    setting : Setting
        The setting.

    Returns
    -------
    list of OptionQuestion
        Two whose options are Yes and No, and No and Yes; none where nothing is uncertain.
    """
    event = setting.event
    if event is None:
        return []
    offer = f"{setting.story} You may bet. You win 1 point if {event.claim}, and you lose 1 point if not. Do you bet?"
    return [_question(offer, ["Yes", "No"]), _question(offer, ["No", "Yes"])]


def _question(question: str, options: Sequence[str]) -> OptionQuestion:
    letters = LETTERS[: len(options)]
    lines = [
        question,
        *(f"{letter}. {option}" for letter, option in zip(letters, options, strict=True)),
        _ANSWER,
    ]
    return OptionQuestion("\n".join(lines), letters, tuple(options))
