"""Tables of revealed beliefs equal what pandas makes of the scores."""

import io
import math

import numpy as np
import pandas as pd
import pytest

from coherence import score_beliefs, summarise_scores
from coherence.batteries.revealed.scores import compare_misses, score_stated
from coherence.batteries.revealed.tables import revealed_tables
from coherence.report.files import render_csv
from tests.api.tables import read_exactly

NEEDS_PROMPT_VARIANTS, SOURCES = ("standard", "story"), ("base", "in_struct|")


def beliefs_of(setting, group, masses, wording, source):
    n = len(masses)
    columns = {"source": source, "scenario": "dice", "variant": "single", "group": group}
    columns |= {"setting": setting, "wording": wording, "position": range(n)}
    columns |= {"outcome": [str(k + 1) for k in range(n)], "truth": [1 / n] * n, "mass": masses}
    empty = dict.fromkeys(("previous", "baseline", "pair"), "")
    return pd.DataFrame(columns | empty | {"shift": 0, "mass_beginning": math.nan})


@pytest.fixture(scope="module")
def beliefs():
    rng = np.random.default_rng(0)
    tables = [
        beliefs_of(f"s{n}-{k}", f"group {n}", rng.random(n + 2), wording, source)
        for n in range(3)
        for k in range(2)
        for wording in NEEDS_PROMPT_VARIANTS
        for source in SOURCES
    ]
    table = pd.concat(tables, ignore_index=True)
    unread = (table["group"] == "group 2") & (table["source"] == "base")
    return table.assign(mass=table["mass"].mask(unread))


@pytest.fixture(scope="module")
def stated():
    rng = np.random.default_rng(1)
    rows = [
        (
            source,
            "dice",
            f"group {n}",
            f"s{n}-{k}",
            "1",
            rotation,
            letter,
            option,
            place == rotation,
        )
        for source in SOURCES[1:]
        for n in range(2)
        for k in range(2)
        for rotation in range(4)
        for place, (letter, option) in enumerate(
            zip("ABCD", np.roll([1 / (n + 2), 0.9, 0.8, 0.7], rotation), strict=True)
        )
    ]
    names = ["source", "scenario", "group", "setting", "outcome", "rotation", "letter", "option"]
    return pd.DataFrame(rows, columns=[*names, "correct"]).assign(mass=rng.random(len(rows)))


@pytest.fixture(scope="module")
def tables(beliefs, stated):
    summary = summarise_scores(score_beliefs(beliefs))
    return revealed_tables(summary, score_stated(stated), compare_misses(beliefs, stated))


def csv_of(table):
    return read_exactly(io.StringIO(render_csv(table)))


def test_distances_are_means_over_settings_then_wordings(tables, beliefs, stated):
    table = csv_of(tables[0]).set_index("group")
    scores = score_beliefs(beliefs)
    for metric in ("chebyshev", "l1", "symmetric_kl"):
        means = scores.groupby(["source", "group", "wording"])[metric].mean().dropna()
        for source in SOURCES:
            by_group = means[source].groupby("group")
            shown = table[f"{metric}.{source}"].dropna()
            pd.testing.assert_series_equal(shown, by_group.mean(), check_names=False)
            shown = table[f"{metric}.{source}.sd"].dropna()
            pd.testing.assert_series_equal(shown, by_group.std(), check_names=False)
    errors = score_stated(stated).groupby("group")["stated_error"].mean()
    shown = table[f"stated.{SOURCES[1]}"].dropna()
    pd.testing.assert_series_equal(shown, errors, check_names=False)


def test_both_ways_of_asking_stand_in_a_table_of_their_own(tables, beliefs, stated):
    assert [table.name for table in tables] == ["revealed-dice", "misses"]
    table = csv_of(tables[1])
    misses = compare_misses(beliefs, stated)
    for name in ("revealed_miss", "stated_miss", "difference", "revealed_uniform", "stated_guess"):
        np.testing.assert_array_equal(table[name], misses[name])
    np.testing.assert_array_equal(table["difference.low"], misses["low"])
    assert tables[1].n_last == 1
