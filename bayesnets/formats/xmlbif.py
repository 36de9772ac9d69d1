"""XMLBIF 0.3, read and written.

The parser expands no entity and fetches nothing: a file that declares entities is refused. The
usual document type declaration, which only describes elements, is read past. Layout: Cozman, The
Interchange Format for Bayesian Networks (1998).
"""

from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

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
from coherence.errors import InputError

_TERMS = Terms(
    child="FOR",
    parent="GIVEN",
    unknown="must be a VARIABLE of the file",
    family="FOR and GIVEN",
    table="DEFINITION",
    remedy="Add it.",
)
_DOCTYPE = """<!DOCTYPE BIF [
  <!ELEMENT BIF ( NETWORK )*>
    <!ATTLIST BIF VERSION CDATA #REQUIRED>
  <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
  <!ELEMENT NAME (#PCDATA)>
  <!ELEMENT VARIABLE ( NAME, ( OUTCOME | PROPERTY )* )>
    <!ATTLIST VARIABLE TYPE (nature|decision|utility) "nature">
  <!ELEMENT OUTCOME (#PCDATA)>
  <!ELEMENT DEFINITION ( FOR | GIVEN | TABLE | PROPERTY )* >
  <!ELEMENT FOR (#PCDATA)>
  <!ELEMENT GIVEN (#PCDATA)>
  <!ELEMENT TABLE (#PCDATA)>
  <!ELEMENT PROPERTY (#PCDATA)>
]>"""
_TRUNCATED = tuple(
    expat.errors.codes[message]
    for message in (expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN)
)


