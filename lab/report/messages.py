"""Every sentence a reader sees, from one catalogue per language.

The catalogues are Fluent files in `messages/`; nothing in Python or in a template is a sentence. A key
that does not exist is a mistake of the programmer and raises `KeyError`.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from importlib.resources import files

from fluent.runtime import FluentBundle, FluentResource

from lab.errors import ParamsError

LANGS = ("en", "ja")
"""Languages that have a catalogue."""

_GAP = re.compile(r"(?<=[ぁ-んァ-ヶ一-龠]) (?=[ぁ-んァ-ヶ一-龠])")
"""A space that parts a filled-in Latin word from Japanese has nothing to part where the word is Japanese too."""


class Messages:
    """The catalogue of one language; call it with a key to get the text."""

    def __init__(self, lang: str) -> None:
        if lang not in LANGS:
            raise ParamsError(f"No catalogue for the language '{lang}'; there is {', '.join(LANGS)}.")
        self.lang = lang
        self._bundle = FluentBundle([lang], use_isolating=False)
        self._bundle.add_resource(FluentResource(source(lang)))

    def __call__(self, key: str, **args: str | int | date) -> str:
        """The text of `key`, with its arguments filled in.

        Raises:
            KeyError: when the catalogue has no such key, or an argument is missing.
        """
        value = self._bundle.get_message(key).value if self._bundle.has_message(key) else None
        if value is None:
            raise KeyError(f"{self.lang}.ftl has no message '{key}'")
        text, errors = self._bundle.format_pattern(value, args)
        if errors:
            raise KeyError(f"{self.lang}.ftl, message '{key}': {errors[0]}")
        return _GAP.sub("", str(text)) if args else str(text)

    def has(self, key: str) -> bool:
        """True when the catalogue has this key."""
        return bool(self._bundle.has_message(key))


def source(lang: str) -> str:
    """The catalogue of one language as it is written."""
    return files("lab.report").joinpath("messages", f"{lang}.ftl").read_text(encoding="utf-8")


@cache
def messages(lang: str) -> Messages:
    """The catalogue of `lang`, read once."""
    return Messages(lang)


def message(lang: str, key: str, **args: str | int) -> str:
    """The text of one key in one language."""
    return messages(lang)(key, **args)


def engine_message(lang: str, engine: str, part: str) -> str:
    """What the catalogue says about an engine of the roster.

    Args:
        engine: key in `lab.roster`, for instance `llama.cpp`.
        part: `traits`, `fits`, `mind`, `place`, `needs` (on the table), `reason` or `fact` (off it).
    """
    return message(lang, f"engine-{slug(engine)}-{part}")


def slug(name: str) -> str:
    """`name` as part of a key: only letters, digits, `_` and `-`."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)
