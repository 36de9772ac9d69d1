"""Evidence in words, from a file of phrases per network.

A phrase file (TOML) gives every state of every variable a label, a question and one phrase per wording. Nothing is invented: a state without words
is an error when the file is read, not a gap in a prompt.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bayesnets.catalog import catalog_file, load_network, network_names
from bayesnets.names import suggestion
from bayesnets.network import Network, as_network
from coherence.errors import InputError


@dataclass(frozen=True)
class StateWords:
    """Words for one state.

    Parameters
    ----------
    label : str
        Short name, such as "smoker".
    question : str
        Completes "What is the probability that they ...?".
    phrases : tuple of str
        Each completes "There is a patient who ..."; one per wording.
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
        Such as "smoking status".
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
            Completes "There is a patient who ...".

        Raises
        ------
        InputError
            Unknown variable, state or wording.
        """
        self._check_wording(wording)
        observed = {variable: state for variable, state in evidence.items() if state is not None and state == state}
        for variable in observed:
            self._variable(variable)
        parts = [self.condition(variable, observed[variable], wording=wording) for variable in self.variables if variable in observed]
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
        """Return the state that a question without a state is about.

        Parameters
        ----------
        variable : str
            A variable.

        Returns
        -------
        str
            One of its states.

        Raises
        ------
        InputError
            Unknown variable.
        """
        return self._variable(variable).positive

    def auxiliary_name(self, variable: str) -> str:
        """Return the name of a variable in words.

        Parameters
        ----------
        variable : str
            A variable.

        Returns
        -------
        str
            Such as "smoking status".

        Raises
        ------
        InputError
            Unknown variable.
        """
        return self._variable(variable).name

    def labels(self, variable: str) -> dict[str, str]:
        """Return the names of a variable's states in words.

        Parameters
        ----------
        variable : str
            A variable.

        Returns
        -------
        dict
            State to label, in the order of the network if one was given when the file was read.

        Raises
        ------
        InputError
            Unknown variable.
        """
        return {state: words.label for state, words in self._variable(variable).states.items()}

    def _variable(self, variable: str) -> VariableWords:
        if variable not in self.variables:
            raise InputError(f"variable must have words; {variable!r} has none. {suggestion(variable, self.variables)}")
        return self.variables[variable]

    def _state(self, variable: str, state: str) -> StateWords:
        states = self._variable(variable).states
        if state not in states:
            raise InputError(f"state of {variable!r} must have words; {state!r} has none. {suggestion(state, states)}")
        return states[state]

    def _check_wording(self, wording: int) -> None:
        if isinstance(wording, bool) or not isinstance(wording, int) or not 0 <= wording < self.n_wordings:
            raise InputError(f"wording must be a whole number from 0 to {self.n_wordings - 1}, not {wording!r}. Choose one of these.")


def load_phrases(name_or_path: str | Path, network: Any = None) -> Phrases:
    """Read the words of a network.

    Parameters
    ----------
    name_or_path : str or Path
        A name in the catalogue, or a path that ends in .toml.
    network : Network, pgmpy model or None
        What the words must cover. None takes the network of that name, or, for a path, checks the file only against itself.

    Returns
    -------
    Phrases
        Complete: every state of every variable has a label, a question and a phrase in every wording.

    Raises
    ------
    InputError
        Unknown name, unreadable file, or missing words; the message lists all that is missing.
    """
    known = network_names()
    if isinstance(name_or_path, Path) or str(name_or_path).endswith(".toml"):
        try:
            text = Path(name_or_path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"phrase file must be readable UTF-8 text; {name_or_path} is not: {error}. Check the path.") from error
    elif name_or_path in known:
        text = catalog_file(f"{name_or_path}.toml").read_text(encoding="utf-8")
        network = load_network(name_or_path) if network is None else network
    else:
        raise InputError(
            f"phrases must be a name in the catalogue or a path to a .toml file, not {name_or_path!r}. " + suggestion(name_or_path, known)
        )
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"phrase file {name_or_path} must hold TOML; {error}. Correct the file at that place.") from error
    return _parsed(data, None if network is None else as_network(network), str(name_or_path))


def _parsed(data: dict[str, Any], network: Network | None, where: str) -> Phrases:
    tables = data.get("variables")
    tables = tables if isinstance(tables, dict) else {}
    unobserved = data.get("unobserved")
    n_wordings = len(unobserved) if isinstance(unobserved, list) else 0
    faults = [] if _texts(unobserved, n_wordings) else ["'unobserved' must be a list of phrases, one per wording"]
    faults += _name_faults(data, tables, network)
    variables = {}
    for variable in [*tables, *(name for name in (network.names if network else ()) if name not in tables)]:
        expected = network.states(variable) if network and variable in network.names else None
        words, found = _variable_words(variable, tables.get(variable), expected, n_wordings)
        faults += found
        if words is not None:
            variables[variable] = words
    if faults:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise InputError(f"phrases {where!r} must cover the network; {count}: {'; '.join(faults)}. Add the missing words.")
    return Phrases(data["default_target"], tuple(data["unobserved"]), MappingProxyType(variables))


def _name_faults(data: dict[str, Any], tables: dict[str, Any], network: Network | None) -> list[str]:
    known = network.names if network else tuple(tables)
    faults = [f"[variables.{name}] is no variable of network {network.name!r}" for name in tables if name not in known] if network else []
    if data.get("default_target") not in known:
        faults.append(f"'default_target' must be a variable, not {data.get('default_target')!r}")
    return faults


def _variable_words(variable: str, table: Any, expected: Sequence[str] | None, n_wordings: int) -> tuple[VariableWords | None, list[str]]:
    """Return the words of a variable, or None and what is wrong with them."""
    table = table if isinstance(table, dict) else {}
    entries = table.get("states")
    entries = entries if isinstance(entries, dict) else {}
    states = tuple(entries) if expected is None else tuple(expected)
    faults = [] if _text(table.get("name")) else [f"{variable} has no name"]
    if table.get("positive") not in states:
        faults.append(f"{variable} has no 'positive' state")
    faults += [f"{variable} has no state {state!r}" for state in entries if state not in states]
    words = {}
    for state in states:
        entry = entries.get(state)
        entry = entry if isinstance(entry, dict) else {}
        faults += [f"{variable}={state} has no {key}" for key in ("label", "question") if not _text(entry.get(key))]
        phrases = entry.get("phrases")
        if not _texts(phrases, n_wordings):
            faults.append(f"{variable}={state} has {len(phrases) if isinstance(phrases, list) else 0} phrases for {n_wordings} wordings")
        words[state] = StateWords(entry.get("label", ""), entry.get("question", ""), tuple(phrases) if isinstance(phrases, list) else ())
    if faults:
        return None, faults
    return VariableWords(table["name"], table["positive"], MappingProxyType(words)), []


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _texts(value: object, length: int) -> bool:
    return isinstance(value, list) and 0 < len(value) == length and all(map(_text, value))


def _joined(parts: Sequence[str]) -> str:
    if len(parts) < 3:
        return " and ".join(parts)
    return ", ".join(parts[:-1]) + f", and {parts[-1]}"
