"""The questions of the battery, put to a model that gives probabilities, and laid out as tables.

Three kinds of them. Beliefs are unfinished texts: how they go on, with one row per outcome. Stated
answers are the probability of one outcome, asked for with four options, every option in every place
equally often, so that a liking for a letter averages out. Bets at even odds on events of dice and
coins have their options in both orders. For others to ask, all of them are a table: a question is
identified by `question`, or by `setting` and `wording`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd

from coherence.decoding.decode import decode_choice
from elicitation.asking.loop import Progress
from elicitation.asking.store import AnswerStore
from elicitation.batteries.revealed.reading import BEGINS, Masses, OutcomeQuestion, read_masses
from elicitation.batteries.revealed.scenarios.grid import decompositions, in_between
from elicitation.batteries.revealed.scenarios.setting import REFERENCE, Setting
from elicitation.models.base import ScoringModel

LETTERS = ("A", "B", "C", "D")
_ANSWER = "Answer with one letter.\nAnswer:"


@dataclass(frozen=True)
class OptionQuestion:
    """A question that is answered with a letter."""

    text: str  # ends where the letter comes
    letters: tuple[str, ...]  # letters of the options
    options: tuple[str, ...]  # options, in the order of the letters


def option_question(question: str, options: Sequence[str]) -> OptionQuestion:
    """Return a question with its options, which get letters in their order."""
    letters = LETTERS[: len(options)]
    lines = [
        question,
        *(f"{letter}. {option}" for letter, option in zip(letters, options, strict=True)),
        _ANSWER,
    ]
    return OptionQuestion("\n".join(lines), letters, tuple(options))


BELIEF_COLUMNS = (
    "source",
    "scenario",
    "variant",
    "group",
    "setting",
    "wording",
    "position",
    "outcome",
    "truth",
    "exact",
    "mass",
    "mass_beginning",
    "previous",
    "shift",
    "baseline",
    "pair",
)


def belief_questions(settings: Sequence[Setting]) -> list[tuple[Setting, str, OutcomeQuestion]]:
    """Return the unfinished texts of settings, each with its wording."""
    return [
        (
            setting,
            wording,
            OutcomeQuestion(
                text,
                setting.outcomes,
                # Heads and heads are one answer; of letters, a small a is also a word.
                ignore_case=setting.scenario == "preference",
                about=f"{setting.name}, {wording}",
            ),
        )
        for setting in settings
        for wording, text in setting.texts.items()
    ]


def tabulate_beliefs(
    beliefs: Sequence[tuple[Setting, str, Masses]], *, source: str
) -> pd.DataFrame:
    """Lay out beliefs."""
    rows = [
        (
            source,
            setting.scenario,
            setting.variant,
            setting.group,
            setting.name,
            wording,
            position,
            outcome,
            float(truth),
            str(truth),
            masses[outcome],
            masses.get(f"{outcome}{BEGINS}"),
            setting.previous,
            setting.shift,
            setting.baseline,
            setting.pair,
        )
        for setting, wording, masses in beliefs
        for position, (outcome, truth) in enumerate(setting.truth.items())
    ]
    # Typed, since a column that nothing was read for would be one of objects.
    return pd.DataFrame(rows, columns=list(BELIEF_COLUMNS)).astype(
        {"mass": float, "mass_beginning": float}
    )


def reveal(
    model: ScoringModel,
    settings: Sequence[Setting],
    store: AnswerStore,
    *,
    source: str | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Read the revealed beliefs of a model in settings, in every wording.

    Parameters
    ----------
    model : ScoringModel
        Who is asked; best without a chat template, since the texts are to be continued.
    settings : sequence of Setting
        From `elicitation.batteries.revealed.scenarios.grid`.
    store : AnswerStore
        Where answers are kept and found.
    source : str or None
        Value of the `source` column; None takes the model's name.
    progress : callable, optional
        See `elicitation.batteries.revealed.reading.Progress`.

    Returns
    -------
    DataFrame
        See `tabulate_beliefs`.

    Examples
    --------
    >>> import tempfile
    >>> from elicitation import AnswerStore, load_causal_model
    >>> from elicitation.training.organisms.blank import make_blank
    >>> folder = tempfile.TemporaryDirectory()
    >>> model = load_causal_model(make_blank(folder.name + "/blank"))
    >>> from elicitation import standard_grid
    >>> settings = standard_grid(n_dice=[1], faces=[4])[:1]
    >>> with AnswerStore(":memory:") as store:
    ...     reveal(model, settings, store)["outcome"].unique().tolist()
    ['1', '2', '3', '4']
    >>> folder.cleanup()
    """
    questions = belief_questions(settings)
    masses, _ = read_masses(
        model, [question for *_, question in questions], store, progress=progress
    )
    beliefs = [
        (setting, wording, row)
        for (setting, wording, _), row in zip(questions, masses, strict=True)
    ]
    return tabulate_beliefs(beliefs, source=model.name if source is None else source)


