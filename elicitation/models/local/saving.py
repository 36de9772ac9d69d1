"""Writing model folders: quietly, and whole or not at all."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Give a folder in a private one beside the target, whose place it takes if all goes well."""
    private = Path(tempfile.mkdtemp(prefix=".part-", dir=target.absolute().parent))
    try:
        made = private / target.name
        made.mkdir()
        yield made
        made.rename(target)  # in one step, since both lie on one file system
    finally:
        # Not in an except: Ctrl-C is no Exception and shall leave nothing either.
        shutil.rmtree(private, ignore_errors=True)


def save_network(network: Any, tokenizer: Any, folder: Path) -> None:
    """Write a network and its tokenizer as ``save_pretrained`` does, in safetensors."""
    from elicitation.models.local.loading import quiet_transformers

    with quiet_transformers():
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
