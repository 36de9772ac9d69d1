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
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from elicitation.models.base import Answer
    from elicitation.questions.question import QuestionSpec
    from elicitation.questions.reading import Parsed
    from elicitation.spelling.forms import AnswerForm

Belief = Literal["verbalised", "token", "sampled"]
AnswerMode = Literal["drawn", "forced", "exact"]
"""What options say of ways to an answer."""
Decision = Literal["usual", "matching", "stakes", "costs-said"]
"""What is asked besides beliefs: an action; an event or a stated chance; to act for payoffs; and
besides that from which probability it would."""
PROMPTS = ("standard", "mse", "absolute", "bayes")
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

    def read(self, spec: "QuestionSpec", answer: "Answer", asked: str, min_mass: float) -> "Parsed":
        """Read an answer; lines of what was asked are no part of it."""
        from elicitation.questions import reading

        return reading.read_words(spec, answer, asked)

    def sum_up(self, readings: "Sequence[Parsed]") -> "Parsed":
        """Read a belief off its answers."""
        return readings[0]

    def raw(self, spec: "QuestionSpec", texts: Sequence[str]) -> str:
        """Return the answers as they came, as a cell."""
        return texts[0]


class Forced(Said):
    """An answer drawn from those in the form, or of a model that masks its tokens to it."""

    answers = "forced"

    def form(self, spec: "QuestionSpec") -> "AnswerForm | None":
        """Return that of the question."""
        return spec.answer_form

    def read(self, spec: "QuestionSpec", answer: "Answer", asked: str, min_mass: float) -> "Parsed":
        """Read what was drawn, by its mass; of masked tokens no mass is known."""
        from coherence.decoding.decode import UNPARSED, worst
        from elicitation.questions import reading

        mass = answer.answer_mass
        if mass is None:
            return reading.read_words(spec, answer, asked)
        status = reading.mass_status(mass, min_mass)
        if status == UNPARSED:
            return reading.Parsed(None, status, mass)
        if spec.role == "auxiliary" and len(spec.lines) > 2:
            # Numbers that were drawn line by line need not sum to 1 as stated ones must.
            numbers = [float(line.rpartition(": ")[2]) for line in answer.text.split("\n")]
            return reading.shares(numbers, status, mass)
        read = reading.read_words(spec, answer, asked)
        return reading.Parsed(read.value, worst([read.status, status]), mass)


class Exact(Said):
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

    def form(self, spec: "QuestionSpec") -> "AnswerForm | None":
        """Return that of the question."""
        return spec.answer_form

    def read(self, spec: "QuestionSpec", answer: "Answer", asked: str, min_mass: float) -> "Parsed":
        """Read the mean and the spread of a belief, the shares of labels, or those of actions."""
        from coherence.decoding.decode import UNPARSED, decode_decision
        from elicitation.questions import reading
        from elicitation.spelling.forms import Distribution

        distribution, form = Distribution.load(answer.text), spec.answer_form
        mass = distribution.answer_mass
        status = reading.mass_status(mass, min_mass)
        if status == UNPARSED:
            return reading.Parsed(None, status, mass)
        if form.kind == "decision":
            actions = dict.fromkeys(reading.ACTION_LABELS, 0.0)
            for name, share in distribution.shares().items():
                # As a drawn answer is read: who cannot decide, defers, whatever the second line
                # says.
                actions[str(decode_decision(name).value)] += share
            return reading.Parsed(actions, status, mass)
        if form.kind == "choice":
            shares = distribution.shares()
            return reading.Parsed(
                {each: shares.get(each, 0.0) for each in form.labels}, status, mass
            )
        if spec.role == "auxiliary":
            stated = [
                reading.numbers(distribution, part) for part in range(len(distribution.parts))
            ]
            means = [float(share @ numbers) for numbers, share in stated]
            # Two labels are asked for with one number, the first one's.
            two = len(form.labels) == 2
            return reading.shares([means[0], 1 - means[0]] if two else means, status, mass)
        numbers, share = reading.numbers(distribution)
        return reading.belief(1 - numbers if form.kind == "lines" else numbers, share, status, mass)

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

    def read(self, spec: "QuestionSpec", answer: "Answer", asked: str, min_mass: float) -> "Parsed":
        """Read the share of Yes; between the bounds of a server's list, if they are narrow."""
        from coherence.decoding.decode import BELIEF_LABELS, UNPARSED
        from elicitation.questions import reading

        masses = json.loads(answer.text)
        no, yes = (masses[label] for label in BELIEF_LABELS)
        low, high = masses.get("share", (0.0, 0.0))
        # Rounding may lift the sum above 1 by a digit.
        mass = min(no + yes, 1.0)
        status = reading.mass_status(mass, min_mass)
        if status == UNPARSED or high - low > reading.WIDEST_SHARE:
            return reading.Parsed(None, UNPARSED, mass, too_wide=status != UNPARSED)
        # A label outside the list of likely tokens has no probability of its own, but bounds; the
        # belief is their middle.
        return reading.Parsed(
            (low + high) / 2 if "share" in masses else yes / (no + yes), status, mass
        )


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

    def sum_up(self, readings: "Sequence[Parsed]") -> "Parsed":
        """Read the rate; unreadable draws are left out of it, and counted in the answer mass."""
        from coherence.decoding.decode import worst
        from elicitation.questions import reading

        readable = [draw for draw in readings if draw.value is not None]
        mass = len(readable) / len(readings)
        if mass < reading.LEAST_MASS:
            failures = Counter(draw.status for draw in readings if draw.value is None)
            return reading.Parsed(None, failures.most_common(1)[0][0], mass)
        rate = sum(draw.value == "Yes" for draw in readable) / len(readable)
        return reading.Parsed(rate, worst([draw.status for draw in readable]), mass)

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
