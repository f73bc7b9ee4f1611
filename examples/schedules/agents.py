"""What runs by the clock; see app.py."""


async def report(given: dict[str, str]) -> str:
    return f"Nothing new about {given['topic']}"
