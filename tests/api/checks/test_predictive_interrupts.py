"""Ctrl-C during the predictive gain: raised inside CatBoost it ended in segmentation faults."""

import signal
import threading

import catboost
import numpy as np
import pytest

from coherence import predictive_gain_test
from coherence.statistics import boosted_trees


def gain(**options):
    rng = np.random.default_rng(0)
    belief, truth = rng.uniform(size=12), rng.integers(0, 2, 12)
    action = (rng.uniform(size=12) < belief).astype(int)
    return predictive_gain_test(belief, action, truth, n_folds=2, rng=0, **options)


@pytest.fixture
def ctrl_c():
    """Let Ctrl-C raise KeyboardInterrupt, whatever runs the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (catboost.Pool, "__init__"),
        (catboost.CatBoostClassifier, "__init__"),
        (catboost.CatBoostClassifier, "fit"),
        (catboost.CatBoostClassifier, "predict"),
    ],
)
def test_ctrl_c_is_answered_as_soon_as_catboost_returns(
    owner, name, published, ctrl_c, monkeypatch
):
    whole, returned = getattr(owner, name), []

    def interrupted(self, *arguments, **options):
        signal.raise_signal(signal.SIGINT)
        result = whole(self, *arguments, **options)
        returned.append(self)
        return result

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        gain(published=published)
    assert len(returned) == 1
    assert signal.getsignal(signal.SIGINT) is ctrl_c


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("is_long", [False, True])
def test_a_long_fit_does_not_go_on_to_its_end(published, is_long, ctrl_c, monkeypatch):
    """Breaks if Ctrl-C waits for minutes, or if short fits, most of a report, take twice as long.

    CatBoost calls Python after every iteration where it is to look for Ctrl-C.
    """
    monkeypatch.setattr(boosted_trees, "LONG_FIT", 6 * 45 if is_long else 6 * 1000 + 1)
    whole, grown = catboost.CatBoostClassifier.fit, []

    def interrupted(self, *arguments, **options):
        assert bool(options["callbacks"]) == is_long
        signal.raise_signal(signal.SIGINT)
        result = whole(self, *arguments, **options)
        grown.append(self.tree_count_)
        return result

    monkeypatch.setattr(catboost.CatBoostClassifier, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gain(published=published)
    assert (grown == [1]) == is_long


def test_ctrl_c_that_is_ignored_stays_so_and_other_threads_compute_too(ctrl_c, monkeypatch):
    """As in worker processes, whose parent answers; handlers are set in the main thread alone."""
    found = []
    thread = threading.Thread(target=lambda: found.append(gain()))
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    whole = catboost.CatBoostClassifier.fit

    def interrupted(self, *arguments, **options):
        signal.raise_signal(signal.SIGINT)
        return whole(self, *arguments, **options)

    monkeypatch.setattr(catboost.CatBoostClassifier, "fit", interrupted)
    assert not np.isnan([found[0].statistic, gain().statistic]).any()
