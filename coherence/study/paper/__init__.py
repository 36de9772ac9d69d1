"""The papers' tables and figures by their numbers, from finished reports and scores."""
