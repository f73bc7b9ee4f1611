import json
from pathlib import Path

import pytest

from tests.commands import CommandResult, spanhook_command
