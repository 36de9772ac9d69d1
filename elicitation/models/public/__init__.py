"""Public models that can be fetched as ordinary packages, and made into model folders."""
