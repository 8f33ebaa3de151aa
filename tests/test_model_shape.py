"""Model shapes from the heads of weights: small files with sizes a reader can add up."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest

from lab import weights
from lab.errors import ModelError
from lab.model_shape import read_shape

GGUF_FIELDS: dict[str, Any] = {
    "general.architecture": "toy",
    "toy.block_count": 2,
    "toy.embedding_length": 8,
    "toy.attention.head_count": 4,
    "toy.attention.head_count_kv": 2,
}
GGUF_TENSORS = {"token_embd.weight": (8, 100), "blk.0.ffn.weight": (8, 32), "blk.1.ffn.weight": (8, 32)}
CONFIG: dict[str, Any] = {
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
    "sliding_window": None,
}
TENSORS = {
    "model.embed_tokens.weight": (100, 8),
    "model.layers.0.w.weight": (8, 32),
    "model.layers.1.w.weight": (8, 32),
}


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def write_gguf(path: Path, tensors: dict[str, tuple[int, ...]] | None = None, **changes: Any) -> Path:
    """A GGUF file whose tensors are 16-bit, one after another, each a multiple of 32 bytes."""
    fields = {key: value for key, value in (GGUF_FIELDS | changes).items() if value is not None}
    body = b"".join(
        text(key) + (struct.pack("<I", 8) + text(value) if isinstance(value, str) else struct.pack("<II", 4, value))
        for key, value in fields.items()
    )
    offset = 0
    for name, shape in (tensors or GGUF_TENSORS).items():
        body += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        body += struct.pack("<IQ", 1, offset)
        offset += 2 * math.prod(shape)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors or GGUF_TENSORS), len(fields)) + body
    path.write_bytes(head + bytes(-len(head) % 32 + offset))
    return path


def write_folder(
    folder: Path, tensors: dict[str, tuple[int, ...]] | None = None, dtype: str = "BF16", **changes: Any
) -> Path:
    """A Hugging Face folder; its tensors hold two bytes a number whatever they are called."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG | changes))
    head, offset = {}, 0
    for name, shape in (tensors or TENSORS).items():
        end = offset + 2 * math.prod(shape)
        head[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    packed = json.dumps(head).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(packed)) + packed + bytes(offset))
    return folder


@pytest.mark.parametrize("kind", ["gguf", "folder"])
def test_both_formats_add_up_to_the_same_shape(tmp_path: Path, kind: str) -> None:
    shape = read_shape(write_gguf(tmp_path / "m.gguf") if kind == "gguf" else write_folder(tmp_path / "m"))
    assert shape.weight_bytes == shape.read_bytes == 2 * (800 + 256 + 256)  # the table is the output layer too
    assert (shape.matrix_parameters, shape.head_parameters) == (512, 800)
    assert shape.attention_width == 2 * 4 * 2  # layers, heads, size
    assert shape.kv_width == 2 * 2 * 2 * 2  # layers, KV heads, size, key and value


@pytest.mark.parametrize("kind", ["gguf", "folder"])
def test_an_embedding_table_of_its_own_is_looked_up_not_read(tmp_path: Path, kind: str) -> None:
    if kind == "gguf":
        shape = read_shape(write_gguf(tmp_path / "m.gguf", GGUF_TENSORS | {"output.weight": (8, 100)}))
    else:
        tensors = TENSORS | {"lm_head.weight": (100, 8)}
        shape = read_shape(write_folder(tmp_path / "m", tensors, tie_word_embeddings=False))
    assert shape.weight_bytes - shape.read_bytes == 1600
    assert shape.head_parameters == 800


@pytest.mark.parametrize("kind", ["gguf", "folder"])
def test_of_experts_only_those_a_token_uses_are_read(tmp_path: Path, kind: str) -> None:
    if kind == "gguf":
        tensors = GGUF_TENSORS | {"blk.0.ffn_up_exps.weight": (8, 32, 4)}
        counts = {"toy.expert_count": 4, "toy.expert_used_count": 1}
        shape = read_shape(write_gguf(tmp_path / "m.gguf", tensors, **counts))
    else:
        tensors = TENSORS | {f"model.layers.0.mlp.experts.{n}.w.weight": (8, 32) for n in range(4)}
        shape = read_shape(write_folder(tmp_path / "m", tensors, num_experts=4, num_experts_per_tok=1))
    assert shape.weight_bytes - shape.read_bytes == 3 * 512
    assert shape.matrix_parameters == 3 * 256


