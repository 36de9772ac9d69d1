"""The card of a runs table for the Hugging Face hub: a README.md with metadata in front.

Columns are described by the schema of the runs table, rows are counted. Licence and authors are
left to who publishes: neither is in the table. Names come from files and model output.
"""

import shlex
from pathlib import Path

import pyarrow.parquet as pq
import yaml

from coherence.report.document import build_table, count, label
from coherence.report.exchange import LIBRARY
from coherence.report.files import render_cells
from coherence.report.provenance import package_version
from coherence.report.wording import clean
from coherence.table.printable import counted
from coherence.table.runs import Runs
from coherence.table.schema import (
    ACTION_PREFIX,
    COLUMNS,
    FEATURE_PREFIX,
    LOW_MASS,
    PARSED,
    is_state,
)

_SIZES = {10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M"}
# Types of Arrow whose names the library `datasets` has otherwise; of others it finds out by itself.
_TYPES = {"double": "float64", "float": "float32"} | {
    name: name for name in ("string", "large_string", "bool", "int64", "int32", "int8", "null")
}


def dataset_card(runs: Runs, path: Path) -> str:
    """Write the card of a runs table that lies at `path`."""
    types = _types(path)
    names = list(types) or [str(name) for name in runs.frame().columns]
    features = [{"name": name, "dtype": _TYPES.get(kind)} for name, kind in types.items()]
    known = features and all(feature["dtype"] for feature in features)
    metadata = {
        "pretty_name": "Runs table of beliefs and actions",
        "tags": [LIBRARY, "calibration", "decision-making"],
        "size_categories": [
            next((name for most, name in _SIZES.items() if len(runs) < most), "n>1M")
        ],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": "test", "path": path.name + "/*.parquet" * path.is_dir()}],
            }
        ],
        **({"dataset_info": {"features": features}} if known else {}),
    }
    front = yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)
    meanings = [{"column": name, "meaning": _meaning(name)} for name in names]
    columns = render_cells(build_table(meanings, [label("column"), label("meaning")]))
    written = " The columns `raw_...` hold text that models wrote; nobody reviewed it here."
    raw = written * any(name.startswith("raw_") for name in names)
    rows = _counts(runs)
    columns_of_counts = [
        label(name) if name in ("task", "model") else count(name) for name in rows[0]
    ]
    return f"""---
# license: choose one, and name it here; the table does not say it
{front}---

# Runs table of beliefs and actions

Language models stated probabilities and, asked in separate contexts, acted. A row is one answer to
a case, of one prompt and repetition: {counted(len(runs), "row")} of
{counted(len(rows), "evaluation")} (a model on a task). The question that such a table is made for:
could the stated probability be the belief that is acted on?{raw}

```bash
coherence analyze {shlex.quote(clean(path.name))} --out report
```

## Rows

{render_cells(build_table(rows, columns_of_counts))}
## Columns

{columns}
Written by {LIBRARY} {package_version(LIBRARY)}.
"""


def _types(path: Path) -> dict[str, str]:
    """Return the types of the columns of a Parquet file; nothing of others."""
    if not path.is_file() or path.suffix.lower() != ".parquet":
        return {}
    return {field.name: str(field.type) for field in pq.read_schema(path)}


def _meaning(name: str) -> str:
    known = {column.name: column.meaning for column in COLUMNS}
    if name in known:
        return known[name]
    if name.startswith(FEATURE_PREFIX):
        return "A feature of the evidence that the model was shown."
    if name.startswith(ACTION_PREFIX):
        return "Probability that the model gives this action."
    if is_state(name):
        return "Stated or revealed belief in this state."
    return "A column of its own, which no test reads."


def _counts(runs: Runs) -> list[dict[str, object]]:
    """Count the rows of each evaluation: answers that were parsed, repaired and lost."""
    frame = runs.frame()
    keys = [
        frame[name].astype("string").fillna("–")
        if name in frame
        else frame.index.to_series().map(lambda _: "–")
        for name in ("task", "model")
    ]
    status = frame["status"].astype("string") if "status" in frame else None
    rows = []
    for (task, model), part in frame.groupby(keys, sort=True):
        row: dict[str, object] = {"task": task, "model": model, "rows": len(part)}
        row["cases"] = part["context"].nunique() if "context" in part else len(part)
        if status is not None:
            found = status.loc[part.index].dropna()
            row["ok"] = int((found == "ok").sum())
            row["repaired"] = int(found.str.startswith("repaired").sum())
            row["low mass"] = int((found == LOW_MASS).sum())
            row["not parsed"] = int((~found.isin(PARSED)).sum())
        rows.append(row)
    return rows
