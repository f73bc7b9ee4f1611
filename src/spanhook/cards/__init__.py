"""Agent cards, and code that runs when an agent starts and when it shuts down.

Start and shutdown are operations of the kind ``agent.lifecycle``, which hooks gate like any other. This package knows
no library.
"""

from spanhook.cards._lifecycle import AgentLifecycleContext, HookType, LifecycleHook
from spanhook.cards._reading import load_card
from spanhook.cards._scope import AgentScope, agent_scope
from spanhook.cards._writing import dump_card
from spanhook.cards.card import AgentCard
from spanhook.errors import AgentConfigError

__all__ = [
    "AgentCard",
    "AgentConfigError",
    "AgentLifecycleContext",
    "AgentScope",
    "HookType",
    "LifecycleHook",
    "agent_scope",
    "dump_card",
    "load_card",
]
