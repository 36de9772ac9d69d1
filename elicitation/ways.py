"""How an answer is had, and the options that say so: all that there is to a way, in one file.

A way is a class: the values of --belief and --answers that name it, what it asks for, how many
answers it takes, what is read of them, and what goes into cells. What is read off probabilities, or
from the rate over many draws, is renormalised over the readable answers; `answer_mass` says how
much that was. Where these have less than half of the mass, the model would rather say something
else: what is read has the status `low_mass`. Where less than half of the draws can be read, there
is no belief. An option is a field of `WayOptions` with its row of the help. Imported for every
``--help``, so that numpy waits until something is read.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from coherence.decoding.decode import Form
    from elicitation.models.base import Answer
    from elicitation.spelling.forms import AnswerForm, Distribution, FormKind

Belief = Literal["verbalised", "token", "sampled"]
AnswerMode = Literal["drawn", "forced", "exact"]
"""What options say of ways to an answer."""
Decision = Literal["usual", "matching", "stakes", "costs-said"]
"""What is asked besides beliefs: an action; an event or a stated chance; to act for payoffs; and
besides that from which probability it would."""
PROMPTS = ("standard", "mse", "absolute", "bayes")
ACTION_LABELS = ("no", "yes", "defer")
"""What a decision may come to."""
LEAST_MASS = 0.5
"""Share of the draws that must be on Yes and No for a belief to be read; where less of the mass is
on the answers that are read, the status says so."""
WIDEST_SHARE = 0.02
"""Where a server lists only the likeliest tokens, the share of Yes has bounds; wider than this, it
counts as unread."""
_QUANTILES = (0.05, 0.95)
_BARE = " \t\r\n*_#>`"  # what is taken off a line before it is compared: bold echoes, too
_STATEMENT = re.compile(r"[^:]+: \S+")  # such as an example in a question has, or an answer
SPREAD = ("p_sd", "p_q05", "p_q95")
"""Columns of the spread of a belief that is a distribution."""


@dataclass(frozen=True, kw_only=True)
class WayOptions:
    """How often, in which ways and how randomly questions are asked."""

    HELP = """
[ways]
answers  free text that is read, drawn from the answers in the form asked for, or the distribution
    over these without any draw; see docs/eliciting.md (default: drawn)
*min_mass 0..1  leave unread what is read off answers that have less probability together
    (default: 0; below .5 the status says low_mass)
reps 1..  draws per question (default: 5; with --answers exact nothing is drawn)
prompts LIST  prompt variants of the belief question, and .toml files with variants of your own
    (default: standard,mse,absolute,bayes)
belief  stated as a number, read from the probability of Yes, or from the rate of Yes over draws
    (default: verbalised)
decision  an action; the event or a lottery of stated chance for the same prize (matching); to act
    or pass for stated payoffs (stakes), and from which probability on it would (costs-said); see
    docs/eliciting.md (default: usual)
costs GAIN:LOSS,...  payoffs of acting that stakes questions state (default:
    18:2,15:5,10:10,5:15,2:18; of costs-said 3:1,1:1,1:3)
*levels 2..99  chances that matching questions state (default: 10, from 5 to 95 percent)
*draws 1..  answers of one sampled belief, or to one question of costs-said (default: 20)
iterated  ask the questions of the law of iterated expectation (default); --no-iterated leaves
    them out
temperature T 0..  0 takes the most probable answer (default: 1)
max_new_tokens 1..  cut of every answer (default: 256, or what a longer form needs; a model that
    thinks aloud needs thousands)
