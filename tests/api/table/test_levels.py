"""Rows of questions with a level: matching probabilities in a runs table."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, SchemaError, analyze, read_runs, simulate
from coherence.cli.main import main
from coherence.runs.read import validate_runs
from coherence.statistics.pvalues import calibration_pvalue


def asked(**columns):
    """A case with its stated belief, and two questions with a level."""
    table = {"context": "a", "p": [0.3, None, None], "action": ["treat", "event", "lottery"]}
    table |= {"level": [None, 0.15, 0.85], "frame": [None, "event", "complement"]}
    table |= {"order": [None, "event", "lottery"], "theta": 1}
    table |= {"truth_kind": "drawn", "status": "ok"}
    return pd.DataFrame({**table, **columns}, index=range(3))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"level": [None, 15, 85]}, r"'level' must hold chances between 0 and 1.*Divide percent"),
        ({"level": [None, 0.0, 0.5]}, r"the first is 0 \(row 1\).*Leave out questions"),
        ({"level": [None, "low", 0.5]}, r"'level' must hold chances.*'low' \(row 1\)"),
        ({"frame": [None, "gain", None]}, r"'frame' must be one of event.*'gain' \(row 1\)"),
        ({"order": [None, "act", None]}, r"'order' must be one of event.*'act' \(row 1\)"),
        ({"p": [0.3, 0.3, None]}, r"'level' must be empty in rows with a belief.*row of its own"),
        ({"action": ["treat", None, "event"]}, r"status is 'ok' but 'action' is empty in row 1"),
    ],
)
def test_each_error_has_a_remedy(columns, message):
    with pytest.raises(SchemaError, match=message):
        validate_runs(asked(**columns))


@pytest.mark.parametrize(
    ("levels", "options"),
    [
        ([None, 15, 85], {"percent": True}),
        ([None, 0.15, 0.85], {"percent": True}),  # as probabilities beside beliefs in percent
        ([None, "15%", "85%"], {}),
    ],
)
def test_chances_in_percent_are_read_as_beliefs_are(tmp_path, levels, options):
    belief = [30, None, None] if options else ["30%", None, None]
    table = asked(p=belief, level=levels)
    assert read_runs(table, **options)["level"].tolist()[1:] == [0.15, 0.85]
    table.rename(columns={"level": "chance"}).to_csv(tmp_path / "mine.csv", index=False)
    runs = read_runs(tmp_path / "mine.csv", columns={"level": "chance"}, **options)
    assert runs["level"].tolist()[1:] == [0.15, 0.85]
    assert runs["p"].tolist()[0] == 0.3


# Breaks if a column that is merely called p_true passes for the exact posterior.


ONCE = {"n_reps": 1, "prompts": ["standard"], "iterated": False}


def plain(**columns):
    """Return a table of somebody else, whose p_true is a confidence of .95."""
    runs = simulate("rational", n_contexts=60, **ONCE, rng=1)
    return runs[["context", "p", "action", "theta"]].assign(p_true=0.95, **columns)


def notes_of(report):
    return " ".join(map(str, report.evaluations[0].notes))


def test_p_true_of_a_plain_table_is_left_alone_and_said():
    report = analyze(plain(), checks=["calibration"], rng=1)
    assert "p_true was taken for a column of your own" in notes_of(report)
    assert "--exact p_true" in notes_of(report)
    without = analyze(plain().drop(columns="p_true"), checks=["calibration"], rng=1)
    pd.testing.assert_frame_equal(report.results, without.results)


def test_what_is_named_is_the_exact_posterior_without_theta_too(tmp_path):
    runs = simulate("rational", n_contexts=60, **ONCE, rng=1)
    runs = runs[["context", "p", "action", "p_true"]].rename(columns={"p_true": "bayes"})
    runs.assign(p_true="sure").to_csv(tmp_path / "mine.csv", index=False)
    named = read_runs(tmp_path / "mine.csv", columns={"p_true": "bayes"})
    assert named["p_true"].tolist() == pytest.approx(runs["bayes"].tolist())
    assert set(named["truth_kind"]) == {"recorded"}
    read = analyze(named, checks=["calibration"], rng=1).results.set_index("check")
    rmse = np.sqrt(((runs["p"] - runs["bayes"]) ** 2).mean())
    assert read.loc["calibration:rmse", "estimate"] == pytest.approx(rmse)


def test_a_column_that_the_states_speak_against_is_refused(tmp_path, capsys):
    plain().to_csv(tmp_path / "mine.csv", index=False)
    command = ["analyze", str(tmp_path / "mine.csv"), "--checks", "calibration"]
    assert main([*command, "--exact", "p_true"]) != 0
    told = capsys.readouterr().err
    assert "p_true must be the exact posterior" in told
    assert "mean is 0.950" in told
    assert main(command) == 0
    with pytest.raises(InputError, match="not calibrated"):
        analyze(plain(truth_kind="recorded"), checks=["calibration"])
    # Turned around: labels that nobody but the user can order.
    labels = simulate("rational", n_contexts=200, **ONCE, rng=1)
    labels["theta"] = np.where(labels["theta"] == 1, "sick", "well")
    labels["truth_kind"] = "recorded"
    analyze(labels, checks=["calibration"], positive="sick", rng=1)
    with pytest.raises(InputError, match="not calibrated"):
        analyze(labels, checks=["calibration"], positive="well", rng=1)


def test_a_context_and_a_group_count_once():
    runs = simulate("rational", n_contexts=12, n_reps=200, prompts=["standard"], rng=4)
    analyze(runs.assign(truth_kind="recorded"), checks=["calibration"], rng=1)
    # Forty cases of one event: a single toss of a coin, which came out against the odds.
    one = plain(truth_kind="recorded", group="election").assign(theta=1, p_true=0.2)
    analyze(one, checks=["calibration"], rng=1)
    with pytest.raises(InputError, match="not calibrated"):
        analyze(one.drop(columns="group"), checks=["calibration"], rng=1)


def test_states_drawn_from_it_are_seldom_refused_and_distortions_always():
    rng = np.random.default_rng(0)
    exact = rng.beta(0.5, 0.5, size=(300, 60))
    pvalues = [calibration_pvalue(p, rng.random(p.size) < p) for p in exact]
    assert 3 <= sum(p < 0.05 for p in pvalues) <= 27  # 15 +- 3 SD
    flat = [calibration_pvalue(np.full(400, 0.9), rng.random(400) < 0.7) for _ in range(10)]
    steep = [
        calibration_pvalue(p, rng.random(400) < 0.5 + (p - 0.5) / 4) for p in rng.random((10, 400))
    ]
    assert max(flat + steep) < 0.001
    assert calibration_pvalue(np.array([0.0, 0.5]), np.array([True, True])) == 0
