"""Named networks that come with the package, and networks from a file."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from bayesnets.names import suggestion
from bayesnets.network import Network
from coherence.errors import InputError


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
    return tuple(sorted(entry.name.removesuffix(".json") for entry in _folder().iterdir() if entry.name.endswith(".json")))


def load_network(name_or_path: str | Path) -> Network:
    """Read a network from the catalogue or from a JSON file.

    Parameters
    ----------
    name_or_path : str or Path
        A name in the catalogue, or a path that ends in .json.

    Returns
    -------
    Network
        Validated.

    Raises
    ------
    InputError
        Unknown name (the message proposes the closest), or an unreadable or invalid file.

    Examples
    --------
    >>> load_network("asia").names
    ('asia', 'smoke', 'tub', 'lung', 'bronc', 'either', 'xray', 'dysp')
    """
    if isinstance(name_or_path, Path) or str(name_or_path).endswith(".json"):
        return Network.from_file(name_or_path)
    known = network_names()
    if name_or_path not in known:
        raise InputError(
            f"network must be a name in the catalogue or a path to a .json file, not {name_or_path!r}. {suggestion(name_or_path, known)}"
        )
    return Network.from_json(catalog_file(f"{name_or_path}.json").read_text(encoding="utf-8"), where=f"network {name_or_path!r}")


def catalog_file(file_name: str) -> Traversable:
    """Return a file of the catalogue.

    Parameters
    ----------
    file_name : str
        Such as "asia.json".

    Returns
    -------
    Traversable
        The file, which may not exist.
    """
    return _folder() / file_name


def _folder() -> Traversable:
    return files("bayesnets") / "networks"
