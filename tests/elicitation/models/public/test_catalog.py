"""The catalogue of public models: breaks if an entry could not be fetched or checked."""

import re

import pytest

from coherence.errors import InputError
from elicitation.models.public.catalog import public_model, public_models


@pytest.mark.parametrize("name", public_models())
def test_an_entry_is_complete(name):
    model = public_model(name)
    assert re.fullmatch("[0-9a-f]{64}", model.sha256)
    assert model.weights.endswith(".gguf")
    assert model.licence.startswith(f"{model.package.replace('-', '_')}-{model.version}.dist-info/")
    assert model.needed_bytes > 1e6 * model.folder_mb
    assert model.description[0].islower()


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="Did you mean 'smollm2'"):
        public_model("smollm")