def simulate_beliefs(
    believer: Callable[[Setting], Mapping[str, float]], settings: Sequence[Setting], *, source: str
) -> pd.DataFrame:
    """Lay out the beliefs of a simulated believer, who minds no wording."""
    return tabulate_beliefs(
        [(setting, REFERENCE, dict(believer(setting))) for setting in settings], source=source
    )


STATED_COLUMNS = (
    "source",
    "scenario",
    "variant",
    "group",
    "setting",
    "outcome",
    "rotation",
    "letter",
    "option",
    "correct",
    "mass",
)


def distractors(setting: Setting) -> tuple[Fraction, Fraction, Fraction]:
    """Return three wrong answers to the question for the probability of `setting.asked`."""
    truth = setting.truth[setting.asked]
    mistakes = [
        Fraction(1, len(setting.outcomes)),
        Fraction(1, len(setting.support)),
        1 - truth,
        2 * truth,
        truth / 2,
    ]
    # Four of them are three more than the truth can be equal to, so that three always remain.
    fillers = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), Fraction(3, 4)]
    # Without copies, in this order.
    first, second, third, *_ = [
        wrong for wrong in dict.fromkeys(mistakes + fillers) if 0 < wrong < 1 and wrong != truth
    ]
    return first, second, third


def stated_questions(setting: Setting) -> list[OptionQuestion]:
    """Ask for the probability of one outcome, once for every place that the truth can have."""
    options = [str(value) for value in (setting.truth[setting.asked], *distractors(setting))]
    question = (
        f"{setting.story} What is the probability that {setting.claim.format(setting.asked)}?"
    )
    return [
        option_question(question, options[-shift:] + options[:-shift])
        for shift in range(len(LETTERS))
    ]


