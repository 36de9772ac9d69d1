import string

from coherence.analysis.paper.declared import TABLES
from coherence.analysis.paper.results import WITH_PUBLISHED
from coherence.analysis.paper.supplement import ISOTONIC, NOISELESS, SCATTER, SINGLE
from coherence.checks.catalogue import declarations


def test_every_block_shows_a_result_that_exists():
    known = {check.name for check in declarations()} | {ISOTONIC, NOISELESS, SCATTER, SINGLE}
    for table in TABLES:
        for block in table.blocks:
            assert {block.check, block.check.partition(":")[0]} & known, block.check
            assert not block.published or block.check.partition(":")[0] in WITH_PUBLISHED
            fields = [name for _, name, _, _ in string.Formatter().parse(block.heading) if name]
            assert fields == (["variant"] if block.check.endswith(":") else [])


def test_numbers_are_those_of_the_paper_and_every_table_is_explained():
    assert [table.number for table in TABLES] == [1, 2, 3, 4, 5]
    assert all(table.blocks[0].says for table in TABLES)
