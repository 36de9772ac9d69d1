"""The beginning of a phrase file: plain words for every state of a network, to be made better."""

import json
from typing import Any

from bayesnets.formats.conversion import as_network
from bayesnets.phrase_files import plain_phrases

_HEAD = """\
# Words of the network {name}. All of them work as they stand; better ones make better questions.
# A case reads "There is SUBJECT who PHRASE and PHRASE.", a question "What is the probability that
# they QUESTION?". A second wording is a second phrase in every list, "unobserved" included.

subject = {subject}              # whom descriptions are about
default_target = {target}        # what is asked about unless --target names another variable
unobserved = {unobserved}        # the phrase where nothing is known
"""


def phrase_skeleton(network: Any, *, target: str | None = None, positive: str | None = None) -> str:
    """Return a phrase file that `load_phrases` reads, with plain words made of the names.

    Parameters
    ----------
    network : Network or pgmpy model
        What the words are for.
    target : str or None
        The variable asked about; None takes the last one, which nothing points away from.
    positive : str or None
        Its state whose probability is asked for; None takes the first.

    Returns
    -------
    str
        TOML: a table per variable, with a table per state.

    Raises
    ------
    InputError
        Unknown names, or names that make no line of a prompt.

    Examples
    --------
    >>> from bayesnets import load_network
    >>> text = phrase_skeleton(load_network("asia"), target="lung")
    >>> print("\\n".join(text.splitlines()[8:16]))
    [variables.asia]
    name = "asia"                    # completes "the categories of their ..."
    positive = "yes"                 # the state whose probability is asked for
    [variables.asia.states.yes]
    label = "yes"                    # begins a line of an answer
    question = "have asia = yes"
    phrases = ["has asia = yes"]
    [variables.asia.states.no]
    """
    model = as_network(network)
    chosen = model.nodes[-1].name if target is None else target
    state = model.states(chosen)[0] if positive is None else positive
    words = plain_phrases(model, chosen, state)
    lines = [
        _HEAD.format(
            name=model.name.replace("\n", " "),
            subject=_text(words.subject),
            target=_text(chosen),
            unobserved=_list(words.unobserved),
        )
    ]
    # Said once, at the first of each: a file of a hundred states is long enough.
    notes = {
        "name": 'completes "the categories of their ..."',
        "positive": "the state whose probability is asked for",
        "label": "begins a line of an answer",
    }
    for variable, known in words.variables.items():
        table = f"variables.{_key(variable)}"
        lines.append(f"[{table}]")
        lines.append(_noted("name", known.name, notes))
        lines.append(_noted("positive", known.positive, notes))
        for name, said in known.states.items():
            lines.append(f"[{table}.states.{_key(name)}]")
            lines.append(_noted("label", said.label, notes))
            lines.append(f"question = {_text(said.question)}")
            lines.append(f"phrases = {_list(said.phrases)}")
        lines.append("")
    return "\n".join(lines)


def _noted(key: str, value: str, notes: dict[str, str]) -> str:
    entry, note = f"{key} = {_text(value)}", notes.pop(key, None)
    return f"{entry:<32} # {note}" if note else entry


def _text(value: str) -> str:
    # A string of JSON is one of TOML, but for a character that TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(values: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else _text(name)
