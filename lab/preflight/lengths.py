"""Probes of lengths: how long a prompt is, how long an answer is when asked, how long both may be."""

from __future__ import annotations

from lab.conditions import Condition, agree
from lab.errors import EndpointError
from lab.load.prompts import WORDS
from lab.preflight.asking import FIRST_WORD, Engine, Messages, Seen
from lab.records import Outcome

PROMPT_SET = 1
"""Version of `CONVERSATIONS`: counts of two versions are never the same."""

CONVERSATIONS: tuple[Messages, ...] = (
    ({"role": "user", "content": f"{FIRST_WORD} one: name three fruits."},),
    (
        {"role": "system", "content": "You answer in one short sentence."},
        {"role": "user", "content": f"{FIRST_WORD} two: what is a lighthouse for?"},
    ),
    (
        {"role": "user", "content": f"{FIRST_WORD} three: remember the number 4711."},
        {"role": "assistant", "content": "I remember it."},
        {"role": "user", "content": "Which number was it?"},
    ),
    ({"role": "user", "content": f"{FIRST_WORD} 四：日本語で短く答えてください。東京は晴れ、ｶﾅと全角１２３。"},),
    ({"role": "user", "content": f"{FIRST_WORD} five: 👩🏽‍🚀🏳️‍🌈 e\u0301 ß Ω \u202bשלום\u202c ½ \u00a0€\u3000終"},),
    ({"role": "user", "content": f"{FIRST_WORD} six:\n\tdef f(x):\n\t\treturn  x ** 2   # 1,000.50\n\n\n"},),
)
"""What is counted: single turn, system, several turns, Japanese, unusual characters, white space and digits."""

TOOL_TURN: Messages = (
    {"role": "user", "content": f"{FIRST_WORD} seven: what is the weather?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "call00001",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call00001", "content": "sunny"},
)
"""Counted where it is taken; many templates have no place for it, so nothing is compared by it."""

PLAIN = f"{FIRST_WORD} eight: a plain text without any template."

LENGTHS = (3, 11)
"""Answer lengths that are asked exactly: short enough to cost nothing, no length a model would choose."""

LONGEST_PROBED = 65_536
"""A longer context is not tried out: an engine that cut it silently would read all of it first."""

TEXTS = (
    "The quick brown fox jumps over 13 lazy dogs.",
    "  two  spaces,\ttabs\nand lines\n\n",
    "3.14159 1,000,000 ½ ² №",
    "日本語の文章は、単語の間に空白を置きません。",
    "Straße, naïve, čeština, Ελλάδα, Москва, עברית",
    "🙂👩‍👩‍👧‍👦🇯🇵 def f(x):\n    return {'a': [x**2]}",
)
"""Texts on which tokenizers that are not the same tend to differ."""


def prompt_tokens(engine: Engine) -> Seen:
    """How long it counts the prompts of a fixed set, and whether a token stands in front twice."""
    counted: list[int] = []
    refused = []
    for number, messages in enumerate(CONVERSATIONS, 1):
        reply = engine.ask(messages, 1)
        got = reply.count("prompt_tokens")
        if reply.ok and got is None:
            return Seen("not-exposed", "the server sends no usage")
        if got is None:
            refused.append(f"conversation {number} refused, {reply.said()}")
        else:
            counted.append(got)
    if not counted:
        return Seen("not-exposed", "; ".join(refused)[:400])
    counts = (PROMPT_SET, *counted)
    detail = [f"set {PROMPT_SET}: {', '.join(map(str, counted))} tokens", *refused]
    if chat := engine.spec.workload.endpoint == "chat":
        tool = engine.ask(TOOL_TURN, 1)
        tool_count = tool.count("prompt_tokens")
        detail.append(f"with a tool message {tool_count}" if tool_count else f"no tool message, {tool.said()}")
    doubled = _doubled(engine, counted[0] if chat and not refused else None)
    return Seen("fail" if doubled else "pass", "; ".join([doubled, *detail] if doubled else detail), counts)


def exact_length(engine: Engine) -> Seen:
    """Two lengths, whole and streamed: every answer as long as asked, ended by its length."""
    got: list[int] = []
    wrong = []
    for tokens in LENGTHS:
        fields = engine.adapter.length_fields(tokens, exact=True)
        if fields.not_expressible:
            return Seen("not-exposed", "the engine has no field for it")
        messages = engine.user(f"count slowly from {tokens}.")
        reply = engine.ask(messages, tokens, **fields.body)
        count = reply.count("completion_tokens")
        if not reply.ok or count is None:
            return Seen("fail" if not reply.ok else "not-exposed", f"{reply.said()}, no usage")
        record = engine.stream(engine.body(messages, tokens) | fields.body, tokens, exact=True)
        got += [counted for counted in (count, record.completion_tokens) if counted is not None]
        if (count, reply.finish_reason) != (tokens, "length"):
            wrong.append(f"asked for {tokens} tokens: {count}, finish_reason {reply.finish_reason}")
        if (record.outcome, record.finish_reason) != (Outcome.SUCCESS, "length"):
            how = record.error or f"finish_reason {record.finish_reason}"
            wrong.append(f"asked for {tokens} tokens streamed: {record.completion_tokens}, {how}")
    if wrong:
        return Seen("fail", "; ".join(wrong), tuple(got))
    return Seen("pass", f"{', '.join(map(str, LENGTHS))} tokens, whole and streamed", tuple(got))