seed 0..  seed of the cases and of the draws (default: 0)
"""

    answers: AnswerMode = "drawn"
    min_mass: float = 0.0
    reps: int | None = None
    prompts: Any = None
    belief: Belief = "verbalised"
    decision: Decision = "usual"
    costs: str | None = None
    levels: int | None = None
    draws: int = 20
    iterated: bool = True
    temperature: float = 1.0
    max_new_tokens: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Parsed:
    """What an answer says."""

    # probability of Yes; shares of labels that sum to 1; an action, or action -> probability; None
    # unless the status is one of those with a value
    value: Any
    status: str  # one of `coherence.decoding.decode.STATUSES`.
    # probability of the readable answers, or their share in the draws; None of free text
    answer_mass: float | None = None
    # sd, q05, q95: standard deviation and quantiles of a belief that is a distribution
    sd: float = math.nan
    q05: float = math.nan
    q95: float = math.nan
    too_wide: bool = False  # whether it has no value for its bounds alone


_USUAL = WayOptions()


class Said:
    """An answer in the model's own words."""

    # values of the options --belief and --answers that a way stands for
    belief: Belief = "verbalised"
    answers: AnswerMode = "drawn"
    usual_reps = 5
    asks_yes_no = False  # whether a belief is asked for as Yes or No, and not as a number
    is_read = False  # whether probabilities are read and nothing is drawn
    is_distribution = False  # whether the answer is the distribution over those in the form

    @property
    def kind(self) -> str:
        """Value of the column `belief_kind`."""
        return f"stated:{self.answers}" if self.belief == "verbalised" else self.belief

    def check(self, options: WayOptions) -> None:
        """Raise `InputError` for options that have no meaning in this way."""

    def n_answers(self, options: WayOptions) -> int:
        """Return how many answers a belief is made of."""
        return 1

    def form(self, spec: "QuestionSpec") -> "AnswerForm | None":
        """Return what an answer must look like, or is read of; None leaves it to the model."""
        return None

    def read(self, spec: "QuestionSpec", answer: "Answer", asked: str, by: WayOptions) -> Parsed:
        """Read an answer; lines of what was asked are no part of it."""
        from coherence.decoding import decode

        text, ended = _without_echo(answer.text, asked), answer.finish_reason
        read: Any
        if spec.is_choice:
            # What a letter stands for may be said in its place.
            said = _lines_of(asked, spec.lines) if spec.is_offer else ()
            read = decode.decode_choice(text, spec.lines, words=said, finish_reason=ended)
        elif spec.role == "decision":
            read = decode.decode_decision(text, finish_reason=ended)
        elif spec.role == "auxiliary":
            read = decode.decode_distribution(text, spec.lines, finish_reason=ended)
        else:
            read = decode.decode_belief(text, form=spec.form, finish_reason=ended)
        return Parsed(read.value, read.status)

    def sum_up(self, readings: Sequence[Parsed]) -> Parsed:
        """Read a belief off its answers."""
        return readings[0]

    def raw(self, spec: "QuestionSpec", texts: Sequence[str]) -> str:
        """Return the answers as they came, as a cell."""
        return texts[0]


class Forced(Said):
    """An answer drawn from those in the form, or of a model that masks its tokens to it."""

    answers: AnswerMode = "forced"

    def form(self, spec: "QuestionSpec") -> "AnswerForm | None":
        """Return that of the question."""
        return spec.answer_form

    def read(self, spec: "QuestionSpec", answer: "Answer", asked: str, by: WayOptions) -> Parsed:
        """Read what was drawn, by its mass; of masked tokens no mass is known."""
        from coherence.decoding.decode import UNPARSED, worst

        mass = answer.answer_mass
        if mass is None:
            return super().read(spec, answer, asked, by)
        status = mass_status(mass, by.min_mass)
        if status == UNPARSED:
            return Parsed(None, status, mass)
        if spec.role == "auxiliary" and len(spec.lines) > 2:
            # Numbers that were drawn line by line need not sum to 1 as stated ones must.
            numbers = [float(line.rpartition(": ")[2]) for line in answer.text.split("\n")]
            return _shares(numbers, status, mass)
        read = super().read(spec, answer, asked, by)
        return Parsed(read.value, worst([read.status, status]), mass)


