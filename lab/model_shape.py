"""What one token costs, from the weights themselves: the head of a GGUF file, or safetensors heads and config.json.

Only the heads are read, no tensor. Attention that does not keep every key and value of every layer (a sliding
window, latent vectors, a state) has no KV cost here: it would be a guess.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import ModelError
from lab.limits import ModelShape
from lab.load.gguf import read_gguf
from lab.params import shown

_PLAIN = {"F64", "F32", "BF16", "F16", "F8_E4M3", "F8_E5M2", "I8"}
"""Formats in which one stored number is one weight; others may hold several."""
_MOST_HEAD_BYTES = 1 << 28
_NOT_READ = re.compile(r"(^|\.)(mtp|visual|vision_tower|vision_model|audio_tower|multi_modal_projector|mm_projector)\.")
"""Parts that a text token does not pass through: vision and audio towers, layers that only draft."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: str
    bytes: int
    elements: int | None
    """None: packed, nobody can tell without the quantization's own rules."""


def read_shape(path: Path) -> ModelShape:
    """The shape of the model whose weights lie at `path`, a GGUF file or a Hugging Face folder.

    Raises:
        ModelError: neither, damaged, or experts without a count.
    """
    return _from_gguf(path) if path.suffix == ".gguf" else _from_folder(path)