@dataclass
class _Element:
    tag: str
    attributes: dict[str, str]
    line: int
    pieces: list[str] = field(default_factory=list)
    children: list["_Element"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text, without the white space around it unless the element says to preserve that."""
        text = "".join(self.pieces)
        return text if self.attributes.get("xml:space") == "preserve" else text.strip()

    def all(self, tag: str) -> list["_Element"]:
        return [child for child in self.children if child.tag == tag]

    def texts(self, tag: str) -> tuple[str, ...]:
        return tuple(child.text for child in self.all(tag))


class _TreeBuilder:
    """Turns the events of the parser into elements that know their line."""

    def __init__(self, file: NetworkFile) -> None:
        self.file = file
        self.open = [_Element("", {}, 0)]
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        # Nothing is expanded and nothing fetched: entities can grow without bound, or read files.
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.EntityDeclHandler = self.refuse
        self.parser.SkippedEntityHandler = self.refuse
        self.parser.ExternalEntityRefHandler = self.refuse

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = _Element(tag, attributes, self.parser.CurrentLineNumber)
        self.open[-1].children.append(element)
        self.open.append(element)

    def end(self, tag: str) -> None:
        self.open.pop()

    def characters(self, text: str) -> None:
        self.open[-1].pieces.append(text)

    def refuse(self, *_: object) -> NoReturn:
        raise InputError(
            f"{self.file.at(self.parser.CurrentLineNumber)}: XML entities are not allowed. "
            "Write the text itself."
        )


def parse_xmlbif(data: bytes, where: str, *, default_name: str, normalize: bool = False) -> Network:
    """Read a network from XMLBIF.

    Parameters
    ----------
    data : bytes
        The file; its encoding is the one that it declares.
    where : str
        Its name, for messages.
    default_name : str
        Name of the network where the file has none.
    normalize : bool
        As in `read_network`.

    Returns
    -------
    Network
        Validated. Properties are read past, except those that `format_xmlbif` writes.

    Raises
    ------
    InputError
        With the line: no XML, entities, unknown or repeated names, a wrong count of numbers,
        columns that do not sum to one.
    """
    file = NetworkFile(where, default_name, _TERMS)
    network = _network_element(data, file)
    file.head["name"] = next((name for name in network.texts("NAME") if name), default_name)
    for text in network.texts("PROPERTY"):
        key, _, value = text.partition("=")
        if key.strip() in PROPERTIES:
            file.head[key.strip()] = value.removeprefix(" ")
    for variable in network.all("VARIABLE"):
        _declare(variable, file)
    if not file.states:
        raise InputError(
            f"{file.at(network.line)}: NETWORK must hold VARIABLEs; it has none. Add them."
        )
    definitions = {}
    for element in network.children:
        # The second is the name in older files.
        if element.tag in ("DEFINITION", "PROBABILITY"):
            definition = _definition(element, file)
            file.claim_table(definition.name, element.line)
            definitions[definition.name] = definition
    file.check_complete()
    return file.network(definitions, normalize=normalize)


def _network_element(data: bytes, file: NetworkFile) -> _Element:
    builder = _TreeBuilder(file)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        remedy = (
            "Is it truncated? Get the whole file."
            if error.code in _TRUNCATED
            else "Correct the file there."
        )
        raise InputError(
            f"{file.at(error.lineno)}: the file must hold XML; "
            f"{expat.ErrorString(error.code)}. {remedy}"
        ) from None
    except (LookupError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{file.where}: the encoding that the file declares must be known; {error}. "
            "Save it as UTF-8."
        ) from None
    root = builder.open[0].children[0]
    networks = root.all("NETWORK")
    if root.tag != "BIF" or len(networks) != 1:
        raise InputError(
            f"{file.at(root.line)}: the file must hold one NETWORK inside BIF; "
            f"found {len(networks)} inside {root.tag}. Is it XMLBIF?"
        )
    return networks[0]


def _declare(variable: _Element, file: NetworkFile) -> None:
    at = file.at(variable.line)
    names, outcomes = variable.texts("NAME"), variable.texts("OUTCOME")
    if len(names) != 1 or not names[0]:
        raise InputError(
            f"{at}: a VARIABLE must have one NAME, not {len(names)} or an empty one. Name it once."
        )
    name = names[0]
    kind = variable.attributes.get("TYPE", "nature")
    if kind != "nature":
        raise InputError(
            f"{at}: variable {name!r} must be of type nature, not {kind!r}. "
            "Only networks of chance variables can be read."
        )
    file.declare(name, outcomes, variable.line)
    if not outcomes or not all(outcomes) or len(set(outcomes)) < len(outcomes):
        raise InputError(
            f"{at}: variable {name!r} must have non-empty OUTCOMEs that differ; they are "
            f"{', '.join(outcomes) or 'none'}. Correct them."
        )


def _definition(element: _Element, file: NetworkFile) -> Definition:
    at = file.at(element.line)
    variables, parents, tables = element.texts("FOR"), element.texts("GIVEN"), element.all("TABLE")
    if len(variables) != 1 or len(tables) != 1:
        raise InputError(
            f"{at}: a DEFINITION must have one FOR and one TABLE; it has {len(variables)} and "
            f"{len(tables)}. Correct it."
        )
    name = variables[0]
    file.check_family(name, parents, element.line)
    # The variable's own states change fastest here; in memory they are the first axis.
    table = empty_table(tuple(len(file.states[other]) for other in (*parents, name)), name, at)
    line = tables[0].line
    words = tables[0].text.split()
    if len(words) != table.size:
        raise InputError(
            f"{file.at(line)}: the TABLE of {name!r} must hold {table.size} numbers; it holds "
            f"{len(words)}. Complete or shorten it."
        )
    table[...] = np.reshape([_number(word, name, file.at(line)) for word in words], table.shape)
    return Definition(name, parents, np.moveaxis(table, -1, 0), line)


def _number(word: str, variable: str, at: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise InputError(
            f"{at}: the TABLE of {variable!r} must hold numbers; found {word[:40]!r}. Correct it."
        ) from None
    return check_probability(value, variable, at)


def format_xmlbif(network: Network) -> str:
    """Write a network as XMLBIF 0.3, without loss.

    Parameters
    ----------
    network : Network
        The model.

    Returns
    -------
    str
        With the usual document type declaration; title, source and whether the tables are
        illustrative are properties.
    """
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        _DOCTYPE,
        '<BIF VERSION="0.3">',
        "<NETWORK>",
        _element("NAME", network.name),
    ]
    lines += [
        _element("PROPERTY", f"{key} = {value}")
        for key, value in stated_properties(network).items()
    ]
    for node in network.nodes:
        lines += [
            '<VARIABLE TYPE="nature">',
            _element("NAME", node.name),
            *(_element("OUTCOME", state) for state in node.states),
            "</VARIABLE>",
        ]
    for node in network.nodes:
        rows = np.moveaxis(node.table, 0, -1).reshape(-1, len(node.states)).tolist()
        lines += [
            "<DEFINITION>",
            _element("FOR", node.name),
            *(_element("GIVEN", parent) for parent in node.parents),
        ]
        lines += [
            "<TABLE>",
            *(" ".join(map(repr, row)) for row in rows),
            "</TABLE>",
            "</DEFINITION>",
        ]
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def _element(tag: str, text: str) -> str:
    mark = ' xml:space="preserve"' if text != text.strip() else ""
    return f"<{tag}{mark}>{escape(text)}</{tag}>"
