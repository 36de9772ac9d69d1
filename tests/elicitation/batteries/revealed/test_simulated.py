import pandas as pd
import pytest

from coherence import score_beliefs
from coherence.batteries.revealed.scores import order_preferences, previous_influences
from elicitation import standard_grid
from elicitation.batteries.revealed.scenarios.grid import select
from elicitation.batteries.revealed.simulated import BELIEVERS, simulate_beliefs

GRID = standard_grid()


@pytest.mark.lengthy
def test_believers_show_their_flaw_and_no_other():
    settings = select(GRID, {"variant": ["single", "independent", "dependent"]})
    tables = {
        name: simulate_beliefs(believer, settings, source=name)
        for name, believer in BELIEVERS.items()
    }
    scores = {name: score_beliefs(table) for name, table in tables.items()}
    assert scores["exact"]["l1"].max() < 1e-12
    assert scores["point mass"]["l1_relative"].to_numpy() == pytest.approx(1)
    assert (scores["first-outcome lover"]["first_excess"] > 0).all()
    assert order_preferences(tables["first-outcome lover"])["position"].to_numpy() == pytest.approx(
        0.2
    )
    assert previous_influences(tables["first-outcome lover"])["distance"].max() < 1e-12
    gambler = previous_influences(tables["gambler"])
    assert (gambler["pull"] < 0).all()  # independent, and dependent with the shift taken back
    assert len(gambler) == sum(bool(setting.baseline) for setting in settings)
    assert (
        scores["gambler"]
        .merge(pd.DataFrame({"setting": [s.name for s in settings if s.variant == "single"]}))["l1"]
        .max()
        < 1e-12
    )
