"""Records as truth: tables fitted to them, and their shares taken as posteriors."""
