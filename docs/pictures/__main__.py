"""The pictures that README opens with: ``python -m docs.pictures console dashboard``, or one of them."""

import sys

from docs.pictures import console, dashboard

PICTURES = {"console": console.draw, "dashboard": dashboard.draw}

for name in sys.argv[1:] or PICTURES:
    if name not in PICTURES:
        sys.exit(f"no such picture: {name!r}; there are {', '.join(PICTURES)}")
    PICTURES[name]()
