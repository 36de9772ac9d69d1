"""``coherence study``: models x tasks from one file, asked, analysed and compared."""
