"""The "failure to mix" battery: whether a model draws at the rates it is asked for.

`score_mixing` scores a table of answers, whoever gave them; the questions are in ``elicitation.scenarios.mixing``. What is measured and what is
corrected: ``docs/mixing.md``.
"""

from coherence.mixing.dependence import draw_dependence, flip_dependence
from coherence.mixing.equilibrium import mixed_equilibrium
from coherence.mixing.files import read_mixing_answers
from coherence.mixing.scoring import MixingScores, score_mixing
from coherence.mixing.simulated import expected_answers, simulate_mixing

__all__ = [
    "MixingScores",
    "draw_dependence",
    "expected_answers",
    "flip_dependence",
    "mixed_equilibrium",
    "read_mixing_answers",
    "score_mixing",
    "simulate_mixing",
]