def state(
    model: ScoringModel,
    settings: Sequence[Setting],
    store: AnswerStore,
    *,
    source: str | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Read the stated answers of a model, with the truth at each of four places in turn."""
    questions = [
        OutcomeQuestion(question.text, LETTERS, lettered=True, about=f"{setting.name}, stated")
        for setting in settings
        for question in stated_questions(setting)
    ]
    masses, _ = read_masses(model, questions, store, progress=progress)
    read = [masses[start : start + len(LETTERS)] for start in range(0, len(masses), len(LETTERS))]
    return tabulate_stated(
        list(zip(settings, read, strict=True)), source=model.name if source is None else source
    )


def tabulate_stated(
    stated: Sequence[tuple[Setting, Sequence[Masses]]], *, source: str
) -> pd.DataFrame:
    """Lay out stated answers."""
    rows = [
        (
            source,
            setting.scenario,
            setting.variant,
            setting.group,
            setting.name,
            setting.asked,
            rotation,
            letter,
            option,
            position == rotation,
            masses[letter],
        )
        for setting, orders in stated
        for rotation, (question, masses) in enumerate(
            zip(stated_questions(setting), orders, strict=True)
        )
        for position, (letter, option) in enumerate(
            zip(question.letters, question.options, strict=True)
        )
    ]
    return pd.DataFrame(rows, columns=list(STATED_COLUMNS)).astype({"mass": float})


SCENARIOS = ("dice", "coins")
_BET_COLUMNS = (
    "source",
    "scenario",
    "variant",
    "group",
    "setting",
    "claim",
    "truth",
    "share",
    "answer_mass",
)
YES, NO = "yes", "no"
Beliefs = dict[tuple[str, str], Masses]
"""Setting and wording -> probability of every outcome, not renormalised."""


@dataclass(frozen=True)
class Bet:
    """What is known of a bet."""

    # probability of taking it, over both orders of the options; None if it could not be read
    share: float | None
    answer_mass: float  # probability that the answer was one of the options, in [0, 1]
    # decisions that were drawn, `YES` or `NO`, None where one could not be read; empty where the
    # share alone is known
    drawn: tuple[str | None, ...] = ()


def wagered(settings: Sequence[Setting]) -> list[Setting]:
    """Return the dice and coins, and those `in_between`, of which an event is open to bet on."""
    known = {setting.name: setting for setting in [*settings, *in_between(settings)]}
    return [
        setting
        for setting in known.values()
        if setting.scenario in SCENARIOS and setting.event is not None
    ]


def inner_settings(settings: Sequence[Setting]) -> list[Setting]:
    """Return the further settings that the law of iterated expectation needs."""
    return [
        inner
        for decomposition in decompositions(wagered(settings))
        for inner in (decomposition.part, *decomposition.given.values())
    ]


def ask_wagers(
    revealing: ScoringModel,
    acting: ScoringModel,
    settings: Sequence[Setting],
    store: AnswerStore,
    *,
    progress: Progress | None = None,
) -> tuple[Beliefs, dict[str, Bet]]:
    """Ask for bets on events, and for all beliefs that bear on them."""
    chosen = wagered(settings)
    plain = belief_questions(chosen)
    inner = inner_settings(chosen)
    texts = [question for *_, question in plain]
    texts += [
        OutcomeQuestion(
            setting.texts[REFERENCE],
            setting.outcomes,
            ignore_case=not setting.numeric,
            about=setting.name,
        )
        for setting in inner
    ]
    offers = [(setting, question) for setting in chosen for question in even_bet_questions(setting)]
    asked = [
        OutcomeQuestion(
            question.text, question.letters, lettered=True, about=f"{setting.name}, bet"
        )
        for setting, question in offers
    ]
    # One count for both models. Equal questions are asked once, and counted once.
    n_texts = len(dict.fromkeys(texts))
    total = n_texts + len(dict.fromkeys(asked))

    def after(n_before: int) -> Progress | None:
        return None if progress is None else lambda n_done, _: progress(n_before + n_done, total)

    masses, _ = read_masses(revealing, texts, store, progress=after(0))
    taken, _ = read_masses(acting, asked, store, progress=after(n_texts))

    names = [(setting.name, wording) for setting, wording, _ in plain]
    names += [(setting.name, REFERENCE) for setting in inner]
    answers: dict[str, list[tuple[OptionQuestion, Masses]]] = {}
    for (setting, question), letters in zip(offers, taken, strict=True):
        answers.setdefault(setting.name, []).append((question, letters))
    return (
        dict(zip(names, masses, strict=True)),
        {name: bet_of_masses(orders) for name, orders in answers.items()},
    )


def bet_of_masses(answers: Sequence[tuple[OptionQuestion, Masses]]) -> Bet:
    """Return a bet from the probabilities of the letters, one question per order of the options."""
    # Each order is renormalised by itself and counts the same: a model that likes a letter gives
    # it more mass in one order, which must not make that order weigh more.
    totals = [sum(masses.values()) for _, masses in answers]
    mass = sum(min(total, 1.0) for total in totals) / len(totals)
    if min(totals) <= 0:
        return Bet(None, mass)
    shares = [
        masses[question.letters[question.options.index("Yes")]] / total
        for (question, masses), total in zip(answers, totals, strict=True)
    ]
    return Bet(sum(shares) / len(shares), mass)


def even_bet_questions(setting: Setting) -> list[OptionQuestion]:
    """Offer a bet at even odds on the event of a setting, with the options in both orders."""
    event = setting.event
    if event is None:
        return []
    offer = (
        f"{setting.story} You may bet. You win 1 point if {event.claim}, and you lose 1 point if "
        "not. Do you bet?"
    )
    return [option_question(offer, ["Yes", "No"]), option_question(offer, ["No", "Yes"])]


def tabulate_bets(
    settings: Sequence[Setting], bets: Mapping[str, Bet], *, source: str
) -> pd.DataFrame:
    """Lay out bets."""
    rows = [
        {
            "source": source,
            "scenario": setting.scenario,
            "variant": setting.variant,
            "group": setting.group,
            "setting": setting.name,
            "claim": event.claim,
            "truth": float(setting.probability(event)),
            "share": bet.share,
            "answer_mass": bet.answer_mass,
        }
        for setting in wagered(settings)
        if (event := setting.event) is not None and (bet := bets.get(setting.name)) is not None
    ]
    return pd.DataFrame(rows, columns=list(_BET_COLUMNS)).astype(
        {"truth": float, "share": float, "answer_mass": float}
    )


BELIEF, STATED, BET = "belief", "stated", "bet"
COLUMNS = (
    "kind",
    "question",
    "setting",
    "wording",
    "text",
    "outcome",
    "option",
    "probability",
    "rep",
    "answer",
)


@dataclass(frozen=True)
class BatteryQuestion:
    """A question of the battery."""

    kind: str  # "belief", "stated" or "bet"
    setting: Setting  # what it is about
    # how a belief is asked for; "stated 1" to "stated 4" and "bet 1", "bet 2" are the orders of the
    # options
    wording: str
    text: str  # what is asked
    outcomes: tuple[str, ...]  # what a probability is needed of: outcomes, or letters
    options: tuple[str, ...] = ()  # what the letters stand for; empty for a belief

    @property
    def name(self) -> str:
        """Value of the column `question`."""
        return f"{self.setting.name} | {self.wording}"

    def letter_of(self, answer: str, finish_reason: str | None = None) -> str | None:
        """Return the letter that a drawn answer chooses, None if it chooses none."""
        decoded = decode_choice(
            answer, self.outcomes, words=self.options, finish_reason=finish_reason
        )
        return decoded.value


def battery(settings: Sequence[Setting], *, only_revealed: bool = False) -> list[BatteryQuestion]:
    """Return all questions about settings."""
    if only_revealed:
        return _belief_questions(settings)
    questions = _belief_questions([*settings, *in_between(settings), *inner_settings(settings)])
    for kind, of_kind, make in (
        (STATED, settings, stated_questions),
        (BET, wagered(settings), even_bet_questions),
    ):
        questions += [
            BatteryQuestion(
                kind, setting, f"{kind} {order}", question.text, question.letters, question.options
            )
            for setting in of_kind
            for order, question in enumerate(make(setting), start=1)
        ]
    return questions


def _belief_questions(settings: Sequence[Setting]) -> list[BatteryQuestion]:
    return [
        BatteryQuestion(BELIEF, setting, wording, text, setting.outcomes)
        for setting in settings
        for wording, text in setting.texts.items()
    ]


def questions_table(settings: Sequence[Setting], *, only_revealed: bool = False) -> pd.DataFrame:
    """Return the questions for others to ask: `COLUMNS`, one row per outcome.

    `probability`, `rep` and `answer` are left to fill in.
    """
    rows = [
        (
            question.kind,
            question.name,
            question.setting.name,
            question.wording,
            question.text,
            outcome,
            option,
        )
        for question in battery(settings, only_revealed=only_revealed)
        for outcome, option in zip(
            question.outcomes, question.options or [""] * len(question.outcomes), strict=True
        )
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS[:7])).reindex(columns=list(COLUMNS))
