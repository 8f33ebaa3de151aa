"""`lab traffic`: the tokenizer that counts, and the workload that is written from what was drawn."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab.endpoint import Endpoint, split_url
from lab.errors import EndpointError, ModelError, TrafficError
from lab.load.tokens import open_tokenizer
from lab.scratch import write_atomically
from lab.trace import as_lines
from lab.traffic.reading import Measured
from lab.traffic.units import EncodeAll

ASKED_AT_ONCE = 8
"""Texts that an engine is asked to encode at a time."""
LADDER = (1, 8, 32)
"""Requests in flight where the traffic has no rhythm to replay."""
_DIALECTS = ("prompt", "content")
"""Field that carries the text: vLLM and SGLang, llama.cpp."""


def tokenizer_of(words: str) -> EncodeAll:
    """The tokenizer that a path or a URL names.

    Args:
        words: a tokenizer.json, a folder that holds one, a GGUF file, or the URL of a running engine.

    Raises:
        ModelError, EndpointError: it is not there, or cannot be asked for token ids.
    """
    if "://" in words:
        return _of_engine(words)
    package = open_tokenizer(Path(words)).package

    def encode_all(texts: Sequence[str]) -> Sequence[Sequence[int]]:
        try:
            whole = [text if text.isascii() else text.encode("utf-8", "replace").decode() for text in texts]
            return [one.ids for one in package.encode_batch_fast(whole, add_special_tokens=False)]
        except Exception:  # the package raises bare Exception, and its words may quote the text
            raise ModelError("the tokenizer could not encode a text of the traffic") from None

    return encode_all


def _of_engine(url: str) -> EncodeAll:
    root, base = split_url(url)
    served = Endpoint(base).get("/models", timeout_s=10.0).json()
    listed = served.get("data") if isinstance(served, dict) else None
    model = listed[0].get("id") if isinstance(listed, list) and listed and isinstance(listed[0], dict) else None
    endpoint = Endpoint(root)

    def encode(text: str, field: str) -> list[int] | None:
        asked = {field: text, "model": model, "add_special_tokens": False, "add_special": False}
        found = endpoint.post("/tokenize", asked).json()
        ids = found.get("tokens") if isinstance(found, dict) else None
        if not isinstance(ids, list) or not all(isinstance(one, int) for one in ids):
            return None
        return [one & 0x7FFF_FFFF for one in ids]

    dialect = next((one for one in _DIALECTS if (encode("one two", one) or None)), None)
    if dialect is None:
        raise EndpointError(f"{root} has no /tokenize that answers token ids", "give a tokenizer.json or a GGUF file")

    def one(text: str) -> list[int]:
        if not text:
            return []
        ids = encode(text, dialect)
        if ids is None:
            raise EndpointError(f"{root}/tokenize did not answer token ids for a text of the traffic")
        return ids

    def encode_all(texts: Sequence[str]) -> Sequence[Sequence[int]]:
        with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
            return list(pool.map(one, texts))

    return encode_all


def write_workload(measured: Measured, path: Path, *, endpoint: str, seed: int) -> tuple[Path, Path]:
    """Write the workload file and the shape it is driven from, side by side; returns both.

    Args:
        measured: what was read.
        path: of the workload file; its stem is the name of the workload.
        endpoint: chat or completions.
        seed: decides the words.

    Raises:
        TrafficError: the lengths are not known in tokens.
    """
    rows = measured.rows
    if not rows:
        if measured.shape.input is not None and measured.shape.input.unit == "characters":
            raise TrafficError(
                "a workload needs lengths in tokens, and this traffic was counted in characters",
                "give the model's tokenizer: --tokenizer tokenizer.json, a GGUF file, or the URL of an engine",
            )
        raise TrafficError(
            "no request of this traffic has both lengths: the file holds no answers",
            "say how long they are: --output-len N",
        )
    shape_path = path.with_suffix(".shape.jsonl")
    span_s = rows[-1].at_s
    lines = [
        "# The shape of recorded traffic, without a word of it; written by `lab traffic`.",
        "# Lengths are tokens of the tokenizer that counted; what is sent are seeded words. A row of the source says",
        "# how long prompt and answer are, when it is sent, and with how many tokens of which earlier row it begins.",
        f"endpoint: {endpoint}",
        "content: trace",
        f"source: {shape_path.name}",
        f"output_tokens: {max(row.output_tokens for row in rows)} # the most of any; each answer has its row's",
        "exact_output: true",
    ]
    if span_s is not None and span_s > 0 and len(rows) > 1:
        came = measured.shape.arrivals
        rate = (len(rows) - 1) / span_s if came is None else came.rate_rps  # the mean rate of the whole file
        lines += [
            "arrival: trace # the gaps of the recording, stretched alike where another rate is asked for",
            f"rate_rps: [{rate:.6g}] # as recorded; [{rate:.6g}, {2 * rate:.6g}] adds a level at twice the rate",
        ]
    else:
        ladder = [one for one in LADDER if one <= len(rows)]
        lines.append(f"concurrency: {ladder} # the file does not say when its requests came")
    lines += [
        f"requests_per_level: {len(rows)}",
        f"warmup_requests: {min(8, len(rows))} # other words than the measured ones",
        "timeout_s: 600",
        f"seed: {seed}",
    ]
    try:
        write_atomically(shape_path, as_lines(rows))
        write_atomically(path, ("\n".join(lines) + "\n").encode())
    except OSError as problem:
        raise TrafficError(f"{path} cannot be written: {problem.strerror}") from None
    return path, shape_path
