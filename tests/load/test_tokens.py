"""Tokens are counted without a server, and a file that is no tokenizer gets a sentence."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab import weights
from lab.errors import ModelError
from lab.load.prompts import build_prompts
from lab.load.tokens import chat_template, gguf_tokenizer, local_tokenizer, open_tokenizer
from lab.spec import Workload

tokenizers = pytest.importorskip("tokenizers")


def packed(value: Any) -> bytes:
    """A GGUF value with its type: a number, text, a list of texts or a list of 32-bit numbers."""
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, str):
        return struct.pack("<IQ", 8, len(value.encode())) + value.encode()
    if all(isinstance(part, int) for part in value):
        return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(packed(part)[4:] for part in value)


def write_gguf(path: Path, **changes: Any) -> Path:
    """A GGUF file without tensors: letters, the space `Ġ`, two merges and one control token."""
    pieces = [*"abcdefghijklmnopqrstuvwxyz0123456789", "Ġ", "ab", "Ġab", "<end>"]
    fields = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.token_type": [1] * (len(pieces) - 1) + [3],
        "tokenizer.ggml.merges": ["a b", "Ġ ab"],
    } | changes
    kept = {key: value for key, value in fields.items() if value is not None}
    body = b"".join(packed(key)[4:] + packed(value) for key, value in kept.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(kept)) + body)
    return path


def test_a_gguf_vocabulary_counts_merges_spaces_and_control_tokens(tmp_path: Path) -> None:
    count = gguf_tokenizer(write_gguf(tmp_path / "m.gguf")).count
    assert count("") == 0
    assert count("ab") == 1
    assert count("ab ab") == 2
    assert count("ab abc") == 3
    assert count("ab12") == 3
    assert count("ab<end>ab") == 3


def test_ids_of_a_gguf_vocabulary_come_back_as_the_text(tmp_path: Path) -> None:
    tokenizer = gguf_tokenizer(write_gguf(tmp_path / "m.gguf", **{"tokenizer.ggml.eos_token_id": 39}))
    assert tokenizer.encode("ab ab") == [37, 38]
    assert tokenizer.decode([37, 38, 39]) == "ab ab<end>"
    assert tokenizer.prefix_id == 39
    named = gguf_tokenizer(
        write_gguf(tmp_path / "n.gguf", **{"tokenizer.ggml.eos_token_id": 39, "tokenizer.ggml.bos_token_id": 0})
    )
    assert named.prefix_id == 0
    assert gguf_tokenizer(write_gguf(tmp_path / "o.gguf")).prefix_id is None


def test_a_chat_template_is_found_in_the_weights_or_beside_them(tmp_path: Path) -> None:
    template = "{{ messages }}"
    assert chat_template(write_gguf(tmp_path / "m.gguf", **{"tokenizer.chat_template": template})) == template
    assert chat_template(write_gguf(tmp_path / "bare.gguf")) is None
    config = tmp_path / "tokenizer_config.json"
    assert chat_template(tmp_path) is None
    config.write_text(json.dumps({"chat_template": template}), encoding="utf-8")
    assert chat_template(tmp_path) == template
    config.write_text("not JSON", encoding="utf-8")
    assert chat_template(tmp_path) is None
    (tmp_path / "chat_template.jinja").write_text("of its own file", encoding="utf-8")
    assert chat_template(tmp_path) == "of its own file"


def test_a_folder_names_the_token_that_texts_begin_with(tmp_path: Path) -> None:
    gguf_tokenizer(write_gguf(tmp_path / "m.gguf")).package.save(str(tmp_path / "tokenizer.json"))
    assert open_tokenizer(tmp_path).prefix_id is None
    config = tmp_path / "tokenizer_config.json"
    config.write_text('{"bos_token": null, "eos_token": {"content": "<end>"}}')
    assert open_tokenizer(tmp_path).prefix_id == 39
    config.write_text('{"bos_token": "a", "eos_token": "<end>"}')
    assert open_tokenizer(tmp_path).prefix_id == 0


def test_a_gguf_file_that_cannot_be_followed_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    with pytest.raises(ModelError, match="a tokenizer 'llama' split by 'smollm'"):
        gguf_tokenizer(write_gguf(path, **{"tokenizer.ggml.model": "llama"}))
    with pytest.raises(ModelError, match=r"has no tokenizer\.ggml\.merges"):
        gguf_tokenizer(write_gguf(path, **{"tokenizer.ggml.merges": None}))
    whole = write_gguf(path).read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelError, match=r"not a GGUF file|cut or damaged"):
            gguf_tokenizer(path)
    path.write_bytes(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**63))
    with pytest.raises(ModelError, match="cut or damaged"):
        gguf_tokenizer(path)
    with pytest.raises(ModelError, match="cannot be read"):
        gguf_tokenizer(tmp_path / "nowhere.gguf")


@pytest.fixture(scope="module", params=["smollm2-135m-instruct-q4_1", "smollm2-135m-instruct-bf16"])
def smollm2(request: pytest.FixtureRequest) -> Callable[[str], int]:
    """The tokenizer of the GGUF file, and that of the Hugging Face folder made from it."""
    place = weights.cached(weights.read_model(request.param))
    if not place.exists():
        pytest.skip(f"the weights are not here: lab model fetch {request.param}")
    return open_tokenizer(place).count


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello world", 2),
        ("  two  spaces", 4),
        ("日本語のテキストです。", 19),
        ("🙂👍🏽", 8),
        ("x = [i**2 for i in range(10)]\n\treturn x", 18),
        ("1234567890", 10),
        ("<|im_start|>user\nhi<|im_end|>", 5),
        ("don't I'LL", 5),
        ("\u00a0nbsp\u3000wide ½ ²", 10),  # ½ and ² are numbers, each split off alone
    ],
)
def test_smollm2_counts_as_llama_cpp_does(smollm2: Callable[[str], int], text: str, tokens: int) -> None:
    assert smollm2(text) == tokens  # counted by llama.cpp's own /tokenize


def test_prompts_are_exact_in_a_real_vocabulary(smollm2: Callable[[str], int]) -> None:
    values = {
        "name": "w", "endpoint": "chat", "input_tokens": 301, "shared_prefix_tokens": 131, "prefix_groups": 3,
        "output_tokens": 4, "exact_output": True, "concurrency": (1,), "requests_per_level": 12,
        "warmup_requests": 0, "timeout_s": 5.0, "seed": 3,
    }  # fmt: skip
    asked = Workload.model_validate(values)
    built = build_prompts(asked, 0, model="m", fields={}, count_tokens=smollm2)
    assert (set(built.tokens), built.inexact) == ({301}, 0)


def test_a_tokenizer_json_is_found_in_its_folder_and_adds_nothing(tmp_path: Path) -> None:
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[S]": 0, "a": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.post_processor = tokenizers.processors.TemplateProcessing(single="[S] $A", special_tokens=[("[S]", 0)])
    words.enable_truncation(2)
    words.enable_padding(length=8)
    words.save(str(tmp_path / "tokenizer.json"))
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        count = local_tokenizer(path)
        assert [count(text) for text in ("", "a", "a a b a")] == [0, 1, 4]


def test_a_tokenizer_json_that_is_missing_or_something_else_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"tokenizer\.json does not exist"):
        local_tokenizer(tmp_path)
    path = tmp_path / "tokenizer.json"
    for text in ("", "{}", "[1]", "not json", '{"model": {"type": "BPE"}}'):
        path.write_text(text)
        with pytest.raises(ModelError, match=r"is not a tokenizer\.json"):
            local_tokenizer(path)
