"""A question: its text, the way to its answer, what it is about, and the key of its answer."""

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property

from coherence.decoding.statements import take_apart
from elicitation.models.base import Answer, Request
from elicitation.spelling.forms import AnswerForm
from elicitation.ways import Parsed, QuestionSpec, Way, WayOptions

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
    def of(cls, question: Question, answer: Answer, options: WayOptions) -> "AnsweredQuestion":
        """Read the answer to a question of a session."""
        read = question.spec.read(answer, asked=question.text, options=options)
        return cls(question, answer, read)

    @property
    def thought_aloud(self) -> bool:
        """Whether the model thought before it answered, in the text or apart from it."""
        if self.question.exact:
            return False
        thinking = self.stored.thinking or take_apart(self.stored.text).thinking
        return bool(thinking and thinking.strip())
