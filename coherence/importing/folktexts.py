"""Predictions of a folktexts benchmark: one risk score and one label per row of its data."""

from dataclasses import replace
from pathlib import Path

from coherence.errors import InputError, closest
from coherence.importing.log_format import AnswerLog, LogFormat
from coherence.importing.plain_tables import ROW, read_header, read_table
from coherence.table.text_files import AS_IT_SAYS, SEPARATORS, TextForm, inner_suffix

COLUMNS = ("risk_score", "label")


def read_folktexts_predictions(
    path: Path, *, max_bytes: int, text: TextForm = AS_IT_SAYS
) -> AnswerLog:
    """Read the predictions file of a folktexts benchmark."""
    if inner_suffix(path) not in SEPARATORS:
        raise InputError(f"{path}: folktexts writes its predictions as .csv. Name that file.")
    log = read_table(path, max_bytes=max_bytes, text=text)
    names = log.field_names
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise InputError(
            f"{path}: folktexts writes a column {missing[0]!r}, and there is none. "
            f"{closest(missing[0], names)} Is it --format table?"
        )
    fields = {"p": "risk_score", "theta": "label"} | ({"context": ROW} if ROW in names else {})
    return replace(log, fields=fields)


FORMAT = LogFormat(
    tuple(SEPARATORS),
    recognises=lambda path, text: set(COLUMNS) <= set(read_header(path, text)),
    read=read_folktexts_predictions,
    takes_text=True,
)
