"""Anthropic's APIs: messages, and batches of them."""

from spanhook.instrument.formats.anthropic.messages import Batches, Messages

__all__ = ["Batches", "Messages"]
