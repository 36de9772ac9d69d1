import pytest

from coherence.statistics.parallel import call, run_calls
from coherence.table.reading import Reading


@pytest.mark.lengthy
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_comes_back_is_in_the_order_of_the_arguments(n_jobs):
    # Equal by value, and so without a hash, as plans and fitted agents are.
    reading = Reading({"p": "confidence"})
    with pytest.raises(TypeError, match="unhashable"):
        hash(reading)
    found = run_calls(reading.name_in_file, [("p",), ("action",), ("p",)], n_jobs)
    assert list(found) == ["confidence", "action", "confidence"]
    assert call(max, 1, 2) == 2


def test_an_error_of_a_call_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(run_calls(divmod, [(1, 1), (1, 0)]))
