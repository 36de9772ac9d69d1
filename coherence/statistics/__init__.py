"""Pure numerics on arrays: resampling, bins, neighbours, smoothing, intervals. Nothing here knows a column."""
