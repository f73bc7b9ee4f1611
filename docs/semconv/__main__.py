"""``python -m docs.semconv``: write ``names.md``, the registry as tables."""

from docs.semconv import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page())
