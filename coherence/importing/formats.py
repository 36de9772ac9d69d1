"""Which program wrote a file, told by its content, and the reader for it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from coherence.errors import InputError
from coherence.importing.answer_log import AnswerLog, read_objects
from coherence.importing.archive import MAX_BYTES
from coherence.importing.inspect_log import read_inspect_log
from coherence.importing.lm_eval import read_lm_eval_samples
from coherence.importing.plain_tables import (
    FOLKTEXTS,
    LINES,
    SEPARATORS,
    read_folktexts_predictions,
    read_header,
    read_table,
)

READERS: dict[str, Callable[..., AnswerLog]] = {
    "inspect": read_inspect_log,
    "lm-eval": read_lm_eval_samples,
    "folktexts": read_folktexts_predictions,
    "table": read_table,
}


def detect_format(path: Path) -> str:
    """Tell a file's format.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        A key of `READERS`.

    Raises
    ------
    InputError
        The ending is none that any of the formats has.
    """
    suffix = path.suffix.lower()
    # A single JSON document is a log of Inspect; the other formats have a line per row.
    if suffix in (".eval", ".json"):
        return "inspect"
    if suffix in LINES:
        # One line is enough: every line of a harness log has these two fields.
        first = next((record for _, record in read_objects(path)), {})
        return "lm-eval" if {"doc_id", "resps"} <= set(first) else "table"
    if suffix in SEPARATORS:
        return "folktexts" if set(FOLKTEXTS) <= set(read_header(path)) else "table"
    raise InputError(
        f"{path}: the ending must be .eval, .json, .jsonl, .csv or .tsv, "
        f"not {suffix or 'missing'!r}. Name the format (--format)."
    )


def read_logs(
    paths: Sequence[Path], *, format: str = "auto", max_bytes: int = MAX_BYTES
) -> tuple[str, list[AnswerLog]]:
    """Read files of one format.

    Parameters
    ----------
    paths : sequence of Path
        Existing files, at least one.
    format : str
        A key of `READERS`, or "auto" to tell it by the content.
    max_bytes : int
        Largest size of one unpacked entry of a packed log.

    Returns
    -------
    tuple of str and list of AnswerLog
        The format, and one log per file.

    Raises
    ------
    InputError
        A file is missing, cannot be read, or is of another format than the first.
    """
    for path in paths:
        if not path.is_file():
            raise InputError(f"{path}: no such file. Name the log itself, not its folder.")
        # An empty file has no format of its own to complain about.
        if path.stat().st_size == 0:
            raise InputError(f"{path}: the file is empty (0 bytes). Check the run that wrote it.")
    if max_bytes < 1:
        raise InputError(f"max_bytes must be positive; received {max_bytes}.")
    formats = [detect_format(path) for path in paths] if format == "auto" else [format] * len(paths)
    # Fields mean different things in each format, and one mapping must serve all files.
    for path, other in zip(paths, formats, strict=True):
        if other != formats[0]:
            raise InputError(
                f"{path} is of the format {other}, {paths[0]} of the format {formats[0]}. "
                "Import files of different formats one by one."
            )
    return formats[0], [READERS[formats[0]](path, max_bytes=max_bytes) for path in paths]
