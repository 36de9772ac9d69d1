import numpy as np
import pytest

from bayesnets import Network, Node
from bayesnets.node import first_no_number
from coherence import InputError

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


@pytest.mark.parametrize(
    ("table", "entry"),
    [
        ([[0.9, "0.1"], [0.1, 0.9]], "'0.1'"),
        ([[True, 0.5], [False, 0.5]], "True"),
        (np.array([[True, False], [False, True]]), "True"),
        ([[0.5, 0.5], [0.5, "0.5", 0.5]], "'0.5'"),
        ("0.5", "'0.5'"),
    ],
)
def test_texts_and_truth_values_are_no_probabilities(table, entry):
    said = rf"table of node 'a' must hold numbers; the first other entry is {entry}\. Write"
    with pytest.raises(InputError, match=said):
        Node("a", ("x", "y"), ("coin",), table)


def test_complex_numbers_are_no_probabilities():
    with pytest.raises(InputError, match="table of node 'a' .* these are complex numbers"):
        Node("a", ("x", "y"), (), np.array([0.5 + 0j, 0.5]))


def test_whole_numbers_and_unequal_lists_are_told_apart_from_them():
    assert Node("a", ("x", "y"), (), [1, 0]).table.tolist() == [1.0, 0.0]
    assert first_no_number([[0.5, 0.5], [0.5]]) is None
