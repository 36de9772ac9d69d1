"""Evidence in words: what every state of every variable of a network is called.

Words are read from a file of phrases (TOML), which gives every state of every variable a label, a
question and one phrase per wording, or made from the network's own names. Nothing is invented: a
state without words is an error when the words are made, not a gap in a prompt. All errors of a file
are reported at once.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bayesnets.catalog import catalog_names, catalog_text, load_network
from bayesnets.network import Network, as_network, state_position
from coherence.errors import InputError, suggestion

SUBJECT = "a patient"
"""Whom descriptions are about where the file does not say it."""
_POSITIVE = ("yes", "true", "present", "positive", "1")


@dataclass(frozen=True)
class StateWords:
    """Words for one state."""

    label: str  # short name, such as "smoker"; in answers, a line begins with it and a colon
    question: str  # completes "What is the probability that they ...?".
    phrases: tuple[str, ...]  # each completes "There is <subject> who ..."; one per wording.


@dataclass(frozen=True)
class VariableWords:
    """Words for one variable."""

    name: str  # completes "their ...", such as "smoking status".
    positive: str  # the state that a question without a state is about
    states: Mapping[str, StateWords]  # every state of the variable


@dataclass(frozen=True)
class Phrases:
    """Words for a network.

    Parameters
    ----------
    default_target : str
        The variable that cases are about unless the user says otherwise.
    unobserved : tuple of str
        The phrase for a case without evidence; one per wording.
    variables : Mapping of str to VariableWords
        In the order in which a description mentions them.
    subject : str
        Whom a description is about, such as "a patient".

    Examples
    --------
    >>> from bayesnets import load_phrases
    >>> words = load_phrases("asia")
    >>> words.describe({"xray": "yes", "smoke": "no"})
    'is not a smoker and has an abnormal chest X-ray'
    >>> words.describe({"xray": "yes", "smoke": "no"}, wording=1)
    'does not smoke and has a chest X-ray that shows an abnormality'
    >>> words.question("lung"), words.auxiliary_name("smoke")
    ('have lung cancer', 'smoking status')
    """

    default_target: str
    unobserved: tuple[str, ...]
    variables: Mapping[str, VariableWords]
    subject: str = SUBJECT

    @property
    def n_wordings(self) -> int:
        """How many wordings there are; `wording` runs from 0 to one less."""
        return len(self.unobserved)

    def describe(self, evidence: Mapping[str, str | None], *, wording: int = 0) -> str:
        """Return evidence in words.

        Parameters
        ----------
        evidence : Mapping of str to str
            Observed states; None and NaN are unobserved.
        wording : int
            Which phrasing.

        Returns
        -------
        str
            Completes "There is <subject> who ...".

        Raises
        ------
        InputError
            Unknown variable, state or wording.
        """
        self._check_wording(wording)
        # NaN, by which a table marks what is missing, is the value that differs from itself.
        observed = {
            variable: state
            for variable, state in evidence.items()
            if state is not None and state == state
        }
        for variable in observed:
            self._variable(variable)
        parts = [
            self.condition(variable, observed[variable], wording=wording)
            for variable in self.variables
            if variable in observed
        ]
        return _joined(parts) if parts else self.unobserved[wording]

    def condition(self, variable: str, state: str, *, wording: int = 0) -> str:
        """Return one state in words, such as "is a smoker"; wording and errors as in `describe`."""
        self._check_wording(wording)
        return self._state(variable, state).phrases[wording]

    def question(self, target: str, state: str | None = None) -> str:
        """Return what completes "What is the probability that they ...?" for a state of a variable.

        None asks about the variable's positive state. An unknown variable or state is an
        `InputError`.
        """
        return self._state(target, self.positive(target) if state is None else state).question

    def positive(self, variable: str) -> str:
        """Return the state that a question without a state is about; errors as in `question`."""
        return self._variable(variable).positive

    def auxiliary_name(self, variable: str) -> str:
        """Return a variable's name in words ("smoking status"); errors as in `question`."""
        return self._variable(variable).name

    def labels(self, variable: str) -> dict[str, str]:
        """Return the names of a variable's states in words; errors as in `question`.

        They are in the order of the network if one was given when the file was read.
        """
        return {state: words.label for state, words in self._variable(variable).states.items()}

    def _variable(self, variable: str) -> VariableWords:
        if variable not in self.variables:
            raise InputError(
                f"variable must have words; {variable!r} has none. "
                f"{suggestion(variable, self.variables)}"
            )
        return self.variables[variable]

    def _state(self, variable: str, state: str) -> StateWords:
        states = self._variable(variable).states
        if state not in states:
            raise InputError(
                f"state of {variable!r} must have words; {state!r} has none. "
                f"{suggestion(state, states)}"
            )
        return states[state]

    def _check_wording(self, wording: int) -> None:
        whole = isinstance(wording, int) and not isinstance(wording, bool)
        if not whole or not 0 <= wording < self.n_wordings:
            raise InputError(
                f"wording must be a whole number from 0 to {self.n_wordings - 1}, not {wording!r}. "
                "Choose one of these."
            )


