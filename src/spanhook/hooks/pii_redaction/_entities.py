"""What can be redacted by name."""

from dataclasses import dataclass

from spanhook.hooks.pii_redaction import _checksums as checks
from spanhook.hooks.pii_redaction._finders import (
    Finder,
    all_of,
    cards,
    emails,
    ibans,
    ip_addresses,
    matches,
    number,
    passports,
    phones,
    private_keys,
    secret,
    social_security_numbers,
)


@dataclass(frozen=True, slots=True)
class Entity:
    """One sort of value.

    Attributes:
        name: What the mask says.
        find: Gives the spans of such values in a text.
        needs: A text without any of these strings has none; empty if any text may have some.
        digits: The fewest digits that a text with one has.
        longest: The most characters that one with spaces in it has; 0 if it has no spaces.
    """

    name: str
    find: Finder
    needs: tuple[str, ...] = ()
    digits: int = 0
    longest: int = 0


_W = r"[A-Za-z0-9_-]"

PERSONAL = (
    Entity("EMAIL", emails, ("@",)),
    Entity("PHONE", phones, digits=8, longest=75),
    Entity("CREDIT_CARD", cards, digits=12, longest=110),  # with the number beside it, which says what it is
    Entity("IBAN", ibans, digits=4, longest=110),
    Entity("US_SSN", social_security_numbers, digits=9, longest=11),
    Entity("IP_ADDRESS", ip_addresses, (".", ":"), digits=1),
)
"""Personal data that is redacted unless settings say otherwise."""

SECRETS = (
    Entity(
        "AWS_KEY",
        all_of(
            secret(r"(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|AROA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
            matches(
                r"(?i:aws_?(?:secret)?_?(?:access)?_?key)[\"']?[ :=]{1,4}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
            ),
        ),
        ("AKIA", "ASIA", "ABIA", "ACCA", "AGPA", "AIDA", "AIPA", "ANPA", "ANVA", "AROA", "aws", "AWS"),
    ),
    Entity(
        "GCP_KEY",
        secret(rf"AIza{_W}{{35}}|ya29\.[A-Za-z0-9_.-]{{20,}}|GOCSPX-{_W}{{28}}"),
        ("AIza", "ya29.", "GOCSPX-"),
    ),
    Entity("ANTHROPIC_KEY", secret(rf"sk-ant-{_W}{{20,}}"), ("sk-ant-",)),
    Entity(
        "OPENAI_KEY", secret(rf"sk-(?!ant-)(?:proj-|svcacct-|admin-)?(?=[A-Za-z_-]{{0,200}}\d){_W}{{20,}}"), ("sk-",)
    ),
    Entity(
        "GITHUB_TOKEN",
        secret(r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}"),
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    Entity(
        "SLACK_TOKEN",
        all_of(
            secret(r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}"),
            matches(r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{20,})"),
        ),
        ("xox", "xapp-", "hooks.slack.com"),
    ),
    Entity(
        "STRIPE_KEY",
        secret(r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}"),
        ("_live_", "_test_", "whsec_"),
    ),
    Entity(
        "API_KEY",
        secret(
            rf"glpat-{_W}{{20,}}|SG\.{_W}{{22}}\.{_W}{{43}}|npm_[A-Za-z0-9]{{36}}|pypi-{_W}{{50,}}|hf_[A-Za-z0-9]{{30,}}"
            rf"|dop_v1_[0-9a-f]{{64}}|gsk_[A-Za-z0-9]{{40,}}|xai-[A-Za-z0-9]{{40,}}|AccountKey=[A-Za-z0-9+/]{{86}}=="
        ),
        ("glpat-", "SG.", "npm_", "pypi-", "hf_", "dop_v1_", "gsk_", "xai-", "AccountKey="),
    ),
    Entity("JWT", secret(rf"eyJ{_W}{{8,4000}}\.eyJ{_W}{{8,}}\.{_W}*"), ("eyJ",)),
    Entity("PRIVATE_KEY", private_keys, ("-----BEGIN ",)),
    Entity(
        "URL_CREDENTIALS",
        matches(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://([^\s/?#@:\"'<>]{0,256}:[^\s/?#\"'<>]{1,256})@(?=[\w\[])"),
        ("://",),
    ),
    Entity(
        "AUTHORIZATION",
        matches(
            r"(?i:authorization)[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?i:bearer|basic|token)\s{1,2}([A-Za-z0-9._~+/=-]{8,})"
        ),
        ("uthorization", "UTHORIZATION"),
        longest=60,
    ),
)
"""Secrets with a fixed shape; redacted unless settings say otherwise."""

IDENTITY_NUMBERS = (
    Entity("US_ITIN", number(r"9\d{2}[ -](?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])[ -]\d{4}"), digits=9, longest=11),
    Entity("UK_NHS", number(r"\d{3}[ -]?\d{3}[ -]?\d{4}", checks.nhs), digits=10, longest=12),
    Entity(
        "UK_NINO",
        number(r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"),
        digits=6,
        longest=13,
    ),
    Entity("DE_TAX_ID", number(r"\d{2} ?\d{3} ?\d{3} ?\d{3}", checks.german_tax_id), digits=11, longest=14),
    Entity(
        "ES_TAX_ID", number(r"(?:\d|[XYZ][ -]?)\d{7}[ -]?[A-HJ-NP-TV-Z]", checks.spanish_tax_id), digits=7, longest=11
    ),
    Entity(
        "FR_SOCIAL_SECURITY",
        number(r"[12] ?\d{2} ?\d{2} ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}", checks.french_nir),
        digits=14,
        longest=21,
    ),
    Entity(
        "IT_FISCAL_CODE",
        number(r"[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z]", checks.italian_fiscal_code),
        digits=7,
    ),
    Entity("PL_PESEL", number(r"\d{11}", checks.pesel), digits=11),
    Entity("BR_CPF", number(r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}", checks.cpf), digits=11),
    Entity("IN_AADHAAR", number(r"[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}", checks.aadhaar), digits=12, longest=14),
    Entity(
        "PASSPORT_MRZ",
        passports,
        ("<",),
        digits=14,
    ),
)
"""Numbers of persons in some countries; redacted only if settings name them, since many match other numbers too."""

ENTITIES = {entity.name: entity for entity in (*PERSONAL, *SECRETS, *IDENTITY_NUMBERS)}
DEFAULTS = tuple(entity.name for entity in (*PERSONAL, *SECRETS))
SHORTENED = frozenset(("CREDIT_CARD", "IBAN", "PHONE", "US_SSN"))
"""What may keep its last characters."""
