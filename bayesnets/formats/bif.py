"""The Bayesian Interchange Format (.bif, version 0.15), read and written.

A small scanner and one function per rule of the grammar. Names may be quoted and then hold
anything; inside quotes a backslash stands before a quote or a backslash. Separators are optional,
as in the format's first definition: Cozman, The Interchange Format for Bayesian Networks (1998).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import NoReturn

import numpy as np

from bayesnets.formats.draft import (
    PROPERTIES,
    Definition,
    check_probability,
    empty_table,
    finished,
    stated_properties,
)
from bayesnets.network import Network
from coherence.errors import InputError, suggestion

_QUOTED = r'"(?:\\[^\n]|[^"\\\n])*"'
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_TOKEN = re.compile(
    rf'(?P<mark>[{{}}()\[\],;|])|(?P<quoted>{_QUOTED})|(?P<word>(?:(?!//|/\*)[^\s{{}}()\[\],;|"])+)'
)
_PROPERTY = re.compile(rf'(?:{_QUOTED}|[^";])*;')
_OWN_PROPERTY = re.compile(rf"\s*(?P<key>{'|'.join(PROPERTIES)})\s*=\s*(?P<value>{_QUOTED})\s*;")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_KEYWORDS = (
    "network",
    "variable",
    "probability",
    "property",
    "type",
    "discrete",
    "default",
    "table",
)


@dataclass
class _Token:
    kind: str  # mark, quoted, word or end
    text: str
    line: int


@dataclass
class _Entry:
    kind: str  # row, table or default
    states: list[str]
    numbers: list[float]
    line: int


@dataclass
class _Block:
    variable: str
    parents: list[str]
    line: int
    entries: list[_Entry] = field(default_factory=list)


class _Scanner:
    """The tokens of a file, one ahead of the parser."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        self.position, self.counted, self.line = 0, 0, 1
        self.inside = "the file"
        self.advance()

    def place(self, line: int | None = None) -> str:
        return f"{self.where}, line {self.token.line if line is None else line}"

    def fail(self, expected: str, remedy: str) -> NoReturn:
        if self.token.kind == "end":
            raise InputError(
                f"{self.place()}: the file ends inside {self.inside}, where {expected} must "
                "follow. Is it truncated? Get the whole file."
            )
        raise InputError(
            f"{self.place()}: expected {expected} in {self.inside}, found "
            f"{self.token.text[:40]!r}. {remedy}"
        )

    def advance(self) -> None:
        space = _SPACE.match(self.text, self.position)
        start = space.end() if space else self.position
        self.line += self.text.count("\n", self.counted, start)
        self.counted = start
        found = _TOKEN.match(self.text, start)
        if found:
            kind, text, self.position = str(found.lastgroup), found.group(), found.end()
            self.token = _Token(kind, _unquoted(text) if kind == "quoted" else text, self.line)
        elif start == len(self.text):
            self.token = _Token("end", "", self.line)
            self.position = start
        else:
            what = "quote" if self.text[start] == '"' else "comment"
            closing = '"' if what == "quote" else "*/"
            raise InputError(
                f"{self.where}, line {self.line}: this {what} is never closed. "
                f"Close it with {closing} (a name must stay on its line)."
            )

    def at(self, *texts: str) -> bool:
        return self.token.kind in ("mark", "word") and self.token.text in texts

    def mark(self, text: str) -> None:
        if not self.at(text):
            self.fail(
                repr(text),
                "Put names with spaces or punctuation in double quotes, and end every entry with "
                "';'.",
            )
        self.advance()

    def name(self, what: str) -> str:
        if self.token.kind not in ("word", "quoted"):
            self.fail(what, "Names with spaces or punctuation must be in double quotes.")
        text = self.token.text
        self.advance()
        return text

    def names(self, what: str, closing: str) -> Iterator[str]:
        """Yield names up to a closing mark; commas between them may be missing."""
        while not self.at(closing):
            if self.at(","):
                self.advance()
            else:
                yield self.name(what)
        self.advance()

    def property(self) -> str:
        """Skip a property, which is free text up to a semicolon, and return it."""
        found = _PROPERTY.match(self.text, self.position)
        if not found:
            raise InputError(
                f"{self.place()}: this property is never closed. "
                "End it with ';', and close its quotes."
            )
        self.position = found.end()
        self.advance()
        return found.group()