def test_experts_without_a_count_are_not_guessed(tmp_path: Path) -> None:
    tensors = TENSORS | {"model.layers.0.mlp.experts.0.w.weight": (8, 32)}
    with pytest.raises(ModelError, match="does not state how many"):
        read_shape(write_folder(tmp_path / "m", tensors))


def test_vision_towers_and_drafting_layers_are_stored_but_not_read(tmp_path: Path) -> None:
    tensors = TENSORS | {"visual.blocks.0.w.weight": (8, 8), "mtp.layers.0.w.weight": (8, 8)}
    shape = read_shape(write_folder(tmp_path / "m", tensors))
    assert shape.weight_bytes - shape.read_bytes == 2 * 128


def test_packed_weights_have_bytes_but_no_count(tmp_path: Path) -> None:
    shape = read_shape(write_folder(tmp_path / "m", dtype="U8"))
    assert (shape.read_bytes, shape.matrix_parameters, shape.head_parameters) == (2624, None, None)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"sliding_window": 128}, "sliding-window"),
        ({"sliding_window": 128, "use_sliding_window": False}, None),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding-window"),
        ({"layer_types": ["linear_attention", "full_attention"]}, "state-space"),
        ({"kv_lora_rank": 512}, "latent"),
        ({"num_attention_heads": None}, "not-stated"),
    ],
)
def test_attention_that_keeps_less_has_no_kv_cost(tmp_path: Path, changes: dict[str, Any], why: str | None) -> None:
    shape = read_shape(write_folder(tmp_path / "m", **changes))
    assert (shape.no_kv, shape.kv_width is None) == (why, why is not None)


def test_the_text_part_of_a_config_counts(tmp_path: Path) -> None:
    inner = CONFIG | {"num_hidden_layers": 1}
    assert read_shape(write_folder(tmp_path / "m", text_config=inner)).kv_width == 8


def test_a_window_or_a_state_in_a_gguf_has_no_kv_cost(tmp_path: Path) -> None:
    window = write_gguf(tmp_path / "w.gguf", **{"toy.attention.sliding_window": 128})
    state = write_gguf(tmp_path / "s.gguf", **{"toy.ssm.state_size": 16})
    assert [read_shape(path).no_kv for path in (window, state)] == ["sliding-window", "state-space"]


def test_a_cut_file_is_a_sentence(tmp_path: Path) -> None:
    whole = write_gguf(tmp_path / "m.gguf").read_bytes()
    (tmp_path / "m.gguf").write_bytes(whole[:200])
    with pytest.raises(ModelError, match="cut or damaged"):
        read_shape(tmp_path / "m.gguf")
    folder = write_folder(tmp_path / "m")
    (folder / "model.safetensors").write_bytes(b"\x00" * 9)
    with pytest.raises(ModelError, match="cut or damaged"):
        read_shape(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="holds no safetensors"):
        read_shape(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(ModelError, match="no JSON mapping"):
        read_shape(folder)


def test_real_weights_in_two_formats_have_one_shape() -> None:
    places = [
        weights.cached(weights.read_model(name))
        for name in ("smollm2-135m-instruct-q4_1", "smollm2-135m-instruct-bf16")
    ]
    if not all(place.exists() for place in places):
        pytest.skip("the weights are not here: lab model fetch smollm2, and with --as hf")
    four_bit, sixteen_bit = map(read_shape, places)
    assert four_bit.model_copy(update={"weight_bytes": 0, "read_bytes": 1}) == sixteen_bit.model_copy(
        update={"weight_bytes": 0, "read_bytes": 1}
    )
    assert sixteen_bit.matrix_parameters is not None
    assert sixteen_bit.head_parameters is not None
    parameters = sixteen_bit.matrix_parameters + sixteen_bit.head_parameters
    assert (parameters, sixteen_bit.read_bytes) == (134_515_008, 2 * 134_515_008)
