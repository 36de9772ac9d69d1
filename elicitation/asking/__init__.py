"""Asking what a store lacks, and the store."""
