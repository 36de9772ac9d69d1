"""Networks read from files and written to them: BIF, XMLBIF and JSON, by the ending of the name.

The readers are our own. pgmpy's pass over errors without a word (a row given twice, a cut-off end,
words where numbers belong), take seconds for a file, and lose names with spaces.
"""

import contextlib
import gzip
import json
import math
import re
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import numpy as np

from bayesnets.network import UNNAMED, Network, Node, as_network, rescaled
from bayesnets.support import Floats
from coherence.errors import InputError, suggestion
from coherence.runs.files import replacing
from coherence.runs.formats import bare_name, inner_suffix, read_bytes

_XML = (".xml", ".xmlbif", ".bifxml")
_PLAIN_SUFFIXES = (".bif", *_XML, ".json")
SUFFIXES = (*_PLAIN_SUFFIXES, *(f"{suffix}.gz" for suffix in _PLAIN_SUFFIXES))
ENDINGS = ".bif, .xml, .xmlbif, .bifxml or .json, each also with .gz behind it"
_PROPERTIES = ("name", "title", "description", "source", "illustrative", "tables")
"""What a network says about itself; other formats than JSON have no place of their own for it."""
_HEAD = "// belief-coherence "  # a comment to other programs
_MOST_ENTRIES = 2**26  # half a gigabyte for one table

# BIF: comments and texts in quotes are taken out first, so that only the format's own marks remain.
_COMMENT = re.compile(r'"([^"\n]*)"|/\*.*?\*/|//[^\n]*', re.DOTALL)
_PROPERTY = re.compile(r"\bproperty\b[^;]*;")
_NAME = re.compile(r"\x00[0-9]+\x00|[^\s,|(){};\x00]+")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_BLOCK = re.compile(
    r"""\s*(?:
    network\b (?P<network>[^{}]*) \{
    | (?P<end>\})
    | variable\b (?P<variable>[^{}]*) \{ \s* type \s+ discrete \s*
        \[ \s* (?P<n>[0-9]+) \s* \] \s* \{ (?P<states>[^{}]*) \} \s* ; \s* \}
    | probability \s* \( (?P<family>[^{}()]*) \) \s* \{ (?P<entries>[^{}]*) \}
    )\s*""",
    re.VERBOSE,
)
_ENTRY = re.compile(
    r"\s*(?:\((?P<states>[^()]*)\)|(?P<kind>table|default)\b)(?P<numbers>[0-9.eE+,\s-]*)"
)


def read_network(path: str | Path) -> Network:
    """Read a network from a file.

    Columns whose sums miss 1 by rounding, at most .01, are divided by them, with a warning.

    Parameters
    ----------
    path : str or Path
        Ends in .bif (BIF), .xml, .xmlbif or .bifxml (XMLBIF 0.3), or .json (`Network.to_json`),
        with .gz behind it where gzip packed it. UTF-8; XML may declare another encoding.

    Returns
    -------
    Network
        Validated; variables in the order of the file, parents first. Where a BIF or XML file does
        not say them, the name is that of the file and the title repeats the name.

    Raises
    ------
    InputError
        The file can't be read, does not hold a network, or one that breaks a rule of `Network`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from bayesnets import load_network
    >>> with TemporaryDirectory() as folder:
    ...     write_network(load_network("asia"), f"{folder}/mine.bif")
    ...     read_network(f"{folder}/mine.bif") == load_network("asia")
    True
    """
    source = Path(path)
    suffix = _suffix(source)
    try:
        data = read_bytes(source)
    except (OSError, ValueError) as error:
        # Reading a folder fails with another error on every system.
        reason = (
            "it is a folder" if source.is_dir() else getattr(error, "strerror", None) or str(error)
        )
        raise InputError(
            f"network file must be a readable file; {path} is not: {reason}. Check the path."
        ) from None
    if not data.strip():
        raise InputError(f"network file must hold a network; {path} is empty. Check what wrote it.")
    try:
        if suffix in _XML:
            return _read_xml(data, source)
        try:
            text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"line {line}: the file must be UTF-8 text; byte {error.start} is not. "
                "Save it as UTF-8."
            ) from None
        if suffix == ".bif":
            return _read_bif(text, source)
        return Network.from_json(text, where=str(path))
    except InputError as error:
        message = str(error)
        raise InputError(message if str(path) in message else f"{path}: {message}") from None


