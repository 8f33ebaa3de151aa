"""Requests of a workload, rendered before the clock starts: seeded, of the asked length, unique.

Words are exact because the vocabulary is learned first: which words are one token inside a text is asked
in bulk, only those are used, and every finished prompt is counted once and repaired where it is off. What
could not be made exact, or could not be counted, is said in `LevelPrompts`.

No two prompts of a run begin alike: each starts with words that spell its number, the fastest digit first.
Shared prefixes exist only where the workload asks for them, never between two levels and never between
warm-up and what is measured, so that every level meets the prefix cache in the same state. A traffic shape says
which prompt begins like which; every level, and every time the shape begins again, has words of its own.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from lab.errors import ParamsError
from lab.load.driver import LevelJob
from lab.load.sources import Source, SourceItem
from lab.spec import Workload
from lab.trace import TraceRow

WORDS = tuple(
    dict.fromkeys(
        "time year people way day man thing woman life child world school state family student group country problem "
        "hand part place case week company system program question work government number night point home water room "
        "mother area money story fact month lot right study book eye job word business issue side kind head house "
        "service friend father power hour game line end member law car city community name president team minute idea "
        "body information back parent face level office door health person art war history party result change "
        "morning reason research girl guy moment air teacher force education foot boy age policy process music market "
        "sense nation plan college interest death experience effect use class control field development role effort "
        "rate heart drug show leader light voice wife police mind price report decision son view relationship town "
        "road arm difference value building action season society tax director position player record paper space "
        "ground form event official matter center couple site project activity star table need court oil situation "
        "cost industry figure street image phone data picture practice piece land product doctor wall patient worker "
        "news test movie north love step source tree glass ball river garden winter summer bridge stone "
        "window".split()
    )
)
FIRST_WORD = "silver"
"""Begins the first request and no other prompt; it is not among `WORDS`."""
STARTERS = 64
"""Words tried at the very start of a text, where no space stands before them."""
MOST_ROUNDS = 8
"""Counts of one prompt, the first included, until it is given up as inexact."""
COUNTERS = 8
"""Counts in flight at once: a tokenizer behind HTTP is mostly waiting."""
TURN_TOKENS = 5
"""What a chat template puts around one more message: ChatML and Llama 3 use 5."""
FIRST_TOKENS = 64
"""Words of the first request where the content has no length of its own."""

PATHS = {"chat": "/chat/completions", "completions": "/completions"}
"""Route of each endpoint below the OpenAI base URL."""
LENGTH_FIELDS = ("max_tokens", "max_completion_tokens", "n_predict", "min_tokens")
"""Request fields that say how long the answer is, whichever the engine is sent."""

CountTokens = Callable[[str], int | None]
"""Length of a text in tokens, special tokens not added; None when it could not be counted."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class LevelPrompts:
    """The requests of one level, and how far they are what was asked.

    Attributes:
        job: to be driven.
        tokens: counted length of every measured prompt, the chat template not counted; None: not counted.
        inexact: measured prompts whose length, or whose shared prefix, was counted and is not the one asked.
        uncounted: measured prompts that nobody counted.
        repeated: measured requests that send an item of the source which this run has sent before: a
            prefix cache knows them.
    """

    job: LevelJob
    tokens: tuple[int | None, ...]
    inexact: int = 0
    uncounted: int = 0
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    tokens: int | None
    exact: bool
    """True also where nobody could count: `tokens` is None then."""


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """Words that may be used, and those that may begin a text; all one token where that was learned."""

    words: tuple[str, ...]
    starters: tuple[str, ...]
    tokens_per_word: float


