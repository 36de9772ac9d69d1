"""What a report advises next follows from what it found."""

from dataclasses import replace

import pytest

from coherence import AGENTS, InputError, analyze, power, read_runs, simulate
from coherence.report.verdicts import Verdict


@pytest.fixture(scope="module")
def example():
    return analyze(read_runs("examples/runs.parquet"), checks=["residual_covariance"], rng=0)


def test_the_example_names_one_agent_as_caught_and_one_of_which_tests_say_little(example):
    caught, passed = example.evaluations
    assert (caught.model, passed.model) == ("planted-leaky", "smollm2")
    text = " ".join(str(example).split())
    first, second = text.split("asia · smollm2")
    assert "means of 80 contexts" in first
    assert "rejects" in first
    assert "See figures and answers; name what cases share (column group): report" in first
    assert "--" not in first.split("See figures")[1].split("effect")[0]
    assert "tests of belief against choice can see little here" in second
    assert "more cases would not help" in second
    page = example.to_html()
    assert page.count(">Next:</span>") == 2


@pytest.mark.lengthy
def test_a_pass_that_means_something_leads_to_power_and_margins():
    runs = simulate("rational", n_contexts=60, n_reps=3, rng=1)
    shaded = simulate(replace(AGENTS["rational"], unstated=0.5), n_contexts=60, n_reps=3, rng=1)
    said = str(analyze(shaded, checks=["residual_covariance"], rng=1))
    (line,) = [line.strip() for line in said.splitlines() if "coherence.power" in line]
    call = "coherence.power(runs.query(\"model == 'rational' and task == 'simulated'\"))"
    assert line == call
    planned = power(shaded.query("model == 'rational'"), n_contexts=40, n_simulations=10, rng=1)
    assert planned.settings["population"] == "an agent like rational on simulated"
    # What is stated is the posterior, and leaves no part of it to plan for.
    said = str(analyze(runs, checks=["residual_covariance"], rng=1))
    assert "coherence.power" not in said
    with pytest.raises(InputError, match="leave something of the exact posterior unsaid"):
        power(runs)
    estimates = analyze(runs, checks=["calibration"], rng=1)
    assert "What next" not in str(estimates)
    # Without choices there is no agent to plan for: power would refuse the table.
    beliefs = simulate("wordbound", n_contexts=40, n_reps=2, rng=1).drop(columns="action")
    assert "coherence.power" not in str(analyze(beliefs, rng=1))


def test_what_next_fits_small_tables_and_what_was_given():
    """Breaks if eight contexts are sent to intervals, or a group that was named is asked for."""
    few = simulate("leaky", n_contexts=8, n_reps=2, rng=1)
    said = " ".join(str(analyze(few, checks=["residual_covariance"], rng=1)).split())
    assert "Ask about more cases: tests need 10" in said
    assert "margin" not in said
    caught = simulate("leaky", n_contexts=120, n_reps=2, rng=1)
    for table, asks in ((caught, True), (caught.assign(group=caught["context"].str[-2:]), False)):
        said = " ".join(str(analyze(table, checks=["residual_covariance"], rng=1)).split())
        assert "See figures and answers" in said
        assert ("(column group)" in said) == asks
    cmi = analyze(simulate("rational", n_contexts=60, n_reps=2, rng=1), checks=["cmi"], rng=1)
    assert "margin" not in str(cmi)


@pytest.mark.parametrize(
    ("agent", "margin", "verdict", "asks"),
    [
        ("rational", None, Verdict.NO_EVIDENCE, True),
        ("rational", 0.2, Verdict.WITHIN_MARGIN, False),
        ("rational", 0.0001, Verdict.NO_EVIDENCE, False),  # named already
        ("noisy", 0.2, Verdict.NOISE_EXPLAINS, False),  # nothing can be held against a margin
    ],
)
def test_a_margin_is_named_where_it_tells_something_yet_unsaid(agent, margin, verdict, asks):
    runs = simulate(agent, n_contexts=60, n_reps=5, rng=1)
    report = analyze(runs, checks=["sufficiency"], margin=margin, rng=1)
    assert report.evaluations[0].verdict is verdict
    assert ("coherence.analyze(runs, margin=0.05)" in str(report)) == asks


