"""Tables drawn from a table look like it, and choices hang on the belief and the signal alone."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, simulate
from coherence.analysis.pilot import read_pilot
from coherence.runs.runs import Runs

ONE = {"prompts": ["standard"], "iterated": False}


def asked(agent, *, n_contexts=400, exact=False, **options):
    runs = simulate(agent, n_contexts=n_contexts, rng=1, **{"n_reps": 5} | options, **ONE)
    return runs if exact else runs.drop(columns=["p_true", "truth_kind"])


def drawn(runs, signal=0.0, n_cases=4000, n_reps=5):
    return read_pilot(Runs(runs)).draw(signal, n_cases, n_reps, np.random.default_rng(2))


@pytest.fixture(scope="module")
def noisy():
    return asked("noisy")


@pytest.fixture(scope="module")
def four():
    cells = [(model, task) for model in ("noisy", "rational") for task in "ab"]
    tables = (
        asked(model, n_contexts=40, n_reps=2).assign(task=task, model=f"{model} {number}")
        for number, (model, task) in enumerate(cells)
    )
    return pd.concat(tables, ignore_index=True)


def test_tables_have_the_beliefs_states_noise_and_choices_of_the_table(noisy):
    table = drawn(noisy)
    assert table["p"].mean() == pytest.approx(noisy["p"].mean(), abs=0.03)
    assert table["p"].std() == pytest.approx(noisy["p"].std(), abs=0.02)
    # Reports of a case differ as those of the table do.
    ours, theirs = (p["p"].to_numpy().reshape(-1, 5).var(axis=1) for p in (table, noisy))
    assert np.sqrt(ours.mean()) == pytest.approx(np.sqrt(theirs.mean()), rel=0.06)
    assert table["theta"].mean() == pytest.approx(noisy["theta"].mean(), abs=0.05)
    for label in ("no", "yes", "defer"):
        share = (noisy["action"] == label).mean()
        assert (table["action"] == label).mean() == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("policies", [False, True])
def test_choices_of_a_case_are_as_alike_as_in_the_table(policies):
    """Without it repetitions would seem to bring what only more cases can."""
    runs = asked("rational", n_reps=1 if policies else 5, policies=policies)
    table = drawn(runs, n_reps=1 if policies else 5)
    if policies:
        names = ["action_defer", "action_no", "action_yes"]
        found, wanted = ((each[names] ** 2).sum(axis=1).mean() for each in (table, runs))
        assert found == pytest.approx(wanted, abs=0.02)
        return
    found, wanted = (
        (codes[:, :1] == codes[:, 1:]).mean()
        for codes in (each["action"].to_numpy().reshape(-1, 5) for each in (table, runs))
    )
    assert found == pytest.approx(wanted, abs=0.03)


def test_a_leaky_table_has_nothing_hidden_at_signal_0_and_a_signal_moves_choices(noisy):
    """Breaks if the choices of a case stay with its own state."""
    for runs, signal, low, high in ((asked("leaky"), 0.0, -0.05, 0.05), (noisy, 0.4, 0.15, 1.0)):
        table = drawn(runs, signal=signal, n_reps=1)
        middle = table[(table["p"] - 0.5).abs() < 0.1]
        yes = (middle["action"] == "yes").groupby(middle["theta"]).mean()
        assert low < yes[1] - yes[0] < high


def test_a_weight_moves_choices_toward_the_posterior():
    runs = asked("shaded", exact=True)
    coherent, weighted = (drawn(runs, signal=signal, n_reps=1) for signal in (0.0, 1.0))

    def slope(table):
        """Rise of yes with the posterior among middling beliefs."""
        middle = table[(table["p"] - 0.5).abs() < 0.1]
        return np.polyfit(middle["p_true"], middle["action"] == "yes", 1)[0]

    assert abs(slope(coherent)) < 0.1 < 0.4 < slope(weighted)


def test_the_state_of_answers_graded_one_by_one_is_the_share_of_right_ones():
    """As `analyze` reads them: it was the truth of whichever row of a case came last."""
    rows = asked("noisy", n_contexts=60).assign(loss=1.0, acts="yes")
    rows = rows[rows["action"] != "defer"]
    rows["theta"] = np.where(rows["rep"] == 0, 1 - rows["theta"], rows["theta"])
    share = rows.groupby("context")["theta"].mean()
    pilot = read_pilot(Runs(rows))
    assert np.sort(pilot.exact) == pytest.approx(np.sort(share.clip(1e-3, 1 - 1e-3)))


def test_what_cannot_be_drawn_from_is_refused(four, noisy):
    one = four[four["model"] == "noisy 0"]
    for runs, options, said in (
        (four, {"task": "a"}, r"must leave one \(task, model\) .*; received 2: task 'a'"),
        (four, {"model": "noisi 0"}, "model must be one of the table; .*'noisi 0'.*noisy 0"),
        (one.drop(columns="action"), {}, "an action and a state"),
        (one[one["context"] < "c0015"], {}, "15 contexts"),
        (noisy.assign(theta=np.where(noisy["theta"] == 1, "a", "b")), {}, "--positive a"),
        (asked("rational", exact=True), {}, "leave nothing of the exact posterior unsaid"),
    ):
        with pytest.raises(InputError, match=said):
            read_pilot(Runs(runs), **options)


def test_what_a_reader_must_know_is_noted():
    once = asked("rational", n_reps=1, n_contexts=100)
    grouped = once.assign(group=np.arange(100) // 5)
    plain, notes = (read_pilot(Runs(runs)).notes for runs in (once, grouped))
    assert "those of 100 cases" in plain[0]
    assert "no case has two choices" in plain[1]
    assert "belong to groups" in notes[2]
