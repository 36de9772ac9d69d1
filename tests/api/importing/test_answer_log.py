from hypothesis import given
from hypothesis import strategies as st

from coherence.importing.log_format import flatten

NESTED = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda part: (
        st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=8), part, max_size=4)
    ),
    max_leaves=8,
)


@given(NESTED)
def test_fields_are_scalars_whatever_the_log_holds(value):
    assert all(
        part is None or isinstance(part, bool | int | float | str)
        for part in flatten(value, "metadata").values()
    )
