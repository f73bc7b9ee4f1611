"""Values to plant in tests, one of each entity, and ways to write them that hide them from a plain search."""

import html
import json
import urllib.parse
from collections.abc import Callable

VALUES = {
    "EMAIL": "jane.doe+bills@mail.example.co.uk",
    "PHONE": "+49 30 12345-678",
    "CREDIT_CARD": "4111 1111 1111 1111",
    "IBAN": "DE89 3704 0044 0532 0130 00",
    "US_SSN": "536-90-4399",
    "IP_ADDRESS": "203.0.113.77",
    "AWS_KEY": "AKIAIOSFODNN7EXAMPLE",
    "GCP_KEY": "AIza" + "Sy0aB" * 7,
    "OPENAI_KEY": "sk-proj-" + "aB3dE" * 8,
    "ANTHROPIC_KEY": "sk-ant-api03-" + "aB3dE" * 8,
    "GITHUB_TOKEN": "ghp_" + "aB3dEf" * 6,
    "SLACK_TOKEN": "xoxb-" + "123456789012-aBcDeFgHiJkL",
    "STRIPE_KEY": "sk_" + "live_" + "aB3dE" * 5,
    "API_KEY": "glpat-" + "aB3dE" * 4,
    "JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "PRIVATE_KEY": "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7bq\nxT0wQk9\n-----END RSA PRIVATE KEY-----",
}
"""One value of each entity; those in the documentation of whoever issues them, or made up."""

IDENTITY_NUMBERS = {
    "US_ITIN": "912-70-1234",
    "UK_NHS": "943 476 5919",
    "UK_NINO": "AB 12 34 56 C",
    "DE_TAX_ID": "86 095 742 719",
    "ES_TAX_ID": "12345678Z",
    "FR_SOCIAL_SECURITY": "2 55 08 14 168 025 38",
    "IT_FISCAL_CODE": "RSSMRA85T10A562S",
    "PL_PESEL": "44051401359",
    "BR_CPF": "529.982.247-25",
    "IN_AADHAAR": "2341 2341 2346",
    "PASSPORT_MRZ": "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
}


def full_width(text: str) -> str:
    """ASCII letters and digits in their full-width forms, which readers and models take for the same."""
    return "".join(chr(ord(char) + 0xFEE0) if char.isascii() and char.isalnum() else char for char in text)


def arabic_digits(text: str) -> str:
    return "".join(chr(0x0660 + int(char)) if char.isdigit() and char.isascii() else char for char in text)


def circled_digits(text: str) -> str:
    return "".join("⓿❶❷❸❹❺❻❼❽❾"[int(char)] if char.isdigit() and char.isascii() else char for char in text)


def with_nothing_between(text: str) -> str:
    """Characters without width between all others."""
    return "\u200b".join(text)


def unicode_escapes(text: str) -> str:
    return "".join(char if char.isspace() else f"\\u{ord(char):04x}" for char in text)


def json_string(text: str) -> str:
    return json.dumps(text)[1:-1]


def nested_json(text: str) -> str:
    return json.dumps(json.dumps({"text": text}))[1:-1]


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "full width": full_width,
    "Arabic digits": arabic_digits,
    "zero width": with_nothing_between,
    "soft hyphens": "\u00ad".join,
    "combining marks": "\u0301".join,
    "circled digits": circled_digits,
    "NUL": "\x00".join,
    "dashes": lambda text: text.replace("-", "\u2011"),
    "spaces": lambda text: text.replace(" ", "\u00a0"),
    "unicode escapes": unicode_escapes,
    "JSON": json_string,
    "JSON in JSON": nested_json,
    "percent": lambda text: urllib.parse.quote(text, safe=" \n"),
    "percent twice": lambda text: urllib.parse.quote(urllib.parse.quote(text, safe=" \n"), safe=" \n"),
    "every byte in percent": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "HTML": lambda text: html.escape(text).replace("@", "&#64;").replace("-", "&#x2d;"),
    "HTML names": lambda text: text.replace("@", "&commat;").replace(".", "&period;"),
}
"""Ways of writing a value that are looked through."""