def build_prompts(
    workload: Workload,
    level: int,
    *,
    model: str,
    fields: Mapping[str, Any],
    count_tokens: CountTokens | None = None,
    source: Source | None = None,
) -> LevelPrompts:
    """The requests of one rung of the ladder, rendered.

    Args:
        workload: decides content, lengths, counts and the seed.
        level: index in `workload.rungs`.
        model: name the engine serves.
        fields: sampling and length fields in the engine's own names.
        count_tokens: the tokenizer, called from several threads; None takes one word for one token.
        source: the file of the prompts; None for words.

    Raises:
        ParamsError: the prompts cannot all be different, or the source does not fit the workload.
    """
    _check(workload, source)
    repeated = 0
    items: tuple[str | None, ...] = ()
    texts: list[_Text] = []
    asked_each: tuple[int, ...] = ()
    if source is None:
        texts, warm = _words(workload, level, count_tokens)
        bodies = [_ask(workload, _user(workload, text.text), model, fields) for text in texts]
        warmup = [_ask(workload, _user(workload, text.text), model, fields) for text in warm]
    elif workload.content == "trace":
        rows = [source.rows[i % len(source.rows)] for i in range(workload.requests_per_level)]
        texts, warm = _shaped(workload, level, source.rows, count_tokens)
        asked_each = tuple(min(workload.output_tokens, row.output_tokens) for row in rows)
        bodies = [
            _ask(workload, _user(workload, text.text), model, _limited(fields, limit))
            for text, limit in zip(texts, asked_each, strict=True)
        ]
        warmup = [_ask(workload, _user(workload, text.text), model, fields) for text in warm]
    elif workload.content == "structured-output":
        first = level * (workload.warmup_requests + workload.requests_per_level)

        def questions(amount: int, start: int) -> list[SourceItem]:
            # every level begins with the first item, so that all of them ask the same mix
            return [_numbered(workload, source.items[i % len(source.items)], start + i) for i in range(amount)]

        measured = questions(workload.requests_per_level, first + workload.warmup_requests)
        bodies = [_ask_item(workload, item, model, fields) for item in measured]
        warmup = [_ask_item(workload, item, model, fields) for item in questions(workload.warmup_requests, first)]
        items = tuple(item.name for item in measured)
    else:
        first = level * workload.requests_per_level
        measured = [source.items[(first + i) % len(source.items)] for i in range(workload.requests_per_level)]
        bodies = [_ask_item(workload, item, model, fields) for item in measured]
        warmup = [_ask(workload, _user(workload, text), model, fields) for text in _stand_ins(workload, level, source)]
        items = tuple(item.name for item in measured)
        repeated = sum(first + i >= len(source.items) for i in range(len(measured)))
    rung = workload.rungs[level]
    return LevelPrompts(
        job=LevelJob(
            concurrency=rung.concurrency,
            bodies=tuple(bodies),
            warmup=tuple(warmup),
            asked_tokens=workload.output_tokens,
            exact=workload.exact_output,
            asked_each=asked_each,
            items=items,
            duration_s=workload.duration_s if rung.concurrency is not None else None,
        ),
        tokens=tuple(text.tokens for text in texts) or (None,) * len(bodies),
        inexact=sum(not text.exact for text in texts),
        uncounted=sum(text.tokens is None for text in texts) if texts else len(bodies),
        repeated=repeated,
    )


def first_request(workload: Workload, *, model: str, fields: Mapping[str, Any]) -> LevelJob:
    """One request with words nobody else uses: it ends the preparation.

    It asks for no schema and holds no user's text, whatever the content: nothing that is measured later
    has then been seen, and an engine that refuses schemas still gets ready.
    """
    tokens = workload.input_tokens or FIRST_TOKENS
    words = [FIRST_WORD, *_draw(workload.seed, "first").choices(WORDS, k=tokens - 1)]
    return LevelJob(
        concurrency=1,
        bodies=(_ask(workload, _user(workload, " ".join(words)), model, fields),),
        asked_tokens=workload.output_tokens,
        exact=False,
    )


