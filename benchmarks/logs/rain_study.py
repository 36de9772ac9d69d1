"""A tiny study that the scripts here put to a real program: will it rain, is the umbrella taken?

The answers are invented and fixed here, so that the logs can be compared with what went in: case by
case, repetition by repetition.
"""

from dataclasses import dataclass

REPS = 2
_HUMIDITY = {"low": 0.1, "middling": 0.35, "high": 0.6}
_PRESSURE = {"steady": 0.0, "falling": 0.3}
_RAINED = {1, 4, 5, 7, 10, 11, 13, 16, 17}
# What a model says off the form: the belief in (case, repetition), the action in (case,
# repetition).
ODD_BELIEFS = {
    (2, 0): "I cannot predict the weather.",
    (6, 1): "It depends on the wind.",
    (9, 0): "70",
    (12, 0): "35%",
}
ODD_ACTIONS = {(3, 1): "take or leave, as you like", (9, 0): "As an AI I have no umbrella."}


@dataclass(frozen=True)
class Case:
    """One evening's evidence and what followed."""

    number: int
    humidity: str
    pressure: str

    @property
    def p_true(self) -> float:
        """Probability of rain."""
        return round(_HUMIDITY[self.humidity] + _PRESSURE[self.pressure], 2)

    @property
    def rained(self) -> bool:
        """Whether it rained."""
        return self.number in _RAINED

    @property
    def evidence(self) -> str:
        """The evidence in words."""
        return (
            f"This evening the humidity is {self.humidity} and the air pressure is {self.pressure}."
        )

    @property
    def belief_question(self) -> str:
        """The question for a probability."""
        return (
            f"{self.evidence} How probable is rain tomorrow? "
            "Answer with one number between 0 and 1."
        )

    @property
    def action_question(self) -> str:
        """The question for an action."""
        return (
            f"{self.evidence} An umbrella stands by the door. Answer with one word: take or leave."
        )

    def belief(self, rep: int) -> str:
        """The invented answer to the first question."""
        said = min(max(self.p_true + 0.05 * ((self.number + rep) % 3 - 1), 0), 1)
        return ODD_BELIEFS.get((self.number, rep), f"{said:.2f}")

    def action(self, rep: int) -> str:
        """The invented answer to the second question."""
        return ODD_ACTIONS.get(
            (self.number, rep),
            "take" if self.p_true + 0.1 * ((self.number + rep) % 2) > 0.4 else "leave",
        )


CASES = tuple(
    Case(number, list(_HUMIDITY)[number % 3], list(_PRESSURE)[number // 3 % 2])
    for number in range(18)
)
