"""Asking models for beliefs and, in separate contexts, for actions.

The public names load their modules on first use, so that `import elicitation` costs nothing and needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elicitation.custom import load_questions
    from elicitation.decode import decode_belief, decode_choice, decode_decision, decode_distribution
    from elicitation.finetuning import Lessons, fine_tune
    from elicitation.models.agent import AgentModel, agent_for_task
    from elicitation.models.base import Answer, Model, Request, ScoringModel
    from elicitation.models.causal import CausalModel, load_causal_model
    from elicitation.models.http import Limits
    from elicitation.models.labels import LabelBounds
    from elicitation.models.multiple_choice import MultipleChoiceModel, load_multiple_choice_model
    from elicitation.models.server import ServerModel, connect_servers
    from elicitation.outcomes import OutcomeAudit, OutcomeProbabilities, audit_outcomes, outcome_probabilities
    from elicitation.overview import preview, summarise_store
    from elicitation.plan import Design, Plan, Subject, Task, load_task, plan_own_questions, plan_task
    from elicitation.prompt_file import load_prompts
    from elicitation.prompts import NETWORK_PROMPTS, TABLE_PROMPTS, PromptSet, Template
    from elicitation.questions import plan_questions
    from elicitation.scenarios.bet_models import score_choices
    from elicitation.scenarios.bets import bet_questions, ladder_questions, value_questions
    from elicitation.scenarios.grid import standard_grid
    from elicitation.scenarios.mixing import elicit_mixing, mixing_questions
    from elicitation.scenarios.tables import reveal
    from elicitation.session import Tally, elicit, elicit_questions, run_plan
    from elicitation.store import AnswerStore

_MODULES = {
    "AgentModel": "models.agent",
    "Answer": "models.base",
    "AnswerStore": "store",
    "CausalModel": "models.causal",
    "Design": "plan",
    "LabelBounds": "models.labels",
    "Lessons": "finetuning",
    "Limits": "models.http",
    "Model": "models.base",
    "MultipleChoiceModel": "models.multiple_choice",
    "NETWORK_PROMPTS": "prompts",
    "OutcomeAudit": "outcomes",
    "OutcomeProbabilities": "outcomes",
    "Plan": "plan",
    "PromptSet": "prompts",
    "Request": "models.base",
    "ScoringModel": "models.base",
    "ServerModel": "models.server",
    "Subject": "plan",
    "TABLE_PROMPTS": "prompts",
    "Tally": "session",
    "Task": "plan",
    "Template": "prompts",
    "agent_for_task": "models.agent",
    "audit_outcomes": "outcomes",
    "bet_questions": "scenarios.bets",
    "connect_servers": "models.server",
    "decode_belief": "decode",
    "decode_choice": "decode",
    "decode_decision": "decode",
    "decode_distribution": "decode",
    "elicit": "session",
    "elicit_mixing": "scenarios.mixing",
    "elicit_questions": "session",
    "fine_tune": "finetuning",
    "ladder_questions": "scenarios.bets",
    "load_causal_model": "models.causal",
    "load_multiple_choice_model": "models.multiple_choice",
    "load_prompts": "prompt_file",
    "load_questions": "custom",
    "load_task": "plan",
    "mixing_questions": "scenarios.mixing",
    "outcome_probabilities": "outcomes",
    "plan_own_questions": "plan",
    "plan_questions": "questions",
    "plan_task": "plan",
    "preview": "overview",
    "reveal": "scenarios.tables",
    "run_plan": "session",
    "score_choices": "scenarios.bet_models",
    "standard_grid": "scenarios.grid",
    "summarise_store": "overview",
    "value_questions": "scenarios.bets",
}

__all__ = [
    "NETWORK_PROMPTS",
    "TABLE_PROMPTS",
    "AgentModel",
    "Answer",
    "AnswerStore",
    "CausalModel",
    "Design",
    "LabelBounds",
    "Lessons",
    "Limits",
    "Model",
    "MultipleChoiceModel",
    "OutcomeAudit",
    "OutcomeProbabilities",
    "Plan",
    "PromptSet",
    "Request",
    "ScoringModel",
    "ServerModel",
    "Subject",
    "Tally",
    "Task",
    "Template",
    "agent_for_task",
    "audit_outcomes",
    "bet_questions",
    "connect_servers",
    "decode_belief",
    "decode_choice",
    "decode_decision",
    "decode_distribution",
    "elicit",
    "elicit_mixing",
    "elicit_questions",
    "fine_tune",
    "ladder_questions",
    "load_causal_model",
    "load_multiple_choice_model",
    "load_prompts",
    "load_questions",
    "load_task",
    "mixing_questions",
    "outcome_probabilities",
    "plan_own_questions",
    "plan_questions",
    "plan_task",
    "preview",
    "reveal",
    "run_plan",
    "score_choices",
    "standard_grid",
    "summarise_store",
    "value_questions",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'elicitation' has no attribute {name!r}")
    value = getattr(import_module(f"elicitation.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
