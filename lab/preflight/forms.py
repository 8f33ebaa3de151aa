"""Probes of the form of an answer: JSON of a schema, tool calls, unknown fields, streams, thinking."""

from __future__ import annotations

import json
from typing import Any

from lab.preflight.asking import Engine, Reply, Seen

MOST_TOKENS = 96
"""Room for an answer in JSON."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "vehicle": {"type": "string", "enum": ["bicycle", "car", "train"]},
        "wheels": {"type": "integer", "enum": [2, 4, 8]},
        "has_engine": {"type": "boolean"},
    },
    "required": ["vehicle", "wheels", "has_engine"],
    "additionalProperties": False,
}
"""Nothing in it can go on for ever: an answer that is constrained ends by itself."""

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city, now.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}},
            "required": ["city"],
        },
    },
}

THINKING = ("enable_thinking", "thinking")
"""Variables of chat templates that turn thinking on and off."""


def json_schema(engine: Engine) -> Seen:
    """Whether a schema is followed."""
    import jsonschema

    engine = engine.on_chat()
    shape = {"type": "json_schema", "json_schema": {"name": "preflight", "strict": True, "schema": SCHEMA}}
    question = "how many wheels has a bicycle, and has it an engine? Tell a long story about it."
    reply = engine.ask(engine.user(question), MOST_TOKENS, response_format=shape)
    if not reply.ok:
        return Seen("fail", f"refused, {reply.said()}")
    if reply.finish_reason == "length":
        return Seen("fail", f"not finished after {MOST_TOKENS} tokens: {reply.text[:60]!r}")
    try:
        jsonschema.validate(json.loads(reply.text), SCHEMA)
    except ValueError:
        return Seen("fail", f"answered, not in JSON: {reply.text[:60]!r}")
    except jsonschema.ValidationError as problem:
        return Seen("fail", f"JSON of another schema: {problem.message[:120]}")
    return Seen("pass", "an answer that parses and fits")


def tool_call(engine: Engine) -> Seen:
    """Whether a call comes back parsed."""
    engine = engine.on_chat()
    question = engine.user("what is the weather in Rome? Use the tool.")
    said: list[str] = []
    for choice in ("required", "auto"):
        reply = engine.ask(question, MOST_TOKENS, tools=[TOOL], tool_choice=choice)
        if reply.ok:
            return _called(reply, choice, said)
        said.append(f"tool_choice {choice}: {reply.said()}")
    return Seen("not-exposed" if reply.refused else "fail", "; ".join(said))


def unknown_field(engine: Engine) -> Seen:
    """What it does with a field nobody knows."""
    reply = engine.ask(engine.user("say yes."), 1, lab_preflight_unknown=1)
    if reply.ok:
        return Seen("pass", "ignored")
    return Seen("pass" if reply.refused else "fail", f"refused, {reply.said()}" if reply.refused else reply.said())


def stream_dialect(engine: Engine) -> Seen:
    """How its stream is made: first chunk, end, usage, tokens a chunk, name of the reasoning field."""
    body = engine.body(engine.user("count to ten."), 8)
    status, events = engine.stream_events(body)
    chunks = [chunk for chunk in map(_object, events) if chunk]
    if status != 200 or not chunks:
        return Seen("fail", f"HTTP {status}, {len(events)} events")
    choices = [choice for chunk in chunks if (choice := _first(chunk))]
    deltas = [delta for choice in choices if isinstance(delta := choice.get("delta"), dict)]
    done = "[DONE]" in events
    finish = next((choice["finish_reason"] for choice in choices if choice.get("finish_reason")), None)
    usage = next((chunk["usage"] for chunk in reversed(chunks) if isinstance(chunk.get("usage"), dict)), None)
    bearing = sum(bool(delta.get("content") or _reasoning(delta)) for delta in deltas)
    bearing += sum(bool(choice.get("text")) for choice in choices)  # the completions route has no deltas
    tokens = usage.get("completion_tokens") if usage else None
    first = deltas[0] if deltas else {}
    words = [
        "role alone in the first chunk" if "role" in first and not first.get("content") else "no chunk of role alone",
        f"finish_reason {finish}" if finish else "no finish_reason",
        "[DONE]" if done else "no [DONE]",
        ("usage in a chunk of its own" if not _first(chunks[-1]) else "usage beside a choice") if usage else "no usage",
        f"{tokens} tokens in {bearing} chunks",
        f"reasoning in {name}" if (name := next(filter(None, map(_reasoning, deltas)), "")) else "no reasoning",
    ]
    return Seen("pass" if (finish or done) and usage else "fail", ", ".join(words))


def thinking(engine: Engine) -> Seen:
    """Whether it thinks or does not, as the plan's template variables ask."""
    asked = [value for name, value in engine.spec.chat_template_kwargs.items() if name in THINKING]
    if not asked:
        return Seen("not-exposed", "the plan says nothing about thinking")
    if engine.adapter.template_fields(engine.spec).not_expressible:
        return Seen("fail", "the engine takes no chat_template_kwargs")
    reply = engine.on_chat().ask(engine.user("what is 17 plus 4?"), MOST_TOKENS)
    if not reply.ok:
        return Seen("fail", reply.said())
    name = _reasoning(reply.message) or ("<think>" if "<think>" in reply.text else "")
    seen = f"thinks ({name})" if name else "does not think"
    return Seen("pass" if bool(name) == bool(asked[0]) else "fail", f"asked for {asked[0]}: it {seen}")


def _called(reply: Reply, choice: str, said: list[str]) -> Seen:
    calls = reply.message.get("tool_calls")
    before = "".join(f"{words}; " for words in said)
    if not isinstance(calls, list) or not calls:
        words = f"{before}tool_choice {choice}: no call, text {reply.text[:60]!r}"
        # with auto it may answer in words: that says nothing about its parser
        return Seen("not-exposed", words) if choice == "auto" else Seen("fail", words)
    function = calls[0].get("function") if isinstance(calls[0], dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if not isinstance(arguments, str) or not _object(arguments):
        return Seen(
            "fail", f"{before}tool_choice {choice}: a call whose arguments are no JSON object: {arguments!r:.80}"
        )
    return Seen("pass", f"{before}tool_choice {choice}: a parsed call")


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _first(chunk: dict[str, Any]) -> dict[str, Any]:
    choices = chunk.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _reasoning(delta: dict[str, Any]) -> str:
    """Name of the field that carries reasoning; empty when none does."""
    return next((name for name in ("reasoning_content", "reasoning") if delta.get(name)), "")
