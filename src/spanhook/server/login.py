"""What can be set of logging in with OpenID Connect."""

from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from spanhook.server.addresses import is_secure


class Login(BaseModel):
    """How people log in to the web pages with OpenID Connect. The issuer, the claims and their meaning, and the
    algorithms are those of ``tokens``.

    Attributes:
        client_id: The id of this server at the issuer.
        client_secret_env: The environment variable with its secret there, at least 32 bytes. Sessions are sealed with
            it, and so end when it changes.
        url: The address that browsers know the server by: ``https://``, or ``http://`` on loopback. The issuer has to
            know ``/login/callback`` there.
        name: What the issuer is called on the page.
        scopes: What is asked for.
        hours: How long a session lasts. By default as long as the ID token is valid, and no longer than eight hours: so
            whoever loses rights at the issuer does not keep them here for longer than there.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    client_id: str = Field(min_length=1)
    client_secret_env: str = Field(min_length=1)
    url: str
    name: str = Field(default="single sign-on", min_length=1, max_length=100)
    scopes: tuple[str, ...] = ("openid",)
    hours: float | None = Field(default=None, gt=0, le=168)

    @field_validator("url")
    @classmethod
    def _origin(cls, given: str) -> str:
        plain = given.rstrip("/")
        if not is_secure(plain) or plain != "{0.scheme}://{0.netloc}".format(urlsplit(plain)) or "@" in plain:
            raise ValueError(f"url is {given!r}; expected the address of this server, such as https://control.internal")
        return plain

    @field_validator("scopes")
    @classmethod
    def _of_openid(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return given if "openid" in given else ("openid", *given)
