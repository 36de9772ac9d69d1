"""The checks: one module each, which declares what it is, and the one list of them.

Modules are named as text, so that a command can list the checks without loading them;
`coherence.checks.check` loads what they declare.
"""

CHECKS = {
    "cmi": "cmi",
    "predictive_gain": "predictive",
    "monotone_choice": "monotone",
    "prompt_consistency": "consistency",
    "iterated_expectation": "iterated",
    "calibration": "calibration",
    "evidence_leak": "leak",
    "scores": "scores",
    "sufficiency": "sufficiency",
    "matching": "matching",
    "stakes": "stakes",
    "threshold": "threshold",
}
"""Name of a check -> its module in this folder, a line each, in the order of reports."""
