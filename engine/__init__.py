"""One grammar file per response format: parse what a model wrote, whole or streaming, and constrain what it writes."""

from .catalog import for_model, load, loads
from .errors import (
    ChatpegError,
    DecodeError,
    EmitError,
    GrammarError,
    ParseError,
    RequestError,
    StateError,
    UnknownFormat,
)
from .events import Event, RegionChunk, RegionClose, RegionMalformed, RegionOpen
from .grammar import Chat, Grammar
from .message import Malformed, Message, Span, ToolCall
from .parser import Parser
from .response_template.grammar import load_grammar as load_response_template

__version__ = "0.1.0"

__all__ = [
    "Chat",
    "ChatpegError",
    "DecodeError",
    "EmitError",
    "Event",
    "Grammar",
    "GrammarError",
    "Malformed",
    "Message",
    "ParseError",
    "Parser",
    "RegionChunk",
    "RegionClose",
    "RegionMalformed",
    "RegionOpen",
    "RequestError",
    "Span",
    "StateError",
    "ToolCall",
    "UnknownFormat",
    "for_model",
    "load",
    "load_response_template",
    "loads",
]
