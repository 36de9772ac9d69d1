"""The table ``[analysis]`` of a study file: how the answers are analysed once they are there."""

from collections.abc import Mapping
from typing import Any

from coherence.checks import CHECKS
from coherence.errors import closest
from elicitation.commands.study.options import unknown_keys

ANALYSIS: Mapping[str, type | tuple[type, ...]] = {
    "checks": list,
    "published": bool,
    "strict": bool,
    "positive": (str, list),
    "reference": str,
    "merge_labels": bool,
    "twins": int,
    "seed": int,
}
"""Keys of ``[analysis]``: the options of ``coherence.analyze``, its `rng` as a seed."""
_KINDS: Mapping[type, str] = {
    list: "a list",
    bool: "true or false",
    str: "a text",
    int: "a whole number",
}


def analysis_faults(table: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a table ``[analysis]``, before anyone is asked."""
    faults = unknown_keys(table, tuple(ANALYSIS))
    for key, kind in ANALYSIS.items():
        value = table.get(key)
        # A truth value is a whole number to Python, and none to who wrote it.
        wrong = isinstance(value, bool) and kind is not bool
        if key in table and (wrong or not isinstance(value, kind)):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            names = " or ".join(_KINDS[each] for each in kinds)
            faults.append(f"{key} must be {names}; received {value!r}.")
    if faults:
        return faults
    # After hours of asking is no time to hear of a name mistyped.
    checks = table.get("checks")
    if checks is not None and not checks:
        faults.append("checks must name at least one check. Leave it out to run all.")
    faults += [
        f"checks must be among {', '.join(CHECKS)}; received {name!r}. {closest(str(name), CHECKS)}"
        for name in checks or ()
        if name not in CHECKS
    ]
    faults += [
        f"{key} must be at least {least}; received {table[key]}."
        for key, least in (("seed", 0), ("twins", 1))
        if table.get(key, least) < least
    ]
    return faults
