"""``coherence probe``: read beliefs off hidden states, and off the evidence beside them."""

import argparse
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.run_options import add_seed, require_seed
from coherence.table.printable import counted

if TYPE_CHECKING:
    import pandas as pd

    from coherence.analysis.evaluation import EvaluationRows
    from coherence.checks.probe import Probe
    from coherence.report.document import Table
    from coherence.table.runs import Runs

NAMES = {"probed": "hidden states (probe)", "evidence": "evidence alone", "stated": "what it says"}
NULLS = {
    "probed": "goes with the probe at equal statement",
    "stated": "goes with the statement at equal probe",
}
AS_WRITTEN = "Take the table as 'coherence elicit --keep-hidden' wrote it."
READS = (
    "A probe reads what can be decoded, not what the model uses. It was fitted to the {target}, so "
    "that it is a belief of the model only as far as the model makes it easy to read."
)
CONTROLS = (
    "Nulls: given the one belief, choices do not covary with the other. A probe is noisy, and what "
    "it misses may pass for the statement's."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "runs",
        metavar="RUNS",
        help="runs table of one model on one task, as 'coherence elicit --keep-hidden' writes it",
    )
    parser.add_argument(
        "--hidden", metavar="FILE", help="its hidden states (default: RUNS.hidden.safetensors)"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="runs table with the probed belief for the stated one: .parquet, .csv or .jsonl; only "
        "where hidden states do better than the evidence",
    )
    add_seed(parser, "equal seeds give equal folds")


def run(args: argparse.Namespace) -> int:
    """Read, probe, print, write."""
    from coherence.report.layout import render_parts
    from coherence.table.writing import write_runs
    from elicitation.answers.hidden import ENDING

    require_seed(args)
    path = Path(args.hidden or f"{args.runs}{ENDING}")
    found, parsed = probe_of(args.runs, path, args.seed)
    print(render_parts([*_shown(found)]))
    if args.out is not None and found.gains:
        write_runs(_with_probed(parsed, found), args.out)
        print(f"{args.out}: {counted(len(parsed), 'row')}, p is the probed belief", file=sys.stderr)
    elif args.out is not None:
        print(f"coherence probe: {args.out} was not written: no probed belief", file=sys.stderr)
    return 0


def probe_of(table: str, path: Path, seed: int) -> "tuple[Probe, pd.DataFrame]":
    """Probe the hidden states of a runs table; return also its parsed rows."""
    from coherence.analysis.evaluation import EvaluationRows
    from coherence.checks.probe import probe_estimates
    from coherence.errors import InputError
    from elicitation.answers.hidden import load_states

    runs, model = _evaluation(table)
    states = load_states(path)
    if "asked" not in runs.names or states.model != model:
        lacks = "column 'asked'" if "asked" not in runs.names else f"answers of {states.model}"
        raise InputError(
            f"{table} has no {lacks}, by which {path} is known to be of it. {AS_WRITTEN}"
        )
    rows = EvaluationRows(runs, reference=states.prompt)
    parsed = rows.parsed
    if parsed.empty or not rows.in_two_states:
        lacks = "parsed beliefs" if parsed.empty else "beliefs in one of two states"
        raise InputError(f"{table} has no {lacks} to hold a probe against. Ask again.")
    exact = rows.runs.known("p_true")[parsed.index].all()
    found = probe_estimates(
        states.of(list(parsed["context"]), list(parsed["asked"]), path),
        rows.belief(parsed),
        None if rows.action_requested.empty else rows.action(parsed),
        parsed.get("theta"),
        features=_evidence(rows),
        exact=parsed["p_true"] if exact else None,
        layers=states.layers,
        context=parsed["context"],
        group=parsed.get("group"),
        positive=rows.positive,
        computed=rows.runs.computed,
        rng=seed,
    )
    return found, parsed


def _evaluation(path: str) -> "tuple[Runs, str]":
    """Return the rows of the one model on the one task of a table, and its name."""
    from coherence.errors import InputError
    from coherence.table.reading import read_runs
    from coherence.table.runs import Runs

    evaluations = list(Runs(read_runs(path)).completed().evaluations())
    if len(evaluations) != 1:
        raise InputError(
            f"{path} must hold one model on one task; it has {len(evaluations)}. {AS_WRITTEN}"
        )
    ((_, model), runs) = evaluations[0]
    return runs, model


def _evidence(rows: "EvaluationRows") -> "pd.DataFrame":
    """Return the evidence columns; without any, words and neighbouring words of the questions."""
    import pandas as pd

    parsed, names = rows.parsed, rows.runs.features
    if names and parsed[names].notna().any(axis=None):
        return parsed[names]
    words = [re.findall(r"\w+", str(text).lower()) for text in parsed["asked"]]
    told = [{*each, *pairwise(each)} for each in words]
    seen = [[int(each in of) for of in told] for each in sorted(set.union(*told), key=str)]
    # Words of one phrase say one thing.
    return pd.DataFrame(dict(enumerate(dict.fromkeys(map(tuple, seen)))), parsed.index)


def _with_probed(parsed: "pd.DataFrame", found: "Probe") -> "pd.DataFrame":
    """Return the rows with the probed belief of their case for the stated one."""
    probed = found.cases.set_index("context")["probed"]
    of_statement = ["p_sd", "p_q05", "p_q95", "raw_belief", "logprob_belief", "answer_mass"]
    kept = parsed.drop(columns=parsed.columns.intersection(of_statement))
    return kept.assign(p=kept["context"].map(probed), belief_kind="probed")


def _shown(found: "Probe") -> "Iterator[Table | str]":
    """Yield what is printed."""
    from coherence.report.document import Column, Kind, build_table, count, label, pvalue, with_ends

    n, gain = len(found.cases), found.gain
    yield f"{found.target.capitalize()} of {n} cases, each predicted from the others (ten folds)"
    yield ""
    beliefs = found.beliefs.replace({"belief": NAMES}).to_dict("records")
    numbers = [Column("r2", "R²", digits=2), Column("rmse", "RMSE", digits=3)]
    yield build_table(
        beliefs, [label("belief"), *numbers, Column("slope", "calibration slope", digits=2)]
    )
    yield ""
    layers = [count("layer"), Column("r2", "R²", digits=2), count("n_folds", "folds that chose it")]
    yield build_table(found.layers.to_dict("records"), layers)
    yield ""
    ends = [] if gain.interval is None else [gain.interval.low, gain.interval.high]
    yield (
        f"Gain over the evidence, of the variance: {with_ends([gain.statistic, *ends], digits=3)}"
    )
    if not found.gains:
        yield "No better than the evidence itself: there is no probed belief."
        return
    yield READS.format(target=found.target)
    yield ""
    tests = [
        {
            "choice": NULLS[name],
            "points": 100 * result.statistic,
            "low": 100 * (result.interval.low if result.interval else float("nan")),
            "high": 100 * (result.interval.high if result.interval else float("nan")),
            "p": float("nan") if result.pvalue is None else result.pvalue,
            "reason": result.reason,
        }
        for name, result in (("probed", found.probed), ("stated", found.stated))
    ]
    points = Column("points", kind=Kind.NUMBER, digits=1, ends=("low", "high"), reason="reason")
    yield build_table(tests, [label("choice"), points, pvalue("p", reason="reason")])
    yield CONTROLS
