"""What the checks of `coherence.checks.CHECKS` declare, and what follows from it."""

from functools import cache
from importlib import import_module

from coherence.checks import CHECKS
from coherence.checks.check import ANY, Check, Interpretation
from coherence.errors import InputError, closest
from coherence.runs.needs import MATCHING_QUESTIONS, STAKES_QUESTIONS
from coherence.runs.runs import Runs


def declaration(name: str) -> Check:
    """Return what a check of `CHECKS` declares; importing its module is what takes the time."""
    check: Check = import_module(f"coherence.checks.{CHECKS[name]}").CHECK
    return check


@cache
def declarations() -> tuple[Check, ...]:
    """Return all declarations, those of parts behind the check that they belong to."""
    checks = map(declaration, CHECKS)
    return tuple(member for check in checks for member in (check, *check.parts))


@cache
def check_of(result: str) -> Check | None:
    """Return the check that declares a result; None where none does."""
    # A part may bear the name of a variant ("iterated_expectation:random_forest").
    by_name = {check.name: check for check in declarations()}
    return by_name.get(result) or by_name.get(result.partition(":")[0])


def declared_name(result: str) -> str:
    """Return the name of the check that declares a result."""
    check = check_of(result)
    return result.partition(":")[0] if check is None else check.name


def variant_of(result: str) -> str:
    """Return what follows the name of the check in that of a result, without the colon."""
    return result.removeprefix(declared_name(result)).removeprefix(":")


@cache
def interpretation_of(result: str) -> Interpretation:
    """Return what is declared of a result by its name."""
    check = check_of(result)
    for key in () if check is None else (variant_of(result), ANY):
        if check is not None and key in check.sentences:
            return check.sentences[key]
    raise InputError(
        f"check must be declared in coherence.checks; received a result of {result!r}. "
        f"{closest(result, [check.name for check in declarations()])}"
    )


def unmet_needs(runs: Runs) -> dict[str, tuple[str, ...]]:
    """Say what each check lacks in a table; of questions that are asked on purpose, none does."""
    unmet = runs.unmet()
    on_purpose = unmet & {MATCHING_QUESTIONS, STAKES_QUESTIONS}
    needs = {name: declaration(name).needs for name in CHECKS}
    return {
        name: tuple(need for need in needed if need in unmet)
        for name, needed in needs.items()
        if not on_purpose.intersection(needed)
    }
