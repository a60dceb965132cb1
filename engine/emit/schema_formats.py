"""The ``format`` names of the JSON Schema standard that are regular, as automata.

Each is the syntax of the RFC that the standard names, without leap seconds and the year 0. Where the exact syntax
is wide or depends on Unicode tables (international names), a part of it that is certainly valid is written.
"""

from __future__ import annotations

from functools import lru_cache

from .automaton import Automaton
from .pattern import matching

_MONTHS = r"((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))"
_LEAP = r"(0[48]|[2468][048]|[13579][26])"
_DATE = rf"((\d{{3}}[1-9]|\d\d[1-9]\d|\d[1-9]\d\d|[1-9]\d{{3}})-{_MONTHS}|(\d\d{_LEAP}|{_LEAP}00)-02-29)"
_CLOCK = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?"
_TIME = rf"{_CLOCK}([zZ]|[+-]([01]\d|2[0-3]):[0-5]\d)"
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(\.{_LABEL})*"
_BYTE = r"(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_BYTE}(\.{_BYTE}){{3}}"
_H = "[0-9A-Fa-f]{1,4}"
_TAIL = rf"({_H}:{_H}|{_IPV4})"
_IPV6 = "|".join(
    [rf"({_H}:){{6}}{_TAIL}", rf"::({_H}:){{5}}{_TAIL}"]
    + [rf"({_H}(:{_H}){{0,{n}}})?::({_H}:){{{4 - n}}}{_TAIL}" for n in range(5)]
    + [rf"({_H}(:{_H}){{0,5}})?::{_H}", rf"({_H}(:{_H}){{0,6}})?::"]
)
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_QUOTED = r'"([ !#-\[\]-~]|\\[ -~])*"'
_LOCAL = rf"({_ATOM}(\.{_ATOM})*|{_QUOTED})"
_ENCODED = "%[0-9A-Fa-f]{2}"
_BEYOND = r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"


def _uris(extra: str) -> tuple[str, str]:
    """RFC 3986 (3987 with ``extra`` letters): a URI, and a reference, which may be relative."""
    free = rf"A-Za-z0-9._~{extra}\-"
    segment = rf"([{free}!$&'()*+,;=:@]|{_ENCODED})"
    no_colon = rf"([{free}!$&'()*+,;=@]|{_ENCODED})"
    host = rf"(\[({_IPV6}|v[0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\]|([{free}!$&'()*+,;=]|{_ENCODED})*)"
    authority = rf"(([{free}!$&'()*+,;=:]|{_ENCODED})*@)?{host}(:\d*)?"
    rest = rf"(\?({segment}|[/?])*)?(#({segment}|[/?])*)?"
    absolute = rf"(//{authority}(/{segment}*)*|/({segment}+(/{segment}*)*)?|{segment}+(/{segment}*)*|)"
    relative = rf"(//{authority}(/{segment}*)*|/({segment}+(/{segment}*)*)?|{no_colon}+(/{segment}*)*|)"
    whole = rf"[A-Za-z][A-Za-z0-9+.-]*:{absolute}{rest}"
    return whole, rf"({whole}|{relative}{rest})"


_URI, _URI_REFERENCE = _uris("")
_IRI, _IRI_REFERENCE = _uris(_BEYOND)
_POINTER = r"(/([^/~]|~[01])*)*"
_VARIABLE = r"([A-Za-z0-9_]|%[0-9A-Fa-f]{2})(\.?([A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*(:[1-9]\d{0,3}|\*)?"
_LETTERS = (
    r"a-z0-9\u00df-\u00f6\u00f8-\u00ff\u03ac-\u03ce\u0430-\u045f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"
)
_IDN_LABEL = rf"([{_LETTERS}]|[{_LETTERS}][{_LETTERS}-]?[{_LETTERS}]{{1,60}})"
_CLOCK_SPAN = r"T(\d+H(\d+M(\d+S)?)?|\d+M(\d+S)?|\d+S)"

FORMATS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": rf"{_DATE}[Tt]{_TIME}",
    "duration": rf"P((\d+Y(\d+M(\d+D)?)?|\d+M(\d+D)?|\d+D)({_CLOCK_SPAN})?|{_CLOCK_SPAN}|\d+W)",
    "uuid": "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "ipv4": _IPV4,
    "ipv6": _IPV6,
    "hostname": _HOST,
    "idn-hostname": rf"{_IDN_LABEL}(\.{_IDN_LABEL})*",
    "email": rf"{_LOCAL}@({_HOST}|\[{_IPV4}\])",
    "idn-email": rf"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~.{_BEYOND}-]+@{_IDN_LABEL}(\.{_IDN_LABEL})*",
    "uri": _URI,
    "uri-reference": _URI_REFERENCE,
    "iri": _IRI,
    "iri-reference": _IRI_REFERENCE,
    "uri-template": rf"([!#$&(-;=?-\[\]_a-z~]|{_ENCODED}|\{{[+#./;?&=,!@|]?{_VARIABLE}(,{_VARIABLE})*\}})*",
    "json-pointer": _POINTER,
    "relative-json-pointer": rf"(0|[1-9]\d*)(#|{_POINTER})",
}
#: Names of the standard, and older ones, that no automaton decides.
NOT_REGULAR = frozenset({"regex"})


@lru_cache(maxsize=64)
def format_language(name: str) -> Automaton | None:
    """The texts of that format; None for a name that is only an annotation.

    >>> format_language("date").matches("2024-02-30"), format_language("ipv6").matches("::1")
    (False, True)
    """
    if name not in FORMATS:
        return None
    return matching(FORMATS[name])
