"""The pictures of README and docs: ``python -m docs.pictures console dashboard operation``, or some of them."""

import sys

from docs.pictures import console, dashboard, operation

PICTURES = {"console": console.draw, "dashboard": dashboard.draw, "operation": operation.draw}

for name in sys.argv[1:] or PICTURES:
    if name not in PICTURES:
        sys.exit(f"no such picture: {name!r}; there are {', '.join(PICTURES)}")
    PICTURES[name]()