def write_network(network: Any, path: str | Path, *, replace: bool = True) -> None:
    """Write a network to a file that `read_network` reads back without loss.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    path : str or Path
        Ends in .bif, .xml, .xmlbif, .bifxml or .json, with .gz behind it to be packed. A file of
        that name is replaced, in one step.
    replace : bool
        Whether it is. If not, one that differs is kept, and an error.

    Raises
    ------
    InputError
        Another ending, a folder that does not exist or can't be written to, or names that the
        format cannot hold: quotation marks and line ends in BIF, control characters in XML.

    Examples
    --------
    >>> import tempfile
    >>> from bayesnets import load_network, read_network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_network(load_network("asia"), f"{folder}/asia.bif")
    ...     len(read_network(f"{folder}/asia.bif").nodes)
    8
    """
    model = as_network(network)
    target = Path(path)
    suffix = _suffix(target)
    if suffix == ".json":
        formatted = model.to_json()
    else:
        names = [text for node in model.nodes for text in (node.name, *node.states)]
        bif = suffix == ".bif"
        # Readers of XML change control characters and the spaces around a text, or refuse them.
        _require_texts(target, names if bif else [*names, *_stated(model).values()], suffix)
        formatted = _format_bif(model) if bif else _format_xml(model)
    try:
        encoded = formatted.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"{target}: names must be text; one is a lone surrogate. Rename it."
        ) from None
    if target.suffix.lower() == ".gz":
        encoded = gzip.compress(encoded, mtime=0)  # the same bytes at any hour
    replace_file(target, encoded, keep=not replace)


def replace_file(path: Path, data: bytes, *, keep: bool = False) -> None:
    """Write a file so that a crash leaves either the old one or the new one."""
    with replacing(path, keep=keep) as temporary:
        temporary.write_bytes(data)


def _suffix(path: Path) -> str:
    suffix = inner_suffix(path)
    if suffix not in _PLAIN_SUFFIXES:
        raise InputError(
            f"network file must end in {ENDINGS}; {str(path)!r} does not. Rename or convert it."
        )
    return suffix


def _require_texts(path: Path, texts: Iterable[str], suffix: str) -> None:
    bif = suffix == ".bif"
    forbidden = re.compile('["\x00-\x1f]' if bif else "[\x00-\x1f\x7f-\x9f\ufffe\uffff]")
    for text in texts:
        found = forbidden.search(text)
        if found or (not bif and text != text.strip()):
            mark = repr(found[0]) if found else "a space at an end"
            raise InputError(
                f"{path}: names must be free of {mark} in a {suffix} file; {text[:40]!r} has "
                "it. Rename it, or write .json, which holds any name."
            )


def _stated(network: Network) -> dict[str, str]:
    """Return what a network says about itself, as text; what it does not say is left out."""
    values = {key: getattr(network, key) for key in _PROPERTIES}
    values["illustrative"] = "yes" if network.illustrative else "no"
    return {key: value for key, value in values.items() if value or key == "source"}


def _network(
    states: dict[str, tuple[str, ...]], tables: dict[str, Node], head: dict[str, str], path: Path
) -> Network:
    if not states:
        raise InputError("the file must declare variables; it has none. Is it empty or cut off?")
    if missing := [name for name in states if name not in tables]:
        raise InputError(
            f"variable {missing[0]!r} must have a table; there is none. Is the file cut off?"
        )
    nodes = [tables[name] for name in states]
    name = head.get("name", "")
    # Our own files say where a network is from, and then even such a name is meant.
    if name in UNNAMED and "source" not in head:
        name = bare_name(path)
    return Network(
        name,
        head.get("title", name),
        head.get("source", f"file {path.name}"),
        head.get("illustrative", "yes" if head.get("tables") == "illustrative" else "no") == "yes",
        tuple(rescaled(nodes, str(path))),
        head.get("description", ""),
        head.get("tables"),
    )


def _require_family(
    family: Sequence[str], states: dict[str, tuple[str, ...]], tables: dict[str, Node]
) -> tuple[int, ...]:
    """Return the shape of a table, own states first."""
    for name in family:
        if name not in states:
            raise InputError(
                f"the table of {', '.join(family)} must be of declared variables; {name!r} is not "
                f"one. {suggestion(name, states)}"
            )
    if family[0] in tables:
        raise InputError(f"the table of {family[0]!r} must be given once. Remove one.")
    shape = tuple(len(states[name]) for name in family)
    if math.prod(shape) > _MOST_ENTRIES:
        raise InputError(
            f"the table of {family[0]!r} must have at most {_MOST_ENTRIES} entries; "
            f"{len(family) - 1} parents make {math.prod(shape)}. Remove parents, or merge states."
        )
    return shape


