"""Make folktexts_predictions.csv with folktexts itself, around risk estimates that are fixed.

Its task, its prompts, its loop and its writer.

Run with folktexts 0.7.1 on Python 3.11, from this folder: ``python make_folktexts_predictions.py``.
Two orders of the answers are asked per row, as folktexts does to correct for their order; the file
holds the mean. Nothing in it had to be scrubbed.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from folktexts.classifier.base import LLMClassifier
from folktexts.col_to_text import ColumnToText
from folktexts.qa_interface import Choice, MultipleChoiceQA
from folktexts.task import TaskMetadata
from rain_study import CASES

LOGS = Path(__file__).parents[2] / "tests" / "golden"


class FixedEstimates(LLMClassifier):
    """Recognises the case by its evidence and returns the study's belief.

    It is a little higher in one order of the answers than in the other.
    """

    def _query_prompt_risk_estimates_batch(
        self, prompts_batch: list[str], *, question: MultipleChoiceQA, context_size: int = 0
    ) -> np.ndarray:
        order = 0.02 if question.choices[0].text == "Yes" else -0.02
        beliefs = []
        for prompt in prompts_batch:
            (truth,) = {
                case.p_true
                for case in CASES
                if f"humidity is: {case.humidity}" in prompt
                and f"pressure is: {case.pressure}" in prompt
            }
            beliefs.append(truth + order)
        return np.array(beliefs)


def main() -> None:
    """Ask and write."""
    question = MultipleChoiceQA(
        column="rain", text="Will it rain tomorrow?", choices=(Choice("No", 0), Choice("Yes", 1))
    )
    columns = {
        name: ColumnToText(name, short_description=name, value_map=str)
        for name in ("humidity", "pressure")
    }
    columns["rain"] = ColumnToText(
        "rain", short_description="rain", value_map={0: "No", 1: "Yes"}, question=question
    )
    task = TaskMetadata(
        name="rain",
        features=["humidity", "pressure"],
        target="rain",
        cols_to_text=columns,
        multiple_choice_qa=question,
        description="Evenings.",
    )
    table = pd.DataFrame(
        {
            "humidity": [case.humidity for case in CASES],
            "pressure": [case.pressure for case in CASES],
        },
        index=[f"evening-{case.number:02d}" for case in CASES],
    )
    labels = np.array([int(case.rained) for case in CASES])
    FixedEstimates("fixed-estimates", task).predict_proba(
        table, labels=labels, predictions_save_path=str(LOGS / "folktexts_predictions.csv")
    )


if __name__ == "__main__":
    main()
