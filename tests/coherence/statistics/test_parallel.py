from dataclasses import dataclass, field

import pytest

from coherence.statistics.parallel import call, run_calls


@dataclass(frozen=True)
class Scaled:
    """Like the plans of this package: equal by value, and so without a hash."""

    factors: dict[str, int] = field(default_factory=dict)

    def by(self, name, number):
        return self.factors[name] * number


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_comes_back_is_in_the_order_of_the_arguments(n_jobs):
    scaled = Scaled({"a": 10, "b": 100})
    with pytest.raises(TypeError, match="unhashable"):
        hash(scaled)
    found = run_calls(scaled.by, [("a", 1), ("b", 2), ("a", 3)], n_jobs)
    assert list(found) == [10, 200, 30]
    assert call(max, 1, 2) == 2


def test_an_error_of_a_call_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(run_calls(divmod, [(1, 1), (1, 0)]))
