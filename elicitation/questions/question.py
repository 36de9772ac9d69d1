"""A question: its text, the way to its answer, what it is about, and the key of its answer."""

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal

from coherence.decoding.decode import Form
from coherence.decoding.statements import take_apart
from elicitation.models.base import Answer, Request
from elicitation.questions.prompts import OFFERED
from elicitation.questions.reading import ACTION_LABELS, Parsed
from elicitation.spelling.forms import AnswerForm, FormKind
from elicitation.ways import Way

Role = (
    Literal["belief", "decision", "choice", "auxiliary", "conditional"]
    | Literal["matching", "stakes", "costs-said", ""]
)
_SPARE_TOKENS = 16  # for white space around an answer
ROOM_FOR_WORDS = 256  # tokens of any answer: cut within its preamble, a reply would be lost
_form = cache(AnswerForm)


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
