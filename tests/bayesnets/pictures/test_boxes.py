import numpy as np

from bayesnets import Network, Node, draw


def test_many_states_and_long_names_stay_in_their_boxes():
    nodes = (
        Node(
            "an_extraordinarily_long_name_of_a_variable" * 2,
            tuple(f"state number {number}" for number in range(30)),
            (),
            np.full(30, 1 / 30),
        ),
        Node("b", ("x",), (), np.array([1.0])),
    )
    figure = draw(Network("n", "t", "", False, nodes))
    figure.canvas.draw()
    boxes = [patch.get_window_extent() for patch in figure.axes[0].patches]
    texts = figure.axes[0].texts
    assert any("and 25 more" in text.get_text() for text in texts)
    for text in texts:
        extent = text.get_window_extent()
        assert any(
            box.x0 <= extent.x0
            and extent.x1 <= box.x1
            and box.y0 <= extent.y0
            and extent.y1 <= box.y1
            for box in boxes
        ), text.get_text()
