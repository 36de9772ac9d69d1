"""The one list of formats, and which of them a file has, told by its content.

Modules are named as text, so that a command can list the formats without loading them. The first
that recognises a file has it: the plain table, which takes any, stands last.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.errors import InputError
from coherence.importing.log_format import MAX_BYTES
from coherence.table.text_files import AS_IT_SAYS, TextForm, inner_suffix

if TYPE_CHECKING:
    from coherence.importing.answer_log import AnswerLog
    from coherence.importing.log_format import LogFormat

MODULES = {
    "inspect": "inspect_log",
    "lm-eval": "lm_eval",
    "openai-batch": "openai_batch",
    "folktexts": "folktexts",
    "table": "plain_tables",
}
"""Name of a format -> its module beside this one, which ends in ``FORMAT = LogFormat(...)``."""


def format_declaration(name: str) -> "LogFormat":
    """Return what a format of `MODULES` declares."""
    declared: LogFormat = import_module(f"coherence.importing.{MODULES[name]}").FORMAT
    return declared


def detect_format(path: Path, text: TextForm = AS_IT_SAYS) -> str:
    """Tell a file's format."""
    suffix = inner_suffix(path)
    declared = {name: format_declaration(name) for name in MODULES}
    for name, form in declared.items():
        said = {"text": text} if form.takes_text else {}
        if suffix in form.endings and form.recognises(path, **said):
            return name
    *others, last = dict.fromkeys(ending for form in declared.values() for ending in form.endings)
    raise InputError(
        f"{path}: the ending must be {', '.join(others)} or {last}, "
        f"not {suffix or 'missing'!r}. Name the format (--format)."
    )


def read_logs(
    paths: Sequence[Path],
    *,
    format: str = "auto",
    max_bytes: int = MAX_BYTES,
    text: TextForm = AS_IT_SAYS,
) -> "tuple[str, list[AnswerLog]]":
    """Read files of one format."""
    for path in paths:
        if not path.is_file():
            raise InputError(f"{path}: no such file. Name the log itself, not its folder.")
        # An empty file has no format of its own to complain about.
        if path.stat().st_size == 0:
            raise InputError(f"{path}: the file is empty (0 bytes). Check the run that wrote it.")
    if max_bytes < 1:
        raise InputError(f"max_bytes must be positive; received {max_bytes}.")
    formats = (
        [detect_format(path, text) for path in paths] if format == "auto" else [format] * len(paths)
    )
    # Fields mean different things in each format, and one mapping must serve all files.
    for path, other in zip(paths, formats, strict=True):
        if other != formats[0]:
            raise InputError(
                f"{path} is of the format {other}, {paths[0]} of the format {formats[0]}. "
                "Import files of different formats one by one."
            )
    form = format_declaration(formats[0])
    # A user who names a separator believes in a table; passing over it would hide the mistake.
    if text != AS_IT_SAYS and not form.takes_text:
        raise InputError(
            f"{paths[0]}: a log of the format {formats[0]} says itself how it is written. "
            "Leave out --sep, --decimal and --encoding."
        )
    said = {"text": text} if form.takes_text else {}
    logs = [form.read(path, max_bytes=max_bytes, **said) for path in paths]
    return formats[0], logs if form.join is None else form.join(logs)
