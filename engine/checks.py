"""What can be wrong with a grammar whose names all mean something: one short function per fault, in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from .analysis import Facts, facts
from .check_delimiters import report_delimiters_without_literal, report_names_without_end, report_stuck
from .check_labels import report_counts, report_misplaced_labels, report_unknown_labels, report_unlabelled_text
from .check_rereads import report_rereads, report_unsettled_recursion
from .check_rules import (
    report_dead_alternatives,
    report_early_end,
    report_empty_repeats,
    report_left_recursion,
    report_permuted_blanks,
    report_shadowed_alternatives,
    report_tolerated_first,
    report_triggers_without_literal,
    report_unknown_same,
)
from .errors import GrammarError, Problem
from .holdback import report_holdback
from .loader import Loaded, examine_file, examine_text

__all__ = ["CHECKS", "FIRST", "LAST", "check", "check_file", "check_text", "sound_file", "sound_text"]

FIRST: tuple[Callable[[Loaded], Iterator[Problem]], ...] = (report_left_recursion, report_delimiters_without_literal)
"""Faults that would keep the other checks from ending."""

CHECKS: tuple[Callable[[Facts], Iterator[Problem]], ...] = (
    report_empty_repeats,
    report_dead_alternatives,
    report_shadowed_alternatives,
    report_tolerated_first,
    report_permuted_blanks,
    report_unknown_same,
    report_unknown_labels,
    report_misplaced_labels,
    report_counts,
    report_unlabelled_text,
    report_names_without_end,
    report_triggers_without_literal,
    report_early_end,
    report_stuck,
    report_rereads,
    report_unsettled_recursion,
)

LAST: tuple[Callable[[Loaded], Iterator[Problem]], ...] = (report_holdback,)
"""What is read off the program: the grammar must compile."""


def check(loaded: Loaded) -> list[Problem]:
    """Everything that is wrong with ``loaded``, the main file's faults first, warnings among them.

    >>> from .loader import load_text
    >>> [problem.message for problem in check(load_text('a = content:until("") a'))]
    ['a delimiter that matches the empty text', 'left recursion: a -> a']
    """
    found = [problem for report in FIRST for problem in report(loaded)]
    if not found:
        library = Path(loaded.source.name).resolve().parent.name == "lib"
        known = facts(loaded, library)
        found = [problem for report in CHECKS for problem in report(known)]
        if not library and not _errors(found):
            found += [problem for report in LAST for problem in report(loaded)]
    return _in_order(loaded, found)


def _errors(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.severity == "error"]


def _in_order(loaded: Loaded, problems: list[Problem]) -> list[Problem]:
    """Each fault once: a rule that is used in several places is wrong in all of them."""
    once = {(problem.message, problem.span): problem for problem in reversed(problems)}
    return sorted(once.values(), key=lambda p: (p.span.source is not loaded.source, p.span.source.name, p.span.start))


def check_file(path: str | Path) -> tuple[Loaded | None, list[Problem]]:
    """The grammar of a ``.peg`` file, None where some name means nothing, and everything that is wrong with it."""
    return _checked(*examine_file(path))


def check_text(
    text: str, name: str = "<text>", search: Iterable[str | Path] = ()
) -> tuple[Loaded | None, list[Problem]]:
    """As `check_file`, for the text of a grammar."""
    return _checked(*examine_text(text, name, search))


def _checked(loaded: Loaded | None, problems: list[Problem]) -> tuple[Loaded | None, list[Problem]]:
    return loaded, problems if loaded is None else [*problems, *check(loaded)]


def sound_file(path: str | Path) -> Loaded:
    """The grammar of a ``.peg`` file; `GrammarError` with every problem if one of them is an error."""
    return _sound(*check_file(path))


def sound_text(text: str, name: str = "<text>", search: Iterable[str | Path] = ()) -> Loaded:
    """As `sound_file`, for the text of a grammar."""
    return _sound(*check_text(text, name, search))


def _sound(loaded: Loaded | None, problems: list[Problem]) -> Loaded:
    if loaded is None or _errors(problems):
        raise GrammarError(tuple(problems))
    return loaded
