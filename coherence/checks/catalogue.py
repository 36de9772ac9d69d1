"""What the checks of `coherence.checks.CHECKS` declare, and what follows from it."""

from functools import cache
from importlib import import_module

import pandas as pd

from coherence.checks import CHECKS
from coherence.checks.check import ANY, Check, Sentences
from coherence.errors import InputError, closest
from coherence.table.needs import missing


def declaration(name: str) -> Check:
    """Return what a check of `CHECKS` declares; importing its module is what takes the time."""
    check: Check = import_module(f"coherence.checks.{CHECKS[name]}").CHECK
    return check


@cache
def declarations() -> tuple[Check, ...]:
    """Return all declarations, those of parts behind the check that they belong to."""
    checks = map(declaration, CHECKS)
    return tuple(member for check in checks for member in (check, *check.parts))


def declared_name(result: str) -> str:
    """Return the name of the check that declares a result.

    Parameters
    ----------
    result : str
        Name of a result, such as "monotone_choice:yes/no".

    Returns
    -------
    str
        Such as "monotone_choice"; what stands before the colon, where no check declares more.

    Examples
    --------
    >>> declared_name("monotone_choice:yes/no"), declared_name("iterated_expectation:random_forest")
    ('monotone_choice', 'iterated_expectation:random_forest')
    """
    # A part may bear the name of a variant ("iterated_expectation:random_forest").
    named = any(result == check.name for check in declarations())
    return result if named else result.partition(":")[0]


def sentences_of(result: str) -> tuple[Sentences, str]:
    """Find what a result says by its name.

    Parameters
    ----------
    result : str
        Name of a result, such as "monotone_choice:yes/no".

    Returns
    -------
    sentences : Sentences
        As declared by its check.
    variant : str
        What follows the name of the check.

    Raises
    ------
    InputError
        No check declares a result of that name.
    """
    declared = {check.name: check.sentences for check in declarations()}
    name = declared_name(result)
    variant = result.removeprefix(name).removeprefix(":")
    by_variant = declared.get(name, {})
    for key in (variant, ANY):
        if key in by_variant:
            return by_variant[key], variant
    raise InputError(
        f"check must be declared in coherence.checks; received a result of {result!r}. "
        f"{closest(result, declared)}"
    )


def lacking(runs: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Say what each check lacks in a table.

    Parameters
    ----------
    runs : DataFrame
        A runs table; a column without any value counts as absent.

    Returns
    -------
    dict
        Check -> what it lacks, in the words of `coherence.table.needs`; nothing where the columns
        allow the check.

    Examples
    --------
    >>> needs = lacking(pd.DataFrame({"p": [0.2, 0.9], "p_true": [0.1, 0.8]}))
    >>> needs["calibration"], needs["monotone_choice"]
    ((), ('action',))
    """
    unmet = missing(runs)
    return {
        name: tuple(need for need in declaration(name).needs if need in unmet) for name in CHECKS
    }
