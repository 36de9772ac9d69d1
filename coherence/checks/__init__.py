"""The checks: one module each, and `check`, in which each of them says once what it is."""
