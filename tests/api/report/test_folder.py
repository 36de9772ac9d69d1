"""What a report writes in a folder. Breaks if a link leads nowhere, or a number is another."""

import io
import math
import re

import pandas as pd
import pytest

from coherence import CheckResult, analyze, simulate
from coherence.report.evaluation import FEW
from coherence.report.files import report_files, table_files
from tests.api.tables import read_exactly

CHECKS = ["sufficiency", "monotone_choice", "calibration"]


@pytest.mark.lengthy
@pytest.mark.parametrize("n_models", [1, FEW + 1])
def test_every_link_of_every_page_leads_to_a_page_and_place_that_exist(n_models):
    tables = [
        simulate("rational", n_contexts=30, n_reps=2, rng=seed).assign(model=f"../m{seed}")
        for seed in range(n_models)
    ]
    report = analyze(pd.concat(tables), checks=CHECKS, rng=0)
    listed = list(report_files(report.evaluations, report.settings, most_answers=1000))
    files = dict(listed)
    assert len(files) == len(listed)
    ids = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in files.items()}
    checked = 0
    for name, text in files.items():
        here = name.rpartition("/")[0]
        for href in re.findall(r'href="([^"]*)"', text):
            target, _, anchor = href.partition("#")
            parts = [*filter(None, here.split("/")), *target.split("/")] if target else [name]
            path = re.sub(r"[^/]+/\.\./", "", "/".join(parts))
            assert path in files, (name, href)
            assert not anchor or anchor in ids[path], (name, href)
            checked += 1
    assert checked > 100
    # Without answers no page is written, and nothing links to one.
    bare = dict(report_files(report.evaluations, report.settings, most_answers=0))
    assert not [name for name in bare if name.startswith("answers/")]
    assert "answers/" not in bare["report.html"]


def test_files_hold_the_results_unrounded():
    runs = [simulate(name, n_contexts=40, n_reps=2, rng=1) for name in ("leaky", "noisy")]
    checks = ["sufficiency", "calibration"]
    report = analyze(pd.concat(runs), checks=checks, rng=1)
    files = table_files(report.evaluations)
    names = {"effect": "estimate", "effect.low": "low", "effect.high": "high", "p": "pvalue"}
    names |= {"p_holm": "pvalue_holm", "contexts": "n_contexts", "rows": "n_rows"}
    names |= {"check": "check", "effect.unit": "unit"}
    for number, unit in enumerate(report.evaluations, start=1):
        table = read_exactly(io.StringIO(files[f"results-{number}.csv"])).rename(columns=names)
        results = report.results[report.results["model"] == unit.model].reset_index(drop=True)
        columns = list(names.values())
        pd.testing.assert_frame_equal(
            table[columns], results[columns], check_exact=True, check_dtype=False
        )


def test_names_are_no_markup_and_what_is_lacking_says_why(unit):
    nothing = CheckResult("cmi", "", math.nan, "nats", None, math.nan, 0, 0, reason="too few")
    evil = unit(task="<b>$x$", model="a_b|c", results=(nothing,), verdicts=("",))
    files = table_files([evil])
    assert "&lt;b&gt;" in files["results-1.md"]
    assert r"a\_b\|c" in files["results-1.md"]
    assert r"\textless{}b\textgreater{}\$x\$" in files["results-1.tex"]
    assert "too few" in files["results-1.csv"]
    assert "undefined" in files["results-1.md"]
