"""What a runs table holds that beliefs can be checked against, in the words of its reports.

A check names one entry of `EVIDENCE` as what it needs (`coherence.checks.check`).
"""

BELIEF, ONE_BELIEF, P = "parsed belief", "belief in one of two states", "p"
ACTION, THETA, TARGET = "action", "theta", "theta or p_true"
EXACT = "p_true"
QUESTIONS = MATCHING_QUESTIONS, STAKES_QUESTIONS = "matching questions", "stakes questions"
ANOTHER_PROMPT, GIVEN_Z = "second prompt", "z, z_state and p_z"

NEEDS_STATE_AND_ACTION = (BELIEF, ACTION, THETA)
STATE_AND_CHOICES = (BELIEF, ACTION, TARGET)
DRAWN_CHOICES = (ONE_BELIEF, ACTION, THETA, EXACT)
CHOICES = (ONE_BELIEF, ACTION)
TARGETS = (ONE_BELIEF, TARGET)
FORECASTS = (BELIEF, TARGET)
NEEDS_PROMPT_VARIANTS = (P, ANOTHER_PROMPT)
NEEDS_GIVEN_Z = (P, GIVEN_Z)
NEEDS_MATCHING = (ONE_BELIEF, MATCHING_QUESTIONS)
NEEDS_STAKES = (ONE_BELIEF, STAKES_QUESTIONS)
EVIDENCE = (
    *(STATE_AND_CHOICES, NEEDS_STATE_AND_ACTION, DRAWN_CHOICES, CHOICES, TARGETS, FORECASTS),
    *(NEEDS_PROMPT_VARIANTS, NEEDS_GIVEN_Z, NEEDS_MATCHING, NEEDS_STAKES),
)
"""All that a belief can be checked against, in the order of a report: what few rows have first."""