def _joined(parts: Sequence[str]) -> str:
    if len(parts) < 3:
        return " and ".join(parts)
    return ", ".join(parts[:-1]) + f", and {parts[-1]}"


def positive_state(states: Sequence[str]) -> str | None:
    """Return the one state whose name says that something is so; None where none or several do."""
    likely = [state for state in states if state.lower() in _POSITIVE]
    return likely[0] if len(likely) == 1 else None


_HEAD = """\
# Words of the network {name}. All of them work as they stand; better ones make better questions.
# A case reads "There is SUBJECT who PHRASE and PHRASE.", a question "What is the probability that
# they QUESTION?", an answer "LABEL: 0.30"; a name "the categories of their NAME". A second
# wording is a second phrase in every list, "unobserved" included.

subject = {subject}  # whom descriptions are about
default_target = {target}  # what is asked about unless --target names another variable
unobserved = {unobserved}  # the phrase where nothing is known
"""
_SHAPE = "not one line of text, without blanks around it or a full stop at its end"


def load_phrases(name_or_path: str | Path, network: Any = None) -> Phrases:
    """Read the words of a network.

    A phrase file is TOML in UTF-8. Every text is one line without a full stop at its end, because
    the prompts build sentences around it. A network with one variable "rain" and the states "yes"
    and "no" needs::

        subject = "a town"          # whom descriptions are about; "a patient" unless said
        default_target = "rain"     # what is asked about unless the user names another variable
        unobserved = [              # "There is a town who ..." if nothing is known; one per wording
          "is on the map",
          "can be found on a map",
        ]

        [variables.rain]            # one table per variable, in the order of mention
        name = "weather"            # completes "the categories of their ..."
        positive = "yes"            # the state whose probability is asked for
        [variables.rain.states.yes] # one table per state; quote names with blanks
        label = "rain"              # begins a line of an answer, so it holds no colon
        question = "have rain"      # completes "What is the probability that they ...?"
        phrases = ["has rain", "is in the rain"]  # complete "There is a town who ..."
        [variables.rain.states.no]
        label = "no rain"
        question = "have no rain"
        phrases = ["has no rain", "is out of the rain"]

    Parameters
    ----------
    name_or_path : str or Path
        A name in the catalogue, or a path that ends in .toml.
    network : Network, pgmpy model or None
        What the words must cover. None takes the network of that name, or, for a path, checks the
        file only against itself.

    Returns
    -------
    Phrases
        Complete: every state of every variable has a label, a question and a phrase in every
        wording; no two states of a variable share any.

    Raises
    ------
    InputError
        Unknown name, unreadable file, or missing, repeated or misspelt entries; the message lists
        every error.

    Examples
    --------
    >>> phrases = load_phrases("asia")
    >>> phrases.subject, phrases.default_target
    ('a patient', 'lung')
    """
    if isinstance(name_or_path, Path) or str(name_or_path).endswith(".toml"):
        try:
            text = Path(name_or_path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"phrase file must be readable UTF-8 text; {name_or_path} is not: {error}. "
                "Check the path."
            ) from error
    elif name_or_path in catalog_names(".toml"):
        text = catalog_text(f"{name_or_path}.toml")
        network = load_network(name_or_path) if network is None else network
    else:
        raise InputError(
            "phrases must be a name in the catalogue or a path to a .toml file, not "
            f"{name_or_path!r}. "
            f"{suggestion(name_or_path, catalog_names('.toml'))} Without a file, plain_phrases "
            "makes plain words."
        )
    try:
        data = tomllib.loads(text)
    # Brackets thousands deep are a recursion, numbers of thousands of digits a plain ValueError.
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"phrase file {name_or_path} must hold TOML; {error}. Correct the file at that place."
        ) from error
    return _parsed(data, None if network is None else as_network(network), str(name_or_path))


