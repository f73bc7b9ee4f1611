"""Instrumentations of other projects, in an environment of their own."""
