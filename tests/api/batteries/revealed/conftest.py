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


OPTIONS = ("1/4", "1/2", "3/4", "1/8")  # the first is right


def stated(setting, masses, *, outcome="1", group="g", source="m", options=OPTIONS):
    """Four rotations in which every option gets the mass given for it."""
    rows = [
        (source, "dice", group, setting, outcome, rotation, letter, options[k], k == 0, masses[k])
        for rotation in range(4)
        for letter, k in zip("ABCD", [(p - rotation) % 4 for p in range(4)], strict=True)
    ]
    names = ["source", "scenario", "group", "setting", "outcome", "rotation", "letter", "option"]
    return pd.DataFrame(rows, columns=[*names, "correct", "mass"])
