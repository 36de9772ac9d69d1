"""``--fail-on`` of ``analyze`` and ``compare``: what a report has to do with the exit status."""

import sys
from typing import TYPE_CHECKING

from coherence.errors import InputError, listing

if TYPE_CHECKING:
    from coherence.analysis.conditions import Condition
    from coherence.report.report import Report


FAIL_ON = """
--fail-on CONDITION*  exit with 1 where any result meets it, such as 'holm<.05', 'unreadable>.1' or
    'sufficiency.estimate>.02', and with 2 where there is nothing to compare; may be given several
    times
"""


def judge(conditions: "list[Condition]", report: "Report") -> int:
    """Say on standard error what meets the conditions, and return the exit status."""
    from coherence.analysis.conditions import held_against
    from coherence.report.wording import clean

    failed, never_applicable = False, []
    of_verdicts = [condition.quantity for condition in conditions if condition.sign == "="]
    verdicts = {code for codes in of_verdicts for code in codes.split(",")}
    for condition in conditions:
        found = held_against(condition, report.evaluations)
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
