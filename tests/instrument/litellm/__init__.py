"""Tests of LiteLLM."""
