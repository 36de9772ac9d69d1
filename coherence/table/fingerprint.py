"""A fingerprint of a runs table: equal for equal values, whatever file they came from."""

import hashlib

import pandas as pd


def fingerprint(runs: pd.DataFrame) -> str:
    """Return a fingerprint of the values of a table."""
    digest = hashlib.sha256()
    for name in sorted(runs.columns, key=str):
        digest.update(f"{name}\n{len(runs)}\n".encode("utf-8", "surrogatepass"))
        column = runs[name]
        # Categories are hashed by what they say: a category is no other value than its text.
        plain = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
        try:
            hashed = pd.util.hash_pandas_object(plain, index=False)
        except (TypeError, ValueError):  # lists and the like, in columns that nothing reads
            hashed = pd.util.hash_pandas_object(plain.map(ascii), index=False)
        digest.update(hashed.to_numpy().tobytes())
    return digest.hexdigest()
