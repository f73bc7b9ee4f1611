"""Limits what model calls may use: tokens and money per run, user, session or tenant, in total or per period."""

from spanhook.hooks.budget._hook import Budget, Standing

__all__ = ["Budget", "Standing"]
