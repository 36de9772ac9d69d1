import pytest

from bayesnets import draw, load_network


def test_the_target_and_the_arrows_into_it_are_set_off():
    def orange(highlight):
        return sum(
            patch.get_edgecolor()[:3] == pytest.approx((0xB3 / 255, 0x47 / 255, 0), abs=1e-6)
            for patch in draw(network, highlight=highlight).axes[0].patches
        )

    network = load_network("asia")
    assert orange(None) == 0
    assert orange("lung") == 2, "the box and one arrow"
    assert orange(["lung", "either"]) == 5, "two boxes and three arrows"
