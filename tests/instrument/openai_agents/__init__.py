"""Tests of OpenAI's Agents SDK."""
