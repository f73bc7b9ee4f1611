"""Checksums and rules that tell real numbers from digits that only look like them. Knows no text around a number."""

from collections.abc import Sequence
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from itertools import cycle

_IBANS = {
    15: "NO",
    16: "BE",
    18: "DK FI FK FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
IBAN_LENGTHS = {country: length for length, countries in _IBANS.items() for country in countries.split()}
"""Characters of an IBAN by country, from the IBAN registry of SWIFT."""

_CARD_LENGTHS = (
    (("34", "37"), (15,)),
    (("4",), (13, 16, 19)),
    (tuple(str(two) for two in range(51, 56)), (16,)),
    (tuple(str(four) for four in range(2221, 2721)), (16,)),
    (("300", "301", "302", "303", "304", "305", "36", "38", "39"), (14, 15, 16, 17, 18, 19)),
    (("35", "60", "62", "64", "65", "81"), (16, 17, 18, 19)),
    (("50", "56", "57", "58", "63", "67"), (12, 13, 14, 15, 16, 17, 18, 19)),
)
"""Digits of a payment card by the issuer's first digits (ISO/IEC 7812)."""
CARD_BEGINNINGS = frozenset(prefix[0] for prefixes, _ in _CARD_LENGTHS for prefix in prefixes)

_VERHOEFF_PRODUCT = (
    "0123456789",
    "1234067895",
    "2340178956",
    "3401289567",
    "4012395678",
    "5987604321",
    "6598710432",
    "7659821043",
    "8765932104",
    "9876543210",
)
_VERHOEFF_PERMUTATION = (
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
)

_FISCAL_ODD = dict(zip("0123456789", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True)) | dict(
    zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
        strict=True,
    )
)
"""What a character of an Italian fiscal code counts in an odd place."""


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1)."""
    total = 0
    for index, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + index % 2)
        total += value - 9 * (value > 9)
    return total % 10 == 0


def card(digits: str) -> bool:
    """Whether it can be the number of a payment card."""
    return any(
        digits.startswith(prefixes) and len(digits) in lengths for prefixes, lengths in _CARD_LENGTHS
    ) and luhn(digits)  # fmt: skip


def iban(text: str) -> bool:
    """Whether it is an IBAN of a known country with a right checksum (ISO 13616); upper case, without spaces."""
    if len(text) != IBAN_LENGTHS.get(text[:2]):
        return False
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def ip_address(text: str) -> bool:
    """Whether it is an address of some other machine, and no name in a program such as ``a::b``."""
    try:
        if ":" not in text:
            address = IPv4Address(text)
            return not (address.is_loopback or address.is_unspecified)
        groups = [group for group in text.split(":") if group]
        IPv6Address(text)
    except AddressValueError:
        return False
    if len(groups) == 8 and all(len(group) == 2 for group in groups):
        return False  # the hardware address of an interface
    return len(groups) > 2 or (len(groups) == 2 and len(groups[0]) == 4 and groups[0][0] in "23fF")


def weighted(digits: Sequence[int], weights: Sequence[int]) -> int:
    """The sum of digits times weights."""
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def nhs(digits: str) -> bool:
    """A number of the British health service: modulo 11."""
    return weighted([int(one) for one in digits], range(10, 0, -1)) % 11 == 0


def german_tax_id(digits: str) -> bool:
    """A German tax id: one digit twice or three times among the first ten, and ISO 7064 MOD 11,10."""
    counts = sorted((digits[:10].count(one) for one in set(digits[:10])), reverse=True)
    if digits[0] == "0" or counts[0] not in (2, 3) or (len(counts) > 1 and counts[1] > 1):
        return False
    product = 10
    for digit in digits[:10]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(digits[10])


def spanish_tax_id(text: str) -> bool:
    """A Spanish NIF or NIE: its letter is the number modulo 23."""
    digits = text[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(digits) % 23] == text[-1]


def french_nir(text: str) -> bool:
    """A French social security number: its key is 97 less the number modulo 97."""
    number = text[:-2].replace("2A", "19").replace("2B", "18")
    return 97 - int(number) % 97 == int(text[-2:])


def italian_fiscal_code(text: str) -> bool:
    """An Italian fiscal code: its last letter is the sum of the others modulo 26."""
    total = sum(_FISCAL_ODD[char] for char in text[:15:2])
    total += sum(int(char) if char.isdigit() else ord(char) - ord("A") for char in text[1:15:2])
    return chr(ord("A") + total % 26) == text[15]


def pesel(digits: str) -> bool:
    """A Polish PESEL: weights 1, 3, 7, 9, and a month and day that exist."""
    values = [int(one) for one in digits]
    month, day = int(digits[2:4]) % 20, int(digits[4:6])
    weights = (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)
    return 1 <= month <= 12 and 1 <= day <= 31 and weighted(values, weights) % 10 == 0


def cpf(digits: str) -> bool:
    """A Brazilian CPF: two check digits modulo 11; eleven equal digits are none."""
    values = [int(one) for one in digits]
    first = weighted(values[:9], range(10, 1, -1)) * 10 % 11 % 10
    second = weighted(values[:10], range(11, 1, -1)) * 10 % 11 % 10
    return len(set(digits)) > 1 and values[9:] == [first, second]


def aadhaar(digits: str) -> bool:
    """An Indian Aadhaar number: Verhoeff's checksum."""
    check = 0
    for index, digit in enumerate(reversed(digits)):
        check = int(_VERHOEFF_PRODUCT[check][int(_VERHOEFF_PERMUTATION[index % 8][int(digit)])])
    return digits[0] not in "01" and check == 0


def machine_readable_passport(line: str) -> bool:
    """The second line of a passport's machine-readable zone with its four checks (ICAO 9303)."""
    fields = ((line[:9], line[9]), (line[13:19], line[19]), (line[21:27], line[27]))
    whole = line[:10] + line[13:20] + line[21:43]
    return all(str(_icao(text)) == check for text, check in (*fields, (whole, line[43])))


def _icao(text: str) -> int:
    return sum((0 if char == "<" else int(char, 36)) * weight for char, weight in zip(text, cycle((7, 3, 1)))) % 10
