"""A session of whose answers none can be read stops, instead of paying for thousands more.

Fifty answers say enough: had one in twenty a value, all of fifty would lack one in 8 of 100
sessions, and one in ten in 1 of 200. Answers of earlier calls count, for they were given to the
same questions by the same model; those to another prompt or with another cut are other answers.
"""

from collections.abc import Callable

from coherence.errors import CoherenceError
from elicitation.models.base import Answer
from elicitation.questions.question import Question

UNREADABLE_LIMIT = 50
"""Answers without a single readable one that end a session."""
_SHOWN = 3
_LENGTH_SHOWN = 120

Readable = Callable[[Question, Answer], bool]
"""Whether an answer to a question has a value."""


class UnreadableError(CoherenceError):
    """Of many answers none could be read."""


class UnreadableLimit:
    """Counts answers until one can be read.

    Parameters
    ----------
    readable : callable
        See `Readable`.
    limit : int
        So many without a readable one end the session.
    hint : str
        What else would help, to be said before the usual advice.

    Examples
    --------
    >>> from elicitation import Request
    >>> patience = UnreadableLimit(lambda question, answer: answer.text == "Yes", limit=1)
    >>> patience.record(Question(Request("Well?", 0, 4)), Answer("Hm."))
    >>> patience.check()
    Traceback (most recent call last):
    ...
    elicitation.asking.unreadable.UnreadableError: none of the first 1 answers can be read, ...
    """

    def __init__(
        self, readable: Readable, *, limit: int = UNREADABLE_LIMIT, hint: str = ""
    ) -> None:
        self._readable, self._limit, self._hint = readable, limit, hint
        self._unread: list[Answer] = []
        self._read_one = False

    def record(self, question: Question, answer: Answer) -> None:
        """Take note of an answer; once one was read, all is well for good."""
        if not self._read_one:
            self._read_one = self._readable(question, answer)
            self._unread.append(answer)

    def check(self) -> None:
        """Raise if too many answers came without a readable one."""
        if not self._read_one and len(self._unread) >= self._limit:
            # Different ones say more than the same three times.
            different = {answer.text: answer for answer in self._unread}
            shown = [describe(answer) for answer in [*different.values()][:_SHOWN]]
            raise UnreadableError(
                f"none of the first {len(self._unread)} answers can be read, such as "
                f"{'; '.join(shown)}. They are kept. Try {self._hint}more room for the answer "
                "(--max-new-tokens), or another prompt; --keep-going asks on as before."
            )


def describe(answer: Answer) -> str:
    """Return an answer for a message: the beginning of it, and what is known of its end."""
    text = answer.text.strip()
    # What a model says is text from outside: repr escapes what would command a terminal.
    said = repr(text[:_LENGTH_SHOWN] + ("..." if len(text) > _LENGTH_SHOWN else ""))
    ends = {"length": "cut for length", "content_filter": "withheld by a filter"}
    notes = [ends[answer.finish_reason]] if answer.finish_reason in ends else []
    notes += [f"after {len(answer.thinking)} characters of thought"] if answer.thinking else []
    return f"{said} ({', '.join(notes)})" if notes else said
