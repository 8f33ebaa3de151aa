"""Probes of sampling: what the server adds by itself, what a seed does, how much a text varies by itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from lab.errors import EndpointError
from lab.preflight.asking import Engine, Reply, Seen

TOKENS = 12
"""Length of the compared texts."""

REPEATING = "write the word tree again and again: tree tree tree tree tree tree"
"""A greedy answer repeats itself here, so that a penalty on repetition shows."""

OPEN = "tell a story about a stone."
"""Many answers are as likely as each other here."""

ALONE, AMONG_OTHERS, OTHERS = 3, 2, 2
"""Asked one after the other; asked again while the others are asked something else."""


def neutral_sampling(engine: Engine) -> Seen:
    """Whether a request that says only "temperature 0" gets the text of one that says everything."""
    explicit = _text(engine, REPEATING)
    bare = _text(engine, REPEATING, {"temperature": 0})
    again = _text(engine, REPEATING)
    drawn = {_text(engine, OPEN, {}) for _ in range(2)}
    by_itself = "it draws" if len(drawn) > 1 else "twice the same text"
    left = f"without any sampling field: {by_itself}"
    if explicit != again:
        return Seen("not-exposed", f"its own greedy answers differ from each other; {left}")
    if bare == explicit:
        return Seen("pass", f"the same text with every field and with temperature 0 alone; {left}")
    return Seen("fail", f"with temperature 0 alone another text: the server adds something of its own; {left}")


def seed(engine: Engine) -> Seen:
    """Whether a seed decides the text at temperature 1."""
    if "seed" not in engine.adapter.sampling_names:
        return Seen("not-exposed", "the engine has no field for it")
    first, again, other = (_text(engine, OPEN, engine.neutral(temperature=1, seed=number)) for number in (7, 7, 8))
    if first != again:
        return Seen("fail", "one seed twice gives two texts")
    if first == other:
        return Seen("fail", "another seed gives the same text at temperature 1")
    return Seen("pass", "one seed one text, another seed another")


def repeat(engine: Engine) -> Seen:
    """How many texts one greedy prompt has, alone and among other requests."""
    alone = [_text(engine, OPEN) for _ in range(ALONE)]
    with ThreadPoolExecutor(AMONG_OTHERS + OTHERS) as pool:
        others = [pool.submit(_text, engine, f"list {number} colours.") for number in range(3, 3 + OTHERS)]
        same = [pool.submit(_text, engine, OPEN) for _ in range(AMONG_OTHERS)]
        among = [future.result() for future in same]
        for future in others:
            future.result()
    counts = (len(set(alone)), len({*alone, *among}))
    words = f"{counts[0]} text(s) alone, {counts[1]} with {AMONG_OTHERS} asked among {OTHERS} others"
    return Seen("pass" if counts[1] == 1 else "fail", words, counts)


def _text(engine: Engine, prompt: str, sampling: dict[str, object] | None = None) -> str:
    reply = engine.ask(engine.user(prompt), TOKENS, sampling=sampling)
    if not reply.ok:
        raise EndpointError(f"a text was asked for and none came: {reply.said()}")
    text = _all_of(reply)
    if not text:
        raise EndpointError(f"a text of {TOKENS} tokens was asked for and an empty one came")
    return text


def _all_of(reply: Reply) -> str:
    """The text with its reasoning, under either name."""
    parts = (reply.message.get(name) for name in ("reasoning_content", "reasoning"))
    return "".join(part for part in parts if isinstance(part, str)) + reply.text
