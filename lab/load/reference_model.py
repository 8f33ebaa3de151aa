"""What the reference engine does, as arithmetic: when each token comes, which word it is, what is cached.

Everything here is pure or seeded, so a test can know every answer before the server is asked.

Timing. A clock ticks at `origin + k * tick_s`, once for all streams, as a continuous batch does. A request
is ready at `start + ttft_s + prefill_s_per_token * uncached prompt tokens`, where `start` is when it was
received, or when a slot became free if it had to queue. Its first token comes on the first tick that is
not before that moment, and the following ones on the ticks after it:

    >>> token_times(0.0, 3, Behaviour(ttft_s=0.05, tick_s=0.02))
    (0.06, 0.08, 0.1)

Text. One word is one token. The word at a position is chosen by SHA-256 of seed, prompt and position, so
the load on the server never changes an answer.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

WORDS = tuple(
    """
    able acid across air always amber angle answer apple april arrow autumn bake balance bank barley basin
    beach bell between birch bird blue boat bottle branch bread bridge bright broad brook build burn cabin
    calm candle canvas carry castle cedar chair chalk circle clay clear cliff cloud coast copper coral corn
    cotton cover crane creek crisp cross dark dawn deep delta desk door draw dream drift dry dust early
    earth east echo edge elm ember even evening every fair falcon farm feather fern field fire flat flint
    flow fog forest fox frost garden gentle glass gold grain granite grass green grove harbor hazel heart
    hill hollow honey horizon house iron island ivory ivy jade juniper kettle lake lamp lantern larch late
    leaf lemon light lime linen maple mint
    """.split()
)
"""The vocabulary: 128 lower-case words, none of which needs escaping in JSON."""

_FIRST = [word.encode() for word in WORDS]
_NEXT = [b" " + word for word in _FIRST]
_MASK = len(WORDS) - 1

EOS_WITHIN = 512
"""Without `ignore_eos` an answer ends by itself after 1 to this many tokens."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Everything that is known about one reference engine before it starts."""

    model: str = "reference"
    ttft_s: float = 0.05
    """Time to the first token of an empty prompt, before rounding up to a tick, seconds."""
    tick_s: float = 0.02
    """Time between two ticks, seconds; every running stream gets its next tokens on each."""
    prefill_s_per_token: float = 0.0001
    """Added to the first token for each prompt token that is not cached, seconds."""
    prefix_caching: bool = True
    kv_cache_tokens: int = 1_000_000
    """Prompt tokens the prefix cache holds; the oldest prompts leave first."""
    max_num_seqs: int = 4096
    """Requests decoded together; further ones queue in order of arrival."""
    context_limit: int = 8192
    """Most tokens of one sequence, prompt and answer together."""
    tokens_per_chunk: int = 1
    """Tokens each stream gets on one tick, sent as one chunk, as with speculative decoding."""
    seed: int = 0
    max_body_bytes: int = 16 * 1024 * 1024
    remembered_requests: int = 20_000
    """Requests whose emission times are kept for `/emitted`."""


def first_tick(ready_s: float, tick_s: float, origin_s: float = 0.0) -> int:
    """Index of the first tick that is not before `ready_s`; a nanosecond of rounding is forgiven."""
    return math.ceil((ready_s - origin_s - 1e-9) / tick_s)


def ready_after_s(behaviour: Behaviour, uncached_tokens: int) -> float:
    """Seconds from the start of a request until its first token may come, before rounding up to a tick."""
    return behaviour.ttft_s + behaviour.prefill_s_per_token * uncached_tokens


