"""A ledger on a Redis server, for the processes of several machines.

Each method is one script, which Redis runs as a whole, by the server's own clock. The keys of an account are in one
slot of a cluster.

Nobody can know here whether a process still lives, so a reservation has a lease. One that is over counts as spent at
what was reserved, or at nothing, until its process comes back and settles it: then the settlement replaces that,
downwards too.
"""

from typing import Any
from urllib.parse import quote

from spanhook.diagnostics import log
from spanhook.store._redis_server import RedisServer
from spanhook.store.ledger import MARGIN_S, Amounts, Caps, Expired, Standing

# KEYS: the account (spent and reserved tokens and nano-dollars), reservations, when their leases end, and what those
# whose leases are over count as until they are settled. Adding 0 makes 0 of -0, which is not an integer to Redis.
_START = """
local account, held, ends, counted = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = 0
local function of(name) return tonumber(redis.call('HGET', account, name) or '0') end
local function amounts(text)
  local tokens, nano = string.match(text or '0 0', '^(%d+) (%d+)$')
  return tonumber(tokens), tonumber(nano)
end
local function add(kind, text, sign)
  local tokens, nano = amounts(text)
  redis.call('HINCRBY', account, kind .. 'tokens', string.format('%.0f', sign * tokens + 0))
  redis.call('HINCRBY', account, kind .. 'nano', string.format('%.0f', sign * nano + 0))
end
local function take(id)
  local text = redis.call('HGET', held, id)
  if text then
    add('held_', text, -1)
    redis.call('HDEL', held, id)
    redis.call('ZREM', ends, id)
  end
  return text
end
local function take_back(id)
  local text = redis.call('HGET', counted, id)
  if text then
    if redis.call('EXISTS', account) == 1 then add('', text, -1) end
    redis.call('HDEL', counted, id)
  end
  return text
end
local function expire(counts)
  local over = redis.call('ZRANGEBYSCORE', ends, '-inf', '(' .. string.format('%.0f', now))
  expired = #over
  for _, id in ipairs(over) do
    local text = take(id)
    if text then
      if counts ~= '1' then text = '0 0' end
      add('', text, 1)
      redis.call('HSET', counted, id, text)
    end
  end
  local left = redis.call('PTTL', account)
  if expired > 0 and left > 0 then redis.call('PEXPIRE', counted, left) end
end
local function keep(forget)
  if forget == '' then
    for _, key in ipairs(KEYS) do redis.call('PERSIST', key) end
  else
    for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, forget) end
  end
end
local function answer(granted)
  local function text(name) return redis.call('HGET', account, name) or '0' end
  return {text('tokens'), text('nano'), text('held_tokens'), text('held_nano'), expired, granted}
end
"""
_RESERVE = f"""{_START}
local id, tokens, nano, cap_tokens, cap_nano, lease, forget, counts = unpack(ARGV)
expire(counts)
local own_tokens, own_nano = amounts(redis.call('HGET', held, id) or redis.call('HGET', counted, id))
local function fits(spent, reserved, own, amount, cap)
  return cap == '' or of(spent) + of(reserved) - own + tonumber(amount) <= tonumber(cap)
end
local granted = fits('tokens', 'held_tokens', own_tokens, tokens, cap_tokens)
  and fits('nano', 'held_nano', own_nano, nano, cap_nano)
if granted then
  take(id)
  take_back(id)
  redis.call('HSET', held, id, tokens .. ' ' .. nano)
  add('held_', redis.call('HGET', held, id), 1)
  redis.call('ZADD', ends, string.format('%.0f', now + lease), id)
  keep(forget)
end
return answer(granted and 1 or 0)
"""
_SETTLE = f"""{_START}
local id, tokens, nano, again, forget = unpack(ARGV)
local is_new = redis.call('EXISTS', account) == 0
local reserved, expired = take(id), take_back(id)
if reserved or expired or is_new or again == '0' then
  add('', tokens .. ' ' .. nano, 1)
  keep(forget)
end
return answer(1)
"""
_EXTEND = f"""{_START}
if redis.call('HEXISTS', held, ARGV[1]) == 1 then
  redis.call('ZADD', ends, 'XX', string.format('%.0f', now + ARGV[2]), ARGV[1])
end
return answer(1)
"""
_STANDING = f"{_START}\nexpire(ARGV[1])\nreturn answer(1)\n"


class RedisLedger:
    """Accounts on a Redis server.

    Args:
        url: ``redis://`` or ``rediss://``.
        expired: Whether reservations whose leases are over ``"count"`` as spent, or are ``"free"`` for others; these
            may then spend what a process that was only stopped spends as well.

    Raises:
        ConfigurationError: The package ``redis`` is not installed, or the address cannot be used.
    """

    remote = True

    def __init__(self, url: str, expired: Expired = "count") -> None:
        self._server = RedisServer(url)
        self._expired: Expired = expired
        self.shown = self._server.shown

    def reserve(
        self, account: str, reservation: str, amounts: Amounts, caps: Caps, lease_s: float, until: float | None
    ) -> Standing:
        limits = ["" if cap is None else cap for cap in caps]
        arguments = (*amounts, *limits, _ms(lease_s), _forgotten(until), self._counts)
        return self._reported(self._run(_RESERVE, account, reservation, *arguments))

    def settle(
        self, account: str, reservation: str, amounts: Amounts, until: float | None, *, again: bool = False
    ) -> Standing:
        return self._run(_SETTLE, account, reservation, *amounts, int(again), _forgotten(until))

    def extend(self, account: str, reservation: str, lease_s: float) -> None:
        self._run(_EXTEND, account, reservation, _ms(lease_s))

    def standing(self, account: str) -> Standing:
        return self._reported(self._run(_STANDING, account, self._counts))

    def close(self) -> None:
        self._server.close()

    @property
    def _counts(self) -> int:
        return int(self._expired == "count")

    def _reported(self, standing: Standing) -> Standing:
        if standing.expired:
            log.warning(
                "spanhook: %s: %d reservations were not renewed in time; %s",
                self.shown,
                standing.expired,
                "they count as spent until their processes report what was used" if self._counts else "they are free",
            )
        return standing

    def _run(self, script: str, account: str, *arguments: Any) -> Standing:
        prefix = f"spanhook:{{{quote(account, safe=':')}}}"
        keys = [f"{prefix}:{part}" for part in ("account", "held", "ends", "counted")]
        tokens, nano, held_tokens, held_nano, expired, granted = self._server.run(script, keys, arguments)
        return Standing(
            Amounts(int(tokens), int(nano)), Amounts(int(held_tokens), int(held_nano)), int(expired), bool(granted)
        )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _forgotten(until: float | None) -> int | str:
    return "" if until is None else _ms(until + MARGIN_S)