def _read_bif(text: str, path: Path) -> Network:
    head: dict[str, str] = {}
    if text.startswith(_HEAD):
        with contextlib.suppress(ValueError, RecursionError):  # a comment of somebody else's
            stated = json.loads(text.partition("\n")[0].removeprefix(_HEAD))
            head = {key: stated[key] for key in _PROPERTIES if isinstance(stated.get(key), str)}
    texts: list[str] = []

    def taken_out(found: re.Match[str]) -> str:
        if found[1] is None:
            return "\n" * found[0].count("\n")  # lines are counted below
        texts.append(found[1])
        return f" \0{len(texts) - 1}\0 "

    def names(of: str) -> list[str]:
        words = _NAME.findall(of)
        return [texts[int(word.strip("\0"))] if word[0] == "\0" else word for word in words]

    bare = _COMMENT.sub(taken_out, text.replace("\0", " "))
    bare = _PROPERTY.sub(lambda found: "\n" * found[0].count("\n"), bare)
    states: dict[str, tuple[str, ...]] = {}
    blocks, place = [], 0
    inside = False  # a network may end before its variables, or hold them
    while place < len(bare) or inside:
        block = _BLOCK.match(bare, place)
        line = bare.count("\n", 0, place + len(bare[place:]) - len(bare[place:].lstrip())) + 1
        if block is None or (block["end"] if not inside else block["network"]) is not None:
            raise InputError(
                f"{path}, line {line}: a block must begin and end here: network NAME {{ }}, "
                "variable NAME { type discrete [ n ] { states }; } or probability ( NAME | "
                "parents ) { rows }. Is the file cut off, or is a bracket or a quote left out?"
            )
        place = block.end()
        if block["family"] is not None:
            blocks.append((block, line))
        elif block["end"] is not None:
            inside = False
        elif block["network"] is not None:
            inside = True
            head.setdefault("name", " ".join(names(block["network"])))
        else:
            named, listed = names(block["variable"]), tuple(names(block["states"]))
            if len(named) != 1 or len(listed) != int(block["n"]) or named[0] in states:
                raise InputError(
                    f"{path}, line {line}: a variable must be declared once, with one name and as "
                    f"many states as it announces; here are the name {' '.join(named)!r}, "
                    f"{block['n']} announced and {len(listed)} listed. Put names with spaces or "
                    "commas in double quotes."
                )
            states[named[0]] = listed
    # Last, because a table may stand before the variables that it names.
    tables: dict[str, Node] = {}
    for block, line in blocks:
        try:
            family = names(block["family"])
            shape = _require_family(family, states, tables)
            table = _bif_table(family, block["entries"], shape, states, names)
        except InputError as error:
            raise InputError(f"{path}, line {line}: {error}") from None
        tables[family[0]] = Node(family[0], states[family[0]], tuple(family[1:]), table)
    return _network(states, tables, head, path)


def _bif_table(
    family: Sequence[str],
    text: str,
    shape: tuple[int, ...],
    states: dict[str, tuple[str, ...]],
    names: Any,
) -> Floats:
    *entries, rest = text.split(";")
    rows: dict[tuple[int, ...], list[float]] = {}
    special: dict[str, list[float]] = {}
    for entry in [*entries, *([rest] if rest.strip() else [])]:
        matched = _ENTRY.fullmatch(entry)
        try:
            if matched is None or entry is rest:
                raise ValueError
            kind = matched["kind"]
            numbers = [float(word) for word in matched["numbers"].replace(",", " ").split()]
            if len(numbers) != (math.prod(shape) if kind == "table" else shape[0]):
                raise ValueError
            if kind:
                n_given, special[kind] = len(special), numbers
                given_twice = len(special) == n_given
            else:
                labels = zip(family[1:], names(matched["states"]), strict=True)
                codes = tuple(states[parent].index(state) for parent, state in labels)
                given_twice, rows[codes] = codes in rows, numbers
            if given_twice:
                raise ValueError
        except ValueError:
            raise InputError(
                f"entries of the table of {family[0]!r} must be the states of "
                f"{', '.join(family[1:]) or 'no parents'} in brackets, each once, or 'table' or "
                f"'default', then {shape[0]} numbers ({math.prod(shape)} after 'table') and a "
                f"semicolon; found {' '.join(names(entry))[:60]!r}. Correct it."
            ) from None
    n_rows = math.prod(shape[1:])
    if "table" in special and not rows and len(special) == 1:
        # In this format the variable's own states change slowest; in XML they change fastest.
        return np.reshape(special["table"], shape)
    if "table" in special or ("default" not in special and len(rows) < n_rows):
        raise InputError(
            f"the table of {family[0]!r} must have a row for each of the {n_rows} states of its "
            f"parents, or 'table' alone; it has {len(rows)}. Add the others, or a 'default'."
        )
    columns = np.empty((*shape[1:], shape[0]))
    if "default" in special:
        columns[...] = special["default"]
    for codes, numbers in rows.items():
        columns[codes] = numbers
    return np.moveaxis(columns, -1, 0)


