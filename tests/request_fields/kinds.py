"""What a list of fields has, and what the fields are that no hook sees."""

from collections.abc import Mapping
from typing import NamedTuple

IDS = "ids and names of objects that the provider keeps or runs"
WHOSE = "labels that say whose request it is"
MODELS = "further models, languages and voices"
SHAPES = "schemas of answers, choices of tools, sampling, output settings"
STOPS = "texts at which the model stops"
FILES = "files, pictures and sound, by content or address"
SERVERS = "servers and sources that the provider asks, with their keys"
PLACES = "where the user is"
CONTEXT = "instructions for what the provider leaves out of a long context"
VOCABULARY = "words that are to be recognized in sound"
TITLES = "titles and names beside the text"
OTHERS = "a body in the form of another provider"


class Api(NamedTuple):
    """One API of an SDK.

    Attributes:
        types: The type of its request, or the method that sends it, as ``module:name``.
        seen: The field of ``op.request`` in which each path is, by path.
    """

    types: str
    seen: Mapping[str, str]


class Provider(NamedTuple):
    """What one SDK sends.

    Attributes:
        package: Its distribution.
        apis: Its APIs, by the end of their path.
        unseen: The fields that no hook sees, by what they are, whichever of its APIs has them.
    """

    package: str
    apis: Mapping[str, Api]
    unseen: Mapping[str, tuple[str, ...]]
