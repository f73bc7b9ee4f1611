"""Agent libraries that are installed but not bound, and SDKs that trace themselves."""

from collections.abc import Iterator

from spanhook.cli.doctor.report import Finding, NotBound, SelfTracing
from spanhook.errors import ConfigurationError
from spanhook.instrument import Unbound, imported, is_bound, is_covered, libraries, named, version
from spanhook.settings import Settings


def everything() -> list[str]:
    """What to allow while the doctor examines: it reports these libraries itself, so nothing is logged."""
    return [known.library for known in libraries()]


def unbound(settings: Settings) -> tuple[list[NotBound], list[Finding]]:
    """Unbound libraries, those in use first, and findings about them under these ``settings``."""
    findings = list[Finding]()
    allowed = frozenset[str]()
    try:
        allowed = named(settings.allow)
    except ConfigurationError as error:
        findings.append(Finding("configuration", "allow", str(error)))
    bypassing = [known for known in libraries() if not is_bound(known) and (settings.strict or not is_covered(known))]
    here = [Unbound(known, version(known)) for known in bypassing]
    used = [one for one in here if imported(one.known)]
    unused = [one for one in here if one.version and one not in used]
    findings += _findings([one for one in used if one.known.library not in allowed], strict=settings.strict)
    refused = [one.known.library for one in unused if one.known.library not in allowed]
    if settings.strict and refused:
        findings.append(
            Finding("note", "strict", f"refuses these when they are imported or used: {', '.join(refused)}")
        )
    rows = [_row(one, allowed, is_used=True) for one in used] + [_row(one, allowed, is_used=False) for one in unused]
    return rows, findings


def _findings(used: list[Unbound], *, strict: bool) -> Iterator[Finding]:
    for one in used:
        if strict:
            yield Finding("requirement", one.name, one.violation)
        else:
            yield Finding("warning", one.name, one.warning)


def _row(one: Unbound, allowed: frozenset[str], *, is_used: bool) -> NotBound:
    library = one.known.library
    return NotBound(
        library, one.version, "imported" if is_used else "importable", one.known.bypass.what, library in allowed
    )


def self_tracing() -> Iterator[SelfTracing]:
    """Installed SDKs that create spans for their own calls."""
    for known in libraries():
        found = version(known) if known.tracing is not None else ""
        if known.tracing is not None and found:
            yield SelfTracing(known.library, found, known.tracing.scopes, known.tracing.when)
