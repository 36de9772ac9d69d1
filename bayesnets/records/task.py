"""Records as truth: strata of covariates, and the share of their records that is positive.

Where no network is known, the published analysis takes the share of positive records within a
stratum of at least 100 as P(theta = 1 | x). A stratum is a set of observed states; covariates
outside it are unobserved, as in cases drawn from a network. A share is an estimate, with a Wilson
interval (Wilson 1927) that takes the records as independent draws.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from bayesnets.network import Network
from bayesnets.phrases import Phrases
from bayesnets.records.cases import sample_record_cases
from bayesnets.records.fitting import MAX_ENTRIES, fit
from bayesnets.records.strata import CountedRecords
from coherence.errors import InputError
from coherence.inputs import whole_number


@dataclass(frozen=True, eq=False)
class RecordTask(CountedRecords):
    """Records of an outcome and its covariates, as something to ask about.

    It has the attributes that an elicitation session reads of a task: `name`, `network`, `phrases`
    and `target`.

    Parameters
    ----------
    name, records, covariates, target, positive, min_records
        As of `CountedRecords`; the name is the value of the `task` column.
    phrases : Phrases or None
        The records in words; needed for asking only.
    source : str
        Where the records come from.

    Raises
    ------
    InputError
        An absent column, a column of numbers, missing values, an unknown state, or a number outside
        its range.

    Examples
    --------
    >>> columns = {"smokes": ["yes", "no"] * 300, "coughs": ["yes", "yes", "no"] * 200}
    >>> task = RecordTask("cough", pd.DataFrame(columns), ("smokes",), "coughs", "yes")
    >>> task.strata()[["x_smokes", "n", "p_true"]].round(2).values.tolist()
    [['no', 300, 0.67], ['yes', 300, 0.67]]
    """

    phrases: Phrases | None = None
    source: str = ""

    @cached_property
    def network(self) -> Network:
        """The joint distribution of the records: a network whose posteriors are their shares.

        Every variable has arrows from all that come before it.
        It holds a number for every combination of states, and is meant for a dozen covariates at
        most. Its posteriors know no minimum of records; the `z` of `sample_record_cases` keeps to
        one.
        """
        entries = math.prod(map(len, self.states.values()))
        # The tables of the other variables are together no larger than that of the last.
        if 2 * entries > MAX_ENTRIES:
            raise InputError(
                f"covariates must have at most {MAX_ENTRIES // 2:,} combinations of states with "
                "the target, for a joint distribution; "
                f"{len(self.covariates)} covariates have {entries:,}. "
                "Choose fewer covariates or merge states."
            )
        order = list(self.states)
        parents = {variable: order[:position] for position, variable in enumerate(order)}
        # What stands in the column of a combination that no record has is only ever multiplied by
        # zero.
        nodes = fit(parents, self.records, states=self.states, empty="uniform").network.nodes
        source = f"shares among {len(self.records)} records. {self.source}".strip()
        return Network(self.name, self.name, source, False, nodes, tables="fitted")

    def cases(self, n: int, *, seed: int) -> pd.DataFrame:
        """Draw the contexts of a session.

        Parameters
        ----------
        n : int
            Number of contexts, positive.
        seed : int
            At least 0.

        Returns
        -------
        DataFrame
            As from `bayesnets.sample_record_cases`.

        Raises
        ------
        InputError
            A number outside its range, or too few strata.
        """
        return sample_record_cases(self, n, rng=whole_number(seed, "seed", 0))
