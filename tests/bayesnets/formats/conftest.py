import pytest


@pytest.fixture
def written(tmp_path):
    """Return a function that puts text or bytes into a file of the given ending."""

    def write(text, suffix="bif"):
        path = tmp_path / f"mine.{suffix}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
