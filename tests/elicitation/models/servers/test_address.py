"""Addresses and limits: breaks if half an address passes, or a password reaches a message."""

import pytest

from coherence.errors import InputError
from elicitation.models.servers.address import Address, Limits


def test_addresses_are_read_strictly():
    assert (
        str(Address.parse("https://Example.org/openai/v1/")) == "https://example.org:443/openai/v1"
    )
    assert str(Address.parse("http://[::1]:8000")) == "http://[::1]:8000/v1"
    for text in (
        "localhost:8000",
        "ftp://host",
        "http://",
        "http://host:99999",
        "http://host/v1?key=1",
        "http://ho st",
        "http://host/\n",
        "",
        "http://[::1",
    ):
        with pytest.raises(InputError, match="server must be an address such as"):
            Address.parse(text)
    with pytest.raises(InputError, match="without name or password") as caught:
        Address.parse("http://me:hunter2@host")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "change", [{"read": 0.0}, {"total": float("inf")}, {"attempts": 0}, {"connect": float("nan")}]
)
def test_limits_out_of_range(change):
    with pytest.raises(InputError, match=f"limit {next(iter(change))} must be positive"):
        Limits(**change)
