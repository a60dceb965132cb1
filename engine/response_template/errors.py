"""Errors of templates and their parsers. Each is also of the built-in class that other readers of templates raise."""

from __future__ import annotations

from ..errors import ChatpegError, GrammarError, RequestError, StateError


class TemplateError(GrammarError, ValueError):
    """A template with faults; ``problems`` lists every one of them."""


class MissingPrefix(RequestError, ValueError):
    """``prefix`` is None: it is not known what the prompt wrote."""


class MissingFields(ChatpegError, ValueError):
    """A reply without a field that is not optional; ``fields`` names them."""

    def __init__(self, fields: tuple[str, ...]) -> None:
        self.fields = fields
        super().__init__(f"the reply lacks required fields of its response_template: {', '.join(map(repr, fields))}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.fields,)


class Finished(StateError, RuntimeError):
    """A parser that is used after ``finalize``."""


class WrongValue(ChatpegError, ValueError):
    """A region's value that does not fit what its field does with it."""


class UnknownPlaceholder(ChatpegError, KeyError):
    """A placeholder of a transform that nothing has captured."""

    def __str__(self) -> str:
        return str(self.args[0])
