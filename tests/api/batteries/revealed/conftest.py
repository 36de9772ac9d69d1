"""Belief tables and stated answers."""

import math

import pandas as pd
import pytest


def _beliefs(
    setting,
    wording,
    masses,
    truth,
    *,
    source="m",
    previous="",
    baseline="",
    pair="",
    beginnings=None,
):
    n = len(masses)
    columns = {
        "source": source,
        "scenario": "dice",
        "variant": "single",
        "group": "g",
        "setting": setting,
        "wording": wording,
        "position": range(n),
        "outcome": [str(k + 1) for k in range(n)],
        "truth": truth,
        "mass": masses,
        "mass_beginning": beginnings or [math.nan] * n,
        "previous": previous,
        "shift": 0,
        "baseline": baseline,
        "pair": pair,
    }
    return pd.DataFrame(columns)


@pytest.fixture
def beliefs():
    return _beliefs


def _stated_rows(mass, *, source="m"):
    return pd.DataFrame(
        [
            {
                "source": source,
                "scenario": "dice",
                "group": "g",
                "setting": "s",
                "rotation": rotation,
                "letter": letter,
                "correct": position == rotation,
                "mass": mass,
            }
            for rotation in range(4)
            for position, letter in enumerate("ABCD")
        ]
    )


@pytest.fixture
def stated_rows():
    return _stated_rows
