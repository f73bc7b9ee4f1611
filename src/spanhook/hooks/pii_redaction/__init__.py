"""Redacts personal data and secrets: in what models and tools are asked, in what they answer, and in telemetry.

``Redactor`` and ``StreamRedactor`` do the same to texts, without a hook.
"""

from spanhook.hooks.pii_redaction._hook import PIIRedaction
from spanhook.hooks.pii_redaction._redactor import Finding, Redactor
from spanhook.hooks.pii_redaction._streaming import StreamRedactor

__all__ = ["Finding", "PIIRedaction", "Redactor", "StreamRedactor"]
