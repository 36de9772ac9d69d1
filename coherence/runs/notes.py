"""Remarks on data and results: a sentence for people, and beside it what programs read."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self


class Level(StrEnum):
    """How much depends on a remark."""

    INFO = "info"  # what was assumed, left out or noticed
    WARNING = "warning"  # what may mislead; every view shows it first
    ALERT = "alert"  # what every p-value and interval hangs on; it stands beside the conclusion


class Code(StrEnum):
    """What a remark is about."""

    # how a table was read
    FILE = "file"  # lines of the file that were passed over, or may be missing
    MISSING = "missing"  # marks and blanks that count as empty cells
    PREDICTIONS = "predictions"  # whether predictions are right
    PERCENT = "percent"
    SCALE = "scale"
    SHAPE = "shape"  # rows and columns that options kept or made
    SET_ASIDE = "set_aside"  # columns with a name of ours that hold something else
    UNREAD = "unread"  # columns that nothing reads
    POOLED_MODELS = "pooled_models"
    POOLED_PERSONS = "pooled_persons"
    UNNAMED_STAKES = "unnamed_stakes"
    ROUNDED = "rounded"
    NO_CONTEXT = "no_context"
    COPIES = "copies"
    EACH_ITS_OWN = "each_its_own"  # a context a row, though repetitions are counted
    STRICT = "strict"
    SPELLING = "spelling"
    # what was analysed
    NOT_RUN = "not_run"  # `checks` names what has no result
    LEFT_OUT = "left_out"
    REFERENCE = "reference"
    STATE = "state"  # how beliefs and states were matched
    REVERSED = "reversed"
    PERSONS = "persons"
    GROUPS = "groups"
    OWN_ANSWER = "own_answer"  # beliefs that may be confidences in the action
    BY_CHOICE = "by_choice"  # a choice after which one state was never seen
    # how answers were elicited
    FORM_MASS = "form_mass"
    BELIEF_KIND = "belief_kind"
    BELIEF_CONTEXT = "belief_context"  # a belief stated in the conversation of the action
    POLICIES = "policies"


@dataclass(frozen=True)
class Note:
    """A remark: a sentence for people, without "warning:", which views add."""

    code: Code  # what it is about
    text: str
    level: Level = Level.INFO  # how much depends on it
    checks: tuple[str, ...] = ()  # checks or results that it is about; none where it is the data

    def __str__(self) -> str:
        """Return the sentence as a view shows it."""
        return f"{Level.WARNING}: {self.text}" if self.level is Level.WARNING else self.text

    def record(self) -> dict[str, Any]:
        """Return the note as JSON has it: ``code``, ``level``, ``checks`` and ``text``."""
        plain = asdict(self)
        return {**plain, "code": str(self.code), "level": str(self.level), "checks": [*self.checks]}

    @classmethod
    def of_record(cls, record: Any) -> Self | None:
        """Return the note of a record; None of anything else, as of a later version's code."""
        try:
            code, level = Code(record["code"]), Level(record["level"])
            return cls(code, str(record["text"]), level, tuple(map(str, record["checks"])))
        except (KeyError, TypeError, ValueError):
            return None


def warning(code: Code, text: str) -> Note:
    """Return a note on what may mislead."""
    return Note(code, text, Level.WARNING)


def not_run(text: str, *names: str) -> Note:
    """Return a note on why checks or results of these names are not given."""
    return Note(Code.NOT_RUN, text, checks=names)


def why_not_run(notes: Iterable[Note], *names: str) -> Note | None:
    """Return why there is no result, for the first of these names of which it is said."""
    found = {name: note for note in notes if note.code is Code.NOT_RUN for name in note.checks}
    return next((found[name] for name in names if name in found), None)
