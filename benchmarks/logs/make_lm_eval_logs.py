"""Make samples_rain_*.jsonl with lm-eval itself and a model whose answers are fixed.

Run with lm_eval 0.4.13 on Python 3.11, from this folder: ``python make_lm_eval_logs.py``. Three
tasks over local data: beliefs as text with two repeats, beliefs as log-likelihoods of No and Yes,
actions as log-likelihoods of the two options. The harness writes the files; the time in their names
is replaced by a fixed one, and nothing in them had to be scrubbed.
"""

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import yaml
from lm_eval import simple_evaluate
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager
from rain_study import CASES, REPS

LOGS = Path(__file__).parents[2] / "tests" / "golden"
_FIXED_TIME = "2026-01-05T12-00-00.000000"
_TASKS: dict[str, dict[str, Any]] = {
    "rain_text": {
        "output_type": "generate_until",
        "doc_to_text": "{{belief_question}}",
        "doc_to_target": "{{outcome}}",
        "repeats": REPS,
        "generation_kwargs": {"until": ["\n\n"], "max_gen_toks": 20, "do_sample": True},
        "metric_list": [{"metric": "exact_match"}],
    },
    "rain_yes": {
        "output_type": "multiple_choice",
        "doc_to_text": "{{evidence}} Will it rain tomorrow?",
        "doc_to_choice": ["No", "Yes"],
        "doc_to_target": "{{rained}}",
        "metric_list": [{"metric": "acc"}],
    },
    "rain_choice": {
        "output_type": "multiple_choice",
        "doc_to_text": "{{action_question}}",
        "doc_to_choice": ["leave", "take"],
        "doc_to_target": "{{rained}}",
        "metric_list": [{"metric": "acc"}],
    },
}


class FixedAnswers(LM):
    """Says what the study says.

    Texts come in the order of the repetitions; log-likelihoods leave one part in ten to other
    words.
    """

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """Return one text per request; a document's repetitions come one after the other."""
        seen: dict[int, int] = {}
        texts = []
        for request in requests:
            rep = seen.get(request.doc_id, 0)
            seen[request.doc_id] = rep + 1
            texts.append(CASES[request.doc_id].belief(rep))
        return texts

    def loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Return log-probability and greediness of each continuation."""
        said = []
        for request in requests:
            case, option = CASES[request.doc_id], request.args[1].strip()
            if option in ("No", "Yes"):
                share = min(max(case.p_true + 0.05 * (case.number % 3 - 1), 0.02), 0.98)
                share = share if option == "Yes" else 1 - share
            else:
                share = 0.8 if case.action(0) == option else 0.2
            said.append((math.log(0.9 * share), share > 0.5))
        return said

    def loglikelihood_rolling(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[float]:
        """No task asks for it."""
        raise NotImplementedError


def main() -> None:
    """Write the data and the tasks, evaluate, move the samples here."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rain.jsonl"
        documents = [
            {
                "evidence": case.evidence,
                "belief_question": case.belief_question,
                "action_question": case.action_question,
                "rained": int(case.rained),
                "outcome": "Yes" if case.rained else "No",
                "p_true": case.p_true,
                "x_humidity": case.humidity,
                "x_pressure": case.pressure,
            }
            for case in CASES
        ]
        data.write_text("".join(json.dumps(document) + "\n" for document in documents))
        for name, task in _TASKS.items():
            source = {
                "task": name,
                "dataset_path": "json",
                "dataset_kwargs": {"data_files": {"test": str(data)}},
                "test_split": "test",
            }
            (Path(folder) / f"{name}.yaml").write_text(yaml.safe_dump(source | task))
        tracker = EvaluationTracker(output_path=f"{folder}/out/results.json")
        done = simple_evaluate(
            model=FixedAnswers(),
            tasks=list(_TASKS),
            task_manager=TaskManager(include_path=folder, include_defaults=False),
            log_samples=True,
            evaluation_tracker=tracker,
            bootstrap_iters=0,
        )
        tracker.general_config_tracker.model_name_sanitized = "fixed-answers"
        tracker.date_id = _FIXED_TIME
        for name in _TASKS:
            tracker.save_results_samples(task_name=name, samples=done["samples"][name])
            (written,) = Path(folder, "out").rglob(f"samples_{name}_*.jsonl")
            (LOGS / written.name).write_bytes(written.read_bytes())


if __name__ == "__main__":
    main()
