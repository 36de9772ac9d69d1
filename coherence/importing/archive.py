"""Entries of a zip file from elsewhere: read one by one, into memory only, up to a stated size.

Inspect packs its logs with Zstandard (method 93 of the zip format, APPNOTE 6.3.8), which `zipfile`
lists and cannot unpack before Python 3.14; pyarrow unpacks it. Names of entries are compared and
shown, and never used as paths.
"""

import struct
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

from coherence.errors import InputError

MAX_BYTES = 200_000_000
"""Bytes that one entry may unpack to unless the caller says otherwise."""
MOST_TIMES = 100
"""How many times that all entries together may unpack to."""
_ZSTANDARD = 93
_LOCAL_HEADER = (
    30  # bytes before name and extra field, whose lengths are the last four (APPNOTE 4.3.7)
)
_CHUNK = 1 << 20


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Archive:
    """A zip file that may be damaged or hostile.

    Parameters
    ----------
    path : Path
        The file.
    max_bytes : int
        Largest size of one unpacked entry.

    Raises
    ------
    InputError
        The file is no zip file, or its end is missing.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self.path, self.max_bytes = path, max_bytes
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
            raise InputError(
                f"{path}: this is no complete zip file ({error}). A .eval log is one; "
                "if its run or its copy was cut short, get the whole file."
            ) from None
        # Where a name occurs twice the later entry replaces the earlier one, as in every zip
        # reader.
        self._entries = {info.filename: info for info in self._zip.infolist()}
        self._unpacked = 0
        packed = sum(info.compress_size for info in self._zip.infolist())
        # Entries that share their bytes are how a small file unpacks to petabytes.
        if packed > path.stat().st_size:
            self._zip.close()
            raise InputError(
                f"{path}: its entries say that they have {packed:,} packed bytes, more than the "
                "file; such a file is damaged or made to do harm. Get it again."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entries, in the order of the directory."""
        return tuple(self._entries)

    def read(self, name: str) -> bytes:
        """Unpack an entry and hold it against its checksum.

        Parameters
        ----------
        name : str
            One of `names`.

        Returns
        -------
        bytes
            The content.

        Raises
        ------
        InputError
            Larger than `max_bytes`, or with those read before larger than `MOST_TIMES` times that,
            encrypted, packed by an unknown method, truncated or damaged.
        """
        info = self._entries[name]
        where = f"{self.path}: entry {name!r}"
        # Bit 0 of the general purpose flags (APPNOTE 4.4.4).
        if info.flag_bits & 1:
            raise InputError(f"{where} is encrypted. Write the log again without a password.")
        if info.file_size > self.max_bytes:
            raise InputError(
                self._too_large(where, f"says that it unpacks to {info.file_size:,} bytes")
            )
        if self._unpacked + info.file_size > MOST_TIMES * self.max_bytes:
            raise InputError(
                f"{where} would take what was unpacked of the file beyond "
                f"{MOST_TIMES * self.max_bytes:,} bytes. If you trust the file, raise --max-bytes."
            )
        try:
            content = (
                self._unpack_zstandard(info)
                if info.compress_type == _ZSTANDARD
                else self._unpack(info)
            )
        except NotImplementedError:
            raise InputError(
                f"{where} is packed by zip method {info.compress_type}, which is not known here. "
                "Write the log again as .json."
            ) from None
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            ValueError,
            struct.error,
        ) as error:
            # Some errors of zlib and struct have no text, others several lines.
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise InputError(f"{where} is damaged ({reason}). Get the file again.") from None
        # The size in the directory is a claim of the file's writer.
        if len(content) > self.max_bytes:
            raise InputError(self._too_large(where, "unpacks to more than it says"))
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise InputError(
                f"{where} is damaged (size or checksum differ from the directory's). "
                "Get the file again."
            )
        self._unpacked += len(content)
        return content

    def _too_large(self, where: str, what: str) -> str:
        return (
            f"{where} {what}; more than {self.max_bytes:,} are refused. "
            "If you trust the file, raise --max-bytes."
        )

    def _unpack(self, info: zipfile.ZipInfo) -> bytes:
        with self._zip.open(info) as packed:
            return self._bounded(packed)

    def _unpack_zstandard(self, info: zipfile.ZipInfo) -> bytes:
        import pyarrow

        with self.path.open("rb") as file:
            packed = _packed_bytes(file, info, self.path.stat().st_size)
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd") as unpacked:
            return self._bounded(unpacked)

    def _bounded(self, stream: "_Readable | IO[bytes]") -> bytes:
        """Read until the end, or until there is one byte too many."""
        content = bytearray()
        # One byte more than allowed shows that there is more, and no second is unpacked.
        while len(content) <= self.max_bytes and (chunk := stream.read(_CHUNK)):
            content += chunk
        return bytes(content)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()


def _packed_bytes(file: IO[bytes], info: zipfile.ZipInfo, file_size: int) -> bytes:
    """Return the packed bytes behind an entry's local header."""
    # Before anything of that size is read.
    if info.compress_size > file_size:
        raise zipfile.BadZipFile("longer than the file")
    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile("no header where the directory points")
    # The local header's own lengths: those of the directory may differ.
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    file.seek(name_length + extra_length, 1)
    packed = file.read(info.compress_size)
    if len(packed) < info.compress_size:
        raise zipfile.BadZipFile("cut short")
    return packed
