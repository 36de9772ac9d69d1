"""``--fail-on``: conditions on a finished analysis, such as "holm<.05", and the exit status.

A condition is a quantity, a comparison and a number; a check and a point before it restrict it to
results of that check. It is read by a pattern and never evaluated as code. What is undefined meets
no condition.
"""

import math
import operator
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from coherence.checks.check import declarations, declared_name
from coherence.checks.sufficiency import SHARE
from coherence.errors import InputError, closest, listing
from coherence.printable import clean
from coherence.report.evaluation import EvaluationReport
from coherence.report.verdicts import OF_STAKES as STAKES_VERDICTS
from coherence.report.verdicts import VERDICTS
from coherence.runs.runs import audit_table

_OF_RESULTS = {
    "holm": "pvalue_holm",
    "bh": "pvalue_bh",
    "pvalue": "pvalue",
    "estimate": "estimate",
    "interval_low": "low",
    "interval_high": "high",
    "rows": "n_rows",
    "contexts": "n_contexts",
}
"""Quantity of every result -> field of `CheckResult.to_row`."""
_IN_ITS_UNIT = ("estimate", "interval_low", "interval_high")
UNREADABLE = "unreadable"
_OF_EVALUATIONS = (UNREADABLE, SHARE)


OF_STAKES = frozenset(verdict.code for verdict in STAKES_VERDICTS)
QUANTITIES = (*_OF_RESULTS, *_OF_EVALUATIONS)
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# A variant of a check is made of the user's own labels, which may hold points and signs.
_FORM = re.compile(
    r"\s*(?:(?P<check>.+)\.)?(?P<quantity>[^.<>=\s]+)"
    rf"\s*(?P<sign><=|>=|<|>)\s*(?P<number>{_NUMBER})\s*"
)
_OF_VERDICT = re.compile(r"\s*verdict\s*=\s*(?P<codes>\w+(?:\s*,\s*\w+)*)\s*")


@dataclass(frozen=True)
class Condition:
    """A comparison that some results of a report may meet."""

    text: str  # as it was written
    # name of a check, which stands for all its variants, or of one result with its variant
    # ("monotone_choice:yes/no"); None for all
    check: str | None
    quantity: str  # one of `QUANTITIES`, or verdicts with commas between them
    sign: str  # the comparison, or = a verdict
    number: float  # what the quantity is compared with


@dataclass(frozen=True)
class Outcomes:
    """What a condition found in a report; names in it are the user's, and not safe to print."""

    met: tuple[str, ...]  # a line for each value that meets it
    n_defined: int  # values that were compared
    lacking: tuple[str, ...]  # the (task, model) in which nothing could be compared
    # verdicts that no code names but begin with one: of what, and the verdict
    near: tuple[tuple[str, str], ...] = ()


def parse_condition(text: str) -> Condition:
    """Read a condition."""
    known = (
        f"The quantities are {', '.join(QUANTITIES)}; the comparisons {', '.join(_COMPARISONS)}."
    )
    if of_verdict := _OF_VERDICT.fullmatch(text):
        codes = re.split(r"\s*,\s*", of_verdict["codes"])
        for code in codes:
            if code not in VERDICTS:
                near = closest(code, VERDICTS)
                raise InputError(f"the condition {text!r} names no verdict: {code!r}. {near}")
        return Condition(text, None, ",".join(codes), "=", 0.0)
    form = _FORM.fullmatch(text)
    if form is None:
        raise InputError(
            "a condition must be a quantity, a comparison and a number, as in holm<.05, or begin "
            "with a check, as in cmi.holm<.05, or be a verdict, as in verdict=acts_on_more; "
            f"received {text!r}. {known}"
        )
    check, quantity, sign, number = form.groups()
    if quantity not in QUANTITIES:
        raise InputError(
            f"the condition {text!r} names the quantity {quantity!r}, which is none. {known}"
        )
    if check is None and quantity in _IN_ITS_UNIT:
        raise InputError(
            f"the condition {text!r} compares the {quantity} of every check, and each has its own "
            f"unit. Begin with a check, as in sufficiency.{quantity}{sign}{number}."
        )
    if check is not None:
        check = check.strip()
        if quantity in _OF_EVALUATIONS:
            raise InputError(
                f"the condition {text!r} asks for the {quantity} of a check; it is known of a "
                f"task and model as a whole. Leave out {check + '.'!r}."
            )
        names = [declared.name for declared in declarations()]
        if check not in names and check.partition(":")[0] not in names:
            raise InputError(
                f"the condition {text!r} names the check {check!r}, which is none. "
                f"{closest(check, names)} The checks are {', '.join(names)}."
            )
    return Condition(text, check, quantity, sign, float(number))