class Exact(Forced):
    """The distribution over the answers in the form."""

    answers = "exact"
    usual_reps = 1
    is_read = is_distribution = True

    def check(self, options: WayOptions) -> None:
        """Refuse what would be drawn."""
        from coherence.errors import InputError

        if options.reps not in (None, 1) or options.temperature != 1:
            raise InputError(
                "answers='exact' draws nothing: reps and temperature must be 1; received "
                f"{options.reps} and {options.temperature}. Leave them out."
            )

    def read(self, spec: "QuestionSpec", answer: "Answer", asked: str, by: WayOptions) -> Parsed:
        """Read the mean and the spread of a belief, the shares of labels, or those of actions."""
        from coherence.decoding.decode import UNPARSED, decode_decision
        from elicitation.spelling.forms import Distribution

        distribution, form = Distribution.load(answer.text), spec.answer_form
        mass = distribution.answer_mass
        status = mass_status(mass, by.min_mass)
        if status == UNPARSED:
            return Parsed(None, status, mass)
        if form.kind == "decision":
            actions = dict.fromkeys(ACTION_LABELS, 0.0)
            for name, share in distribution.shares().items():
                # As a drawn answer is read: who cannot decide, defers, whatever the second line
                # says.
                actions[str(decode_decision(name).value)] += share
            return Parsed(actions, status, mass)
        if form.kind == "choice":
            shares = distribution.shares()
            return Parsed({each: shares.get(each, 0.0) for each in form.labels}, status, mass)
        if spec.role == "auxiliary":
            stated = [_numbers(distribution, part) for part in range(len(distribution.parts))]
            means = [float(share @ numbers) for numbers, share in stated]
            # Two labels are asked for with one number, the first one's.
            two = len(form.labels) == 2
            return _shares([means[0], 1 - means[0]] if two else means, status, mass)
        numbers, share = _numbers(distribution)
        return _belief(1 - numbers if form.kind == "lines" else numbers, share, status, mass)

    def raw(self, spec: "QuestionSpec", texts: Sequence[str]) -> str:
        """Return the probabilities of every line's numbers."""
        parts = json.loads(texts[0])
        # The numbers of a line are those of its label: of No and Yes, the probability of No.
        lines = spec.lines if spec.form == "lines" else ("Yes",)
        in_lines = spec.answer_form.kind in ("lines", "number")
        named = dict(zip(lines, parts, strict=False)) if in_lines else parts[0]
        return json.dumps(named, ensure_ascii=False)


class Labels(Said):
    """The probabilities of Yes and No, or of other labels that an answer may begin with."""

    belief = "token"
    asks_yes_no = is_read = True

    def form(self, spec: "QuestionSpec") -> "AnswerForm | None":
        """Return the labels."""
        from elicitation.spelling.forms import AnswerForm

        return AnswerForm("labels", spec.lines)

    def read(self, spec: "QuestionSpec", answer: "Answer", asked: str, by: WayOptions) -> Parsed:
        """Read the share of Yes; between the bounds of a server's list, if they are narrow."""
        from coherence.decoding.decode import BELIEF_LABELS, UNPARSED

        masses = json.loads(answer.text)
        no, yes = (masses[label] for label in BELIEF_LABELS)
        low, high = masses.get("share", (0.0, 0.0))
        # Rounding may lift the sum above 1 by a digit.
        mass = min(no + yes, 1.0)
        status = mass_status(mass, by.min_mass)
        if status == UNPARSED or high - low > WIDEST_SHARE:
            return Parsed(None, UNPARSED, mass, too_wide=status != UNPARSED)
        # A label outside the list of likely tokens has no probability of its own, but bounds; the
        # belief is their middle.
        return Parsed((low + high) / 2 if "share" in masses else yes / (no + yes), status, mass)


class Sampled(Said):
    """The rate of Yes over many draws."""

    belief = "sampled"
    asks_yes_no = True

    def check(self, options: WayOptions) -> None:
        """Refuse draws that are all one, or not free."""
        from coherence.errors import InputError

        if options.temperature == 0:
            raise InputError(
                "belief='sampled' needs a temperature above 0; at 0 all draws are one. Raise the "
                "temperature or take token."
            )
        if options.answers != "drawn":
            raise InputError(
                f"belief='sampled' draws its answers freely; received answers={options.answers!r}. "
                "Take belief='token', which is what a sampled belief estimates."
            )

    def n_answers(self, options: WayOptions) -> int:
        """Return the draws."""
        return options.draws

    def sum_up(self, readings: Sequence[Parsed]) -> Parsed:
        """Read the rate; unreadable draws are left out of it, and counted in the answer mass."""
        from coherence.decoding.decode import worst

        readable = [draw for draw in readings if draw.value is not None]
        mass = len(readable) / len(readings)
        if mass < LEAST_MASS:
            failures = Counter(draw.status for draw in readings if draw.value is None)
            return Parsed(None, failures.most_common(1)[0][0], mass)
        rate = sum(draw.value == "Yes" for draw in readable) / len(readable)
        return Parsed(rate, worst([draw.status for draw in readable]), mass)

    def raw(self, spec: "QuestionSpec", texts: Sequence[str]) -> str:
        """Return how often each answer came."""
        return json.dumps(dict(Counter(texts).most_common()), ensure_ascii=False)


