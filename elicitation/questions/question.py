"""An answer to be had, and what tells it from all others: the key that it is stored under."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from elicitation.models.base import Request
from elicitation.spelling.forms import AnswerForm

Way = Literal["verbalised", "token", "sampled"]
WAYS: tuple[Way, ...] = ("verbalised", "token", "sampled")
READ_OFF = ("token", "sampled")
"""Ways to a belief that ask for Yes or No."""
Answers = Literal["drawn", "forced", "exact"]
ANSWERS: tuple[Answers, ...] = ("drawn", "forced", "exact")
"""Ways to an answer: in free text; drawn from those in the form asked for; their distribution."""


@dataclass(frozen=True)
class Draw:
    """One answer to be had: the request, and what tells it from other draws of the same text."""

    # what the model is asked; its seed follows from the base seed, the text and the number
    request: Request
    number: int  # the how-manieth draw of this text, from 0
    base_seed: int  # seed of the session
    # where the answer is the probability of each of these labels, and nothing is drawn
    labels: tuple[str, ...] = ()
    about: str = ""  # how the answer is to be read; kept beside it, and no part of the key
    form: AnswerForm | None = None  # what the answer must look like; None leaves it to the model
    # whether the answer is the distribution over all answers in the form, and none is drawn
    exact: bool = False

    @classmethod
    def of_form(cls, text: str, form: AnswerForm, *, about: str = "") -> "Draw":
        """Make a request for the distribution over the answers in a form after a text."""
        return cls(Request(text, 0, 1, 1.0, 1), 0, 0, about=about, form=form, exact=True)

    @classmethod
    def of_labels(cls, text: str, labels: tuple[str, ...], *, about: str = "") -> "Draw":
        """Make a request for the probabilities of labels after a text."""
        return cls(Request(text, 0, 1, 0.0, 1), 0, 0, labels, about)

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
        about: str = "",
        form: AnswerForm | None = None,
    ) -> "Draw":
        """Make a draw whose seed depends on the text, the number and the base seed alone."""
        # Nothing is random, so that all draws of a text share one key and are asked once.
        if temperature == 0:
            return cls(
                Request(text, 0, max_new_tokens, 0.0, max_lines), 0, 0, about=about, form=form
            )
        digest = hashlib.sha256(json.dumps([base_seed, number, text]).encode()).digest()
        # Integers of SQLite have a sign, which leaves 63 bits.
        seed = int.from_bytes(digest[:8], "big") >> 1
        return cls(
            Request(text, seed, max_new_tokens, temperature, max_lines),
            number,
            base_seed,
            about=about,
            form=form,
        )

    @cached_property
    def settings(self) -> str:
        """Settings of the generation as canonical JSON."""
        request = self.request
        # Nothing is drawn: no setting of the generation can change a probability.
        if self.labels:
            return json.dumps({"labels": self.labels})
        if self.exact and self.form is not None:
            return json.dumps({"answers": "exact", "form": self.form.digest})
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
        """Return the key of this draw's answer."""
        # A session asks for the key of every draw five times, always for one model.
        if fingerprint not in self._keys:
            identity = [fingerprint, self.request.text, self.settings, self.number]
            self._keys[fingerprint] = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
        return self._keys[fingerprint]

    @cached_property
    def _keys(self) -> dict[str, str]:
        return {}
