"""The tables and figures of the paper on whether models act like rational agents, from a report."""

import os
from pathlib import Path

import pandas as pd

from coherence.analysis.paper.results import Progress, collect_results
from coherence.analysis.paper.tables import paper_tables
from coherence.report.report import Report
from coherence.report.tables.document import write_document
from coherence.statistics.resample import Seed
from coherence.table.files import LIST, new_files
from coherence.table.storage import write_runs

_EARLIER = r"table[1-5]\.(md|tex|csv)|figure[12](-published)?(-\d+)?\.(svg|pdf)"
RESULTS = "results.parquet"


def write_paper(
    report: Report,
    folder: str | os.PathLike[str],
    *,
    runs: pd.DataFrame | None = None,
    published: bool = False,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write Tables 1 to 5 and Figures 1 and 2 of the paper, tasks and models side by side.

    Parameters
    ----------
    report : Report
        From `coherence.analyze`, of all checks of the tables that are wanted.
    folder : path-like
        Where to; made if it does not exist.
    runs : DataFrame, optional
        The runs table of the report. Table 4, the calibrated part of Table 5 and the scatter in
        Table 3 are computed from it; without it their cells say that they were not.
    published : bool
        Run the published procedures as well, to stand beside the repaired ones. Takes minutes.
    n_jobs : int
        Processes for joblib; results do not depend on it.
    rng : Generator, int or None
        Source of randomness of what is computed here; None takes the seed of the report.
    progress : callable, optional
        Called with (done, total, label) after each check that is run here.

    Returns
    -------
    list of Path
        What was written, the index ``paper.md`` first: every table as Markdown, LaTeX (booktabs)
        and CSV (unrounded), every figure as SVG and PDF, ``paper.tex``, which sets all of them, and
        ``results.parquet``, which holds every number of the tables, and the list of digests.

    Raises
    ------
    InputError
        `published` without `runs`, or runs that are not those of the report.
    """
    # Drawing loads matplotlib, which whoever imports this need not have loaded.
    from coherence.analysis.paper.figures import write_paper_figures

    results = collect_results(
        report, runs=runs, published=published, n_jobs=n_jobs, rng=rng, progress=progress
    )
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    with new_files(home, _EARLIER) as new:
        write_runs(results.frame(), new / RESULTS)
        figures = write_paper_figures(results, new)
        written = write_document(new, "Tables and figures", paper_tables(results), figures)
    return [*(home / path.name for path in written), home / RESULTS, home / LIST]
