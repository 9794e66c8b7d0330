"""Shell completion of names, also after an equals sign: `--learner=nec`.

Typer writes the scripts for the shells. They call this program with the words of the command line in
environment variables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from functools import partial
from typing import Any

BASH_WORDS, BASH_INDEX, OTHER_SHELLS = "COMP_WORDS", "COMP_CWORD", "_TYPER_COMPLETE_ARGS"


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function for shell completion: it returns the names that start with the typed text.

    If the typed text is a list such as `screws,pain`, the function completes the last name of the list.
    """

    def complete(incomplete: str) -> list[str]:
        earlier, comma, last = incomplete.rpartition(",")
        return [f"{earlier}{comma}{name}" for name in names if name.startswith(last)]

    return complete


def drop_equals_signs(environment: MutableMapping[str, str]) -> None:
    """Change the words from Bash as if the user had typed spaces instead of equals signs after options.

    Bash splits `--learner=nec` into the words `--learner`, `=` and `nec`, and replaces only the last word.
    """
    if not (BASH_WORDS in environment and environment.get(BASH_INDEX, "").isdigit()):
        return
    index = int(environment[BASH_INDEX])
    words = environment[BASH_WORDS].split("\n")[: index + 1]
    kept = [word for word, before in zip(words, ["", *words], strict=False) if not _joins(word, before)]
    dropped_before = sum(map(_joins, words[1:index], words))
    environment[BASH_WORDS] = "\n".join(kept)
    environment[BASH_INDEX] = str(index - dropped_before)


def _joins(word: str, before: str) -> bool:
    """Return whether a word is the equals sign between an option, the word before it, and its value."""
    return word == "=" and before.startswith("--")


def keep_options_in_completions(parameters: Iterable[Any]) -> None:
    """Make the parameters of a verb complete `--learner=nec` to `--learner=necessary`, not to `necessary`.

    Shells that do not split words at equals signs replace the whole word, so `--learner=` would be lost.
    """
    for one in parameters:
        one.shell_complete = partial(_complete_whole_word, one.shell_complete)


def _complete_whole_word(complete: Callable[..., list[Any]], context: object, incomplete: str) -> list[Any]:
    items = complete(context, incomplete)
    for item in items:
        item.value = f"{typed_option(os.environ)}{item.value}"
    return items


def typed_option(environment: Mapping[str, str]) -> str:
    """Return the part of the current word up to the equals sign, such as `--learner=`, or an empty text."""
    if BASH_WORDS in environment:
        word = "".join(environment[BASH_WORDS].split("\n")[int(environment[BASH_INDEX]) :][:1])
    else:
        word = environment.get(OTHER_SHELLS, "").rpartition(" ")[2]
    option, equals, _ = word.partition("=")
    return f"{option}=" if equals and option.startswith("--") else ""
