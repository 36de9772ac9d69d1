"""Tables in which persons judged the same cases, from columns to what is said of them."""

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError, SchemaError, analyze, read_runs

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
    report = report_of(table())
    (unit,) = report.evaluations
    ran = {result.check.partition(":")[0] for result in unit.results}
    assert ran == {"sufficiency", "residual_covariance", "calibration"}
    assert {"cmi", "monotone_choice", "rational_agent", "predictive_gain"} <= {
        name for note in unit.notes for name in note.checks
    }
    assert len({unit.absent(name) for name in ("cmi", "rational_agent")}) == 1
    assert "persons" in unit.absent("cmi")
    assert any("6 persons judged 40 cases" in note.text for note in unit.notes)
    assert "40 cases, 6 persons" in str(report)
    assert "No evidence that they act on more than they say." in " ".join(str(report).split())


def test_the_numbers_are_those_of_the_check():
    rows = table()
    (found,) = (r for r in report_of(rows).evaluations[0].results if r.check == "sufficiency")
    arrays = rows["says"], rows["does"], rows["came"]
    alone = coherence.sufficiency_test(*arrays, context=rows["case"], person=rows["who"], rng=1)
    assert found.statistic == pytest.approx(alone.statistic, abs=1e-6)
    assert found.settings["n_persons"] == alone.settings["n_persons"] == 6


def test_a_posterior_is_compared_with_where_no_outcome_is_known():
    names = {"belief": "says", "action": "does", "context": "case", "person": "who"}
    report = analyze(table(), columns={**names, "exact": "known"}, rng=1)
    by_name = {result.check: result for result in report.evaluations[0].results}
    assert by_name["sufficiency"].settings["state"] == "exact"


def test_the_papers_own_procedures_know_no_persons():
    unit = report_of(table(), published=True).evaluations[0]
    assert {result.check.partition(":")[0] for result in unit.results} == {"calibration"}
    assert not any("whole cases are compared" in note.text for note in unit.notes)


def test_forecasts_of_persons_are_scored_by_case():
    names = {"belief": "says", "truth": "came", "context": "case", "person": "who"}
    report = analyze(table().drop(columns="does"), columns=names, rng=1)
    (scores,) = (r for r in report.evaluations[0].results if r.check == "scores")
    assert scores.n_contexts == 40


def test_few_cases_are_said_not_to_be_tested():
    unit = report_of(table(n_cases=6, n_persons=30)).evaluations[0]
    (found,) = (r for r in unit.results if r.check == "sufficiency")
    assert "30 persons share 6 cases" in found.reason


def test_twins_and_agents_are_of_one_agent():
    unit = report_of(table(), checks=["sufficiency"], twins=40).evaluations[0]
    assert any("no rational twins were drawn: several persons" in note.text for note in unit.notes)


def test_models_are_compared_on_what_knows_persons():
    both = [table().assign(model=model) for model in "ab"]
    rows = pd.concat(both, ignore_index=True)
    rows.loc[rows["model"] == "b", "does"] = rows["came"]
    effects = ["residual_covariance", "rational_agent"]
    found = coherence.compare(rows, columns={**NAMES, "person": "who"}, effects=effects, rng=1)
    estimate = found.estimates.set_index("model")["estimate"]
    assert estimate["b"] > 0.5 > estimate["a"]
    assert set(found.estimates["effect"]) == {"residual_covariance"}
    assert any("several persons" in note for note in found.notes)


def test_a_column_of_that_name_is_read_where_cases_are_shared():
    rows = table().rename(columns={"who": "person"})
    assert analyze(rows, columns=NAMES, rng=1).evaluations[0].rows.crossed
    own = rows.assign(case=range(len(rows)))
    unit = analyze(own, columns=NAMES, checks=["calibration"], rng=1).evaluations[0]
    assert not unit.rows.crossed
    assert any("--group person" in note.text for note in unit.notes)
    without = {name: column for name, column in NAMES.items() if name != "context"}
    unit = analyze(rows, columns=without, checks=["calibration"], rng=1).evaluations[0]
    assert any("--context" in note.text for note in unit.notes)


def test_persons_repeat_only_their_own_judgements():
    read = read_runs(table(), columns={**NAMES, "person": "who"})
    again = pd.concat([read.assign(rep=0), read.assign(rep=1)])
    assert len(coherence.validate_runs(again)) == len(again)
    with pytest.raises(SchemaError, match="rep"):
        coherence.validate_runs(pd.concat([read.assign(rep=0), read.assign(rep=0)]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"person": "who", "context": "cell"}, "--group who"),
        ({"group": "who"}, "--person who"),
        ({"context": "who,case"}, "--context case --person who"),
        ({"context": "case,who"}, "--context case --person who"),
        ({"context": "case,nobody"}, "no column 'case,nobody'"),
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
    assert any("who, case together" in note.text for note in report.evaluations[0].notes)
    # A posterior that every person has of a case is shared just as well.
    names = {"belief": "says", "action": "does", "exact": "known", "context": "who,case"}
    with pytest.raises(InputError, match="--person who"):
        analyze(own.drop(columns="came"), columns=names)


def test_a_column_whose_name_has_a_comma_is_itself():
    rows = table().rename(columns={"case": "who,case"})
    report = analyze(rows, columns=NAMES | {"context": "who,case"}, checks=["calibration"], rng=1)
    assert report.evaluations[0].results[0].n_contexts == 40
