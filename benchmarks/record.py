"""Record what the product prints and computes on examples, to show what a change leaves equal.

``python benchmarks/record.py OUT [TABLES]`` writes one text a piece into the folder OUT; compare
two records with ``diff -r``. TABLES is a folder of further tables, each read without options.
"""

import contextlib
import io
import shlex
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import coherence
from coherence.cli.main import main
from elicitation.asking.store import read_store

EXAMPLE = "examples/runs.parquet"
AGENTS = ("rational", "noisy", "leaky", "wordbound")
DECISIONS = ("usual", "matching", "stakes")


def printed(*words: str) -> str:
    """Run a command and return its status and all that it printed, a traceback's last line too."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            status: object = main(list(words))
        except (Exception, SystemExit) as error:
            status = repr(error)
    return f"$ {shlex.join(words)}\n{status}\n{out.getvalue()}"


def numbers(report: coherence.Report) -> str:
    """Return the verdicts and results of a report, unrounded."""
    columns = ["task", "model", "check", "estimate", "low", "high", "pvalue", "n_rows"]
    results = report.results.reindex(columns=columns)
    return f"{report.verdicts.to_csv(index=False)}\n{results.to_csv(index=False)}"


def simulated() -> dict[str, pd.DataFrame]:
    """Return a leaky agent's table, also with groups and persons, and one over three states."""
    runs = coherence.simulate("leaky", n_contexts=60, n_reps=2, iterated=False, rng=1)
    group = runs.assign(group=pd.factorize(runs["context"])[0] % 20)
    rng = np.random.default_rng(1)
    three = pd.DataFrame(rng.dirichlet(np.ones(3), 120).round(2), columns=["p_a", "p_b", "p_c"])
    drawn = [rng.choice(list("abc"), size=2, p=p / p.sum()) for p in three.to_numpy()]
    three[["theta", "action"]] = np.array(drawn)
    three["context"] = [f"case {at}" for at in three.index]
    person = runs.rename(columns={"rep": "person"})
    return {"plain": runs, "group": group, "person": person, "three": three}


def record(out: Path, tables: list[Path]) -> None:
    """Write every piece."""
    out.mkdir(parents=True, exist_ok=True)
    analyze = ("analyze", EXAMPLE, "--seed", "1")
    pieces = {"names": "\n".join(dir(coherence)), "example": printed(*analyze)}
    pieces["published"] = printed(*analyze, "--published", "--paper", str(out / "paper"))
    for name, runs in {"example": coherence.read_runs(EXAMPLE), **simulated()}.items():
        pieces[f"numbers-{name}"] = numbers(coherence.analyze(runs, rng=1))
    for path in tables:
        pieces[f"table-{path.name}"] = printed("analyze", str(path), "--seed", "1")
    for agent, decision in product(AGENTS, DECISIONS):
        name, asked = f"{agent}-{decision}", ("elicit", "--agent", agent, "--task", "asia")
        asked += ("--contexts", "6", "--seed", "1", "--decision", decision)
        store = out / f"{name}.db"
        files = ("--store", str(store), "--out", str(out / f"{name}.csv"))
        pieces[f"elicit-{name}"] = printed(*asked, *files)
        pieces[f"keys-{name}"] = "\n".join(sorted(row.key for row in read_store(store)))
    for name, text in pieces.items():
        (out / f"{name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    others = sorted(Path(sys.argv[2]).iterdir()) if len(sys.argv) > 2 else []
    record(Path(sys.argv[1]), [path for path in others if path.suffix not in {".py", ".md"}])
