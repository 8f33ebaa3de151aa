"""Makes a Hugging Face folder from a GGUF file: `python unpack_gguf.py FILE.gguf FOLDER`.

Runs inside an engine's own environment (torch, transformers and gguf are there), never inside the lab. Every
quantized block is multiplied out and rounded to bfloat16, so the weights are the numbers the GGUF file stands for;
tokenizer and chat template are those of the file. transformers leaves out what is split off before byte-level BPE;
it is put back here, for the kinds that were compared with llama.cpp.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from gguf import GGUFReader
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

SPLITS = {"gpt-2": [], "smollm": [pre_tokenizers.Digits(individual_digits=True)]}
"""What is split off first, by `tokenizer.ggml.pre`."""


def main(argv: list[str]) -> int:
    """Unpack one file; the folder must not be there yet."""
    source, folder = Path(argv[0]), Path(argv[1])
    field = GGUFReader(source).fields.get("tokenizer.ggml.pre")
    split = field.contents() if field else None
    if split not in SPLITS:
        print(f"its tokenizer splits by '{split}'; compared with llama.cpp are only {', '.join(SPLITS)}")
        return 2
    folder.mkdir()
    model = AutoModelForCausalLM.from_pretrained(
        source.parent, gguf_file=source.name, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [*SPLITS[split], pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.save_pretrained(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
