"""Response templates, the JSON descriptions of their format that checkpoints ship: a drop-in for their parsers."""

from .errors import Finished, MissingFields, MissingPrefix, TemplateError
from .loading import load_response_template
from .parser import ResponseParser, parse_response
from .template import ResponseTemplate

__all__ = [
    "Finished",
    "MissingFields",
    "MissingPrefix",
    "ResponseParser",
    "ResponseTemplate",
    "TemplateError",
    "load_response_template",
    "parse_response",
]