def _from_gguf(path: Path) -> ModelShape:
    file = read_gguf(path)
    fields = file.fields
    prefix = fields.get("general.architecture")
    if not isinstance(prefix, str):
        raise ModelError(f"{shown(path)} does not state its architecture")

    def at(name: str) -> Any:
        return fields.get(f"{prefix}.{name}")

    tensors = [_Tensor(one.name, one.bytes, one.elements) for one in file.tensors]
    layers = _whole(at("block_count"))
    heads, kv_heads = at("attention.head_count"), at("attention.head_count_kv")
    width, all_heads = _whole(at("embedding_length")), _per_layer(heads, layers)
    keys = _whole(at("attention.key_length")) or (width // all_heads[0] if width and all_heads else 0)
    values = _whole(at("attention.value_length")) or keys
    all_kv = _per_layer(heads if kv_heads is None else kv_heads, layers)
    no_kv = (
        "state-space"
        if any(name.startswith(f"{prefix}.ssm.") for name in fields)
        else "latent"
        if at("attention.kv_lora_rank") is not None
        else "sliding-window"
        if at("attention.sliding_window")
        else None
    )
    return _shape(
        path,
        tensors,
        embedding="token_embd.weight",
        head="output.weight",
        expert="_exps.",
        experts=_whole(at("expert_count")),
        used=_whole(at("expert_used_count")),
        attention=keys * sum(all_heads),
        kv=(keys + values) * sum(all_kv),
        no_kv=no_kv,
    )


def _from_folder(folder: Path) -> ModelShape:
    config = _config(folder / "config.json")
    tied = config.get("tie_word_embeddings", False) is True
    inner = config.get("text_config")
    config = inner if isinstance(inner, dict) else config
    tied = config.get("tie_word_embeddings", tied) is True
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelError(f"{shown(folder)} holds no safetensors")
    tensors = [tensor for file in files for tensor in _safetensors(file)]
    names = {tensor.name for tensor in tensors}
    embedding = next((name for name in sorted(names) if name.endswith(("embed_tokens.weight", "wte.weight"))), "")
    head = next((name for name in sorted(names) if name.endswith("lm_head.weight")), "")
    if tied and head:  # stored twice, read once
        tensors = [tensor for tensor in tensors if tensor.name != head]
    layers, heads = _whole(config.get("num_hidden_layers")), _whole(config.get("num_attention_heads"))
    width = _whole(config.get("hidden_size"))
    size = _whole(config.get("head_dim")) or (width // heads if width and heads else 0)
    kv_heads = _whole(config.get("num_key_value_heads")) or heads
    experts = next((_whole(config.get(name)) for name in _EXPERTS if config.get(name) is not None), 0)
    return _shape(
        folder,
        tensors,
        embedding=embedding,
        head="" if tied else head,
        expert=".experts.",
        experts=experts,
        used=_whole(config.get("num_experts_per_tok")),
        attention=layers * heads * size,
        kv=layers * kv_heads * 2 * size,
        no_kv=_no_kv(config),
    )


_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")


def _shape(
    path: Path,
    tensors: Iterable[_Tensor],
    *,
    embedding: str,
    head: str,
    expert: str,
    experts: int,
    used: int,
    attention: int,
    kv: int,
    no_kv: Any,
) -> ModelShape:
    """Adds the tensors up.

    Args:
        path: for sentences.
        tensors: all of them.
        embedding: name of the embedding table.
        head: name of the output layer; without one the embedding table is it.
        expert: part of the name of a tensor that holds all experts, or one of them.
        experts: of each layer; 0: there are none.
        used: by one token.
        attention: query heads × head size over the layers; 0: not stated.
        kv: numbers in the KV cache for one token; 0: not stated.
        no_kv: why the last two mean nothing.
    """
    everything = tuple(tensors)
    names = {tensor.name for tensor in everything}
    output = head if head in names else embedding
    read = [
        tensor
        for tensor in everything
        if not _NOT_READ.search(tensor.name) and (tensor.name != embedding or output == embedding)
    ]
    routed = [tensor for tensor in read if expert in tensor.name]
    if routed and not (0 < used <= experts):
        raise ModelError(f"{shown(path)} has experts, but does not state how many a token uses")
    share = used / experts if routed else 1.0

    def cost(tensor: _Tensor, amount: int) -> float:
        return amount * share if expert in tensor.name else float(amount)

    body = [tensor for tensor in read if tensor.name != output]
    counts = [tensor.elements for tensor in read]
    known = None not in counts
    matrix = math.floor(sum(cost(tensor, tensor.elements or 0) for tensor in body))
    read_bytes = round(sum(cost(tensor, tensor.bytes) for tensor in read))
    if read_bytes <= 0:
        raise ModelError(f"{shown(path)} holds no weights a token passes through")
    missing = no_kv or (None if attention and kv else "not-stated")
    return ModelShape(
        weight_bytes=sum(tensor.bytes for tensor in everything),
        read_bytes=read_bytes,
        matrix_parameters=matrix if known and matrix else None,
        head_parameters=sum(tensor.elements or 0 for tensor in read if tensor.name == output) if known else None,
        attention_width=attention if missing is None else None,
        kv_width=kv if missing is None else None,
        no_kv=missing,
    )


def _no_kv(config: Mapping[str, Any]) -> str | None:
    """Why a config's layers do not each keep a key and a value for each head and token; None: they do."""
    kinds = config.get("layer_types")
    if config.get("kv_lora_rank") is not None:
        return "latent"
    if any(name.startswith(("ssm_", "mamba_", "linear_")) for name in config):
        return "state-space"
    if isinstance(kinds, list) and set(kinds) - {"full_attention"}:
        return "sliding-window" if set(kinds) <= {"full_attention", "sliding_attention"} else "state-space"
    if config.get("sliding_window") is not None and config.get("use_sliding_window", True):
        return "sliding-window"
    return None


def _config(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        data = None
    if not isinstance(data, dict):
        raise ModelError(f"{shown(path)} is missing or is no JSON mapping")
    return data


def _safetensors(path: Path) -> list[_Tensor]:
    """Every tensor of a file, from its head: 8 bytes of length, then JSON.

    Source: https://github.com/huggingface/safetensors, README, Format
    """
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _MOST_HEAD_BYTES:
                raise ValueError
            head = json.loads(file.read(length))
        return [
            _Tensor(
                name,
                int(entry["data_offsets"][1]) - int(entry["data_offsets"][0]),
                math.prod(entry["shape"]) if entry["dtype"] in _PLAIN else None,
            )
            for name, entry in head.items()
            if name != "__metadata__"
        ]
    except (OSError, struct.error, ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise ModelError(f"{shown(path)} is cut or damaged: its safetensors head cannot be read") from None


def _whole(value: Any) -> int:
    """A whole number of a config; 0 where there is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _per_layer(value: Any, layers: int) -> list[int]:
    """One number a layer: stated once for all, or one by one."""
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return [_whole(value)] * layers
