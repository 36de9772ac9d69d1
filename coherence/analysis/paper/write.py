"""The tables and figures of the paper on whether models act like rational agents, from a report."""

import os
from pathlib import Path

import pandas as pd

from coherence.analysis.paper.results import collect_results
from coherence.analysis.paper.tables import paper_tables
from coherence.report.files import write_document
from coherence.report.report import Report
from coherence.runs.files import LIST, new_files
from coherence.runs.runs import Runs
from coherence.runs.write import write_runs
from coherence.statistics.parallel import Progress
from coherence.statistics.resample import Seed

_EARLIER = r"table[1-5]\.(md|tex|csv)|figure[12](-published)?(-\d+)?\.(svg|pdf)"
RESULTS = "results.parquet"


def write_paper(
    report: Report,
    folder: str | os.PathLike[str],
    *,
    runs: Runs | pd.DataFrame | None = None,
    published: bool = False,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write Tables 1 to 5 and Figures 1 and 2 of the paper, tasks and models side by side."""
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
