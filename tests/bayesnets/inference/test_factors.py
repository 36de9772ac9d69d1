import numpy as np
import pandas as pd
import pytest

from bayesnets import Network, Node, posterior


def test_variables_with_a_single_state_cost_nothing_and_change_nothing():
    """More of them than an array can have axes."""
    parents = [
        Node("v", ("a", "b"), (), np.array([0.3, 0.7])),
        Node("e", ("a", "b"), ("v",), np.array([[0.2, 0.5], [0.8, 0.5]])),
    ]
    single = [Node(f"s{k}", ("x",), ("v",), np.ones((1, 2))) for k in range(80)]
    network = Network("single", "single", "test", True, (*parents, *single))
    evidence = pd.DataFrame({f"s{k}": ["x", "x", None] for k in range(80)}).assign(
        e=["a", None, None]
    )
    assert posterior(network, evidence, "v")["a"].tolist() == pytest.approx(
        [0.06 / 0.41, 0.3, 0.3], abs=1e-15
    )
    assert posterior(network, evidence, "s7")["x"].tolist() == [1, 1, 1]
