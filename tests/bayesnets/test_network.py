"""Networks as objects: breaks if a broken one passes, or a round trip loses anything."""

import logging
import warnings

import numpy as np
import pandas as pd
import pytest

import bayesnets as bn
from bayesnets import Network, Node, from_pgmpy
from coherence import InputError
from elicitation import load_task

COIN = Node("coin", ("head", "tail"), (), np.array([0.5, 0.5]))


def network(*nodes):
    return Network("small", "small", "test", True, nodes)


def node(name, table, parents=(), states=("x", "y")):
    return Node(name, states, parents, np.array(table))


def test_rounding_within_the_tolerance_is_accepted():
    assert network(node("a", [0.5, 0.5 + 9e-9])).names == ("a",)


def test_a_pgmpy_table_that_lists_a_parents_states_in_another_order_is_reordered():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork
    model = DiscreteBayesianNetwork([("a", "b")])
    states = {"b": ["u", "v"], "a": ["y", "x"]}
    child = TabularCPD("b", 2, [[0.1, 0.2], [0.9, 0.8]], ["a"], [2], state_names=states)
    model.add_cpds(TabularCPD("a", 2, [[0.3], [0.7]], state_names={"a": ["x", "y"]}), child)
    assert from_pgmpy(model).node("b").table[0].tolist() == [0.2, 0.1]


def test_a_table_cannot_be_written_to():
    """Breaks if a posterior may follow another table than the one that was validated."""
    with pytest.raises(ValueError, match="read-only"):
        COIN.table[0] = 1.0


# A pgmpy model wherever a network is taken: breaks if it loses its name, its states or a number.
# Its variables are numbers and truth values as pgmpy allows them, and pgmpy's own engine is asked
# the
# same questions.


@pytest.fixture(scope="module")
def pgmpy():
    """The parts of pgmpy that its users know."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgmpy.factors.discrete
        import pgmpy.inference
        import pgmpy.models
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    return pgmpy


@pytest.fixture
def lawn(pgmpy):
    """Truth values, whole numbers, text, and a variable whose name is a number."""
    table = pgmpy.factors.discrete.TabularCPD
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = pgmpy.models.DiscreteBayesianNetwork([("rain", "wet"), ("wet", 3)])
        model.add_cpds(
            table("rain", 2, [[0.2], [0.8]], state_names={"rain": [True, False]}),
            table(
                *("wet", 3, [[0.1, 0.5], [0.3, 0.3], [0.6, 0.2]], ["rain"], [2]),
                state_names={"wet": [0, 1, 2], "rain": [True, False]},
            ),
            table(
                *(3, 2, [[0.9, 0.5, 0.1], [0.1, 0.5, 0.9]], ["wet"], [3]),
                state_names={3: ["green", "brown"], "wet": [0, 1, 2]},
            ),
        )
    model.name = "lawn"
    return model


def by_pgmpy(pgmpy, model, target, evidence):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        engine = pgmpy.inference.VariableElimination(model)
        factor = engine.query([target], evidence, show_progress=False)
    return dict(zip(factor.state_names[target], factor.values.tolist(), strict=True))


def saved(model, file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model.save(str(file))


@pytest.mark.parametrize(
    ("target", "evidence"),
    [
        ("rain", {"wet": np.int64(1), 3: "brown"}),
        ("rain", {}),
        ("wet", {"rain": np.bool_(False), 3: "green"}),
        (3, {"rain": True, "wet": 0}),
    ],
)
def test_a_dict_of_own_states_gives_what_pgmpy_gives(pgmpy, lawn, target, evidence):
    ours = bn.posterior(lawn, evidence, target)
    assert ours.index.tolist() == [0]
    expected = by_pgmpy(pgmpy, lawn, target, evidence)
    assert ours.iloc[0].to_dict() == pytest.approx(expected, abs=1e-14)
    for state in expected:  # by the model's own states, not by their spelling
        assert ours[state].iloc[0] == pytest.approx(expected[state], abs=1e-14)


def test_records_may_hold_the_states_of_a_model_as_they_are(pgmpy, lawn):
    lawn.remove_node(3)
    spelt = bn.sample(lawn, 4000, rng=1)
    own = pd.DataFrame({"rain": spelt["rain"] == "True", "wet": spelt["wet"].astype(int)})
    expected = bn.fit(lawn, spelt).network
    assert bn.fit(lawn, own).network == expected
    assert expected.name == "lawn"
    behind = bn.with_records(lawn, own)
    assert behind.support.counts(np.array([[0, 2]])) == ((own["rain"]) & (own["wet"] == 2)).sum()
    arrows = pgmpy.models.DiscreteBayesianNetwork([("rain", "wet")])
    arrows.name = "lawn"
    states = {"rain": [True, False], "wet": [0, 1, 2]}
    assert bn.fit(arrows, own, states=states).network.nodes == expected.nodes
    assert bn.fit(arrows, own, states=states).network.name == "lawn"
    with pytest.raises(InputError, match="states must be stated .* Pass states="):
        bn.fit(arrows, own)
    with pytest.raises(InputError, match=r"column 'wet' of records must hold labels .* 7 \(int\)"):
        bn.fit(lawn, own.assign(wet=7))


@pytest.mark.parametrize("name", ["asia", "survey"])
def test_the_round_trip_loses_neither_name_nor_order_nor_number(name):
    network = bn.load_network(name)
    back = bn.from_pgmpy(bn.to_pgmpy(network))
    assert (back.name, back.nodes) == (name, network.nodes)


@pytest.mark.parametrize("ending", ["bif", "xmlbif"])
def test_what_pgmpy_saves_is_asked_about_like_the_model(lawn, tmp_path, ending):
    lawn.remove_node(3)  # its writers want names that are text
    file = tmp_path / f"saved.{ending}"
    saved(lawn, file)
    of_file, model = load_task(file, target="rain"), load_task(lawn, target="rain")
    assert of_file.name == model.name == "lawn:rain"
    assert of_file.phrases == model.phrases
    pd.testing.assert_frame_equal(of_file.cases(3, seed=3), model.cases(3, seed=3))
    # A model without a name has that of the file.
    lawn.name = ""
    saved(lawn, tmp_path / f"garden.{ending}")
    assert bn.read_network(tmp_path / f"garden.{ending}").name == "garden"
    # A network of ours may be called as pgmpy calls one without a name.
    bn.write_network(bn.from_pgmpy(lawn, name="unknown"), tmp_path / f"other.{ending}")
    assert bn.read_network(tmp_path / f"other.{ending}").name == "unknown"
