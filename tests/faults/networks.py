"""Read broken networks: the files of the catalogue in all formats, damaged at random.

    python tests/faults/networks.py --files 500 --seed 0

An answer counts if it is an error of this project that names the file, or a network.
"""

import argparse
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bayesnets import Network, load_network, read_network, write_network
from coherence import CoherenceError

NAMES = ("asia", "cancer", "survey")
SUFFIXES = ("json", "bif", "xml")
# What a hand or a program may leave at any place of a text.
TOKENS = (
    *(b'"', b"{", b"}", b"[", b"]", b"(", b")", b",", b";", b"|", b"<", b">", b"&", b"\\", b"//"),
    *(b"/*", b"<!--", b"-->", b"]]>", b"&amp;", b"&x;", b"\0", b"\xff", b"\xef\xbb\xbf", b"\r"),
    *(b"NaN", b"Infinity", b"1e999", b"-1", b"0.0", b"1e-400", b"true", b"null", b'"0.5"', b"{}"),
    *(b"probability", b"variable", b"table", b"<VARIABLE>", b'<!ENTITY a "b">', "ä一".encode()),
    *(b"[" * 2000, b"(" * 2000, b"<A>" * 2000, b"9" * 400, b" " * 1000, b"\n" * 50),
)


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a text with one to five faults."""
    for _ in range(int(rng.integers(1, 6))):
        start = int(rng.integers(len(data) + 1))
        end = min(len(data), start + int(rng.integers(1, 60)))
        token = TOKENS[rng.integers(len(TOKENS))]
        kind = rng.integers(8)
        if kind == 0:
            data = data[:start] + data[end:]
        elif kind == 1:
            data = data[:start] + token + data[start:]
        elif kind == 2:
            data = data[:start] + token + data[end:]
        elif kind == 3:
            data = data[:end] + data[start:]  # twice
        elif kind == 4:
            data = data[:start]
        elif kind == 5:
            data = (
                data[:start] + bytes(rng.integers(0, 256, end - start, dtype=np.uint8)) + data[end:]
            )
        elif kind == 6:  # a word or a number in another place
            words = data.split()
            first, second = (words[rng.integers(len(words))] if words else b"x" for _ in "ab")
            data = data.replace(first, second, int(rng.integers(1, 3)))
        else:
            lines = data.splitlines(keepends=True)
            rng.shuffle(lines)
            data = b"".join(lines)
    return data


def run(n: int, seed: int, report: Callable[[str], None]) -> Counter[str]:
    """Read so many broken files and count the answers."""
    rng, counts = np.random.default_rng(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = {}
        for network in NAMES:
            for suffix in SUFFIXES:
                file = folder / f"{network}.{suffix}"
                write_network(load_network(network), file)
                whole[file.name] = file.read_bytes()
        for number in range(n):
            name = list(whole)[rng.integers(len(whole))]
            file = folder / f"broken{Path(name).suffix}"
            data = damage(whole[name], rng)
            file.write_bytes(data)
            try:
                network = read_network(file)
                assert isinstance(network, Network)
                counts["result"] += 1
            except CoherenceError as error:
                counts["error"] += 1
                if "broken" not in str(error):
                    counts["fault"] += 1
                    report(f"{number} {name}: the message names no file: {error}")
            except Exception as error:
                counts["fault"] += 1
                frame = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(frame.filename).name}:{frame.lineno}"
                report(ascii(f"{number} {name}: {type(error).__name__} at {where}: {error}"[:300]))
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(dict(run(options.files, options.seed, print)))
