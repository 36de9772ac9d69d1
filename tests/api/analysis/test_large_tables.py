"""The loop of docs/pipelines.md over a table larger than memory: the numbers of the whole table."""

import re
import runpy
from pathlib import Path

import pandas as pd

from coherence import analyze, read_runs, simulate

PAGE = Path(__file__).parents[3] / "docs" / "pipelines.md"
OPENS = 'large = ds.dataset("large.parquet")'


def test_the_loop_over_evaluations_gives_the_numbers_of_the_whole_table(tmp_path, monkeypatch):
    """Breaks if evaluations share a stream, rows are lost, or rates stay those of one."""
    (block,) = (
        code
        for code in re.findall("```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
        if OPENS in code
    )
    assert len(block.splitlines()) <= 60
    agents = ("rational", "leaky", "noisy")
    table = pd.concat(
        simulate(agent, n_contexts=16, n_reps=2, rng=n).assign(task=task)
        for n, (task, agent) in enumerate((task, a) for task in ("b", "a") for a in agents)
    )
    table = table.sample(frac=1, random_state=1)
    monkeypatch.chdir(tmp_path)
    table.to_parquet("large.parquet", row_group_size=100, index=False)
    before, _, loop = block.partition(OPENS)
    imports = "".join(re.findall("^(?:import|from) .*\n", before, re.M))
    Path("loop.py").write_text(f"{imports}{OPENS}{loop}", encoding="utf-8")
    names = runpy.run_path("loop.py")
    whole = analyze(read_runs("large.parquet"), checks=["sufficiency", "cmi"], rng=0).results
    assert whole["pvalue_bh"].notna().any()
    of_primary = {"n_tests": names["results"]["n_tests"].mask(names["primary"], 6)}
    pd.testing.assert_frame_equal(names["results"].assign(**of_primary), whole)
