import numpy as np
import pytest

from bayesnets import Network, Node
from coherence.errors import InputError

COIN = Node("coin", ("head", "tail"), (), np.array([0.5, 0.5]))


def network(*nodes):
    return Network("small", "small", "test", True, nodes)


def test_a_column_that_does_not_sum_to_one_is_named():
    child = Node("child", ("a", "b"), ("coin",), np.array([[0.5, 0.6], [0.5, 0.405]]))
    expected = (
        r"table of node 'child' .* 1 of 2 columns do not, "
        r"the first is \[0\.6, 0\.405\] with sum 1\.005 at coin=tail\. Correct"
    )
    with pytest.raises(InputError, match=expected):
        network(COIN, child)


def test_rounding_within_the_tolerance_is_accepted():
    assert network(Node("a", ("x", "y"), (), np.array([0.5, 0.5 + 9e-9]))).names == ("a",)