def parse_bif(text: str, where: str, *, default_name: str, normalize: bool = False) -> Network:
    """Read a network from BIF text.

    Parameters
    ----------
    text : str
        The file.
    where : str
        Its name, for messages.
    default_name : str
        Name of the network where the file has none.
    normalize : bool
        As in `read_network`.

    Returns
    -------
    Network
        Validated. Properties are read past, except those that `format_bif` writes.

    Raises
    ------
    InputError
        With the line: what breaks the grammar, unknown or repeated names, a wrong count of numbers,
        columns that do not sum to one.
    """
    scanner = _Scanner(text, where)
    head = {"name": default_name}
    states: dict[str, tuple[str, ...]] = {}
    lines: dict[str, int] = {}
    blocks: dict[str, _Block] = {}
    while scanner.token.kind != "end":
        line = scanner.token.line
        if scanner.at("network"):
            _read_network_block(scanner, head)
        elif scanner.at("variable"):
            name, found = _read_variable(scanner)
            if name in states:
                raise InputError(
                    f"{scanner.place(line)}: variable {name!r} was declared in line {lines[name]} "
                    "already. Remove or rename one."
                )
            states[name], lines[name] = found, line
        elif scanner.at("probability"):
            block = _read_probability(scanner)
            if block.variable in blocks:
                before = blocks[block.variable].line
                raise InputError(
                    f"{scanner.place(line)}: the table of {block.variable!r} was given in line "
                    f"{before} already. Remove one."
                )
            blocks[block.variable] = block
        else:
            scanner.fail(
                "'network', 'variable' or 'probability'",
                "Is this a BIF file? XML belongs in a file that ends in .xml.",
            )
        scanner.inside = "the file"
    if not states:
        raise InputError(
            f"{where}: the file must declare variables; it has none. Is it empty or truncated?"
        )
    definitions = _definitions(scanner, states, lines, blocks)
    return finished(head, definitions, where, normalize=normalize)


def _read_network_block(scanner: _Scanner, head: dict[str, str]) -> None:
    scanner.advance()
    scanner.inside = "the network block"
    if not scanner.at("{"):
        head["name"] = scanner.name("a name")
    scanner.mark("{")
    while not scanner.at("}"):
        if not scanner.at("property"):
            scanner.fail("'property' or '}'", "Only properties may stand here.")
        own = _OWN_PROPERTY.fullmatch(scanner.property())
        if own:
            head[own["key"]] = _unquoted(own["value"])
    scanner.advance()


def _read_variable(scanner: _Scanner) -> tuple[str, tuple[str, ...]]:
    scanner.advance()
    scanner.inside = "a variable"
    name = scanner.name("a name")
    scanner.inside = f"variable {name!r}"
    scanner.mark("{")
    states: tuple[str, ...] | None = None
    while not scanner.at("}"):
        if scanner.at("property"):
            scanner.property()
        elif scanner.at("type") and states is None:
            states = _read_type(scanner, name)
        else:
            scanner.fail("'type' (once), 'property' or '}'", "Correct the entry.")
    if states is None:
        scanner.fail("'type discrete [ n ] { states };'", "Give the variable its states.")
    scanner.advance()
    return name, states


def _read_type(scanner: _Scanner, name: str) -> tuple[str, ...]:
    scanner.advance()
    if not scanner.at("discrete"):
        scanner.fail("'discrete'", "Only discrete variables can be read.")
    scanner.advance()
    scanner.mark("[")
    line, stated = scanner.token.line, scanner.name("the number of states")
    scanner.mark("]")
    scanner.mark("{")
    states = tuple(scanner.names("a state", "}"))
    scanner.mark(";")
    if stated != str(len(states)):
        raise InputError(
            f"{scanner.place(line)}: variable {name!r} must list as many states as it announces; "
            f"it announces {stated} and lists {len(states)}. "
            "Correct the number or the list; states with spaces must be in double quotes."
        )
    if len(set(states)) < len(states):
        raise InputError(
            f"{scanner.place(line)}: states of {name!r} must differ; they are {', '.join(states)}. "
            "Rename one."
        )
    return states


