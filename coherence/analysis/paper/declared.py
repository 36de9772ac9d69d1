"""The tables of the paper on whether models act like rational agents, by their numbers, as data.

Each table is a list of blocks, and a block names the result of a check that its columns show.
"""

from dataclasses import dataclass

from coherence.analysis.paper.supplement import ISOTONIC, NOISELESS, SCATTER, SINGLE


@dataclass(frozen=True)
class Block:
    """Neighbouring columns that show one result: as published, as repaired, and its p-value."""

    check: str  # name of the result; one that ends in a colon stands for every variant that occurs
    heading: str  # what stands above; ``{variant}`` is what follows the colon
    says: str  # what the number is, a sentence of the caption
    repaired_heading: str = "repaired"  # what stands above the repaired number, or the only one
    published: bool = True  # whether there is a published procedure that differs
    tested: bool = True  # whether the repaired result has a p-value
    # whether the published number is a share to be shown in percent
    published_percent: bool = False


@dataclass(frozen=True)
class Declared:
    """A table."""

    number: int  # in the paper
    title: str  # what it shows
    blocks: tuple[Block, ...]  # from left to right
    with_means: bool = False  # whether rows of means over tasks, and over all, stand at its end


_RAW = Block(
    "cmi",
    "kNN CMI, nats",
    "kNN CMI is the information I(A; θ | p) of action A and state θ given the belief p, in nats: "
    "published, the nearest-neighbour estimate, of which no error rate is controlled; repaired, "
    "the information counted in belief bins without its bias, which may fall below 0.",
)
_GAIN = (
    "the part of the out-of-sample log-loss of the action, in percent, that boosted trees save by "
    "seeing θ besides {given}"
)

TABLES = (
    Declared(
        1,
        "Belief sufficiency",
        (
            _RAW,
            Block(
                "predictive_gain",
                "CatBoost gain given p, %",
                f"Gain given p is {_GAIN.format(given='p')}.",
            ),
            Block(
                "predictive_gain:features",
                "CatBoost gain given p and x, %",
                f"Gain given p and x is {_GAIN.format(given='p and the evidence x')}.",
            ),
        ),
    ),
    Declared(
        2,
        "Monotone pairwise choice",
        (
            Block(
                "monotone_choice:",
                "{variant}",
                "A pair of actions, first/second: published, the percentage of pairs of belief "
                "bins in which the share of the first falls significantly, uncorrected; repaired, "
                "the largest drop of that share from a bin to a later one, below 0 where it rises "
                "everywhere.",
                published_percent=True,
            ),
        ),
    ),
    Declared(
        3,
        "Prompt consistency",
        (
            Block(
                SCATTER,
                "SD of repetitions",
                "SD is the standard deviation of repeated answers to the reference prompt within "
                "contexts (of computed beliefs, that of the distribution over answers).",
                repaired_heading="",
                published=False,
                tested=False,
            ),
            Block(
                "prompt_consistency:",
                "{variant}",
                "A prompt: the root-mean-square difference of its beliefs from those of the "
                "reference prompt, published between means of repetitions with their noise, "
                "repaired between expected beliefs without it.",
                tested=False,
            ),
        ),
        with_means=True,
    ),
    Declared(
        4,
        "Error to the exact posterior by prompt",
        (
            Block(
                f"{SINGLE}:",
                "{variant}",
                "A prompt: the root-mean-square error to the exact posterior of single answers, as "
                "it was published, and of expected answers, without the noise of repetitions (of "
                "computed beliefs both are that of the expected answer).",
                repaired_heading="single answers",
                published=False,
                tested=False,
            ),
            Block(
                f"{NOISELESS}:",
                "{variant}",
                "",
                repaired_heading="noise removed",
                published=False,
                tested=False,
            ),
        ),
        with_means=True,
    ),
    Declared(
        5,
        "Belief sufficiency after isotonic calibration",
        (
            _RAW,
            Block(
                ISOTONIC,
                "CMI after isotonic calibration, nats",
                "After calibration, p is replaced by its isotonic regression on θ; the repaired "
                "number hardly changes, because bins keep the order of beliefs, and its test does.",
            ),
        ),
    ),
)