def _values(condition: Condition, evaluation: EvaluationReport) -> Iterator[tuple[str, float]]:
    """Yield the values of a quantity, each with what it is of."""
    if condition.quantity == UNREADABLE:
        for answers in audit_table(evaluation.statuses).to_dict("records"):
            yield f"answers to {answers['question']!r}", float(answers["share_unreadable"])
        return
    for result in evaluation.results:
        shares = {SHARE: found.value} if (found := result.also.get(SHARE)) else {}
        known = {name: result.to_row()[field] for name, field in _OF_RESULTS.items()} | shares
        meant = condition.check in (None, result.check, declared_name(result.check))
        if meant and condition.quantity in known:
            yield result.check, float(known[condition.quantity])


def held_against(condition: Condition, evaluations: Sequence[EvaluationReport]) -> Outcomes:
    """Hold a condition against every evaluation of a report."""
    met, lacking, near, n_defined = list[str](), list[str](), list[tuple[str, str]](), 0
    codes = condition.quantity.split(",")
    for evaluation in evaluations:
        named = {"task": evaluation.task, "model": evaluation.model}
        where = ", ".join(f"{what} {name!r}" for what, name in named.items() if name)
        if condition.sign != "=":
            values = _values(condition, evaluation)
            defined = [(of, value) for of, value in values if not math.isnan(value)]
        else:
            defined = [("", math.nan)] * bool(evaluation.stakes or not {*codes} <= OF_STAKES)
        n_defined += len(defined)
        if not defined:
            lacking.append(where or "the table")
        elif condition.sign == "=":
            # Of a table with stakes the verdict on the primary test counts too.
            for code in dict.fromkeys((evaluation.headline.code, evaluation.verdict.code)):
                if code in codes:
                    met.append(f"{where or 'the table'}: the verdict is {code}")
                elif any(code.startswith(f"{of}_") for of in codes):
                    near.append((where or "the table", code))
        else:
            met += [
                ": ".join(filter(None, [where, of, f"{condition.quantity} is {value:.15g}"]))
                for of, value in defined
                if _COMPARISONS[condition.sign](value, condition.number)
            ]
    return Outcomes(tuple(met), n_defined, tuple(lacking), tuple(near))


def judge(conditions: Sequence[Condition], evaluations: Sequence[EvaluationReport]) -> int:
    """Say on standard error what meets the conditions, and return the exit status."""
    failed, never_applicable = False, []
    of_verdicts = [condition.quantity for condition in conditions if condition.sign == "="]
    verdicts = {code for codes in of_verdicts for code in codes.split(",")}
    for condition in conditions:
        found = held_against(condition, evaluations)
        for line in found.met:
            print(clean(f"--fail-on {condition.text!r} holds: {line}"), file=sys.stderr)
        for where, code in found.near:
            if code not in verdicts:
                near = f"{where}: the verdict is {code}; name it too if it should fail"
                print(clean(f"--fail-on {condition.text!r}: {near}"), file=sys.stderr)
        failed = failed or bool(found.met)
        if not found.n_defined:
            never_applicable.append(condition.text)
        elif found.lacking:
            without = f"--fail-on {condition.text!r} had nothing to compare in "
            print(clean(f"{without}{listing(found.lacking)}"), file=sys.stderr)
    # A condition that nothing could ever meet would let everything pass.
    if never_applicable:
        raise InputError(
            f"--fail-on {', '.join(map(repr, never_applicable))} had nothing to compare: no result "
            "has such a value. Name a check that was run and is not undefined (the primary test "
            "has pvalue and bh, no holm), or leave the condition out."
        )
    return int(failed)