def _read_probability(scanner: _Scanner) -> _Block:
    line = scanner.token.line
    scanner.advance()
    scanner.inside = "a probability block"
    scanner.mark("(")
    variable = scanner.name("a variable")
    scanner.inside = f"the table of {variable!r}"
    if scanner.at("|"):
        scanner.advance()
    block = _Block(variable, list(scanner.names("a parent or ')'", ")")), line)
    scanner.mark("{")
    while not scanner.at("}"):
        start = scanner.token.line
        if scanner.at("property"):
            scanner.property()
            continue
        kind, states = scanner.token.text, []
        if scanner.at("("):
            scanner.advance()
            kind, states = "row", list(scanner.names("a state", ")"))
        elif scanner.at("table", "default"):
            scanner.advance()
        else:
            scanner.fail("'(', 'table', 'default', 'property' or '}'", "Correct the entry.")
        block.entries.append(_Entry(kind, states, list(_read_numbers(scanner, variable)), start))
    scanner.advance()
    return block


def _read_numbers(scanner: _Scanner, variable: str) -> Iterator[float]:
    while not scanner.at(";"):
        if scanner.at(","):
            scanner.advance()
            continue
        if scanner.token.kind != "word" or not _NUMBER.fullmatch(scanner.token.text):
            scanner.fail(
                "a probability or ';'", "Write numbers such as 0.25, and end the entry with ';'."
            )
        yield check_probability(float(scanner.token.text), variable, scanner.place())
        scanner.advance()
    scanner.advance()


def _definitions(
    scanner: _Scanner,
    states: dict[str, tuple[str, ...]],
    lines: dict[str, int],
    blocks: dict[str, _Block],
) -> list[Definition]:
    for block in blocks.values():
        for role, name in (
            ("variable", block.variable),
            *(("parent", parent) for parent in block.parents),
        ):
            if name not in states:
                raise InputError(
                    f"{scanner.place(block.line)}: {role} {name!r} is not declared. "
                    f"{suggestion(name, states)}"
                )
        if len({block.variable, *block.parents}) <= len(block.parents):
            raise InputError(
                f"{scanner.place(block.line)}: names in 'probability ( ... )' must differ; "
                f"they are {block.variable}, {', '.join(block.parents)}. "
                "Remove the repeated one."
            )
    for name, line in lines.items():
        if name not in blocks:
            raise InputError(
                f"{scanner.place(line)}: variable {name!r} must have a table; there is none. "
                "Is the file truncated?"
            )
    return [_definition(blocks[name], states, scanner.place) for name in states]


