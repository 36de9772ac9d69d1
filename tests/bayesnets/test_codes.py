import numpy as np
import pandas as pd

from bayesnets import Network, Node, posterior


def test_more_distinct_rows_than_one_integer_key_can_hold():
    # 40 binary nodes need a key of 3^40 values.
    nodes = [Node("v0", ("a", "b"), (), np.array([0.3, 0.7]))]
    nodes += [
        Node(f"v{i}", ("a", "b"), (f"v{i - 1}",), np.array([[0.9, 0.2], [0.1, 0.8]]))
        for i in range(1, 40)
    ]
    chain = Network("chain", "chain", "test", True, tuple(nodes))
    rng = np.random.default_rng(3)
    evidence = pd.DataFrame({f"v{i}": rng.choice(["a", "b"], size=300) for i in range(1, 40)})
    ratio = (
        0.3
        * np.where(evidence["v1"] == "a", 0.9, 0.1)
        / (0.7 * np.where(evidence["v1"] == "a", 0.2, 0.8))
    )
    np.testing.assert_allclose(
        posterior(chain, evidence, "v0")["a"], ratio / (1 + ratio), atol=1e-12
    )
