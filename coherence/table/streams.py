"""A runs table that comes as bytes, from a pipe say, without a name whose ending tells its kind.

The kind is told by the content. The bytes go to a temporary file first, because the readers of
tables look at a beginning more than once.
"""

import shutil
import tempfile
from pathlib import Path
from typing import IO, Any

import pandas as pd

from coherence.errors import InputError, SchemaError
from coherence.table.storage import read_runs
from coherence.table.text_files import open_bytes

STANDARD_INPUT = "standard input"
_PARQUET = b"PAR1"
# What may stand before the first character of a text: byte order marks, blanks, and the zero bytes
# of two-byte encodings.
_BEFORE_TEXT = b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"


def kind_of(head: bytes) -> str:
    """Tell what kind of table bytes are the beginning of."""
    if head.startswith(_PARQUET):
        return ".parquet"
    return ".jsonl" if head.lstrip(_BEFORE_TEXT)[:1] in (b"{", b"[") else ".csv"


def read_stream(stream: IO[bytes], *, source: str = STANDARD_INPUT, **options: Any) -> pd.DataFrame:
    """Read a runs table to the end of a stream."""
    with tempfile.TemporaryDirectory(prefix="coherence-") as folder:
        came = Path(folder) / "runs"
        with came.open("wb") as file:
            shutil.copyfileobj(stream, file)
        if came.stat().st_size == 0:
            raise InputError(
                f"{source}: nothing came (0 bytes). Pipe a table into the command, or name a file."
            )
        path = came
        try:
            with open_bytes(came) as content:
                kind = kind_of(content.read(256))
            path = came.rename(came.with_suffix(kind))
            return read_runs(path, **options)
        # The file is gone when the message is read.
        except SchemaError as error:
            raise SchemaError(error.faults, source) from None
        except InputError as error:
            raise error.renamed({str(path): source, str(came): source}) from None
