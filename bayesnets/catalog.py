"""Named networks that come with the package, and networks from a file."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from bayesnets.files import ENDINGS, SUFFIXES, read_network
from bayesnets.network import Network
from coherence.errors import InputError, suggestion


@dataclass(frozen=True)
class NetworkFacts:
    """What there is to know about a network of the catalogue before it is used.

    Parameters
    ----------
    name : str
        Name in the catalogue.
    description : str
        What the network models, in one line.
    source : str
        Where structure and tables come from.
    tables : {"published", "illustrative", "fitted"}
        Whether the tables are those of the source, were made up here for teaching, or were counted
        in data.
    n_nodes, n_edges : int
        Numbers of variables and of arrows.
    n_parameters : int
        Free probabilities: the entries of the tables, less one per column.
    default_target : str
        The variable that cases are about unless the user says otherwise.
    variables : Mapping of str to tuple of str
        States by variable, in topological order.
    """

    name: str
    description: str
    source: str
    tables: str
    n_nodes: int
    n_edges: int
    n_parameters: int
    default_target: str
    variables: Mapping[str, tuple[str, ...]]


def network_names() -> tuple[str, ...]:
    """Return the names of the networks in the catalogue.

    Returns
    -------
    tuple of str
        In alphabetical order.

    Examples
    --------
    >>> "asia" in network_names()
    True
    """
    return catalog_names(".json")


def load_network(name_or_path: str | Path) -> Network:
    """Read a network from the catalogue or from a file.

    Parameters
    ----------
    name_or_path : str or Path
        A name in the catalogue, or the path of a file, see `read_network`.

    Returns
    -------
    Network
        As checked by `Network.from_json`, or by `bayesnets.read_network` for a file.

    Raises
    ------
    InputError
        Unknown name (the message proposes the closest), or an unreadable or invalid file.

    Examples
    --------
    >>> load_network("asia").names
    ('asia', 'smoke', 'tub', 'lung', 'bronc', 'either', 'xray', 'dysp')
    """
    # A name is never taken for a file that happens to lie in the working directory.
    if isinstance(name_or_path, Path) or str(name_or_path).lower().endswith(SUFFIXES):
        return read_network(name_or_path)
    known = network_names()
    if name_or_path not in known:
        raise InputError(
            "network must be a name in the catalogue or the path of a file that ends in "
            f"{ENDINGS}, not {name_or_path!r}. {suggestion(name_or_path, known)}"
        )
    return Network.from_json(
        catalog_text(f"{name_or_path}.json"), where=f"network {name_or_path!r}"
    )


def describe(name: str) -> NetworkFacts:
    """Return the facts of a network of the catalogue.

    Parameters
    ----------
    name : str
        A name in the catalogue.

    Returns
    -------
    NetworkFacts
        Sizes, origin, variables.

    Raises
    ------
    InputError
        Unknown name; the message proposes the closest.

    Examples
    --------
    >>> facts = describe("alarm")
    >>> facts.n_nodes, facts.n_edges, facts.n_parameters, facts.tables
    (37, 46, 509, 'published')
    """
    known = network_names()
    if name not in known:
        raise InputError(
            f"name must be a network of the catalogue, not {name!r}. {suggestion(name, known)}"
        )
    network = load_network(name)
    return NetworkFacts(
        name=name,
        description=network.description,
        source=network.source,
        tables=network.tables or "",
        n_nodes=len(network.nodes),
        n_edges=sum(len(node.parents) for node in network.nodes),
        n_parameters=n_parameters(network),
        default_target=tomllib.loads(catalog_text(f"{name}.toml"))["default_target"],
        variables=MappingProxyType({node.name: node.states for node in network.nodes}),
    )


def n_parameters(network: Network) -> int:
    """Return the number of free probabilities: the last entry of every column follows."""
    return sum(node.table.size - math.prod(node.table.shape[1:]) for node in network.nodes)


def catalog_names(suffix: str) -> tuple[str, ...]:
    """Return the names of the catalogue's files with an ending, without it and in order."""
    names = sorted(entry.name for entry in _FOLDER.iterdir())
    return tuple(name.removesuffix(suffix) for name in names if name.endswith(suffix))


def catalog_text(file_name: str) -> str:
    """Return the text of a file of the catalogue, such as "asia.json"."""
    return (_FOLDER / file_name).read_text(encoding="utf-8")


_FOLDER = files("bayesnets") / "networks"
