"""Evidence in words, from a file of phrases per network.

A phrase file (TOML) gives every state of every variable a label, a question and one phrase per
wording; `load_phrases` describes it. Nothing is invented: a state without words is an error when
the file is read, not a gap in a prompt. Whoever has no words asks `plain_phrases` for them.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bayesnets.catalog import catalog_names, catalog_text, load_network
from bayesnets.formats.conversion import as_network
from bayesnets.network import Network, read_text
from coherence.errors import InputError, suggestion

SUBJECT = "a patient"
"""Whom descriptions are about where the file does not say it."""


@dataclass(frozen=True)
class StateWords:
    """Words for one state.

    Parameters
    ----------
    label : str
        Short name, such as "smoker"; in answers, a line begins with it and a colon.
    question : str
        Completes "What is the probability that they ...?".
    phrases : tuple of str
        Each completes "There is <subject> who ..."; one per wording.
    """

    label: str
    question: str
    phrases: tuple[str, ...]


@dataclass(frozen=True)
class VariableWords:
    """Words for one variable.

    Parameters
    ----------
    name : str
        Completes "their ...", such as "smoking status".
    positive : str
        The state that a question without a state is about.
    states : Mapping of str to StateWords
        Every state of the variable.
    """

    name: str
    positive: str
    states: Mapping[str, StateWords]


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
        """Return one state in words.

        Parameters
        ----------
        variable, state : str
            What is observed.
        wording : int
            Which phrasing.

        Returns
        -------
        str
            A predicate, such as "is a smoker", which can follow "who" or "and".

        Raises
        ------
        InputError
            Unknown variable, state or wording.
        """
        self._check_wording(wording)
        return self._state(variable, state).phrases[wording]

    def question(self, target: str, state: str | None = None) -> str:
        """Return what is asked about a state of the target.

        Parameters
        ----------
        target : str
            A variable.
        state : str or None
            A state; None asks about the variable's positive state.

        Returns
        -------
        str
            Completes "What is the probability that they ...?".

        Raises
        ------
        InputError
            Unknown variable or state.
        """
        return self._state(target, self.positive(target) if state is None else state).question

    def positive(self, variable: str) -> str:
        """Return the state that a question without a state is about, or raise `InputError` for an unknown variable."""
        return self._variable(variable).positive

    def auxiliary_name(self, variable: str) -> str:
        """Return the name of a variable in words, such as "smoking status", or raise `InputError` for an unknown variable."""
        return self._variable(variable).name

    def labels(self, variable: str) -> dict[str, str]:
        """Return the names of a variable's states in words, or raise `InputError` for an unknown variable.

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
        if (
            isinstance(wording, bool)
            or not isinstance(wording, int)
            or not 0 <= wording < self.n_wordings
        ):
            raise InputError(
                f"wording must be a whole number from 0 to {self.n_wordings - 1}, not {wording!r}. "
                "Choose one of these."
            )


def load_phrases(name_or_path: str | Path, network: Any = None) -> Phrases:
    """Read the words of a network.

    A phrase file is TOML in UTF-8. Every text is one line without a full stop at its end, because
    the prompts build sentences around it. A network with one variable "rain" and the states "yes"
    and "no" needs::

        subject = "a town"                # optional; whom descriptions are about, "a patient" unless said
        default_target = "rain"           # the variable that is asked about unless the user names another
        unobserved = [                    # "There is a town who ..." if nothing is known; the number of wordings
          "is on the map",
          "can be found on a map",
        ]

        [variables.rain]                  # one table per variable, in the order in which
        descriptions mention them name = "weather"                  # completes "the categories of
        their ..." positive = "yes"                  # the state whose probability is asked for
        [variables.rain.states.yes]       # one table per state; quote names with blanks:
        states."heavy rain" label = "rain"                    # begins a line of an answer, so it
        holds no colon question = "have rain"            # completes "What is the probability that
        they ...?" phrases = ["has rain", "is in the rain"]  # complete "There is a town who ...",
        one per wording [variables.rain.states.no] label = "no rain" question = "have no rain"
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
        every fault.
    """
    if isinstance(name_or_path, Path) or str(name_or_path).endswith(".toml"):
        text = read_text(name_or_path, "phrase file")
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
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"phrase file {name_or_path} must hold TOML; {error}. Correct the file at that place."
        ) from error
    return _parsed(data, None if network is None else as_network(network), str(name_or_path))


