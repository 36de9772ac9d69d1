"""`python -m coherence` is the command `coherence`, where no folder of commands is searched."""

import sys

from coherence.cli.main import main

sys.exit(main())
