"""Networks read from files and written to them: BIF, XMLBIF and JSON, by the ending of the name.

A file is checked as it is read, with the line of a fault in the message, and is written to a
temporary file that then takes the place of the old one.
"""

import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np

from bayesnets.formats.bif import format_bif, parse_bif
from bayesnets.formats.conversion import as_network
from bayesnets.formats.definitions import rescaled, stated_properties
from bayesnets.formats.xmlbif import format_xmlbif, parse_xmlbif
from bayesnets.network import Network
from bayesnets.node import first_no_number
from coherence.errors import InputError
from coherence.table.files import replacing

SUFFIXES = (".bif", ".xml", ".xmlbif", ".json")
_XML = (".xml", ".xmlbif")


def read_network(path: str | Path, *, normalize: bool = False) -> Network:
    """Read a network from a file.

    Parameters
    ----------
    path : str or Path
        Ends in .bif (BIF), .xml or .xmlbif (XMLBIF 0.3), or .json (`Network.to_json`). UTF-8; XML
        may declare another encoding.
    normalize : bool
        Divide columns whose sum misses 1 by rounding (at most .05) by their sums, and warn which
        tables were changed by how much. By default such a file is refused.

    Returns
    -------
    Network
        Validated. Where a BIF or XML file does not say them, the name is that of the file and the
        title repeats the name.

    Raises
    ------
    InputError
        The file can't be read, is no network, or holds one that breaks a rule of `Network`; the
        message names file and line.

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
        data = source.read_bytes()
    except (OSError, ValueError) as error:
        # Reading a folder fails with another error on every system.
        reason = "it is a folder" if source.is_dir() else _reason(error)
        raise InputError(
            f"network file must be a readable file; {path} is not: {reason}. Check the path."
        ) from None
    if not data.strip():
        raise InputError(f"network file must hold a network; {path} is empty. Check what wrote it.")
    if suffix in _XML:
        return parse_xmlbif(data, str(path), default_name=source.stem, normalize=normalize)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: the file must be UTF-8 text; byte {error.start} is not. "
            "Save it as UTF-8."
        ) from None
    # As in text mode; lines are counted by their "\n".
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if suffix == ".bif":
        return parse_bif(text, str(path), default_name=source.stem, normalize=normalize)
    return _from_json(_rescaled_json(text, str(path)) if normalize else text, str(path))


def write_network(network: Any, path: str | Path) -> None:
    """Write a network to a file that `read_network` reads back without loss.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model.
    path : str or Path
        Ends in .bif, .xml, .xmlbif or .json. A file of that name is replaced, in one step.

    Raises
    ------
    InputError
        Another ending, a folder that does not exist or can't be written to, or names with control
        characters, which only JSON can hold.

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
    # Lone surrogates are no text in any of the formats.
    forbidden = ("Cs",) if suffix == ".json" else ("Cs", "Cc")
    texts = [
        model.name,
        *stated_properties(model).values(),
        *(text for node in model.nodes for text in (node.name, *node.states)),
    ]
    for text in texts:
        if any(
            unicodedata.category(character) in forbidden or character in "\ufffe\uffff"
            for character in text
        ):
            raise InputError(
                f"{target}: texts of a network must be free of control characters in a {suffix} "
                "file; "
                f"{text[:40]!r} has one. Rename it."
            )
    if suffix == ".json":
        formatted = model.to_json()
    else:
        formatted = format_bif(model) if suffix == ".bif" else format_xmlbif(model)
    replace_file(target, formatted.encode("utf-8"))


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves either the old one or the new one.

    Parameters
    ----------
    path : Path
        The file.
    data : bytes
        Its new content.

    Raises
    ------
    InputError
        The path is a folder, or its folder does not exist or can't be written to.
    """
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def _reason(error: OSError | ValueError) -> str:
    # Without the number and the path, which the message has already.
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"network file must end in {', '.join(SUFFIXES)}; {str(path)!r} does not. "
            "Rename or convert it."
        )
    return suffix


def _from_json(text: str, where: str) -> Network:
    try:
        return Network.from_json(text, where=where)
    except InputError as error:
        message = str(error) if where in str(error) else f"{where}: {error}"
        raise InputError(
            f"{message} For rounded columns use read_network(path, normalize=True)."
            if "with sum" in message
            else message
        ) from None
    except (TypeError, OverflowError, RecursionError) as error:
        raise InputError(
            f"{where} must have the layout of Network.to_json; {error}. "
            "Compare it with a file written by write_network."
        ) from None


def _rescaled_json(text: str, where: str) -> str:
    """Return the text with rescaled tables, or as it is if `Network.from_json` will refuse it."""
    try:
        data = json.loads(text)
        if any(first_no_number(node["table"]) is not None for node in data["nodes"]):
            return text
        # Innermost lists are distributions; `rescaled` wants a node's states first.
        tables = {
            str(node["name"]): np.moveaxis(np.array(node["table"], dtype=float), -1, 0)
            for node in data["nodes"]
        }
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return text
    if len(tables) < len(data["nodes"]) or not all(np.all(table >= 0) for table in tables.values()):
        return text
    for node, table in zip(data["nodes"], rescaled(tables, where).values(), strict=True):
        node["table"] = np.moveaxis(table, 0, -1).tolist()
    return json.dumps(data)
