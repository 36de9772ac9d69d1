"""The runs table of the draws."""

from coherence import monotone_choice_test, validate_runs
from coherence.batteries.mixing.runs import mixing_runs
from coherence.batteries.mixing.simulated import expected_answers, simulate_mixing


def test_the_runs_table_carries_the_direction_and_no_empty_column():
    answers = simulate_mixing("steep", n_draws=20, rng=0)
    answers.loc[0, ["answer", "status"]] = [None, "refused"]
    runs = mixing_runs(answers)
    validate_runs(runs)
    assert list(runs.columns) == ["task", "model", "context", "rep", "p", "action", "status"]
    assert not runs.isna().all().any()
    assert len(runs) == 20 * (21 + 27)
    assert runs["action"].isna().sum() == 1
    games = runs[runs["context"] == "pennies p=0.1"]
    assert games["p"].unique().tolist() == [0.9]
    flips = runs[(runs["task"] == "mixing:flip") & runs["action"].notna()]
    assert (
        monotone_choice_test(
            flips["p"], flips["action"], pair=("1", "0"), context=flips["context"], rng=0
        ).pvalue
        > 0.2
    )
    assert len(mixing_runs(expected_answers("ideal"))) == 0
    # Without one readable answer there would be no action in the table, and nothing to check.
    assert len(mixing_runs(answers.assign(answer=None, status="refused"))) == 0