def context_limit(engine: Engine) -> Seen:
    """A prompt longer than the limit is refused; the limit that the engine states is the one asked."""
    limit = engine.spec.context_limit
    stated = _stated_limits(engine)
    words = "; ".join(f"{source} says {value}" for source, value in stated.items()) or "it states no limit"
    differing = [value for value in stated.values() if value != limit]
    if differing:
        return Seen("fail", f"asked for {limit}; {words}", tuple(stated.values()))
    if limit > LONGEST_PROBED:
        return Seen("pass" if stated else "not-exposed", f"{words}; longer than {LONGEST_PROBED}, not tried out")
    # a word is at least one token
    text = " ".join(WORDS[i % len(WORDS)] for i in range(limit + limit // 8 + 8))
    reply = engine.ask(engine.user(text), 1)
    if reply.refused:
        return Seen("pass", f"{words}; a longer prompt is refused, {reply.said()}", tuple(stated.values()))
    if reply.status != 200:
        return Seen("fail", f"{words}; a longer prompt is not refused but ends in {reply.said()}")
    counted = reply.count("prompt_tokens")
    if counted is not None and counted <= limit:
        return Seen("fail", f"{words}; a prompt of more than {limit} tokens was cut to {counted} without a word")
    return Seen("fail", f"{words}; a prompt of more than {limit} tokens was answered, counted as {counted}")


def local_tokenizer(engine: Engine) -> Seen:
    """The engine's own tokenizer against the one in the model's files, text by text."""
    if engine.tokenizer is None:
        return Seen("not-exposed", "the tokenizer in the model's files cannot be read here")
    theirs = [engine.adapter.count_tokens(engine.endpoint, text) for text in TEXTS]
    if any(count is None for count in theirs):
        return Seen("not-exposed", "no tokenizer can be asked")
    ours = [engine.tokenizer(text) for text in TEXTS]
    differ = [f"{text!r}: {a} there, {b} here" for text, a, b in zip(TEXTS, theirs, ours, strict=True) if a != b]
    if differ:
        return Seen("fail", "; ".join(differ))
    return Seen(
        "pass", f"{len(TEXTS)} texts of {', '.join(map(str, ours))} tokens, the same there and here", tuple(ours)
    )


def kv_capacity(engine: Engine) -> Seen:
    """The KV budget that was read back, against the one that was asked."""
    asked = engine.spec.profile.kv_cache_tokens
    found = next((one for one in engine.effective if one.condition is Condition.KV_CACHE_TOKENS), None)
    if found is None or not isinstance(found.value, int):
        return Seen("not-exposed", "the engine does not show how many tokens its cache holds")
    words = f"{found.value} tokens ({found.source})"
    if asked is None:
        return Seen("pass", f"{words}; nothing was asked", (found.value,))
    same = agree(Condition.KV_CACHE_TOKENS, asked, found.value)
    return Seen("pass" if same else "fail", f"asked for {asked}: {words}", (found.value,))


def _doubled(engine: Engine, first_count: int | None) -> str:
    """Why a token in front seems to stand there twice; empty when nothing says so."""
    ids = None
    try:
        if first_count is not None:
            ids = engine.adapter.chat_token_ids(engine.endpoint, CONVERSATIONS[0], engine.spec)
        plain = engine.adapter.count_tokens(engine.endpoint, PLAIN)
    except EndpointError:
        plain = None
    if ids and len(ids) > 1 and ids[0] == ids[1]:
        return f"its own template and tokenizer begin with token {ids[0]} twice"
    if ids and first_count is not None and len(ids) != first_count:
        return f"its own tokenizer counts {len(ids)} tokens for the first conversation, its usage {first_count}"
    if plain is not None:
        counted = engine.complete(PLAIN, 1).count("prompt_tokens")
        if counted is not None and counted - plain > 1:
            return f"a plain text of {plain} tokens is counted as {counted}: more than one is put in front"
    return ""


def _stated_limits(engine: Engine) -> dict[str, int]:
    """Context limits that the running engine states, by where."""
    stated = {}
    document = engine.get(engine.adapter.api_path + "/models").json()
    entries = document.get("data") if isinstance(document, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        value = entry.get("max_model_len") if isinstance(entry, dict) else None
        if isinstance(value, int) and entry.get("id") == engine.adapter.served_name(engine.spec):
            stated["/v1/models"] = value
    for one in engine.effective:
        if one.condition is Condition.CONTEXT_LIMIT and isinstance(one.value, int):
            stated[one.source] = one.value
    return stated
