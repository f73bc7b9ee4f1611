"""What can be set of webhooks."""

from pydantic import BaseModel, ConfigDict, Field, field_validator

from spanhook.errors import ConfigurationError
from spanhook.webhooks import Destinations, Schedule


class WebhookSettings(BaseModel):
    """Webhooks: how they are sent, and where they may go besides the public internet.

    Attributes:
        key_env: The environment variable with the key that secrets are encrypted with, at least 32 bytes.
        allowed_networks: Networks that deliveries may go to, such as ``10.1.0.0/16``.
        plain_http: Whether ``http://`` is allowed.
        ca_file: Certificates (PEM) that endpoints are trusted by, instead of the system's.
        timeout: Seconds for one request.
        attempts: How often a delivery is tried.
        failures: After how many failures in a row an endpoint is disabled; 0 for never.
        at_once: How many requests there may be at a time.
        keep_days: How long deliveries are kept after they have ended; 0 for ever.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    key_env: str = Field(min_length=1)
    allowed_networks: tuple[str, ...] = ()
    plain_http: bool = False
    ca_file: str = ""
    timeout: float = Field(default=15, gt=0, le=30)
    attempts: int = Field(default=12, ge=1, le=50)
    failures: int = Field(default=50, ge=0, le=100_000)
    at_once: int = Field(default=64, ge=1, le=256)
    keep_days: float = Field(default=30, ge=0, le=36_500)

    @field_validator("allowed_networks")
    @classmethod
    def _are_networks(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        try:
            Destinations(given)
        except ConfigurationError as error:
            raise ValueError(str(error)) from None
        return given

    @property
    def schedule(self) -> Schedule:
        """When deliveries are tried again."""
        return Schedule(attempts=self.attempts)
