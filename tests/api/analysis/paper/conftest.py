import pandas as pd
import pytest

import coherence
from coherence.analysis.paper.results import PUBLISHED, REPAIRED, PaperResults, supplement

CHECKS = ["cmi", "predictive_gain", "monotone_choice", "prompt_consistency", "iterated_expectation"]
MODELS = {"tidy": "noisy", "a|b_$1$": "nonmonotone"}


@pytest.fixture(scope="session")
def paper_runs():
    """Two tasks x two models; one task has neither exact posteriors nor a third prompt."""
    tables = []
    for number, task in enumerate(("heart", "50% & <b>")):
        for model, agent in MODELS.items():
            runs = coherence.simulate(agent, n_contexts=30, n_reps=3, rng=number)
            tables.append(runs.assign(task=task, model=model))
    table = pd.concat(tables, ignore_index=True)
    poor = (table["task"] != "heart") & (table["model"] == "tidy")
    table.loc[poor, "p_true"] = float("nan")
    table = table[~(poor & (table["prompt"] == "bayes"))].reset_index(drop=True)
    refused = table.index[(table["task"] == "heart") & table["action"].notna()][:4]
    table.loc[refused, "status"] = "refused"
    table.loc[refused, ["p", "action"]] = None
    return table


@pytest.fixture(scope="session")
def paper_results(paper_runs):
    """Both procedures, but for the published gain, which takes long."""
    without = [name for name in CHECKS if name != "predictive_gain"]
    reports = {
        REPAIRED: coherence.analyze(paper_runs, checks=CHECKS, rng=1),
        PUBLISHED: coherence.analyze(paper_runs, checks=without, published=True, rng=1),
    }
    supplements = {
        name: supplement(paper_runs, published=name == PUBLISHED, rng=1) for name in reports
    }
    return PaperResults(reports, supplements)