def plain_phrases(
    network: Any, target: str, target_state: str | int, *, subject: str = "a person"
) -> Phrases:
    """Make plain words, in one wording, from the names of a network that has no phrase file.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    target, target_state : str (of a pgmpy model also int or bool)
        The variable that is asked about, and the state whose probability is asked for.
    subject : str
        Whom descriptions are about.

    Returns
    -------
    Phrases
        For every variable; the positive state is the first one except for the target.

    Raises
    ------
    InputError
        Unknown target or state, or names that make no line of a prompt (line breaks, colons in
        states, a full stop at the end).

    Examples
    --------
    >>> from bayesnets import load_network, plain_phrases
    >>> words = plain_phrases(load_network("asia"), "lung", "yes")
    >>> words.describe({"xray": "yes", "smoke": "no"}), words.question("lung")
    ('has smoke = no and has xray = yes', 'have lung = yes')
    """
    model = as_network(network)
    asked = model.node(target)
    positive = asked.states[state_position(model, target, target_state)]
    variables = {
        node.name: {
            "name": node.name,
            "positive": positive if node is asked else node.states[0],
            "states": {
                state: {
                    "label": state,
                    "question": f"have {node.name} = {state}",
                    "phrases": [f"has {node.name} = {state}"],
                }
                for state in node.states
            },
        }
        for node in model.nodes
    }
    data = {
        "subject": subject,
        "default_target": asked.name,
        "unobserved": ["has no value on record"],
        "variables": variables,
    }
    return _parsed(data, model, f"plain words of {model.name}")


def _parsed(data: dict[str, Any], network: Network | None, where: str) -> Phrases:
    tables = _table(data.get("variables"))
    known = network.names if network else tuple(tables)
    unobserved = data.get("unobserved")
    n_wordings = len(unobserved) if isinstance(unobserved, list) else 0
    errors = _misspelt(data, ("subject", "default_target", "unobserved", "variables"), "the file")
    if n_wordings:
        errors += _wording_errors(unobserved or (), n_wordings, "'unobserved'")
    else:
        errors.append("'unobserved' must be a list of phrases, one per wording")
    errors += _text_errors({"subject": SUBJECT, **data}, ("subject",), "the file")
    if network:
        errors += [
            f"[variables.{name}] is no variable of network {network.name!r}"
            for name in tables
            if name not in known
        ]
    if data.get("default_target") not in known:
        errors.append(f"'default_target' must be a variable, not {data.get('default_target')!r}")
    variables = {}
    # In the order of the file, which is that of mention; what it lacks comes last, as an error.
    for variable in [*tables, *(name for name in known if name not in tables)]:
        expected = network.states(variable) if network and variable in known else None
        table = _table(tables.get(variable))
        variables[variable], wrong = _variable_words(variable, table, expected, n_wordings)
        errors += wrong
    if errors:
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        raise InputError(
            f"phrases {where!r} must cover the network; {count}: {'; '.join(errors)}. "
            "Correct or add these words."
        )
    return Phrases(
        data["default_target"],
        tuple(data["unobserved"]),
        MappingProxyType(variables),
        data.get("subject", SUBJECT),
    )


