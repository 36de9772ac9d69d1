"""The Bayesian Interchange Format (.bif, version 0.15), read and written.

One function per rule of the grammar. Separators are optional, as in the format's first definition:
Cozman, The Interchange Format for Bayesian Networks (1998).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from bayesnets.formats.bif_scanner import QUOTED, Scanner, quoted, unquoted
from bayesnets.formats.definitions import (
    PROPERTIES,
    Definition,
    NetworkFile,
    Terms,
    check_probability,
    empty_table,
    stated_properties,
)
from bayesnets.network import Network
from coherence.errors import InputError, suggestion

_TERMS = Terms(
    child="variable",
    parent="parent",
    unknown="is not declared",
    family="names in 'probability ( ... )'",
    table="table",
    remedy="Is the file truncated?",
)
_ESCAPES = "escapes"
"""Property of a network whose other properties hold ``%3B`` for a semicolon, and so on."""
_OWN_PROPERTY = re.compile(
    rf"\s*(?P<key>{'|'.join((*PROPERTIES, _ESCAPES))})\s*=\s*(?P<value>{QUOTED})\s*;"
)
# Other readers end a property at a semicolon and a block at a brace, quoted or not, take two
# slashes for a comment, and look for the words that open a block in the whole file.
_MISREAD = re.compile(
    r'[%;{}"\\]|/(?=[/*])|(?<=[/*])/|(?=network|variable|probability|property).', re.IGNORECASE
)
_ESCAPED = re.compile("%([0-9A-F]{2})")
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
    file = NetworkFile(where, default_name, _TERMS)
    scanner = Scanner(text, file.at)
    blocks: list[_Block] = []
    while scanner.token.kind != "end":
        line = scanner.token.line
        if scanner.at("network"):
            _read_network_block(scanner, file.head)
        elif scanner.at("variable"):
            name, states = _read_variable(scanner)
            file.declare(name, states, line)
        elif scanner.at("probability"):
            blocks.append(_read_probability(scanner))
            file.claim_table(blocks[-1].variable, line)
        else:
            scanner.fail(
                "'network', 'variable' or 'probability'",
                "Is this a BIF file? XML belongs in a file that ends in .xml.",
            )
        scanner.inside = "the file"
    if not file.states:
        raise InputError(
            f"{where}: the file must declare variables; it has none. Is it empty or truncated?"
        )
    # Names are looked up at the end, because a table may stand before the variables that it names.
    for block in blocks:
        file.check_family(block.variable, block.parents, block.line)
    file.check_complete()
    definitions = {block.variable: _definition(block, file) for block in blocks}
    return file.network(definitions, normalize=normalize)


def _read_network_block(scanner: Scanner, head: dict[str, str]) -> None:
    scanner.advance()
    scanner.inside = "the network block"
    if not scanner.at("{"):
        head["name"] = scanner.name("a name")
    scanner.mark("{")
    while not scanner.at("}"):
        if not scanner.at("property"):
            scanner.fail("'property' or '}'", "Only properties may stand here.")
        match = _OWN_PROPERTY.fullmatch(scanner.property())
        if match:
            head[match["key"]] = unquoted(match["value"])
    scanner.advance()
    # Without this mark, as in files of other programs, a percent sign is one.
    if head.pop(_ESCAPES, None) is not None:
        for key in PROPERTIES:
            if key in head:
                head[key] = _ESCAPED.sub(lambda code: chr(int(code[1], 16)), head[key])


def _read_variable(scanner: Scanner) -> tuple[str, tuple[str, ...]]:
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


def _read_type(scanner: Scanner, name: str) -> tuple[str, ...]:
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
            f"{scanner.located(line)}: variable {name!r} must list as many states as it announces; "
            f"it announces {stated} and lists {len(states)}. Correct the number or the list; "
            "states with spaces must be in double quotes."
        )
    if len(set(states)) < len(states):
        raise InputError(
            f"{scanner.located(line)}: states of {name!r} must differ; they are "
            f"{', '.join(states)}. Rename one."
        )
    return states


def _read_probability(scanner: Scanner) -> _Block:
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


def _read_numbers(scanner: Scanner, variable: str) -> Iterator[float]:
    while not scanner.at(";"):
        if scanner.at(","):
            scanner.advance()
            continue
        if scanner.token.kind != "word" or not _NUMBER.fullmatch(scanner.token.text):
            scanner.fail(
                "a probability or ';'", "Write numbers such as 0.25, and end the entry with ';'."
            )
        yield check_probability(float(scanner.token.text), variable, scanner.here)
        scanner.advance()
    scanner.advance()


def _definition(block: _Block, file: NetworkFile) -> Definition:
    states = file.states
    shape = tuple(len(states[name]) for name in (block.variable, *block.parents))
    table = empty_table(shape, block.variable, file.at(block.line))
    columns = np.moveaxis(table, 0, -1)
    lines: dict[tuple[int, ...], int] = {}
    default: _Entry | None = None
    for entry in block.entries:
        at = file.at(entry.line)
        _check_count(entry, block.variable, table.size if entry.kind == "table" else shape[0], at)
        if entry.kind == "table":
            if len(block.entries) > 1:
                raise InputError(
                    f"{at}: 'table' must be the only entry for {block.variable!r}; there are "
                    "others. Remove them."
                )
            # In this format the variable's own states change slowest; in XML they change fastest.
            values = np.reshape(entry.numbers, shape)
            return Definition(block.variable, tuple(block.parents), values, entry.line)
        if entry.kind == "default":
            if default is not None:
                raise InputError(
                    f"{at}: {block.variable!r} must have one default; line {default.line} gave "
                    "one. Remove one."
                )
            default = entry
            continue
        codes = _codes(entry, block, states, at)
        if codes in lines:
            raise InputError(
                f"{at}: the row ({', '.join(entry.states)}) of {block.variable!r} was given in "
                f"line {lines[codes]} already. Remove one."
            )
        columns[codes], lines[codes] = entry.numbers, entry.line
    for codes in product(*map(range, shape[1:])):
        if codes in lines:
            continue
        if default is None:
            labels = ", ".join(
                f"{parent}={states[parent][code]}"
                for parent, code in zip(block.parents, codes, strict=True)
            )
            raise InputError(
                f"{file.at(block.line)}: the table of {block.variable!r} has no entry for "
                f"{labels or 'its states'}. Add it, or a 'default'."
            )
        columns[codes], lines[codes] = default.numbers, default.line
    return Definition(block.variable, tuple(block.parents), table, block.line, lines)


def _check_count(entry: _Entry, variable: str, expected: int, at: str) -> None:
    if len(entry.numbers) != expected:
        raise InputError(
            f"{at}: this entry of {variable!r} must hold {expected} probabilities, one per "
            f"{'cell' if entry.kind == 'table' else 'state'}; it holds {len(entry.numbers)}. "
            "Complete or shorten it."
        )


def _codes(
    entry: _Entry, block: _Block, states: Mapping[str, tuple[str, ...]], at: str
) -> tuple[int, ...]:
    if len(entry.states) != len(block.parents):
        raise InputError(
            f"{at}: a row of {block.variable!r} must name one state for each of "
            f"{len(block.parents)} parents; ({', '.join(entry.states)}) names "
            f"{len(entry.states)}. States with spaces or commas must be in double quotes."
        )
    pairs = list(zip(block.parents, entry.states, strict=True))
    for parent, state in pairs:
        if state not in states[parent]:
            raise InputError(
                f"{at}: {state!r} must be a state of {parent!r}, in a row of {block.variable!r}. "
                f"{suggestion(state, states[parent])}"
            )
    return tuple(states[parent].index(state) for parent, state in pairs)


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
        are illustrative are properties, in which what other readers take for the format's own
        marks and words is escaped.
    """
    lines = [f"network {_name(network.name)} {{", *_property_lines(network), "}"]
    for node in network.nodes:
        states = ", ".join(map(_name, node.states))
        lines += [
            f"variable {_name(node.name)} {{",
            f"    type discrete [ {len(node.states)} ] {{ {states} }};",
            "}",
        ]
    for node in network.nodes:
        condition = f" | {', '.join(map(_name, node.parents))}" if node.parents else ""
        lines.append(f"probability ( {_name(node.name)}{condition} ) {{")
        parent_states = [
            [_name(state) for state in network.states(parent)] for parent in node.parents
        ]
        columns = np.moveaxis(node.table, 0, -1)
        for codes in product(*map(range, node.table.shape[1:])):
            labels = ", ".join(
                names[code] for names, code in zip(parent_states, codes, strict=True)
            )
            # repr gives the shortest text that reads back as the same number.
            numbers = ", ".join(map(repr, columns[codes].tolist()))
            lines.append(
                f"    ( {labels} ) {numbers};" if node.parents else f"    table {numbers};"
            )
        lines.append("}")
    return "\n".join(lines) + "\n"


def _property_lines(network: Network) -> list[str]:
    stated = stated_properties(network)
    escaped = {
        key: _MISREAD.sub(lambda mark: f"%{ord(mark[0]):02X}", value)
        for key, value in stated.items()
    }
    if escaped != stated:
        escaped = {_ESCAPES: "percent", **escaped}
    return [f"    property {key} = {quoted(value)};" for key, value in escaped.items()]


def _name(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text not in _KEYWORDS else quoted(text)
