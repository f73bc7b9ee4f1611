"""Ledgers: what has been spent from accounts, and what is reserved by calls under way.

Amounts are whole numbers: tokens, and nano-dollars. A reservation is made before a call and settled with the actual
amounts afterwards. It is its process's: nobody else gets its amounts while that may still spend them.
"""

from typing import Literal, NamedTuple, Protocol

Expired = Literal["count", "free"]
"""What becomes of a reservation that is not renewed, where nobody can know whether its process still lives: it counts
as spent until that settles it, or others may reserve its amounts.
"""

MOST = 2**53 - 1
"""The largest amount: Redis computes with doubles, which are exact up to here (9 million dollars in nano-dollars)."""

MARGIN_S = 86400.0
"""How long an account is kept beyond its time: calls end late, and clocks are set back."""


class Amounts(NamedTuple):
    """Tokens and nano-dollars."""

    tokens: int = 0
    nano: int = 0

    def __add__(self, other: object) -> "Amounts":
        if not isinstance(other, Amounts):
            return NotImplemented
        return Amounts(self.tokens + other.tokens, self.nano + other.nano)


class Caps(NamedTuple):
    """The most tokens and nano-dollars of an account; ``None`` for no limit."""

    tokens: int | None = None
    nano: int | None = None

    def allow(self, amounts: Amounts) -> bool:
        """Whether these amounts are within the limits."""
        return (self.tokens is None or amounts.tokens <= self.tokens) and (
            self.nano is None or amounts.nano <= self.nano
        )


class Standing(NamedTuple):
    """An account at one moment.

    Attributes:
        spent: What has been settled.
        reserved: What calls under way have reserved.
        expired: How many reservations this access has taken from processes that have ended, or have not renewed them.
        granted: Whether the reservation that was asked for was made; true if none was.
    """

    spent: Amounts = Amounts()
    reserved: Amounts = Amounts()
    expired: int = 0
    granted: bool = True


class Ledger(Protocol):
    """What stores of accounts have in common. Every method is atomic over threads, and over processes and machines
    as far as the store reaches.

    Attributes:
        remote: Whether a method may have to wait for a file or a server.
        shown: The store for messages, without a password.

    All raise ``StoreError`` if the store cannot be used now.
    """

    remote: bool
    shown: str

    def reserve(
        self, account: str, reservation: str, amounts: Amounts, caps: Caps, lease_s: float, until: float | None
    ) -> Standing:
        """Reserve amounts, if what is spent and reserved stays within the caps. Asked again with the same id, it
        replaces the earlier amounts; if those do not fit, the earlier ones stay reserved.

        Args:
            account: The account's name. It is created when first used.
            reservation: An id, unique for all time.
            amounts: What to reserve.
            caps: The limits.
            lease_s: Seconds after which it expires unless it is renewed or settled, where it is not known whether its
                process lives.
            until: When the account may be forgotten, in seconds since the epoch; ``None`` for never.
        """
        ...

    def settle(
        self, account: str, reservation: str, amounts: Amounts, until: float | None, *, again: bool = False
    ) -> Standing:
        """Replace a reservation, expired or not, by what was actually used; zero gives it back.

        Args:
            account, reservation, until: As for ``reserve``.
            amounts: What was used. It is added also if nothing is reserved under this id, as when the caps did not
                allow it and the call was made anyway.
            again: It is unknown whether this has happened before. If the account is there and nothing is reserved
                under this id, it has, and nothing changes.
        """
        ...

    def extend(self, account: str, reservation: str, lease_s: float) -> None:
        """Keep a reservation of this process for another ``lease_s`` seconds. One that has expired stays so."""
        ...

    def standing(self, account: str) -> Standing:
        """What is spent and reserved."""
        ...

    def close(self) -> None:
        """Close connections. They are opened again when needed."""
        ...