def _variable_words(
    variable: str, table: dict[str, Any], expected: Sequence[str] | None, n_wordings: int
) -> tuple[VariableWords, list[str]]:
    """Return the words of a variable, and what is wrong with them."""
    entries = _table(table.get("states"))
    states = tuple(entries) if expected is None else tuple(expected)
    errors = _misspelt(table, ("name", "positive", "states"), variable)
    errors += _text_errors(table, ("name",), variable)
    if table.get("positive") not in states:
        errors.append(f"{variable} has no 'positive' state")
    errors += [f"{variable} has no state {state!r}" for state in entries if state not in states]
    words = {}
    for state in states:
        entry, where = _table(entries.get(state)), f"{variable}={state}"
        phrases = entry["phrases"] if isinstance(entry.get("phrases"), list) else []
        errors += _misspelt(entry, ("label", "question", "phrases"), where)
        errors += _text_errors(entry, ("label", "question"), where)
        errors += _wording_errors(phrases, n_wordings, where)
        words[state] = StateWords(entry.get("label", ""), entry.get("question", ""), tuple(phrases))
    texts_of = {
        "label": [state.label for state in words.values()],
        "question": [state.question for state in words.values()],
        "phrase": [phrase for state in words.values() for phrase in state.phrases],
    }
    # An answer gives a label, a colon and a number.
    errors += [
        f"{variable} has a colon in label {label!r}"
        for label in texts_of["label"]
        if ":" in str(label)
    ]
    # Two states of one wording could not be told apart in an answer or a prompt.
    for key, texts in texts_of.items():
        errors += [
            f"{variable} has {key} {text!r} twice"
            for position, text in enumerate(texts)
            if text and text in texts[:position]
        ]
    name, positive = table.get("name", ""), table.get("positive", "")
    return VariableWords(name, positive, MappingProxyType(words)), errors


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _misspelt(table: dict[str, Any], known: Sequence[str], where: str) -> list[str]:
    return [f"{where} has an unknown entry {key!r}" for key in table if key not in known]


def _text_errors(table: dict[str, Any], keys: Sequence[str], where: str) -> list[str]:
    errors = [
        f"{where} has no {key}"
        for key in keys
        if not (isinstance(table.get(key), str) and table[key].strip())
    ]
    return errors or [
        f"{where} has a {key} that is {_SHAPE}: {table[key]!r}"
        for key in keys
        if not _is_line(table[key])
    ]


def _wording_errors(phrases: Sequence[Any], n_wordings: int, where: str) -> list[str]:
    # Without wordings to compare with, the file has an error of its own, which must not repeat
    # itself at every state.
    uneven = n_wordings and len(phrases) != n_wordings
    errors = [f"{where} has {len(phrases)} phrases for {n_wordings} wordings"] if uneven else []
    return errors + [
        f"{where} has a phrase that is {_SHAPE}: {phrase!r}"
        for phrase in phrases
        if not _is_line(phrase)
    ]


def _is_line(value: object) -> bool:
    return (
        isinstance(value, str) and value.splitlines() == [value.strip()] and not value.endswith(".")
    )


def format_phrases(words: Phrases, *, network: str) -> str:
    r"""Return words as a phrase file, with remarks on how they are used."""
    lines = [
        _HEAD.format(
            name=" ".join(network.split()),
            subject=_text(words.subject),
            target=_text(words.default_target),
            unobserved=_list(words.unobserved),
        )
    ]
    for variable, known in words.variables.items():
        table = f"variables.{_key(variable)}"
        lines.append(f"[{table}]")
        lines.append(f"name = {_text(known.name)}")
        lines.append(f"positive = {_text(known.positive)}")
        for name, said in known.states.items():
            lines.append(f"[{table}.states.{_key(name)}]")
            lines.append(f"label = {_text(said.label)}")
            lines.append(f"question = {_text(said.question)}")
            lines.append(f"phrases = {_list(said.phrases)}")
        lines.append("")
    return "\n".join(lines)


def _text(value: str) -> str:
    # A string of JSON is one of TOML, but for a character that TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(values: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else _text(name)
