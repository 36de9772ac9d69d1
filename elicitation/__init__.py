"""Asking models for beliefs and, in separate contexts, for actions.

The public names load their modules on first use, so that `import elicitation` costs nothing and needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elicitation.decode import decode_belief, decode_decision, decode_distribution
    from elicitation.models.base import Answer, Model, Request
    from elicitation.models.causal import CausalModel, load_causal_model
    from elicitation.questions import plan_questions
    from elicitation.session import Tally, Task, elicit
    from elicitation.store import AnswerStore

_MODULES = {
    "Answer": "models.base",
    "AnswerStore": "store",
    "CausalModel": "models.causal",
    "Model": "models.base",
    "Request": "models.base",
    "Tally": "session",
    "Task": "session",
    "decode_belief": "decode",
    "decode_decision": "decode",
    "decode_distribution": "decode",
    "elicit": "session",
    "load_causal_model": "models.causal",
    "plan_questions": "questions",
}

__all__ = [
    "Answer",
    "AnswerStore",
    "CausalModel",
    "Model",
    "Request",
    "Tally",
    "Task",
    "decode_belief",
    "decode_decision",
    "decode_distribution",
    "elicit",
    "load_causal_model",
    "plan_questions",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'elicitation' has no attribute {name!r}")
    value = getattr(import_module(f"elicitation.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