def longest_tokens(
    workload: Workload, source: Source | None = None, count_tokens: CountTokens | None = None
) -> int | None:
    """Most tokens of context that one request needs, prompt and asked answer together.

    The chat template's own tokens around a single message are not in it; every further message of a
    conversation is taken with `TURN_TOKENS` more.

    Args:
        workload: for words, its lengths are the answer.
        source: the file of the prompts; None for words.
        count_tokens: the tokenizer; needed with a source.

    Returns:
        Tokens, or None when there is a source and nobody to count it.
    """
    _check(workload, source)
    if source is None:
        assert workload.input_tokens is not None  # the spec refuses words without a length
        return workload.input_tokens + workload.output_tokens
    if source.rows:
        return max(row.input_tokens + min(workload.output_tokens, row.output_tokens) for row in source.rows)
    if count_tokens is None:
        return None
    longest = 0

    def most(item: SourceItem) -> int:
        # a token is at least one byte
        size = sum(len(message["content"].encode()) for message in item.messages) + len(NUMBERED) + 12
        return size + TURN_TOKENS * len(item.messages) + _answer_tokens(workload, item)

    for item in sorted(source.items, key=most, reverse=True):
        if most(item) <= longest:
            break
        asked = _numbered(workload, item, 0) if workload.content == "structured-output" else item
        counts = [count_tokens(message["content"]) for message in asked.messages]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return None
        turns = TURN_TOKENS * (len(counts) - 1)
        longest = max(longest, sum(known) + turns + _answer_tokens(workload, item))
    return longest


def _check(workload: Workload, source: Source | None) -> None:
    if workload.content == "words":
        if source is not None:
            raise ParamsError(f"workload {workload.name}: content words takes no source")
        return
    where = f"workload {workload.name}: content {workload.content}"
    if source is None:
        raise ParamsError(f"{where} needs a source", "set 'source' of the workload to a file")
    if workload.content == "trace":
        return
    if workload.endpoint != "chat":
        raise ParamsError(f"{where} is sent as chat messages; endpoint has to be chat, got {workload.endpoint}")
    own = sum(item.output_tokens is not None for item in source.items)
    if workload.exact_output and own:
        raise ParamsError(
            f"{where}: exact_output asks one length of every answer, but {own} of {len(source.items)} requests of "
            "the source bring their own max_tokens",
            "set exact_output: false, or take max_tokens out of the source",
        )


