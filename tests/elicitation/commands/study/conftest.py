import pytest

SMALL = """
[study]
contexts = 12
reps = 2
prompts = ["standard"]
no_lie = true

[[models]]
agent = "leaky"

[[models]]
name = "steady"
agent = "rational"
price_in = 1.0
price_out = 4.0

[[tasks]]
task = "asia"

[[tasks]]
name = "cancer, few"
task = "cancer"
contexts = 10

[analysis]
checks = ["residual_covariance"]
"""


@pytest.fixture(scope="session")
def small():
    """The text of a small study."""
    return SMALL


@pytest.fixture
def write(tmp_path):
    """Write a study file, the small one where no text is given."""

    def write_study(text=SMALL, name="study.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_study
