"""How the answers were got, in the sentences that the terminal and the page share.

The figures are those of `coherence.table.audit`; here they are put into words, with a caution
where the form that was asked for is not what the model would say.
"""

from coherence.report.wording import format_numbers
from coherence.table.audit import STATED, Answering
from coherence.table.printable import counted

LOW = 0.5
"""Median probability of the form below which a report cautions."""
REVEALED = "revealed"
POLICIES = (
    "actions are probabilities that were computed, and no action was drawn: the checks of belief "
    "against action test the policy."
)
KINDS = {
    "stated:drawn": "stated, drawn as text and read",
    "stated:forced": "stated, drawn among the answers that have the form",
    "stated:masked": "stated, drawn by a server that allowed only tokens of the form, "
    "which is not what the model would say given the form",
    "stated:exact": "stated, the mean of the distribution over all answers that have the form",
    "token": "the probability of the next token",
    "sampled": "the share of drawn answers",
    REVEALED: "revealed by how texts go on",
}
NOUNS = {
    "stated:drawn": "stated belief",
    "stated:forced": "forced stated belief",
    "stated:masked": "forced stated belief",
    "stated:exact": "exact stated belief",
    "token": "next-token belief",
    "sampled": "sampled belief",
    REVEALED: "revealed belief",
}


def belief_noun(answering: Answering | None) -> str:
    """Return what titles, sentences and axes call the belief."""
    nouns = {NOUNS.get(kind, "belief") for kind in (answering.kinds if answering else ())}
    return "belief" if len(nouns) > 1 else next(iter(nouns), STATED)


def _share(value: float) -> str:
    # Tiny masses are the ones that matter: 1.8e-06 must not read as 0.
    return f"{value:.2g}" if 0 < value < 0.001 else format_numbers([value])[0]


def answering_sentences(answering: Answering | None) -> list[str]:
    """Say how the answers were got; a caution comes first."""
    if answering is None or not answering.known:
        return []
    sentences = []
    if answering.median_mass < LOW:
        sentences.append(
            f"caution: the form of the answers had a median probability of "
            f"{_share(answering.median_mass)}, less than half; "
            "the values are those of answers that the model would seldom give unasked."
        )
    total = sum(answering.kinds.values())
    for kind, rows in answering.kinds.items():
        whole = "" if rows == total else f" ({rows} of {counted(total, 'row')})"
        sentences.append(f"beliefs are {KINDS.get(kind, kind)}{whole}.")
    if answering.policies:
        sentences.append(POLICIES)
    if answering.n_mass:
        sentences.append(
            f"the form of the answers had a probability of {_share(answering.median_mass)} "
            f"(median; smallest {_share(answering.smallest_mass)}; "
            f"{counted(answering.n_mass, 'row')})."
        )
    return sentences
