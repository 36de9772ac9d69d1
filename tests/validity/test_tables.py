"""What the simulated tables promise: error rates, coverage and power within binomial bounds."""

import comparison
import groups
import margins
import mixing
import numpy as np
import persons
import pytest
import scores
import verdicts
from scipy import stats
from study import read_table

# At a true rate of .05 a binomial count passes its bound once in a thousand lines.
SURE = 0.999
ROOT_OF_TEN = ("prompt_consistency", 10)  # a root of skewed squares over ten units: see the page


def bound(n, rate=0.05, sure=SURE):
    return stats.binom.ppf(sure, n, rate) / n


def test_models_of_one_kind_are_rejected_and_covered_at_their_rates():
    table = read_table("comparison")
    assert set(table["design"]) == {design.name for design in comparison.DESIGNS}
    pairs = table.dropna(subset="rejected")
    # Pairs of a study depend on each other: it counts as one.
    assert (pairs["rejected"] <= bound(pairs["n_studies"])).all()
    assert (1 - pairs["covered"] <= bound(pairs["n_studies"])).all()
    assert (table["any_false"] <= bound(table["n_studies"])).all()


def test_named_groups_keep_the_error_rate_and_the_coverage_and_unnamed_ones_do_not():
    table = read_table("groups")
    assert len(table) == 2 * len(groups.CHECKS) * len(groups.SIZES)
    named = table[table["named"]]
    most = bound(named["n_tables"])
    assert (named["rejected"].fillna(0) <= most).all()
    few = [cell == ROOT_OF_TEN for cell in zip(named["check"], named["n_groups"], strict=True)]
    missed = 1 - named["covered"].fillna(1)
    assert (missed <= most)[~np.array(few)].all()
    assert missed[few].item() == pytest.approx(0.095)
    unnamed = table[~table["named"]].groupby("check")
    wrong = (unnamed["rejected"].max() > 0.15) | (unnamed["covered"].min() < 0.85)
    assert set(wrong[wrong].index) >= {"monotone_choice", "iterated_expectation"}


def test_a_margin_that_the_difference_reaches_is_claimed_in_a_fortieth_of_tables_at_most():
    table = read_table("margins")
    assert len(table) == 2 * len(margins.DESIGNS) * len(margins.SIZES)
    reached = table[table["difference"] == margins.MARGIN]
    assert (reached["claimed"] <= bound(reached["n_tables"], 0.025)).all()
    for _, design in table[table["difference"] == 0].groupby("design"):
        by_size = design.sort_values("n_contexts")
        assert by_size["median_margin"].is_monotonic_decreasing
        assert by_size["claimed"].iloc[-1] > 0.3


def test_persons_keep_the_level_and_persons_as_groups_of_cells_do_not():
    lines = read_table("persons")
    designs = len(persons.PANELS) * len(persons.POPULATIONS) * 2
    assert len(lines) == designs * len(persons.READINGS)
    told = lines[lines["reading"] == "person"]
    assert (told.loc[told["n_cases"] < 10, "n_tested"] == 0).all()
    enough = (told["n_cases"] >= 25) | ((told["n_cases"] == 12) & (told["state"] == "exact"))
    assert (told.loc[enough, "n_tested"] >= 0.95 * told.loc[enough, "n_tables"]).all()
    told = told[told["n_tested"] > 0]
    null = told[told["population"] != "knows"]
    assert (null["rejected"] <= bound(null["n_tested"])).all()
    assert (1 - told["covered"] <= bound(told["n_tested"])).all()
    cells = lines[lines["reading"] == "cells, group=person"]
    assert cells.loc[cells["population"] == "tastes", "rejected"].max() > 0.1
    assert cells.loc[cells["population"] == "knows", "covered"].min() < 0.85


def test_calibrated_forecasts_are_rejected_as_often_as_stated_and_scores_held():
    lines = read_table("scores")
    assert len(lines) == len(scores.LINES)
    null = lines[lines["power"] == 1]
    assert (null["rejected"] <= bound(null["tables"])).all()
    overstated = lines[(lines["power"] > 1) & (lines["cases"] > 100)]
    assert (overstated["rejected"] > 0.6).all()
    held = lines.loc[lines["cases"] >= 60, "brier_held"].dropna()
    assert (1 - held <= bound(lines["tables"].max())).all()


def test_coherent_agents_are_accused_in_five_percent_of_tables_and_claims_are_true():
    shares = read_table("verdicts")
    assert len(shares) == len(verdicts.KNOWN) * len(verdicts.SIZES) * len(verdicts.STATES)
    coherent = shares[shares["coherent"]]
    accused = (coherent["accused"] * coherent["tables"]).round()
    assert (accused <= stats.binom.ppf(SURE, coherent["tables"], 0.05)).all()
    assert accused.sum() / coherent["tables"].sum() < 0.05
    claims = read_table("sentences")
    found = claims[~claims["coherent"]].groupby("claim")[["printed", "true"]].sum()
    assert (found["true"] >= stats.binom.ppf(0.001, found["printed"], 0.95)).all()
    of_all = claims.groupby("claim")[["printed", "true"]].sum()
    assert (of_all["true"] / of_all["printed"]).min() > 0.9


def test_the_tables_of_mixing_hold_what_the_page_says():
    """Every total and experiment at least .93; sizes of the tests within exact bounds."""
    table = read_table("mixing_intervals")
    known = {(agent, n_draws) for agent in mixing.AGENTS for n_draws in mixing.DRAWS}
    assert set(zip(table["agent"], table["draws"], strict=True)) == known
    totals = table[~table["quantity"].str.contains(":")]
    assert (totals["covered"] >= 0.93 * totals["sessions"]).all()
    assert (table["sessions"] >= 1000).all()
    tests = read_table("mixing_tests")
    assert set(tests["correlation"]) == set(mixing.ALTERNATION)
    size = tests[tests["correlation"] == 0]
    assert (size["rejected"] <= stats.binom.ppf(SURE, size["sessions"], 0.05)).all()


# Reduced forms of the simulations: they break if a simulation no longer fits what it simulates.


@pytest.mark.lengthy
@pytest.mark.parametrize(("agent", "n_draws"), [("steep", 20), ("uniform", 20), ("beta", 100)])
def test_intervals_of_totals_and_experiments_cover(agent, n_draws):
    """Coverage that is too low by a tenth or more shows here; the full tables show less."""
    cell = 10 * mixing.DRAWS.index(n_draws) + [*mixing.AGENTS].index(agent)
    drawn = [mixing.session(agent, n_draws, [1, cell, number]) for number in range(40)]
    rows = mixing.read_intervals(drawn)
    totals = {row["quantity"]: row["covered"] for row in rows if ":" not in row["quantity"]}
    assert len(totals) == 6
    assert min(totals.values()) >= stats.binom.ppf(0.0001, 40, 0.95)
    # Only a score that is 0 beyond doubt has an interval without width.
    assert all(row["no_width"] == 0 for row in rows if ":" in row["quantity"] or row["truth"] > 0)


@pytest.mark.lengthy
def test_independent_flips_are_rejected_about_as_often_as_promised():
    """Bounds are passed once in ten thousand runs; alternation by .1 is nearly always rejected."""
    independent = np.array([mixing.pvalue(0.0, 20, [1, number]) for number in range(100)])
    assert (independent <= 0.05).sum() <= stats.binom.ppf(0.9999, 100, 0.05)
    alternating = np.array([mixing.pvalue(-0.1, 100, [1, number]) for number in range(40)])
    assert (alternating <= 0.05).sum() >= stats.binom.ppf(0.0001, 40, 0.95)
