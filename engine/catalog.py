"""Which formats are shipped, under which names, and for which models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import regex

from .checks import sound_file, sound_text
from .errors import ChatpegError, UnknownFormat
from .grammar import Grammar
from .loader import load_file, shipped_directory

_DIRECTIVE = regex.compile(r"^%(models|aliases)[ \t]+(.*)$", regex.MULTILINE)
_WORD = regex.compile(r'"([^"]*)"|([^\s"#]+)')
_GGUF = regex.compile(
    r"(?:[-._](?:i?q[0-9]\w*|f16|f32|bf16|gguf|ud|imat|mxfp4\w*|fp8|awq|gptq\w*|[48]bit|int[48])|-0000\d-of-\d+)+$"
)


@dataclass(frozen=True, slots=True)
class Shipped:
    """A shipped grammar file: its name, other names, and the model patterns it lists."""

    name: str
    path: Path
    aliases: tuple[str, ...]
    models: tuple[str, ...]


@cache
def shipped() -> dict[str, Shipped]:
    """Every shipped format by its file's name."""
    found = {}
    for path in sorted(shipped_directory().glob("*.peg")):
        words: dict[str, list[str]] = {"models": [], "aliases": []}
        for name, rest in _DIRECTIVE.findall(path.read_text("utf-8")):
            words[name] += [quoted or bare for quoted, bare in _WORD.findall(rest)]
        found[path.stem] = Shipped(path.stem, path, tuple(words["aliases"]), tuple(words["models"]))
    return found


@cache
def _by_name() -> dict[str, Shipped]:
    names = {alias: one for one in shipped().values() for alias in one.aliases}
    return names | dict(shipped())


@cache
def _load_path(path: Path) -> Grammar:
    # What is wrong with a shipped file is a test's business.
    return Grammar(load_file(path))


def load(name: str | Path) -> Grammar:
    """A shipped format by name, or the grammar file at a path.

    Raises `UnknownFormat` for a name that is neither, `GrammarError` for a file with faults.

    >>> load("hermes")
    <Grammar hermes>
    """
    if not isinstance(name, str | Path):
        raise TypeError(f"a format is a str or a path, not {type(name).__name__}")
    if isinstance(name, str) and (one := _by_name().get(name)) is not None:
        return _load_path(one.path)
    path = Path(name)
    if name and (path.suffix == ".peg" or path.exists()):
        if not path.is_file():
            raise UnknownFormat(f"there is no grammar file {str(path)!r}")
        try:
            return Grammar(sound_file(path))
        except OSError as error:
            raise ChatpegError(f"{path}: {error.strerror}") from None
    close = get_close_matches(str(name), _by_name(), 3, 0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"shipped formats: {', '.join(sorted(_by_name()))}"
    raise UnknownFormat(f"there is no format {str(name)!r}; {hint}")


def loads(text: str, name: str = "<text>", search: Iterable[str | Path] = ()) -> Grammar:
    """The grammar that ``text`` is; what it imports is looked for in ``search``, then among the shipped files.

    Raises `GrammarError` with everything that is wrong with it.

    >>> loads('response = content:until("<|end|>") "<|end|>"?').parse("Hello<|end|>").content
    'Hello'
    """
    return Grammar(sound_text(text, name, search))


def for_model(model: str) -> Grammar:
    """The format of a model, by the patterns the grammar files list; case, organisation and a GGUF suffix are ignored.

    Raises `UnknownFormat`, saying which formats come close.

    >>> for_model("Qwen2.5-7B-Instruct-Q4_K_M.gguf")
    <Grammar hermes>
    """
    if not isinstance(model, str):
        raise TypeError(f"a model's name is a str, not {type(model).__name__}")
    wanted = _plain(model)
    matches = [
        (len(pattern.replace("*", "")), one)
        for one in shipped().values()
        for pattern in map(_plain, one.models)
        if fnmatchcase(wanted, pattern)
    ]
    if matches:
        return _load_path(max(matches, key=lambda match: match[0])[1].path)
    known = {_plain(pattern).rstrip("*-"): one.name for one in shipped().values() for pattern in one.models}
    close = dict.fromkeys(known[key] for key in get_close_matches(wanted, known, 5, 0.4))
    hint = f"formats that come close: {', '.join(close)}" if close else "chatpeg list shows the formats"
    raise UnknownFormat(f"no format lists the model {model!r}; {hint}")


def _plain(model: str) -> str:
    """A model's name without organisation, path and quantisation, in lower case."""
    name = model.strip().replace("\\", "/").rsplit("/", 1)[-1].lower()
    name = name.removesuffix(".gguf")
    return _GGUF.sub("", name) or name
