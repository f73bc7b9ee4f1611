"""Prints every finished run as a tree on standard error, without any backend."""

from spanhook.export.console.printer import install
from spanhook.export.console.rendering import GAP, render, usage_table
from spanhook.export.console.terminal import Style, style_of, width, wrap
from spanhook.export.console.tree import Node, Trees

__all__ = [
    "GAP",
    "Node",
    "Style",
    "Trees",
    "install",
    "render",
    "style_of",
    "usage_table",
    "width",
    "wrap",
]