class Way(Enum):
    """How an answer is had; nothing else asks for the values of --belief and --answers."""

    SAID = Said()
    FORCED = Forced()
    EXACT = Exact()
    LABELS = Labels()
    SAMPLED = Sampled()

    @property
    def how(self) -> Said:
        """What is asked, needed, and read."""
        how: Said = self.value
        return how

    @classmethod
    def of(cls, belief: str, answers: str) -> "Way":
        """Return the way of a belief; that of all other questions has the belief "verbalised"."""
        # What is asked as Yes or No has a way of its own, however other answers are had.
        own = [each for each in cls if each.how.belief == belief]
        return next((each for each in own if each.how.answers == answers), own[0])


Role = (
    Literal["belief", "decision", "choice", "auxiliary", "conditional"]
    | Literal["matching", "stakes", "costs-said", ""]
)
_SPARE_TOKENS = 16  # for white space around an answer
ROOM_FOR_WORDS = 256  # tokens of any answer: cut within its preamble, a reply would be lost
OFFERED = {"matching": ("event", "lottery"), "stakes": ("act", "pass")}
"""The two options of each kind of question that offers some."""


@cache
def _form(kind: "FormKind", labels: tuple[str, ...]) -> "AnswerForm":
    from elicitation.spelling.forms import AnswerForm

    return AnswerForm(kind, labels)


@dataclass(frozen=True)
class QuestionSpec:
    """What a question of a session is about: all that it takes to read its answer."""

    role: Role  # what is asked; a decision is yes, no or deferred, a choice one of the `lines`
    key: str  # prompt variant of a belief, state of z of a conditional belief, else empty
    # beginnings of the lines that the answer must have, or the answers that there are: those of a
    # choice, Yes and No
    lines: tuple[str, ...]
    form: "Form" = "lines"  # what a stated belief looks like
    way: Way = Way.SAID
    # what a matching or a stakes question offers, see `elicitation.questions.prompts.Offer`
    level: float | None = None
    frame: str = ""
    order: str = ""

    @property
    def is_choice(self) -> bool:
        """Whether the answer is one of the `lines`."""
        return self.role == "choice" or self.is_offer or self.way.how.asks_yes_no

    @property
    def is_offer(self) -> bool:
        """Whether the answer is the letter of an option that has a level."""
        return self.role in OFFERED

    @property
    def meant(self) -> dict[str, str]:
        """The option of an offer that each letter stands for."""
        first, second = OFFERED[self.role]
        named = (first, second) if self.order == first else (second, first)
        return dict(zip(self.lines, named, strict=True))

    @property
    def actions(self) -> tuple[str, ...]:
        """What an answer that is an action may be."""
        if self.is_offer:
            return OFFERED[self.role]
        return self.lines if self.role == "choice" else ACTION_LABELS

    @property
    def max_lines(self) -> int:
        """Lines of an answer in the form asked for; for models that would go on after them."""
        return 1 if self.is_choice or self.form == "number" else len(self.lines)

    @property
    def max_new_tokens(self) -> int:
        """Tokens for an answer in the form, were every character one, and for words around it."""
        if self.is_choice:
            n_form = max(len(line.encode()) for line in self.lines)
        else:
            # Two decimals are what the example in the prompt shows.
            n_form = sum(len(f"{line}: 0.00\n".encode()) for line in self.lines)
        return max(n_form + _SPARE_TOKENS, ROOM_FOR_WORDS)

    @property
    def answer_form(self) -> "AnswerForm":
        """What a readable answer looks like."""
        kinds: dict[str, FormKind] = {"decision": "decision", "choice": "choice"}
        kind = "choice" if self.is_offer else kinds.get(self.role, self.form)
        return _form(kind, () if kind in ("decision", "number") else self.lines)

    def read(self, answer: "Answer", *, asked: str = "", options: WayOptions = _USUAL) -> Parsed:
        """Read an answer; lines of what was asked are no part of it."""
        read = self.way.how.read(self, answer, asked, options)
        if not self.is_offer or read.value is None:
            return read
        if isinstance(read.value, dict):
            named = {self.meant[letter]: share for letter, share in read.value.items()}
            return replace(read, value=named)
        return replace(read, value=self.meant[read.value])

    @property
    def facts(self) -> dict[str, Any]:
        """It as JSON has it: the way by the options that name it."""
        way = self.way.how
        # In this order, since stores hold it as text.
        about = {"role": self.role, "key": self.key, "lines": self.lines, "form": self.form}
        named = {"belief_method": way.belief, "answer_mode": way.answers}
        return about | named | {"level": self.level, "frame": self.frame, "order": self.order}

    @cached_property
    def spec_json(self) -> str:
        """It as JSON, for the store and for samples of Inspect; a battery says it by itself."""
        return json.dumps(self.facts) if self.role else ""

    @classmethod
    def load(cls, spec_json: str) -> "QuestionSpec":
        """Read `spec_json`; raises `ValueError`, `TypeError` or `KeyError` for another text."""
        facts = json.loads(spec_json)
        way = Way.of(facts.pop("belief_method"), facts.pop("answer_mode"))
        return cls(**{**facts, "lines": tuple(facts["lines"])}, way=way)


