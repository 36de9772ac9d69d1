import numpy as np
import pandas as pd

from bayesnets import Network, Node, posterior


def test_more_distinct_rows_than_one_integer_key_can_hold():
    # 60 binary children that all bear on their parent need a key of 3^60 values.
    table = np.array([[0.6, 0.5], [0.4, 0.5]])
    nodes = [Node("v0", ("a", "b"), (), np.array([0.3, 0.7]))]
    nodes += [Node(f"v{i}", ("a", "b"), ("v0",), table) for i in range(1, 61)]
    star = Network("star", "star", "test", True, tuple(nodes))
    rng = np.random.default_rng(3)
    evidence = pd.DataFrame({f"v{i}": rng.choice(["a", "b"], size=300) for i in range(1, 61)})
    ratio = 0.3 / 0.7 * np.where(evidence == "a", 1.2, 0.8).prod(axis=1)
    np.testing.assert_allclose(
        posterior(star, evidence, "v0")["a"], ratio / (1 + ratio), atol=1e-12
    )
