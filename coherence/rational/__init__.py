"""The nearest rational agent: a latent belief behind noisy reports, and the choices it explains."""