def plain_phrases(
    network: Any, target: str, target_state: str, *, subject: str = "a person"
) -> Phrases:
    """Make plain words from the names of a network, in one wording, for a network that has no phrase file.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    target, target_state : str
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
    >>> words = plain_phrases(load_network("asia"), "lung", "yes")
    >>> words.describe({"xray": "yes", "smoke": "no"}), words.question("lung")
    ('has smoke = no and has xray = yes', 'have lung = yes')
    """
    model = as_network(network)
    if target_state not in model.states(target):
        raise InputError(
            f"target_state must be a state of {target!r}, not {target_state!r}. "
            f"{suggestion(target_state, model.states(target))}"
        )
    variables = {
        node.name: {
            "name": node.name,
            "positive": target_state if node.name == target else node.states[0],
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
        "default_target": target,
        "unobserved": ["has no value on record"],
        "variables": variables,
    }
    return _parsed(data, model, f"plain words of {model.name}")


def _parsed(data: dict[str, Any], network: Network | None, where: str) -> Phrases:
    tables = _table(data.get("variables"))
    known = network.names if network else tuple(tables)
    unobserved = data.get("unobserved")
    n_wordings = len(unobserved) if isinstance(unobserved, list) else 0
    faults = _misspelt(data, ("subject", "default_target", "unobserved", "variables"), "the file")
    faults += (
        _wording_faults(unobserved or (), n_wordings, "'unobserved'")
        if n_wordings
        else ["'unobserved' must be a list of phrases, one per wording"]
    )
    faults += _text_faults({"subject": SUBJECT, **data}, ("subject",), "the file")
    faults += (
        [
            f"[variables.{name}] is no variable of network {network.name!r}"
            for name in tables
            if name not in known
        ]
        if network
        else []
    )
    if data.get("default_target") not in known:
        faults.append(f"'default_target' must be a variable, not {data.get('default_target')!r}")
    variables = {}
    for variable in [*tables, *(name for name in known if name not in tables)]:
        expected = network.states(variable) if network and variable in known else None
        words, found = _variable_words(variable, _table(tables.get(variable)), expected, n_wordings)
        faults += found
        variables[variable] = words
    if faults:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise InputError(
            f"phrases {where!r} must cover the network; {count}: {'; '.join(faults)}. "
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
    """Return the words of a variable and what is wrong with them; they are of use only if nothing is."""
    entries = _table(table.get("states"))
    states = tuple(entries) if expected is None else tuple(expected)
    faults = _misspelt(table, ("name", "positive", "states"), variable) + _text_faults(
        table, ("name",), variable
    )
    if table.get("positive") not in states:
        faults.append(f"{variable} has no 'positive' state")
    faults += [f"{variable} has no state {state!r}" for state in entries if state not in states]
    words = {}
    for state in states:
        entry, where = _table(entries.get(state)), f"{variable}={state}"
        phrases = entry["phrases"] if isinstance(entry.get("phrases"), list) else []
        faults += _misspelt(entry, ("label", "question", "phrases"), where) + _text_faults(
            entry, ("label", "question"), where
        )
        faults += _wording_faults(phrases, n_wordings, where)
        words[state] = StateWords(entry.get("label", ""), entry.get("question", ""), tuple(phrases))
    labels, questions = (
        [state.label for state in words.values()],
        [state.question for state in words.values()],
    )
    faults += [
        f"{variable} has a colon in label {label!r}" for label in labels if ":" in str(label)
    ]
    for key, texts in (
        ("label", labels),
        ("question", questions),
        ("phrase", [phrase for state in words.values() for phrase in state.phrases]),
    ):
        faults += [
            f"{variable} has {key} {text!r} twice"
            for position, text in enumerate(texts)
            if text and text in texts[:position]
        ]
    return VariableWords(
        table.get("name", ""), table.get("positive", ""), MappingProxyType(words)
    ), faults


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _misspelt(table: dict[str, Any], known: Sequence[str], where: str) -> list[str]:
    return [f"{where} has an unknown entry {key!r}" for key in table if key not in known]


def _text_faults(table: dict[str, Any], keys: Sequence[str], where: str) -> list[str]:
    faults = [
        f"{where} has no {key}"
        for key in keys
        if not (isinstance(table.get(key), str) and table[key].strip())
    ]
    return faults or [
        f"{where} has a {key} that is {_SHAPE}: {table[key]!r}"
        for key in keys
        if not _is_line(table[key])
    ]


def _wording_faults(phrases: Sequence[Any], n_wordings: int, where: str) -> list[str]:
    # Without wordings to compare with, the file has a fault of its own, which must not repeat
    # itself at every state.
    faults = (
        [f"{where} has {len(phrases)} phrases for {n_wordings} wordings"]
        if n_wordings and len(phrases) != n_wordings
        else []
    )
    return faults + [
        f"{where} has a phrase that is {_SHAPE}: {phrase!r}"
        for phrase in phrases
        if not _is_line(phrase)
    ]


_SHAPE = "not one line of text, without blanks around it or a full stop at its end"


def _is_line(value: object) -> bool:
    return (
        isinstance(value, str) and value.splitlines() == [value.strip()] and not value.endswith(".")
    )


def _joined(parts: Sequence[str]) -> str:
    if len(parts) < 3:
        return " and ".join(parts)
    return ", ".join(parts[:-1]) + f", and {parts[-1]}"
