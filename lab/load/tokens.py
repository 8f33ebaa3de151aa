"""Encodes and counts tokens without a server and without the network: from a tokenizer.json, or from a GGUF file.

The `tokenizers` package does the work; it is imported only here and only when a counter is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import ModelError
from lab.load.gguf import read_gguf
from lab.params import shown

_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{numbers}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
GGUF_SPLITS: dict[str, str | None] = {
    "gpt-2": None,
    "smollm": r"\p{N}",
    "qwen2": _WORDS.format(numbers=r"\p{N}"),
    "llama-bpe": _WORDS.format(numbers=r"\p{N}{1,3}"),
}
"""What is split off before byte-level BPE, by `tokenizer.ggml.pre`; each was compared with llama.cpp."""


@dataclass(frozen=True, slots=True)
class LocalTokenizer:
    """A tokenizer in this process; special tokens are never added.

    Attributes:
        package: the `tokenizers.Tokenizer`.
        prefix_id: the token a text without context begins with: BOS, else EOS; None when the files name neither.
    """

    package: Any
    prefix_id: int | None

    def encode(self, text: str) -> list[int]:
        """The ids of `text`; text that spells a special token becomes that token."""
        ids: list[int] = self.package.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`, special tokens spelled out; bytes that are no character become U+FFFD."""
        text: str = self.package.decode(list(ids), skip_special_tokens=False)
        return text

    def count(self, text: str) -> int:
        """How many tokens `text` has."""
        return len(self.encode(text))


def local_tokenizer(path: Path) -> Callable[[str], int]:
    """A function that counts the tokens of a text; see `open_tokenizer`."""
    return open_tokenizer(path).count


def open_tokenizer(path: Path) -> LocalTokenizer:
    """The tokenizer of a model, from its files.

    Args:
        path: a tokenizer.json, a folder that holds one, or a GGUF file.

    Raises:
        ModelError: there is none, or it cannot be read.
    """
    if path.suffix == ".gguf":
        return gguf_tokenizer(path)
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ModelError(
            f"{shown(file)} does not exist; expected the tokenizer.json of the model",
            "copy tokenizer.json out of the folder of the model",
        )
    try:
        tokenizer = _package().Tokenizer.from_file(str(file))
    except Exception as problem:  # the package raises bare Exception
        raise ModelError(f"{shown(file)} is not a tokenizer.json: {problem!s:.200}") from None
    return _plain(tokenizer, _named_prefix(tokenizer, file.with_name("tokenizer_config.json")))


def chat_template(path: Path) -> str | None:
    """The chat template that lies with a model's weights, in a GGUF file or a folder; None when there is none.

    Raises:
        ModelError: the GGUF file cannot be read.
    """
    found: Any = None
    if path.suffix == ".gguf":
        found = read_gguf(path).fields.get("tokenizer.chat_template")
    elif (path / "chat_template.jinja").is_file():
        found = (path / "chat_template.jinja").read_text(encoding="utf-8")
    elif (path / "tokenizer_config.json").is_file():
        try:
            found = json.loads((path / "tokenizer_config.json").read_text(encoding="utf-8")).get("chat_template")
        except (ValueError, AttributeError):
            return None
    return found if isinstance(found, str) else None


def gguf_tokenizer(path: Path) -> LocalTokenizer:
    """The tokenizer of a GGUF file, rebuilt so that it encodes as llama.cpp does.

    Raises:
        ModelError: the file is not GGUF, or its tokenizer is of a kind that was not compared with llama.cpp.
    """
    fields = read_gguf(path).fields
    kind, split = fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre")
    if kind != "gpt2" or split not in GGUF_SPLITS:
        raise ModelError(
            f"{shown(path)} has a tokenizer '{kind}' split by '{split}'; the lab counts with 'gpt2' split by "
            f"{' or '.join(GGUF_SPLITS)} only",
            "give the tokenizer.json of the model instead",
        )
    try:
        pieces, merges = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.merges"]
        types = fields["tokenizer.ggml.token_type"]
    except KeyError as problem:
        raise ModelError(f"{shown(path)} has no {problem.args[0]}") from None
    package = _package()
    tokenizer = package.Tokenizer(
        package.models.BPE(
            vocab={piece: number for number, piece in enumerate(pieces)},
            merges=[tuple(merge.split(" ", 1)) for merge in merges],
            ignore_merges=split == "llama-bpe",
        )
    )
    by, pattern = package.pre_tokenizers, GGUF_SPLITS[split]
    steps = [by.Split(package.Regex(pattern), behavior="isolated")] if pattern else []
    # GPT-2's own split comes after that of the digits; the others replace it
    steps.append(by.ByteLevel(add_prefix_space=False, use_regex=split in ("gpt-2", "smollm")))
    tokenizer.pre_tokenizer = by.Sequence(steps)
    tokenizer.decoder = package.decoders.ByteLevel()
    special = [piece for piece, kind in zip(pieces, types, strict=True) if kind in (3, 4)]
    tokenizer.add_special_tokens([package.AddedToken(piece, special=True, normalized=False) for piece in special])
    prefix = fields.get("tokenizer.ggml.bos_token_id", fields.get("tokenizer.ggml.eos_token_id"))
    return _plain(tokenizer, prefix)


def _plain(tokenizer: Any, prefix_id: int | None) -> LocalTokenizer:
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return LocalTokenizer(tokenizer, prefix_id)


def _named_prefix(tokenizer: Any, config: Path) -> int | None:
    """The id of the BOS, else the EOS token that a tokenizer_config.json names; None when it names neither."""
    try:
        data = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    for name in ("bos_token", "eos_token"):
        token = data.get(name) if isinstance(data, dict) else None
        spelled = token.get("content") if isinstance(token, dict) else token
        if isinstance(spelled, str) and (number := tokenizer.token_to_id(spelled)) is not None:
            return int(number)
    return None


def _package() -> Any:
    try:
        import tokenizers
        from tokenizers import decoders, models, pre_tokenizers  # noqa: F401  the callers use them
    except ImportError:
        raise ModelError(
            "counting tokens without a server needs the Python package tokenizers", "pip install tokenizers"
        ) from None
    return tokenizers
