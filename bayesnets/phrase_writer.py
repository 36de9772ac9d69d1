"""Words written as a phrase file, which is how one's own words begin."""

import json

from bayesnets.phrases import Phrases

_HEAD = """\
# Words of the network {name}. All of them work as they stand; better ones make better questions.
# A case reads "There is SUBJECT who PHRASE and PHRASE.", a question "What is the probability that
# they QUESTION?". A second wording is a second phrase in every list, "unobserved" included.

subject = {subject}  # whom descriptions are about
default_target = {target}  # what is asked about unless --target names another variable
unobserved = {unobserved}  # the phrase where nothing is known
"""


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
