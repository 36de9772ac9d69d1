"""Belief tables and stated answers."""

import math

import pandas as pd

LINKS = dict.fromkeys(("previous", "baseline", "pair"), "")


def beliefs(setting, wording, masses, truth, *, beginnings=math.nan, **columns):
    """Beliefs of one source about the outcomes "1", "2" ... of a setting."""
    n = len(masses)
    table = {"source": "m", "scenario": "dice", "variant": "single", "group": "g"}
    table |= {"setting": setting, "wording": wording, "position": range(n)}
    table |= {"outcome": [str(k + 1) for k in range(n)], "truth": truth, "mass": masses}
    return pd.DataFrame(table | LINKS | {"mass_beginning": beginnings, "shift": 0} | columns)


def stated(setting, masses, *, group="g", source="m"):
    """Four rotations in which every option gets the mass given for it; the first is right."""
    rows = [
        (source, "dice", group, setting, rotation, letter, k == 0, masses[k])
        for rotation in range(4)
        for letter, k in zip("ABCD", [(p - rotation) % 4 for p in range(4)], strict=True)
    ]
    names = ["source", "scenario", "group", "setting", "rotation", "letter"]
    return pd.DataFrame(rows, columns=[*names, "correct", "mass"])
