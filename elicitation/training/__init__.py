"""Training small models: fine-tuning on lessons, and organisms with a known belief and policy."""