def test_a_margin_that_the_interval_rules_out_is_not_proposed():
    runs = simulate("rational", n_contexts=40, n_reps=1, rng=3)
    runs = runs.drop(columns="p_true")
    (effect,) = (
        r.interval for r in analyze(runs, checks=["sufficiency"], rng=1).evaluations[0].results
    )
    assert effect.high - effect.low > 0.1
    said = str(analyze(runs, checks=["sufficiency"], rng=1))
    assert "margin" not in said
    assert "coherence.power" in said


def test_an_action_after_which_no_truth_is_known_is_named():
    """Breaks if whoever abstains, of whom nobody knows whether it was right, is said not to move."""
    runs = simulate("rational", n_contexts=60, n_reps=1, rng=1).drop(columns="p_true")
    runs["theta"] = runs["theta"].where(runs["action"] != "defer")
    runs = runs[runs["action"].isin(["yes", "defer"])]
    said = " ".join(str(analyze(runs, checks=["sufficiency"], rng=1)).split())
    assert "only one action was seen ('yes'); no row with 'defer' has belief and truth" in said
    assert "Next: Add the truth of those rows" in said


def test_where_nothing_can_be_tested_no_effect_is_planned_for():
    """Breaks if a table to which no agent can be fitted is sent to `coherence power`."""
    few = simulate("leaky", n_contexts=12, n_reps=3, rng=1)
    said = " ".join(str(analyze(few, checks=["sufficiency"], rng=1)).split())
    assert "Next: Ask about more cases: tests need 20, and see little below 60." in said
    runs = simulate("rational", n_contexts=40, n_reps=1, rng=1).drop(columns="p_true")
    for table, sentence in (
        (runs.assign(theta=1), "nothing is left open"),
        (in_three_states(runs), "No evidence"),
    ):
        said = str(analyze(table, checks=["sufficiency"], rng=1))
        assert sentence in said
        assert "coherence.power" not in said


def in_three_states(runs):
    rows = runs[runs["action"].notna()]
    p_b, labels = (1 - rows["p"]) / 2, {0: "b", 1: "a"}
    three = {"p_a": rows["p"], "p_b": p_b, "p_c": 1 - rows["p"] - p_b}
    return rows[["context", "action"]].assign(theta=rows["theta"].map(labels), **three)


def test_more_reports_are_not_asked_for_where_they_would_not_help():
    """Reports of 0 and 1 take too few values however many there are."""
    runs = simulate("rational", n_contexts=40, n_reps=6, rng=1)
    said = runs["p"].gt(runs["rep"].map(lambda rep: 0.2 + 0.1 * rep)).astype(float)
    report = analyze(runs.assign(p=said.where(runs["p"].notna())), checks=["sufficiency"], rng=1)
    text = " ".join(str(report).split())
    assert "more of them would not help" in text
    assert "Let answers be computed (answers exact)." in text
    assert "Ask each case" not in text


def test_models_under_another_name_stand_before_the_verdict():
    runs = simulate("rational", n_contexts=20, n_reps=2, rng=1)
    named = runs.drop(columns="model").assign(llm=runs["rep"].map({0: "a", 1: "b"}))
    report = analyze(named, checks=["calibration"], rng=1)
    assert any("--model-column llm" in note for note in map(str, report.evaluations[0].alerts))
    assert "Next: Name the column of models" in " ".join(
        str(analyze(named, checks=["sufficiency"], rng=1)).split()
    )
    constant = analyze(named.assign(llm="a"), checks=["calibration"], rng=1)
    assert not any("--model-column" in note.text for note in constant.evaluations[0].notes)
