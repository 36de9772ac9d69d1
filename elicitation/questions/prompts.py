"""The texts that a model is asked: templates as data, filled with the words of a case.

The structure follows the published protocol (belief under four variants, a decision with the choice
to defer, and the two questions of the law of iterated expectation); the sentences are this
project's own. A belief and an action are never asked for in one text.

A matching question offers the same prize on an event or with a stated chance (Karni 2009); half of
them offer the complement of the event, which takes ambiguity attitude out (Baillon, Huang, Selim
and Wakker 2018). A stakes question offers to act or to pass, for payoffs of which acting is worth
it from some probability of the event on; another asks from which one it would. Which option is
named first, and which frame, is crossed and balanced within the case.

Templates of a user's own come from a TOML file with a table for each. What it leaves out is taken
from the built-in ones; it is checked as a whole, and all its errors are reported at once.
"""

import math
import os
import re
import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from bayesnets.phrases import Phrases
from coherence.decoding.decode import BELIEF_LABELS, Form
from coherence.errors import InputError, closest
from coherence.runs.columns import FRAMES
from coherence.runs.formats import require_path
from elicitation.ways import OFFERED, Belief, Decision

LETTERS = ("A", "B")
"""The answers: options are named in this order."""
ACT = "act"
SAID: Literal["costs-said"] = "costs-said"
USUAL_COSTS = {"stakes": "18:2,15:5,10:10,5:15,2:18", SAID: "3:1,1:1,1:3"}
"""What acting gains if the event happens, and loses if not, by the decision."""
MOST_COSTS = 20


@dataclass(frozen=True)
class Offer:
    """What a question offers."""

    # in (0, 1): the chance as the question states it, or the probability from which acting pays
    level: float
    frame: str  # "event" or "complement", or gain and loss as "3:1"
    order: str  # the option that is named first

    @property
    def numbers(self) -> dict[str, str]:
        """The placeholders that depend on the level."""
        gain, _, loss = self.frame.partition(":")
        return {"chance": str(round(100 * self.level)), "gain": gain, "loss": loss}


def costs_of(decision: Decision, costs: str | None) -> dict[str, float]:
    """Return "gain:loss" -> the probability from which acting pays, of all payoffs."""
    found: dict[str, float] = {}
    listed = USUAL_COSTS[decision] if costs is None else costs
    for word in listed.split(","):
        amounts = [each.strip() for each in word.split(":")]
        try:
            gain, loss = map(float, amounts)
        except ValueError:
            gain = loss = math.nan
        if not (0 < gain < math.inf and 0 < loss < math.inf):
            raise InputError(
                "costs must be what acting gains and loses, two numbers above 0 with a colon, such "
                f"as {USUAL_COSTS[SAID]}; received {word.strip()!r}."
            )
        found[":".join(amounts)] = round(loss / (gain + loss), 9)
    if not 2 <= len(set(found.values())) == len(found) <= MOST_COSTS:
        raise InputError(
            f"costs must be 2 to {MOST_COSTS} different ratios; received {listed!r}. With one, "
            "choices cannot move."
        )
    return found


def chances_of(n_levels: int) -> tuple[float, ...]:
    """Return an even grid of whole percents: (k - 1/2) / n."""
    # Halves go to the even number, so that the grid is its own complement.
    return tuple(round(100 * (k + 0.5) / n_levels) / 100 for k in range(n_levels))


