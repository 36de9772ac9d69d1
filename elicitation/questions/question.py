"""A question: its text, the way to its answer, what it is about, and the key of its answer.

Which options name each way, how it is asked for, and what is read of it: a way that is added is a
class here. What is read off probabilities, or from the rate over many draws, is renormalised over
the readable answers; `answer_mass` says how much that was. Where these have less than half of the
mass, the model would rather say something else: what is read has the status `low_mass`. Where less
than half of the draws can be read, there is no belief.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, cached_property
from itertools import takewhile
from typing import Any, Literal

import numpy as np

from coherence.decoding.decode import (
    BELIEF_LABELS,
    LOW_MASS,
    OK,
    UNPARSED,
    Form,
    decode_belief,
    decode_choice,
    decode_decision,
    decode_distribution,
    worst,
)
from coherence.decoding.statements import take_apart
from coherence.errors import InputError
from elicitation.models.base import Answer, Request
from elicitation.options import AnswerMode, Belief, WayOptions
from elicitation.questions.prompts import OFFERED
from elicitation.spelling.forms import AnswerForm, Distribution, FormKind

Role = (
    Literal["belief", "decision", "choice", "auxiliary", "conditional"]
    | Literal["matching", "stakes", "costs-said", ""]
)
ACTION_LABELS = ("no", "yes", "defer")
"""What a decision may come to."""
LEAST_MASS = 0.5
"""Share of the draws that must be on Yes and No for a belief to be read; where less of the mass is
on the answers that are read, the status says so."""
WIDEST_SHARE = 0.02
"""Where a server lists only the likeliest tokens, the share of Yes has bounds; wider than this, it
counts as unread."""
SPREAD = ("p_sd", "p_q05", "p_q95")
"""Columns of the spread of a belief that is a distribution."""
_QUANTILES = (0.05, 0.95)
_SPARE_TOKENS = 16  # for white space around an answer
ROOM_FOR_WORDS = 256  # tokens of any answer: cut within its preamble, a reply would be lost
_BARE = " \t\r\n*_#>`"  # what is taken off a line before it is compared: bold echoes, too
_STATEMENT = re.compile(r"[^:]+: \S+")  # such as an example in a question has, or an answer
_form = cache(AnswerForm)


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

    def form(self, spec: "QuestionSpec") -> AnswerForm | None:
        """Return what an answer must look like, or is read of; None leaves it to the model."""
        return None

    def read(self, spec: "QuestionSpec", answer: Answer, asked: str, min_mass: float) -> Parsed:
        """Read an answer; lines of what was asked are no part of it."""
        return _read_words(spec, answer, asked)

    def sum_up(self, readings: Sequence[Parsed]) -> Parsed:
        """Read a belief off its answers."""
        return readings[0]

    def raw(self, spec: "QuestionSpec", texts: Sequence[str]) -> str:
        """Return the answers as they came, as a cell."""
        return texts[0]


class Forced(Said):
    """An answer drawn from those in the form, or of a model that masks its tokens to it."""

    answers = "forced"

    def form(self, spec: "QuestionSpec") -> AnswerForm | None:
        """Return that of the question."""
        return spec.answer_form

    def read(self, spec: "QuestionSpec", answer: Answer, asked: str, min_mass: float) -> Parsed:
        """Read what was drawn, by its mass; of masked tokens no mass is known."""
        mass = answer.answer_mass
        if mass is None:
            return _read_words(spec, answer, asked)
        status = mass_status(mass, min_mass)
        if status == UNPARSED:
            return Parsed(None, status, mass)
        if spec.role == "auxiliary" and len(spec.lines) > 2:
            # Numbers that were drawn line by line need not sum to 1 as stated ones must.
            numbers = [float(line.rpartition(": ")[2]) for line in answer.text.split("\n")]
            return _shares(numbers, status, mass)
        read = _read_words(spec, answer, asked)
        return Parsed(read.value, worst([read.status, status]), mass)


class Exact(Said):
    """The distribution over the answers in the form."""

    answers = "exact"
    usual_reps = 1
    is_read = is_distribution = True

    def check(self, options: WayOptions) -> None:
        """Refuse what would be drawn."""
        if options.reps not in (None, 1) or options.temperature != 1:
            raise InputError(
                "answers='exact' draws nothing: reps and temperature must be 1; received "
                f"{options.reps} and {options.temperature}. Leave them out."
            )

    def form(self, spec: "QuestionSpec") -> AnswerForm | None:
        """Return that of the question."""
        return spec.answer_form

    def read(self, spec: "QuestionSpec", answer: Answer, asked: str, min_mass: float) -> Parsed:
        """Read the mean and the spread of a belief, the shares of labels, or those of actions."""
        distribution, form = Distribution.load(answer.text), spec.answer_form
        mass = distribution.answer_mass
        status = mass_status(mass, min_mass)
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

    def form(self, spec: "QuestionSpec") -> AnswerForm | None:
        """Return the labels."""
        return AnswerForm("labels", spec.lines)

    def read(self, spec: "QuestionSpec", answer: Answer, asked: str, min_mass: float) -> Parsed:
        """Read the share of Yes; between the bounds of a server's list, if they are narrow."""
        masses = json.loads(answer.text)
        no, yes = (masses[label] for label in BELIEF_LABELS)
        low, high = masses.get("share", (0.0, 0.0))
        # Rounding may lift the sum above 1 by a digit.
        mass = min(no + yes, 1.0)
        status = mass_status(mass, min_mass)
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


