"""llama-server out of the `xllamacpp` wheel, in a process of its own, under llama-server's own flag names.

The wheel embeds the real server but no command line; this is the smallest one that launches it.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1")


def parse(argv: list[str]) -> argparse.Namespace:
    """The command line of the server."""
    parser = argparse.ArgumentParser(prog="llama-server", allow_abbrev=False)
    parser.add_argument("-m", "--model", required=True, help="GGUF file")
    parser.add_argument("-a", "--alias", required=True, help="model name in the API")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument(
        "-c", "--ctx-size", type=int, default=0, help="KV tokens of the whole server; 0: the model's own"
    )
    parser.add_argument("-np", "--parallel", type=int, default=1, help="slots")
    parser.add_argument("-b", "--batch-size", type=int, default=2048)
    parser.add_argument("-t", "--threads", type=int, default=-1)
    parser.add_argument("-ctk", "--cache-type-k", choices=CACHE_TYPES, default="f16")
    parser.add_argument("-ctv", "--cache-type-v", choices=CACHE_TYPES, default="f16")
    parser.add_argument("--fit", choices=("on", "off"), default="on")
    parser.add_argument("--cache-ram", type=int, default=8192, help="MiB of the host-side prompt cache; 0 turns it off")
    parser.add_argument("--cache-prompt", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--chat-template-file", help="Jinja template used instead of the one in the weights")
    parser.add_argument("--metrics", action="store_true")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Serve until SIGTERM or SIGINT."""
    options = parse(argv)
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.alias}
    params.hostnames = [options.host]
    params.port = options.port
    params.n_ctx = options.ctx_size
    params.n_parallel = options.parallel
    params.kv_unified = False
    params.n_batch = options.batch_size
    params.n_ubatch = min(params.n_ubatch, options.batch_size)
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.cache_type_k = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{options.cache_type_k.upper()}")
    params.cache_type_v = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{options.cache_type_v.upper()}")
    params.fit_params = options.fit == "on"
    params.cache_ram_mib = options.cache_ram
    params.cache_prompt = options.cache_prompt
    params.endpoint_metrics = options.metrics
    if options.chat_template_file:
        with open(options.chat_template_file, encoding="utf-8") as template:
            params.chat_template = template.read()
    params.ui = False
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        server = xllamacpp.Server(params)  # serves from its own threads as long as the object lives
    except RuntimeError as problem:
        print(f"llama-server could not start with {options.model}: {problem}", file=sys.stderr)
        return 2
    print(f"listening on {server.listening_address}", flush=True)
    stop.wait()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