def _definition(
    block: _Block, states: dict[str, tuple[str, ...]], place: Callable[[int], str]
) -> Definition:
    own = states[block.variable]
    shape = (len(own), *(len(states[parent]) for parent in block.parents))
    table = empty_table(shape, block.variable, place(block.line))
    columns = np.moveaxis(table, 0, -1)
    defined: dict[tuple[int, ...], int] = {}
    fallback: _Entry | None = None
    for entry in block.entries:
        whole = entry.kind == "table"
        _check_count(entry, block.variable, table.size if whole else len(own), place)
        if whole:
            if len(block.entries) > 1:
                raise InputError(
                    f"{place(entry.line)}: 'table' must be the only entry for {block.variable!r}; "
                    "there are others. Remove them."
                )
            # In this format the variable's own states change slowest; in XML they change fastest.
            return Definition(
                block.variable,
                own,
                tuple(block.parents),
                np.reshape(entry.numbers, shape),
                entry.line,
            )
        if entry.kind == "default":
            if fallback is not None:
                raise InputError(
                    f"{place(entry.line)}: {block.variable!r} must have one default; "
                    f"line {fallback.line} gave one. Remove one."
                )
            fallback = entry
            continue
        codes = _codes(entry, block, states, place)
        if codes in defined:
            raise InputError(
                f"{place(entry.line)}: the row ({', '.join(entry.states)}) of {block.variable!r} "
                f"was given in line {defined[codes]} already. "
                "Remove one."
            )
        columns[codes] = entry.numbers
        defined[codes] = entry.line
    for codes in product(*map(range, shape[1:])):
        if codes in defined:
            continue
        if fallback is None:
            labels = ", ".join(
                f"{parent}={states[parent][code]}"
                for parent, code in zip(block.parents, codes, strict=True)
            )
            raise InputError(
                f"{place(block.line)}: the table of {block.variable!r} has no entry for "
                f"{labels or 'its states'}. Add it, or a 'default'."
            )
        columns[codes] = fallback.numbers
        defined[codes] = fallback.line
    return Definition(block.variable, own, tuple(block.parents), table, block.line, defined)


def _check_count(entry: _Entry, variable: str, expected: int, place: Callable[[int], str]) -> None:
    if len(entry.numbers) != expected:
        raise InputError(
            f"{place(entry.line)}: this entry of {variable!r} must hold {expected} probabilities, "
            "one per "
            f"{'cell' if entry.kind == 'table' else 'state'}; it holds {len(entry.numbers)}. "
            "Complete or shorten it."
        )


def _codes(
    entry: _Entry, block: _Block, states: dict[str, tuple[str, ...]], place: Callable[[int], str]
) -> tuple[int, ...]:
    if len(entry.states) != len(block.parents):
        raise InputError(
            f"{place(entry.line)}: a row of {block.variable!r} must name one state for each of "
            f"{len(block.parents)} parents; "
            f"({', '.join(entry.states)}) names {len(entry.states)}. "
            "States with spaces or commas must be in double quotes."
        )
    for parent, state in zip(block.parents, entry.states, strict=True):
        if state not in states[parent]:
            raise InputError(
                f"{place(entry.line)}: {state!r} must be a state of {parent!r}, in a row of "
                f"{block.variable!r}. {suggestion(state, states[parent])}"
            )
    return tuple(
        states[parent].index(state)
        for parent, state in zip(block.parents, entry.states, strict=True)
    )


def format_bif(network: Network) -> str:
    """Write a network as BIF text, without loss.

    Parameters
    ----------
    network : Network
        The model.

    Returns
    -------
    str
        Names are quoted where they are more than a plain word; title, source and whether the tables
        are illustrative are properties.
    """
    lines = [f"network {_name(network.name)} {{"]
    lines += [
        f"    property {key} = {_quote(value)};"
        for key, value in stated_properties(network).items()
    ]
    lines.append("}")
    for node in network.nodes:
        states = ", ".join(map(_name, node.states))
        lines += [
            f"variable {_name(node.name)} {{",
            f"    type discrete [ {len(node.states)} ] {{ {states} }};",
            "}",
        ]
    for node in network.nodes:
        given = f" | {', '.join(map(_name, node.parents))}" if node.parents else ""
        lines.append(f"probability ( {_name(node.name)}{given} ) {{")
        parent_states = [
            [_name(state) for state in network.states(parent)] for parent in node.parents
        ]
        columns = np.moveaxis(node.table, 0, -1)
        for codes in product(*map(range, node.table.shape[1:])):
            labels = ", ".join(
                names[code] for names, code in zip(parent_states, codes, strict=True)
            )
            numbers = ", ".join(map(repr, columns[codes].tolist()))
            lines.append(
                f"    ( {labels} ) {numbers};" if node.parents else f"    table {numbers};"
            )
        lines.append("}")
    return "\n".join(lines) + "\n"


def _unquoted(text: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", text[1:-1])


def _quote(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _name(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text not in _KEYWORDS else _quote(text)