def mass_status(mass: float, min_mass: float) -> str:
    """Return the status of what is read off the answers that have a mass."""
    from coherence.decoding.decode import LOW_MASS, OK, UNPARSED

    if mass <= 0 or mass < min_mass:
        return UNPARSED
    return LOW_MASS if mass < LEAST_MASS else OK


def _belief(p: Any, share: Any, status: str, mass: float) -> Parsed:
    """Return the mean, the spread and the quantiles of probabilities that have shares."""
    import numpy as np

    mean = float(share @ p)
    order = np.argsort(p)
    # Half of a rounding error below, so that a sum of .05 in decimals counts as .05.
    cumulative = np.cumsum(share[order]) + 1e-12
    low, high = (
        float(p[order][min(int(np.searchsorted(cumulative, q)), len(p) - 1)]) for q in _QUANTILES
    )
    # Rounding may leave [0, 1] by a digit.
    mean = min(max(mean, 0.0), 1.0)
    sd = math.sqrt(max(float(share @ (p - mean) ** 2), 0.0))
    return Parsed(mean, status, mass, sd, low, high)


def _shares(stated: Sequence[float], status: str, mass: float) -> Parsed:
    """Return numbers as shares of their sum."""
    from coherence.decoding.decode import UNPARSED

    total = math.fsum(stated)
    if total <= 0:
        return Parsed(None, UNPARSED, mass)
    return Parsed(tuple(number / total for number in stated), status, mass)


def _numbers(distribution: "Distribution", part: int = 0) -> tuple[Any, Any]:
    """Return the numbers that the answers to a part state, and their shares."""
    import numpy as np

    stated = distribution.shares(part)
    return np.array(list(map(float, stated))), np.array(list(stated.values()))


def _lines_of(asked: str, letters: Sequence[str]) -> tuple[str, ...]:
    """Return the options of a question, each on the line of its letter; () where any is missing."""
    begun = {line[:1]: line[2:].strip() for line in asked.splitlines() if line[1:2] == ":"}
    return tuple(begun[letter] for letter in letters) if set(letters) <= set(begun) else ()


def _without_echo(text: str, asked: str) -> str:
    r"""Take the question's own lines off an answer that repeats them, its example among them.

    Two lines and more that follow each other in the question are an echo where one of them is no
    statement: an answer may well equal the example.
    """
    known = [line.strip(_BARE) for line in asked.splitlines() if line.strip()]
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    kept, at = [], 0
    while at < len(lines):
        runs = [
            sum(1 for _ in takewhile(lambda pair: pair[0].strip(_BARE) == pair[1], pairs))
            for start in range(len(known))
            if known[start] == lines[at].strip(_BARE)
            and (pairs := zip(lines[at:], known[start:], strict=False))
        ]
        length = max(runs, default=0)
        run = lines[at : at + max(length, 1)]
        if length < 2 or all(_STATEMENT.fullmatch(line.strip(_BARE)) for line in run):
            kept.append(lines[at])
            at += 1
        else:
            at += length
    return "".join(kept) if len(kept) < len(lines) else text