def offers_of(
    decision: Decision,
    n_levels: int,
    costs: str | None,
    *,
    every: bool,
    seed: int,
    case: int,
    rep: int,
) -> Iterator[Offer]:
    """Yield what a case is offered in a repetition: one cell of order x frame for each level.

    Neighbouring levels have both orders and both frames; further repetitions go through the other
    cells of each level. `every` takes all cells of every level at once.
    """
    matching = decision == "matching"
    options = OFFERED["matching" if matching else "stakes"]
    offered: list[tuple[float, tuple[str, ...]]]
    if matching:
        offered = [(level, FRAMES) for level in chances_of(n_levels)]
    else:
        offered = [(level, (frame,)) for frame, level in costs_of(decision, costs).items()]
    n_cells = len(offered[0][1]) * len(options)
    turn, cell_of_turn = divmod(rep, n_cells)
    first = _balanced(len(offered), n_cells, np.random.default_rng([seed, case, turn]))
    for (level, frames), cell in zip(offered, first, strict=True):
        for number in range(n_cells) if every else (cell ^ cell_of_turn,):
            frame = frames[number // 2]
            stated = round(1 - level, 2) if frame == "complement" else level
            yield Offer(stated, frame, options[number % 2])


def said_of(costs: str | None, n: int) -> Iterator[tuple[int, Offer]]:
    """Yield from which probability it is asked whether it would act: `n` times, orders in turn."""
    for number in range(n):
        for at, (frame, level) in enumerate(costs_of(SAID, costs).items()):
            yield number, Offer(level, frame, OFFERED["stakes"][(number + at) % 2])


def _balanced(n_levels: int, n_cells: int, rng: np.random.Generator) -> list[int]:
    """Return a cell for each level, each with its opposite beside it."""
    cells: list[int] = []
    while len(cells) < n_levels:
        first = int(rng.integers(n_cells))
        cells += [first, first ^ (n_cells - 1)]
        if n_cells == 4:
            second = first ^ int(rng.integers(1, 3))
            cells += [second, second ^ 3]
    return cells[:n_levels]


# A line for each label is the form that is read strictly; a model without a chat template goes on
# after "Your answer:".
_LINES = """

Write {n_lines} lines and nothing else, one for each label.
A line reads '<label>: <a number from 0 to 1>'.
Keep the labels in this order: [{labels}]
For instance:
{example}

Your answer:"""

_NOTES = {
    "standard": "",
    "mse": "PLEASE NOTE: Your numbers will be scored with the Brier rule, that is, by mean squared "
    "error. You lose the square of the distance between the probability that you state and what "
    "turns out to be the case. State the probabilities that you find most fitting.\n\n",
    "absolute": "PLEASE NOTE: Your numbers will be scored by mean absolute error. You lose the "
    "plain distance between the probability that you state and what turns out to be the case. "
    "State the probabilities that you find most fitting.\n\n",
}
_CASE = "Consider {subject} who {description}."
_BELIEF = (
    " How probable is it that they {question}? Give one probability for No and one for Yes."
    + _LINES
)


@dataclass(frozen=True)
class Template:
    """One way to ask.

    Parameters
    ----------
    name : str
        Name for the `prompt` column of the runs table.
    text : str
        Text with the placeholders subject, description, question, condition, auxiliary, labels,
        example, n_lines, options, letter, chance, gain and loss, of which each kind of question has
        some.
    form : {"lines", "number"}
        What a belief is asked for as: a line for No and one for Yes, or the probability of Yes
        alone.
    says : Mapping of str to str
        Of a matching or a stakes question what each option says, and what the complement does.
    """

    name: str
    text: str
    form: Form = "lines"
    says: Mapping[str, str] = field(default_factory=dict)

    def fill(self, **words: str) -> str:
        """Return the text with its placeholders filled; a word that it does not use is ignored."""
        return self.text.format(**words)

    def offer(self, of: Offer, options: Sequence[str], **words: str) -> str:
        """Return a matching or a stakes question, its two `options` lettered in order."""
        named = sorted(options, key=lambda option: option != of.order)
        words = {**words, **of.numbers, "letter": LETTERS[named.index(options[0])]}
        # The event is named by its frame.
        texts = [self.says.get(of.frame if each == "event" else each, "") for each in named]
        lines = [
            f"{letter}: {text.format(**words)}" for letter, text in zip(LETTERS, texts, strict=True)
        ]
        return self.fill(**words, options="\n".join(lines))


_BAYES = (
    "PLEASE NOTE: Reason as a Bayesian would. Begin with how common this is among people at "
    "large, then revise that figure in the light of what is known here.\n\n"
)

BELIEF = {
    name: Template(name, note + _CASE + _BELIEF)
    for name, note in {**_NOTES, "bayes": _BAYES}.items()
}
"""The four variants of the belief question, by name; the first is the reference of the others."""

DECISION = Template(
    "decision",
    _CASE
    + """

The question: do they {question}?

Reply in two lines and nothing else.
In the first, say 'Yes' or 'No': do you feel able to judge whether they {question}?
In the second, give the judgement that you would reach if you were obliged to: \
'Yes' (it is likely that they {question}) or 'No' (it is unlikely).
The form of the reply:
Can decide: No
Decision: Yes

Your answer:""",
)

AUXILIARY = Template(
    "auxiliary",
    _CASE + " How are the probabilities spread over the categories of their {auxiliary}? "
    "Give one probability for every category." + _LINES,
)
"""The distribution of an unobserved variable z given the evidence."""

CONDITIONAL = Template(
    "conditional", "Consider {subject} who {description} and {condition}." + _BELIEF
)
"""The belief given the evidence and one state of z."""


# The two labels are the tokens whose probabilities are read.
_ONE_WORD = "\n\nReply with one word, Yes or No.\n\nYour answer:"
YES_NO = Template("yes_no", _CASE + " Do they {question}?" + _ONE_WORD)
"""The belief asked for as an answer and not as a number: its probability is read from the label
tokens, or from many draws."""

# What differs between the questions of a case stands late: what they begin with is read once.
_ONE_LETTER = " Reply with one letter, A or B, and nothing else.\n\n{options}\n\nYour answer:"
_POINTS = "Of two courses you choose one before the truth is known."


def _offering(
    opening: str, unsure: str, probability: str, *, event: str, complement: str, otherwise: str
) -> tuple[Template, Template, Template]:
    """Return the templates of what is offered, by what they say of a case and of the event."""
    prize = "There are two ways to win one and the same prize, of which you choose one."
    ways = {
        "event": f"You win the prize if {event}.",
        "complement": f"You win the prize if {complement}.",
        "lottery": "You win the prize in a draw in which the chance of winning is {chance}%.",
    }
    courses = {
        ACT: f"You gain {{gain}} points if {event}, and lose {{loss}} points if {otherwise}.",
        "pass": "You neither gain nor lose any points.",
    }
    which = (
        f"{unsure} {_POINTS}\n\n{{options}}\n\nFrom which probability {probability} on would you "
        "choose {letter}? Answer with one number from 0 to 1 and nothing else.\n\nYour answer:"
    )
    return (
        # The same prize on the event, or on its complement, or with a stated chance.
        Template("matching", f"{opening}{prize}{_ONE_LETTER}", says=ways),
        # Payoffs for which acting is worth it from some probability of the event on.
        Template("stakes", f"{opening}{_POINTS}{_ONE_LETTER}", says=courses),
        # From which probability on it would act for these, without a case.
        Template("costs_said", which, "number", courses),
    )


# Rows of a table need not be people, of whom the prompt variant for networks speaks.
_TABLE_BAYES = (
    "PLEASE NOTE: Reason as a Bayesian would. Begin with how common such a thing is in general, "
    "then revise that figure in the light of what is known here.\n\n"
)
_TABLE_BELIEF = "{question}\n\nGive one probability for No and one for Yes." + _LINES


@dataclass(frozen=True)
class PromptSet:
    """All the templates of a session.

    Parameters
    ----------
    belief : Mapping of str to Template
        Prompt variants of the belief question.
    decision : Template
        The question for an action.
    yes_no : Template
        The question whose answer is Yes or No.
    auxiliary, conditional : Template or None
        The questions of the law of iterated expectation; None where there is no auxiliary variable.
    matching, stakes, costs_said : Template or None
        The questions that offer an event or a lottery, and to act or to pass; and the one from
        which probability on it would act.
    """

    belief: Mapping[str, Template]
    decision: Template
    yes_no: Template
    auxiliary: Template | None = None
    conditional: Template | None = None
    matching: Template | None = None
    stakes: Template | None = None
    costs_said: Template | None = None


NETWORK_PROMPTS = PromptSet(
    BELIEF,
    DECISION,
    YES_NO,
    AUXILIARY,
    CONDITIONAL,
    *_offering(
        f"{_CASE} ",
        "Consider {subject} of whom you are not certain whether they {question}.",
        "that they {question}",
        event="it turns out that they {question}",
        complement="it turns out that they do not {question}",
        otherwise="they do not",
    ),
)
"""Templates for the cases of a network; the words come from its phrases."""

TABLE_PROMPTS = PromptSet(
    {
        name: Template(name, note + _TABLE_BELIEF)
        for name, note in {**_NOTES, "bayes": _TABLE_BAYES}.items()
    },
    Template(
        "decision",
        "{question}\n\nReply with exactly one of these options and nothing else:\n{options}\n\n"
        "Your answer:",
    ),
    Template("yes_no", "{question}" + _ONE_WORD),
    None,
    None,
    *_offering(
        "The question: {question}\n\n",
        "Consider a question of which you are not certain whether the answer is Yes.",
        "of Yes",
        event="the answer turns out to be Yes",
        complement="the answer turns out to be No",
        otherwise="it is No",
    ),
)
"""Templates for questions from a file, each of which is a text of its own."""


def label_words(labels: Sequence[str]) -> dict[str, str]:
    r"""Return the placeholders that depend on the labels of the answer."""
    # What parts the labels must not occur in one, or it would read as two.
    separators = (", ", "; ", " | ", " || ")
    fits = [mark for mark in separators if not any(mark.strip() in label for label in labels)]
    return {
        "labels": (fits or separators[-1:])[0].join(labels),
        "example": "\n".join(f"{label}: {1 / len(labels):.2f}" for label in labels),
        "n_lines": str(len(labels)),
    }


def case_words(
    phrases: Phrases,
    evidence: dict[str, str],
    target: str,
    *,
    z: str | None = None,
    state: str | None = None,
) -> dict[str, str]:
    """Return the placeholders of a case: of a question about the target, or about `z`.

    With `state` it is about the target again, given that `z` is in it.
    """
    words = {
        "subject": phrases.subject,
        "description": phrases.describe(evidence),
        "question": phrases.question(target),
        **label_words(BELIEF_LABELS),
    }
    if z is not None and state is None:
        words |= label_words(tuple(phrases.labels(z).values()))
        words["auxiliary"] = phrases.auxiliary_name(z)
    elif z is not None and state is not None:
        words["condition"] = phrases.condition(z, state)
    return words


RESERVED = tuple(way for way in get_args(Belief) if way != "verbalised")
"""Values of the `prompt` column that stand for ways of eliciting and not for a prompt variant."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_LINE_WORDS = ("labels", "example", "n_lines")
# A template may speak of "a patient" in its own words.
_FREE_WORDS = ("subject",)
# A file of texts that somebody wrote has kilobytes: more is a file named by mistake.
_MOST_BYTES = 1 << 20


def load_prompts(
    path: str | os.PathLike[str], base: PromptSet
) -> tuple[PromptSet, tuple[str, ...]]:
    """Read templates from a file.

    Parameters
    ----------
    path : path-like
        A TOML file with a table for each variant of the belief question, such as
        ``[belief.number]``: ``text``, and ``form``, "lines" (``No: 0.30`` and ``Yes: 0.70``, the
        default) or "number" (the probability of Yes alone). Of a network ``{description}`` and
        ``{question}`` are needed, of questions of one's own ``{question}``; ``{subject}``,
        ``{labels}``, ``{example}`` and ``{n_lines}`` may help. ``[decision]``, ``[yes_no]``,
        ``[auxiliary]`` and ``[conditional]`` replace the other questions; ``[matching]`` and
        ``[stakes]`` have ``{options}`` in their text, and keys ``event``, ``complement`` and
        ``lottery`` (with ``{chance}``), or ``act`` (with ``{gain}`` and ``{loss}``) and ``pass``,
        which ``[costs_said]`` has as well, with ``{letter}`` of the former in its text.
    base : PromptSet
        Built-in templates of the same kind of session; they say which placeholders there are.

    Returns
    -------
    prompts : PromptSet
        The file's templates over the built-in ones.
    names : tuple of str
        The prompt variants that the file has, in its order.

    Raises
    ------
    InputError
        The file cannot be read, or with every error at once.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import elicitation
    >>> words = '''
    ... [belief.number]
    ... form = "number"
    ... text = "A patient {description}. How probable is it that they {question}? One number:"
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "prompts.toml"
    ...     _ = path.write_text(words, encoding="utf-8")
    ...     prompts, names = load_prompts(path, elicitation.NETWORK_PROMPTS)
    >>> names
    ('number',)
    """
    source = require_path(path)
    content = read_toml(source, "prompts")
    errors: list[str] = []
    single = {
        name: template
        for name in PromptSet.__dataclass_fields__
        if isinstance(template := getattr(base, name), Template)
    }
    allowed = ("belief", *single)
    for name in [name for name in content if name not in allowed]:
        errors.append(
            f"[{name}] is no template; there are {', '.join(allowed)}. {closest(name, allowed)}"
        )
    belief, usual = content.get("belief", {}), next(iter(base.belief.values()))
    if not isinstance(belief, dict) or not all(isinstance(each, dict) for each in belief.values()):
        errors.append('variants are tables of their own, such as [belief.mine] with text = "...".')
        belief = {}
    for name in belief:
        if not _NAME.fullmatch(name) or name in RESERVED:
            errors.append(
                f"[belief.{name}] must be named by a letter and then letters, digits, '-' or '_' "
                f"(40 at most), and not {' or '.join(RESERVED)}."
            )
    variants = {
        name: _template(f"belief.{name}", name, table, usual, errors)
        for name, table in belief.items()
    }
    changed = {
        name: _template(name, name, content[name], old, errors)
        for name, old in single.items()
        if name in content
    }
    if not content:
        errors.append("it holds no template.")
    if errors:
        raise InputError.all_at_once(
            f"prompts {source} has {len(errors)} error{'s' if len(errors) > 1 else ''}", errors
        )
    return replace(base, belief={**base.belief, **variants}, **changed), tuple(variants)


def read_toml(source: Path, what: str) -> dict[str, Any]:
    """Read a file that somebody wrote; `what` names its kind in messages."""
    try:
        if source.stat().st_size > _MOST_BYTES:
            raise InputError(f"{what} {source} must be smaller than 1 MB. Name another file.")
        return tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{what} {source} cannot be read ({error.strerror}). Name a .toml file that exists."
        ) from error
    # Brackets thousands deep are a recursion, numbers of thousands of digits a plain ValueError.
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{what} {source} is not TOML: {error}. "
            "Texts of several lines stand between three quotation marks."
        ) from error


def _template(
    label: str,
    name: str,
    table: Any,
    old: Template,
    errors: list[str],
) -> Template:
    """Make a template in the place of a built-in one, or note what is wrong with it."""
    if not isinstance(table, Mapping):
        errors.append(f'[{label}] must be a table with text = "...".')
        return Template(name, "")
    is_belief = label.startswith("belief.")
    keys = ("text", "form") if is_belief else ("text", *old.says)
    for key in table:
        if key not in keys:
            errors.append(f"[{label}] has an unknown key {key!r}. {closest(key, keys)}")
    # What is wrong is noted and replaced, so that all errors of a file come at once.
    form = table.get("form", "lines")
    if is_belief and form not in get_args(Form):
        kinds = ", ".join(get_args(Form))
        errors.append(f"[{label}] form must be one of {kinds}; received {form!r}.")
        form = "lines"
    text = table.get("text")
    if not isinstance(text, str) or not text.strip():
        errors.append(f"[{label}] needs text, a string that is not empty.")
        return Template(name, "")
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError as error:
        errors.append(
            f"[{label}] text has a stray brace ({error}). "
            "Write {{ and }} for braces that are meant as such."
        )
        return Template(name, "")
    words = list(dict.fromkeys(word for _, word, *_ in string.Formatter().parse(old.text) if word))
    # Without these a question would not be about the case; the others are of use, or not.
    needed = [word for word in words if word not in (*_LINE_WORDS, *_FREE_WORDS)]
    free = [word for word in _FREE_WORDS if word in words]
    known = list(dict.fromkeys([*needed, *_LINE_WORDS, *free]))
    for _, word, spec, conversion in parsed:
        # An exact name and nothing else: "{question.x}" or "{question!r}" would reach into Python.
        if word is not None and (word not in known or spec or conversion):
            errors.append(
                f"[{label}] text has an unknown placeholder {{{word}}}; "
                f"there are {', '.join(known)}. {closest(word, known)}"
            )
    for word in needed:
        if word not in [field for _, field, *_ in parsed]:
            errors.append(f"[{label}] text lacks the placeholder {{{word}}}.")
    # What an option says has placeholders of its own.
    says = {
        option: _template(
            f"{label}.{option}", option, {"text": table[option]}, Template(option, usual), errors
        ).text
        for option, usual in old.says.items()
        if option in table
    }
    return Template(name, text, form, {**old.says, **says})