def _read_xml(data: bytes, path: Path) -> Network:
    # Some programs write blanks before the declaration, where XML allows nothing.
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise InputError(
            f"{path}: the file must hold XML; {error}. Is it cut off, or of another encoding?"
        ) from None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # without the namespace
    networks = [root] if root.tag == "NETWORK" else root.findall("NETWORK")
    if root.tag not in ("BIF", "NETWORK") or len(networks) != 1:
        raise InputError(
            f"{path}: the file must hold one NETWORK inside BIF; found {len(networks)} inside "
            f"{root.tag}. Is it XMLBIF?"
        )
    states: dict[str, tuple[str, ...]] = {}
    for variable in networks[0].findall("VARIABLE"):
        names = _texts(variable, "NAME")
        kind = variable.get("TYPE", "nature")
        if len(names) != 1 or names[0] in states or kind != "nature":
            raise InputError(
                "a VARIABLE must have one NAME of its own and the type nature; found "
                f"{', '.join(names) or 'no name'} of type {kind}. Correct it."
            )
        states[names[0]] = tuple(_texts(variable, "OUTCOME"))
    tables: dict[str, Node] = {}
    # The second is the name in older files.
    for tag in ("DEFINITION", "PROBABILITY"):
        for definition in networks[0].findall(tag):
            family = _texts(definition, "FOR") + _texts(definition, "GIVEN")
            if len(_texts(definition, "FOR")) != 1 or len(_texts(definition, "TABLE")) != 1:
                raise InputError(
                    f"a DEFINITION must have one FOR and one TABLE; that of {family} has not. "
                    "Correct it."
                )
            shape = _require_family(family, states, tables)
            words = _texts(definition, "TABLE")[0].split()
            try:
                # The variable's own states change fastest here; in memory they are the first axis.
                values = np.reshape([float(word) for word in words], (*shape[1:], shape[0]))
            except ValueError:
                raise InputError(
                    f"the TABLE of {family[0]!r} must hold {math.prod(shape)} numbers; it holds "
                    f"{len(words)} words, {' '.join(words)[:40]!r}. Correct it."
                ) from None
            table = np.moveaxis(values, -1, 0)
            tables[family[0]] = Node(family[0], states[family[0]], tuple(family[1:]), table)
    stated = [text.partition("=") for text in _texts(networks[0], "PROPERTY")]
    head = {key.strip(): text.strip() for key, _, text in stated if key.strip() in _PROPERTIES}
    head["name"] = "".join(_texts(networks[0], "NAME")[:1])
    return _network(states, tables, head, path)


def _texts(element: ElementTree.Element, tag: str) -> list[str]:
    return [(child.text or "").strip() for child in element.findall(tag)]


def _format_bif(network: Network) -> str:
    def named(text: str) -> str:
        return text if _PLAIN.fullmatch(text) else f'"{text}"'

    # Other readers take no more than a plain word; the whole name stands in the first line.
    name = network.name if _PLAIN.fullmatch(network.name) else "network"
    lines = [_HEAD + json.dumps(_stated(network)), f"network {name} {{", "}"]
    for node in network.nodes:
        lines += [
            f"variable {named(node.name)} {{",
            f"    type discrete [ {len(node.states)} ] {{ {', '.join(map(named, node.states))} }};",
            "}",
        ]
    for node in network.nodes:
        given = f" | {', '.join(map(named, node.parents))}" if node.parents else ""
        lines.append(f"probability ( {named(node.name)}{given} ) {{")
        columns = np.moveaxis(node.table, 0, -1)
        labels = product(*(map(named, network.states(parent)) for parent in node.parents))
        for states, codes in zip(labels, np.ndindex(columns.shape[:-1]), strict=True):
            # repr gives the shortest text that reads back as the same number.
            numbers = ", ".join(map(repr, columns[codes].tolist()))
            row = f"( {', '.join(states)} )" if states else "table"
            lines.append(f"    {row} {numbers};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _format_xml(network: Network) -> str:
    def element(tag: str, text: str) -> str:
        return f"<{tag}>{escape(text)}</{tag}>"

    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>"]
    stated = _stated(network)
    lines.append(element("NAME", stated.pop("name")))
    lines += [element("PROPERTY", f"{key} = {value}") for key, value in stated.items()]
    for node in network.nodes:
        lines += ['<VARIABLE TYPE="nature">', element("NAME", node.name)]
        lines += [*(element("OUTCOME", state) for state in node.states), "</VARIABLE>"]
    for node in network.nodes:
        # The variable's own states change fastest here; in memory they are the first axis.
        rows = np.moveaxis(node.table, 0, -1).reshape(-1, len(node.states)).tolist()
        lines += ["<DEFINITION>", element("FOR", node.name)]
        lines += [element("GIVEN", parent) for parent in node.parents]
        lines += ["<TABLE>", *(" ".join(map(repr, row)) for row in rows), "</TABLE>"]
        lines.append("</DEFINITION>")
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])