@dataclass(frozen=True)
class QuestionSpec:
    """What a question of a session is about: all that it takes to read its answer."""

    role: Role  # what is asked; a decision is yes, no or deferred, a choice one of the `lines`
    key: str  # prompt variant of a belief, state of z of a conditional belief, else empty
    # beginnings of the lines that the answer must have, or the answers that there are: those of a
    # choice, Yes and No
    lines: tuple[str, ...]
    form: Form = "lines"  # what a stated belief looks like
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
    def answer_form(self) -> AnswerForm:
        """What a readable answer looks like."""
        kinds: dict[str, FormKind] = {"decision": "decision", "choice": "choice"}
        kind = "choice" if self.is_offer else kinds.get(self.role, self.form)
        return _form(kind, () if kind in ("decision", "number") else self.lines)

    def read(self, answer: Answer, *, asked: str = "", min_mass: float = 0.0) -> Parsed:
        """Read an answer; lines of what was asked are no part of it."""
        read = self.way.how.read(self, answer, asked, min_mass)
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


NO_SPEC = QuestionSpec("", "", ())
"""Of the questions of a battery, which reads their answers by itself."""
READ = QuestionSpec("", "", (), way=Way.LABELS)
"""Of those questions of a battery whose answers are probabilities."""


def mass_status(mass: float, min_mass: float = 0.0) -> str:
    """Return the status of what is read off the answers that have a mass."""
    if mass <= 0 or mass < min_mass:
        return UNPARSED
    return LOW_MASS if mass < LEAST_MASS else OK


def _belief(p: Any, share: Any, status: str, mass: float) -> Parsed:
    """Return the mean, the spread and the quantiles of probabilities that have shares."""
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
    total = math.fsum(stated)
    if total <= 0:
        return Parsed(None, UNPARSED, mass)
    return Parsed(tuple(number / total for number in stated), status, mass)


def _numbers(distribution: Distribution, part: int = 0) -> tuple[Any, Any]:
    shares = distribution.shares(part)
    return np.array(list(map(float, shares))), np.array(list(shares.values()))


def _read_words(spec: QuestionSpec, answer: Answer, asked: str) -> Parsed:
    text, ended = without_echo(answer.text, asked), answer.finish_reason
    read: Any
    if spec.is_choice:
        # What a letter stands for may be said in its place.
        said = _lines_of(asked, spec.lines) if spec.is_offer else ()
        read = decode_choice(text, spec.lines, words=said, finish_reason=ended)
    elif spec.role == "decision":
        read = decode_decision(text, finish_reason=ended)
    elif spec.role == "auxiliary":
        read = decode_distribution(text, spec.lines, finish_reason=ended)
    else:
        read = decode_belief(text, form=spec.form, finish_reason=ended)
    return Parsed(read.value, read.status)


def _lines_of(asked: str, letters: Sequence[str]) -> tuple[str, ...]:
    """Return the options of a question, each on the line of its letter; () where any is missing."""
    begun = {line[:1]: line[2:].strip() for line in asked.splitlines() if line[1:2] == ":"}
    return tuple(begun[letter] for letter in letters) if set(letters) <= set(begun) else ()


def without_echo(text: str, asked: str) -> str:
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