def _words(workload: Workload, level: int, count_tokens: CountTokens | None) -> tuple[list[_Text], list[_Text]]:
    """Measured and warm-up prompts of a level."""
    assert workload.input_tokens is not None  # the spec refuses words without a length
    length, shared, groups = workload.input_tokens, workload.shared_prefix_tokens, workload.prefix_groups
    counts = {"warm-up": workload.warmup_requests, "measure": workload.requests_per_level}
    per_level, levels = sum(counts.values()), len(workload.rungs)
    with ThreadPoolExecutor(COUNTERS if count_tokens else 1) as pool:

        def each(step: Callable[[T], R], values: Iterable[T]) -> list[R]:
            return list(pool.map(step, values)) if count_tokens else list(map(step, values))

        vocabulary, count = _learn(count_tokens, each)
        first_words = _shuffled(vocabulary.starters, workload.seed, "starters")
        next_words = _shuffled(vocabulary.words, workload.seed, "words")
        later_words = _shuffled(vocabulary.words, workload.seed, "later")

        def prefix(number: int) -> _Text:
            head = _spell(number, levels * len(counts) * groups, shared, first_words, next_words, workload.name)
            draw = _draw(workload.seed, "prefix", number)
            return _fill("", head, shared, draw, vocabulary, count)

        def prompt(place: tuple[int, int, int, _Text | None]) -> _Text:
            serial, number, total, start = place
            draw = _draw(workload.seed, "prompt", serial)
            if start is None:
                head = _spell(number, total, length, first_words, next_words, workload.name)
                return _fill("", head, length, draw, vocabulary, count)
            head = _spell(number, total, length - shared, later_words, next_words, workload.name)
            text = _fill(start.text, head, length, draw, vocabulary, count)
            return _Text(text.text, text.tokens, text.exact and start.exact)

        built: dict[str, list[_Text]] = {}
        before = level * per_level
        for index, (phase, amount) in enumerate(counts.items()):
            starts: list[_Text | None] = [None]
            if shared:
                first = (level * len(counts) + index) * groups
                starts = [*each(prefix, range(first, first + groups))]
            # behind a shared prefix a prompt has to differ only within its group
            places = [
                (before + i, i // groups, -(-amount // groups), starts[i % groups])
                if shared
                else (before + i, before + i, per_level * levels, None)
                for i in range(amount)
            ]
            built[phase] = each(prompt, places)
            before += amount
    return built["measure"], built["warm-up"]


def _shaped(
    workload: Workload, level: int, rows: Sequence[TraceRow], count_tokens: CountTokens | None
) -> tuple[list[_Text], list[_Text]]:
    """Measured and warm-up prompts of a level, as long as the rows say and beginning like each other where they say.

    One word is one token where the vocabulary allows, so that the first words of another prompt are its first tokens.
    """
    with ThreadPoolExecutor(COUNTERS if count_tokens else 1) as pool:

        def each(step: Callable[[T], R], values: Iterable[T]) -> list[R]:
            return list(pool.map(step, values)) if count_tokens else list(map(step, values))

        vocabulary, count = _learn(count_tokens, each)
        first_words = _shuffled(vocabulary.starters, workload.seed, "starters")
        later_words = _shuffled(vocabulary.words, workload.seed, "later")
        amounts = {"warm-up": workload.warmup_requests, "measure": workload.requests_per_level}
        total = len(workload.rungs) * sum(amounts.values()) + 1
        number = level * sum(amounts.values())
        built: dict[str, list[_Text]] = {}
        for phase, amount in amounts.items():
            words: list[list[str]] = []
            for place in range(amount):
                row = rows[place % len(rows)]
                before: list[str] = []
                if phase == "measure" and row.like is not None:
                    lap = place - place % len(rows)
                    before = words[lap + row.like][: round(row.shared_tokens / vocabulary.tokens_per_word)]
                own = row.input_tokens - (row.shared_tokens if before else 0)
                starts = later_words if before else first_words
                head = _spell(number, total, total, starts, later_words, workload.name)[:own]
                draw = _draw(workload.seed, phase, number)
                length = max(len(before) + len(head), round(row.input_tokens / vocabulary.tokens_per_word))
                words.append([*before, *head, *draw.choices(vocabulary.words, k=length - len(before) - len(head))])
                number += 1

            def finish(place: int, words: list[list[str]] = words) -> _Text:
                draw = _draw(workload.seed, "repair", level, place)
                tokens = rows[place % len(rows)].input_tokens
                return _fill(" ".join(words[place]), [], tokens, draw, vocabulary, count)

            built[phase] = each(finish, range(amount))
    return built["measure"], built["warm-up"]


def _learn(count_tokens: CountTokens | None, each: Callable[..., list[Any]]) -> tuple[_Vocabulary, CountTokens | None]:
    """The vocabulary, and the tokenizer if it answers.

    Words are tried in bulk behind a first one; a bulk that is longer than its words is halved until the
    words that are more than one token are found and left out. Where fewer than two are one token, all
    words are used, and the length is found by trying.
    """
    if count_tokens is None:
        return _Vocabulary(WORDS, WORDS, 1.0), None
    always = count_tokens("") or 0  # a tokenizer that cannot be kept from adding a BOS

    def count(text: str) -> int | None:
        got = count_tokens(text)
        return None if got is None else got - always

    anchor = "the"
    base, whole = count(anchor), count(" ".join((anchor, *WORDS)))
    if base is None or whole is None:
        return _Vocabulary(WORDS, WORDS, 1.0), None

    def single(words: Sequence[str]) -> list[str]:
        got = count(" ".join((anchor, *words)))
        if got is not None and got - base == len(words):
            return list(words)
        half = len(words) // 2
        return [*single(words[:half]), *single(words[half:])] if half and got is not None else []

    words = WORDS
    if whole - base != len(WORDS):
        bulks = each(single, [WORDS[i : i + 16] for i in range(0, len(WORDS), 16)])
        words = tuple(word for bulk in bulks for word in bulk)
    if len(words) < 2:
        return _Vocabulary(WORDS, WORDS, max(1.0, (whole - base) / len(WORDS))), count
    alone = each(count, words[:STARTERS])
    starters = tuple(word for word, got in zip(words, alone, strict=False) if got == 1)
    return _Vocabulary(words, starters if len(starters) > 1 else words, 1.0), count


def _spell(
    number: int, total: int, most_words: int, first: Sequence[str], then: Sequence[str], workload: str
) -> list[str]:
    """`number` below `total` in words, the fastest digit first and as few as keep all numbers apart."""
    words, room = [first[number % len(first)]], len(first)
    number //= len(first)
    while room < total:
        words.append(then[number % len(then)])
        number //= len(then)
        room *= len(then)
    if len(words) > most_words:
        raise ParamsError(
            f"workload {workload}: {total} prompts cannot all begin differently within {most_words} tokens; "
            f"at least {len(words)} are needed",
            "make the prompts, or the shared prefix, longer, or ask for fewer requests",
        )
    return words


def _fill(
    prefix: str,
    head: Sequence[str],
    tokens: int,
    draw: random.Random,
    vocabulary: _Vocabulary,
    count: CountTokens | None,
) -> _Text:
    """`prefix`, `head` and drawn words, `tokens` tokens in all where the vocabulary allows."""
    words = [*prefix.split(), *head]
    kept = len(words)
    words += draw.choices(vocabulary.words, k=max(0, round(tokens / vocabulary.tokens_per_word) - kept))
    got = count(" ".join(words)) if count else None
    for _ in range(MOST_ROUNDS - 1):
        if count is None or got is None or got == tokens:
            break
        step = max(1, int(abs(tokens - got) / vocabulary.tokens_per_word))
        if got < tokens:
            words += draw.choices(vocabulary.words, k=step)
        elif len(words) > kept:
            del words[max(kept, len(words) - step) :]
        else:
            break
        got = count(" ".join(words))
    return _Text(" ".join(words), got, got is None or got == tokens)


def _numbered(workload: Workload, item: SourceItem, serial: int) -> SourceItem:
    """The item behind a sentence that no other request of the run has."""
    number = _draw(workload.seed, "number").randrange(100_000, 500_000) + serial
    *before, last = item.messages
    content = NUMBERED.format(number=number) + last["content"]
    return SourceItem(item.name, (*before, {**last, "content": content}), item.schema, item.output_tokens)


NUMBERED = "Request {number}. "
"""Begins every structured-output question."""


def _stand_ins(workload: Workload, level: int, source: Source) -> list[str]:
    """Words about as long as the user's messages: warm-up must not send what is measured."""
    stand_ins = []
    for i in range(workload.warmup_requests):
        item = source.items[(level * workload.requests_per_level + i) % len(source.items)]
        chars = sum(len(message["content"]) for message in item.messages)
        draw = _draw(workload.seed, "warm-up", level, i)
        stand_ins.append(" ".join(draw.choices(WORDS, k=max(4, chars // 6))))
    return stand_ins


def _answer_tokens(workload: Workload, item: SourceItem) -> int:
    return min(workload.output_tokens, item.output_tokens or workload.output_tokens)


def _user(workload: Workload, text: str) -> dict[str, Any]:
    if workload.endpoint == "chat":
        return {"messages": [{"role": "user", "content": text}]}
    return {"prompt": text}


def _ask_item(workload: Workload, item: SourceItem, model: str, fields: Mapping[str, Any]) -> bytes:
    asked: dict[str, Any] = {"messages": [dict(message) for message in item.messages]}
    if item.schema is not None:
        wanted = {"name": item.name, "schema": item.schema, "strict": True}
        asked["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return _ask(workload, asked, model, _limited(fields, _answer_tokens(workload, item)))


def _limited(fields: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    """The request fields with another length of the answer."""
    return {name: tokens if name in LENGTH_FIELDS else value for name, value in fields.items()}


def _ask(workload: Workload, asked: Mapping[str, Any], model: str, fields: Mapping[str, Any]) -> bytes:
    body = {"model": model, **asked, "stream": True, "stream_options": {"include_usage": True}, **fields}
    return json.dumps(body, separators=(",", ":")).encode()


def _draw(*seed: object) -> random.Random:
    return random.Random(hashlib.sha256(repr(seed).encode()).digest())


def _shuffled(words: Sequence[str], *seed: object) -> list[str]:
    return _draw(*seed).sample(words, k=len(words))
