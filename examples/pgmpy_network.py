"""A network made in pgmpy, asked about as it is: posteriors, cases and questions.

    python examples/pgmpy_network.py --out garden

Asks no model. The file of the network that it writes goes to `coherence elicit --task
garden/garden.bif --target rain --positive True`.
"""

import argparse
import logging
import warnings
from pathlib import Path
from typing import Any

import bayesnets
from elicitation import Design, load_task, plan_task


def garden() -> Any:
    """Return a pgmpy model with truth values and whole numbers as states."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # pgmpy's import warns of its next version
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork
    logging.getLogger("pgmpy").setLevel(logging.ERROR)

    arrows = [("rain", "puddles"), ("sprinkler", "puddles"), ("puddles", "shoes")]
    model = DiscreteBayesianNetwork(arrows)
    model.name = "garden"
    states = {"rain": [True, False], "sprinkler": ["on", "off"], "puddles": [0, 1, 2]}
    states["shoes"] = ["wet", "dry"]
    model.add_cpds(
        TabularCPD("rain", 2, [[0.2], [0.8]], state_names=states),
        TabularCPD("sprinkler", 2, [[0.3], [0.7]], state_names=states),
        TabularCPD(
            "puddles",
            3,
            [[0.1, 0.2, 0.3, 0.9], [0.3, 0.5, 0.4, 0.08], [0.6, 0.3, 0.3, 0.02]],
            evidence=["rain", "sprinkler"],
            evidence_card=[2, 2],
            state_names=states,
        ),
        TabularCPD(
            "shoes",
            2,
            [[0.05, 0.4, 0.9], [0.95, 0.6, 0.1]],
            evidence=["puddles"],
            evidence_card=[3],
            state_names=states,
        ),
    )
    return model


def main() -> None:
    """Print what the network says, and write its cases and its file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)

    model = garden()
    print("P(rain | two puddles, sprinkler off), by the model's own states:")
    print(bayesnets.posterior(model, {"puddles": 2, "sprinkler": "off"}, "rain").to_string())

    task = load_task(model, target="rain", positive=True)
    cases = task.cases(8, seed=1)
    print(f"\nCases of {task.name}:")
    print(cases[["context", "x_puddles", "x_sprinkler", "p_true"]].round(3).to_string(index=False))
    question = plan_task(task, cases, Design(reps=1)).questions[0]
    print(f"\nThe first question:\n{question.text}")

    cases.to_csv(folder / "cases.csv", index=False)
    bayesnets.write_network(model, folder / "garden.bif")


if __name__ == "__main__":
    main()