def token_times(
    start_s: float, tokens: int, behaviour: Behaviour, uncached_tokens: int = 0, origin_s: float = 0.0
) -> tuple[float, ...]:
    """When each token of one answer is due.

    Args:
        start_s: when the request was received, or when its slot became free.
        tokens: length of the answer.
        behaviour: the engine.
        uncached_tokens: prompt tokens that have to be prefilled.
        origin_s: the moment of tick 0.
    """
    first = first_tick(start_s + ready_after_s(behaviour, uncached_tokens), behaviour.tick_s, origin_s)
    step = behaviour.tokens_per_chunk
    return tuple(origin_s + (first + i // step) * behaviour.tick_s for i in range(tokens))


@dataclass(frozen=True, slots=True)
class Answer:
    """What will be said to one prompt, decided when it arrives."""

    pieces: Sequence[bytes]
    """UTF-8 text of each token; an empty piece is a token swallowed by a stop string."""
    finish_reason: str
    """`stop` or `length`."""

    @property
    def text(self) -> str:
        return b"".join(self.pieces).decode()


def compose(
    prompt: str,
    max_tokens: int,
    seed: str = "0",
    *,
    ignore_eos: bool = False,
    min_tokens: int = 0,
    stop: Iterable[str] = (),
) -> Answer:
    """The answer to a prompt; the same arguments give the same answer for ever.

    Args:
        prompt: the whole prompt.
        max_tokens: the answer is never longer.
        seed: chooses among answers.
        ignore_eos: True leaves out the end the answer has by itself.
        min_tokens: the end the answer has by itself does not come before; stop strings still do.
        stop: the text ends before the first of these strings.
    """
    key = hashlib.sha256(f"{seed}\0{prompt}".encode("utf-8", "surrogatepass")).digest()
    own_end = max(min_tokens, 1 + int.from_bytes(key[:4], "big") % EOS_WITHIN)
    ends_itself = not ignore_eos and own_end < max_tokens
    tokens = own_end if ends_itself else max_tokens
    blocks = (hashlib.sha256(key + i.to_bytes(4, "big")).digest() for i in range(-(-tokens // 32)))
    choices = b"".join(blocks)[:tokens]
    pieces = [_NEXT[choice & _MASK] for choice in choices]
    if pieces:
        pieces[0] = _FIRST[choices[0] & _MASK]
    answer = Answer(pieces, "stop" if ends_itself else "length")
    return _cut(answer, tuple(filter(None, stop)))


def _cut(answer: Answer, stop: tuple[str, ...]) -> Answer:
    """The answer up to the first stop string; the tokens it swallowed stay, as empty pieces."""
    text = b"".join(answer.pieces)
    needles = (needle.encode("utf-8", "replace") for needle in stop)
    found = [(at, len(needle)) for needle in needles if (at := text.find(needle)) >= 0]
    if not found:
        return answer
    end, length = min(found)
    pieces: list[bytes] = []
    start = 0
    for piece in answer.pieces:
        pieces.append(piece[: max(0, end - start)])
        start += len(piece)
        if start >= end + length:
            break
    return Answer(pieces, "stop")


class PrefixCache:
    """Remembers prompts and finds the longest prefix a new one shares with any of them, token by token.

    The prompts lie sorted, so the longest common prefix is shared with a neighbour of the place where the
    new prompt belongs. A token is its 64-bit hash; memory is 8 bytes a token.

    Args:
        capacity_tokens: tokens kept; the oldest prompts leave first, a prompt longer than this never enters.
    """

    _WIDTH = 8

    def __init__(self, capacity_tokens: int) -> None:
        self._capacity = capacity_tokens * self._WIDTH
        self.clear()

    def clear(self) -> None:
        """Forget every prompt."""
        self._sorted: list[bytes] = []
        self._by_age: deque[bytes] = deque()
        self._size = 0

    def take(self, tokens: Sequence[str]) -> int:
        """How many leading tokens were cached; the prompt itself is cached from now on."""
        key = array("q", map(hash, tokens)).tobytes()
        place = bisect_left(self._sorted, key)
        neighbours = self._sorted[max(0, place - 1) : place + 1]
        shared = max((_common_length(key, other) for other in neighbours), default=0) // self._WIDTH
        if shared < len(tokens) and len(key) <= self._capacity:
            insort(self._sorted, key)
            self._by_age.append(key)
            self._size += len(key)
            while self._size > self._capacity:
                oldest = self._by_age.popleft()
                del self._sorted[bisect_left(self._sorted, oldest)]
                self._size -= len(oldest)
        return shared


def _common_length(a: bytes, b: bytes) -> int:
    """Length of the longest common prefix of two byte strings, by bisection."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def split_words(texts: Iterable[str]) -> list[str]:
    """The tokens of a prompt: its words, split on white space; punctuation sticks to the word."""
    return list(chain.from_iterable(text.split() for text in texts))
