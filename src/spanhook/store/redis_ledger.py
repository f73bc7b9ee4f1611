"""A ledger on a Redis server, for the processes of several machines.

Each method is one script, which Redis runs as a whole, by the server's own clock. The keys of an account are in one
slot of a cluster.
"""

from typing import Any
from urllib.parse import quote

from spanhook.store._redis_server import RedisServer
from spanhook.store.ledger import MARGIN_S, REMEMBERED_S, Amounts, Caps, Standing

# KEYS: the account (spent and reserved tokens and nano-dollars), reservations, when they end, which are settled.
_START = """
local account, held, ends, settled = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function of(name) return tonumber(redis.call('HGET', account, name) or '0') end
local function free(id)
  local text = redis.call('HGET', held, id)
  if not text then return end
  local tokens, nano = string.match(text, '^(%d+) (%d+)$')
  redis.call('HINCRBY', account, 'held_tokens', string.format('%.0f', 0 - tonumber(tokens)))
  redis.call('HINCRBY', account, 'held_nano', string.format('%.0f', 0 - tonumber(nano)))
  redis.call('HDEL', held, id)
  redis.call('ZREM', ends, id)
end
local over = redis.call('ZRANGEBYSCORE', ends, '-inf', '(' .. string.format('%.0f', now))
for _, id in ipairs(over) do free(id) end
local function keep(forget)
  if forget == '' then
    for _, key in ipairs(KEYS) do redis.call('PERSIST', key) end
  else
    for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, forget) end
  end
end
local function answer(granted)
  local function text(name) return redis.call('HGET', account, name) or '0' end
  return {text('tokens'), text('nano'), text('held_tokens'), text('held_nano'), #over, granted}
end
"""
_RESERVE = f"""{_START}
local id, tokens, nano, cap_tokens, cap_nano, lease, forget = unpack(ARGV)
local own_tokens, own_nano = string.match(redis.call('HGET', held, id) or '0 0', '^(%d+) (%d+)$')
local function fits(spent, reserved, own, amount, cap)
  return cap == '' or of(spent) + of(reserved) - tonumber(own) + tonumber(amount) <= tonumber(cap)
end
local granted = not redis.call('ZSCORE', settled, id)
  and fits('tokens', 'held_tokens', own_tokens, tokens, cap_tokens)
  and fits('nano', 'held_nano', own_nano, nano, cap_nano)
if granted then
  free(id)
  redis.call('HINCRBY', account, 'held_tokens', tokens)
  redis.call('HINCRBY', account, 'held_nano', nano)
  redis.call('HSET', held, id, tokens .. ' ' .. nano)
  redis.call('ZADD', ends, string.format('%.0f', now + lease), id)
  keep(forget)
end
return answer(granted and 1 or 0)
"""
_SETTLE = f"""{_START}
local id, tokens, nano, remembered, forget = unpack(ARGV)
redis.call('ZREMRANGEBYSCORE', settled, '-inf', string.format('%.0f', now - remembered))
if redis.call('ZADD', settled, 'NX', string.format('%.0f', now), id) == 1 then
  free(id)
  redis.call('HINCRBY', account, 'tokens', tokens)
  redis.call('HINCRBY', account, 'nano', nano)
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
_STANDING = f"{_START}\nreturn answer(1)\n"


class RedisLedger:
    """Accounts on a Redis server.

    Args:
        url: ``redis://`` or ``rediss://``.

    Raises:
        ConfigurationError: The package ``redis`` is not installed, or the address cannot be used.
    """

    remote = True

    def __init__(self, url: str) -> None:
        self._server = RedisServer(url)
        self.shown = self._server.shown

    def reserve(
        self, account: str, reservation: str, amounts: Amounts, caps: Caps, lease_s: float, until: float | None
    ) -> Standing:
        limits = ["" if cap is None else cap for cap in caps]
        return self._run(_RESERVE, account, reservation, *amounts, *limits, _ms(lease_s), _forgotten(until))

    def settle(self, account: str, reservation: str, amounts: Amounts, until: float | None) -> Standing:
        return self._run(_SETTLE, account, reservation, *amounts, _ms(REMEMBERED_S), _forgotten(until))

    def extend(self, account: str, reservation: str, lease_s: float) -> None:
        self._run(_EXTEND, account, reservation, _ms(lease_s))

    def standing(self, account: str) -> Standing:
        return self._run(_STANDING, account)

    def close(self) -> None:
        self._server.close()

    def _run(self, script: str, account: str, *arguments: Any) -> Standing:
        prefix = f"spanhook:{{{quote(account, safe=':')}}}"
        keys = [f"{prefix}:{part}" for part in ("account", "held", "ends", "settled")]
        tokens, nano, held_tokens, held_nano, expired, granted = self._server.run(script, keys, arguments)
        return Standing(
            Amounts(int(tokens), int(nano)), Amounts(int(held_tokens), int(held_nano)), int(expired), bool(granted)
        )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _forgotten(until: float | None) -> int | str:
    return "" if until is None else _ms(until + MARGIN_S)
