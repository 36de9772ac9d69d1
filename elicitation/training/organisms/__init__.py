"""Small models trained here, with a known belief and a known policy."""
