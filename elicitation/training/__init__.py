"""Training small models: fine-tuning on lessons, and organisms whose belief and policy are known."""
