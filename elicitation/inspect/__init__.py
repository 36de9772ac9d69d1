"""Questions as samples of Inspect (`samples`), and its logs as our tables (`logs`)."""
