"""Evidence in words: what every state of every variable of a network is called.

Nothing is invented: a state without words is an error when the words are made (`phrase_files`), not
a gap in a prompt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
