"""Pure numerics on arrays: resampling, bins, neighbours, smoothing; nothing here knows a column."""
