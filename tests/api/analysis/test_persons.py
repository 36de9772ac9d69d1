"""Tables in which persons judged the same cases, from columns to what is said of them."""

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError, SchemaError, analyze

NAMES = {"belief": "says", "action": "does", "truth": "came", "context": "case"}


def table(n_cases=40, n_persons=6, seed=1):
    rng = np.random.default_rng(seed)
    person, case = (each.ravel() for each in np.indices((n_persons, n_cases)))
    level = rng.uniform(0.05, 0.95, n_cases)
    belief = np.clip(level[case] + 0.1 * rng.normal(size=case.size), 0, 1).round(2)
    came = (rng.random(n_cases) < level).astype(int)
    does = (rng.random(case.size) < belief).astype(int)
    columns = {"who": person, "case": case, "says": belief, "does": does, "came": came[case]}
    return pd.DataFrame(columns).assign(known=level.round(3)[case])


def report_of(rows, **options):
    return analyze(rows, columns={**NAMES, "person": "who"}, rng=1, **options)


def test_only_what_knows_persons_is_run_and_the_rest_is_named_once():
    rows = table()
    report = report_of(rows)
    (unit,) = report.evaluations
    ran = {result.check.partition(":")[0] for result in unit.results}
    assert ran == {"sufficiency", "calibration"}
    assert {"cmi", "monotone_choice", "predictive_gain"} <= {
        name for note in unit.notes for name in note.checks
    }
    assert "persons" in unit.absent("cmi")
    assert any("6 persons judged 40 cases" in note.text for note in unit.notes)
    assert "40 cases, 6 persons" in str(report)
    (found,) = (r for r in unit.results if r.check == "sufficiency")
    arrays = rows["says"], rows["does"], rows["came"]
    alone = coherence.sufficiency_test(*arrays, context=rows["case"], person=rows["who"], rng=1)
    assert found.statistic == pytest.approx(alone.statistic, abs=1e-6)
    assert found.settings["n_persons"] == alone.settings["n_persons"] == 6
    published = report_of(rows, published=True).evaluations[0].results
    assert {result.check.partition(":")[0] for result in published} == {"calibration"}


@pytest.mark.parametrize(
    ("named", "said"), [({}, True), ({"rep": "Runde"}, False), ({"prompt": "Runde"}, False)]
)
def test_a_column_that_crosses_the_cases_is_asked_for_in_any_language(named, said):
    """Breaks where it is known by one that is read, as the text of a wording is."""
    rows = table().assign(Runde=lambda rows: rows["who"]) if named else table()
    rows = rows.rename(columns={"who": "Teilnehmer"})
    report = analyze(rows, columns=NAMES | named, checks=["calibration"], rng=1)
    assert ("such as --person Teilnehmer." in " ".join(str(report).split())) == said


def test_models_are_compared_on_what_knows_persons():
    rows = pd.concat([table().assign(model=model) for model in "ab"], ignore_index=True)
    rows.loc[rows["model"] == "b", "does"] = rows["came"]
    found = coherence.compare(rows, columns={**NAMES, "person": "who"}, rng=1)
    estimate = found.effects.set_index("model")["estimate"]
    assert estimate["b"] > 0.5 > estimate["a"]
    assert found.differences["high"].item() < 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"person": "who", "context": "cell"}, "--context NAME"),
        ({"group": "who"}, "--person who"),
        ({"context": "who,case"}, "--context case --person who"),
        ({"context": "case,nobody"}, "no column 'nobody'"),
    ],
)
def test_what_cannot_work_names_what_does(change, said):
    rows = table().assign(cell=lambda rows: range(len(rows)))
    with pytest.raises((InputError, SchemaError)) as refused:
        analyze(rows, columns=NAMES | change)
    assert said in str(refused.value)


def test_two_columns_are_one_id_where_nothing_is_shared():
    rows = table()
    own = rows.assign(came=(np.random.default_rng(2).random(len(rows)) < rows["says"]).astype(int))
    report = analyze(own, columns=NAMES | {"context": "who,case"}, checks=["calibration"], rng=1)
    assert report.evaluations[0].results[0].n_contexts == len(own)
    # A posterior that every person has of a case is shared just as well.
    names = {"belief": "says", "action": "does", "exact": "known", "context": "who,case"}
    with pytest.raises(InputError, match="--person who"):
        analyze(own.drop(columns="came"), columns=names)


# Confidences in the own answer, which are no beliefs in a state, are held back everywhere.


OWN = "confidence in the own answer"


def confidences(n=300, *, mostly=0.5, hard=True, options=("no", "yes"), reps=1, seed=1):
    """Coherent: the confidence is the probability that the answer is right."""
    rng = np.random.default_rng(seed)
    sure = 0.5 + 0.5 * rng.beta(1, 3 if hard else 1, n)
    k = len(options)
    chances = [1 - mostly, *[mostly / (k - 1)] * (k - 1)]
    answer = rng.choice(k, n, p=chances)
    right = rng.random(n) < sure
    truth = np.where(right, answer, (answer + rng.integers(1, k, n)) % k)
    labels = np.array(options, dtype=object)
    table = pd.DataFrame(
        {"p": sure, "action": labels[answer], "theta": labels[truth], "context": np.arange(n)}
    )
    table = table.loc[table.index.repeat(reps)].reset_index(drop=True)
    noise = rng.normal(0, 0.05, len(table)) if reps > 1 else 0.0
    return table.assign(p=(table["p"] + noise).clip(0.5, 1).round(2))


@pytest.mark.parametrize(
    ("answers", "truths"),
    [
        ({"no": "no", "yes": "yes"}, {"no": 0, "yes": 1}),
        ({"no": 0, "yes": 1}, {"no": "false", "yes": "true"}),
        ({"no": "No.", "yes": "Yes."}, {"no": "no", "yes": "yes"}),
    ],
)
def test_two_ways_of_writing_one_pair_are_compared(answers, truths):
    """Breaks if yes and 1 are no answer and truth, or what the refusal proposes is refused."""
    table = confidences(hard=False)
    table = table.assign(action=table["action"].map(answers), theta=table["theta"].map(truths))
    with pytest.raises(coherence.InputError, match=OWN):
        coherence.analyze(table)
    read = coherence.analyze(table, prediction="action", gold="theta", rng=1)
    assert read.verdicts["verdict"].tolist() == ["forecasts"]