@dataclass(frozen=True)
class Question:
    """One answer to be had: what is asked, and what tells it from all other answers."""

    # what the model is asked; its seed follows from the base seed, the text and the number
    request: Request
    number: int = 0  # the how-manieth draw of this text, from 0
    base_seed: int = 0  # seed of the session
    spec_json: str = ""  # how the answer is to be read; kept beside it, and no part of the key
    # spec, case, rep: what it is about, and where its answer goes in the runs table: the row of
    # the cases and the repetition, from 0
    spec: QuestionSpec = NO_SPEC
    case: int = 0
    rep: int = 0

    @classmethod
    def of_form(
        cls, text: str, form: AnswerForm, *, spec: QuestionSpec = READ, spec_json: str = ""
    ) -> "Question":
        """Ask for what a model knows of the answers in a form after a text; nothing is drawn."""
        about = spec_json or spec.spec_json
        return cls(Request(text, 0, 1, 1.0, 1, form), spec_json=about, spec=spec)

    @classmethod
    def of(
        cls,
        text: str,
        number: int,
        *,
        base_seed: int,
        temperature: float,
        max_new_tokens: int,
        max_lines: int | None,
        spec_json: str = "",
        form: AnswerForm | None = None,
        spec: QuestionSpec = NO_SPEC,
    ) -> "Question":
        """Ask for a draw whose seed depends on the text, the number and the base seed alone."""
        if temperature == 0:
            # Nothing is random, so that all draws of a text share one key and are asked once.
            seed = number = base_seed = 0
        else:
            digest = hashlib.sha256(json.dumps([base_seed, number, text]).encode()).digest()
            # Integers of SQLite have a sign, which leaves 63 bits.
            seed = int.from_bytes(digest[:8], "big") >> 1
        request = Request(text, seed, max_new_tokens, temperature or 0.0, max_lines, form)
        return cls(request, number, base_seed, spec_json=spec_json or spec.spec_json, spec=spec)

    @property
    def text(self) -> str:
        """What is asked."""
        return self.request.text

    @property
    def form(self) -> AnswerForm | None:
        """What the answer must look like; None leaves it to the model."""
        return self.request.form

    @property
    def exact(self) -> bool:
        """Whether probabilities of answers are read, and none is drawn."""
        return self.spec.way.how.is_read

    @property
    def distribution(self) -> "Question":
        """The question for the distribution that an answer in a form is drawn from."""
        assert self.form is not None, "what is not in a form is drawn from no distribution"
        if self.spec == NO_SPEC:
            return Question.of_form(self.text, self.form)
        spec = replace(self.spec, way=Way.EXACT)
        return Question.of_form(self.text, self.form, spec=spec)

    @cached_property
    def settings(self) -> str:
        """Settings of the generation as canonical JSON."""
        request = self.request
        # Nothing is drawn: no setting of the generation can change a probability.
        if self.exact and self.form is not None:
            return self.form.settings
        values: dict[str, object] = {
            "base_seed": self.base_seed,
            "max_lines": request.max_lines,
            "max_new_tokens": request.max_new_tokens,
            "temperature": float(request.temperature),
        }
        if self.form is not None:
            values |= {"answers": "forced", "form": self.form.digest}
        # Sorted, since the text goes into the key: equal settings must be equal texts.
        return json.dumps(values, sort_keys=True)

    def key(self, fingerprint: str) -> str:
        """Return the key of its answer."""
        # A session asks for the key of every question five times, always for one model.
        if fingerprint not in self._keys:
            identity = [fingerprint, self.text, self.settings, self.number]
            self._keys[fingerprint] = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
        return self._keys[fingerprint]

    @cached_property
    def _keys(self) -> dict[str, str]:
        return {}


@dataclass(frozen=True)
class AnsweredQuestion:
    """An answer and what was read of it."""

    question: Question  # what was asked
    stored: Answer  # what came back
    parsed: Parsed  # what it says

    @classmethod
    def of(cls, question: Question, answer: Answer, *, min_mass: float = 0.0) -> "AnsweredQuestion":
        """Read the answer to a question of a session."""
        read = question.spec.read(answer, asked=question.text, min_mass=min_mass)
        return cls(question, answer, read)

    @property
    def thought_aloud(self) -> bool:
        """Whether the model thought before it answered, in the text or apart from it."""
        if self.question.exact:
            return False
        thinking = self.stored.thinking or take_apart(self.stored.text).thinking
        return bool(thinking and thinking.strip())
