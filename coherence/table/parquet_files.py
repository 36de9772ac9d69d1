"""The parquet files of a table: one, or those of a folder, with what folders' names say of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from coherence.errors import InputError

_SUFFIXES = (".parquet", ".pq")
# What writers of partitioned tables call the folder of rows without a value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class ParquetFile:
    """One file of a table.

    Parameters
    ----------
    path : Path
        The file.
    keys : mapping of str to str or None
        Columns that are not in the file, for its folders say what they hold: ``task=asia``.
    """

    path: Path
    keys: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def stamp(self) -> tuple[int, int]:
        """Size and time of the last change, by which a file is known again."""
        status = self.path.stat()
        return status.st_size, status.st_mtime_ns


def is_parquet(path: Path) -> bool:
    """Tell by its name whether a file is a parquet file.

    Parameters
    ----------
    path : Path
        A file.

    Returns
    -------
    bool
        Whether its name ends so.
    """
    return path.suffix.lower() in _SUFFIXES


def parquet_files(path: Path) -> list[ParquetFile]:
    """List the files of a table.

    Parameters
    ----------
    path : Path
        A parquet file, or a folder of them, partitioned as ``task=asia/model=m/part.parquet`` or
        not. Other folders in it are left out, and files whose names begin with ``.`` or ``_``.

    Returns
    -------
    list of ParquetFile
        Sorted by path.

    Raises
    ------
    InputError
        The folder holds none.
    """
    if not path.is_dir():
        return [ParquetFile(path)]
    files = []
    for file in sorted(path.rglob("*")):
        *folders, name = file.relative_to(path).parts
        partitioned = all("=" in folder for folder in folders)
        if partitioned and is_parquet(file) and file.is_file() and name[0] not in "._":
            pairs = [folder.partition("=") for folder in folders]
            keys = {unquote(key): _value(text) for key, _, text in pairs}
            files.append(ParquetFile(file, keys))
    if not files:
        raise InputError(
            f"{path}: the folder holds no .parquet file. Name a file, or a folder of parquet files."
        )
    return files


def _value(text: str) -> str | None:
    return None if text == _NO_VALUE else unquote(text)


def count_rows(path: Path) -> int:
    """Count the rows of a parquet table without reading it.

    Parameters
    ----------
    path : Path
        A file or a folder.

    Returns
    -------
    int
        Rows; 0 where there is no such table, or a file cannot be opened, which reading it says.
    """
    import pyarrow.parquet as pq

    try:
        return sum(pq.ParquetFile(file.path).metadata.num_rows for file in parquet_files(path))
    except (InputError, OSError, ValueError):
        return 0
