"""What one record of a log asks: the pieces of its prompt, its answer, its clock, and what it uses of the API.

Read are OpenAI-style bodies (chat, completions, Responses), bare or wrapped as gateways log them, and ShareGPT
conversations, of which every answer is one request with everything before it as its prompt. What somebody wrote is
held only as long as it takes to count it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lab.traffic.answers import DEPTH, MOST_TOKENS, Said, calls_of, said_in
from lab.traffic.times import END_KEYS, START_KEYS, BrokenTime, duration, first_of, moment

Kind = Literal["openai", "sharegpt", "mooncake"]
"""What a file of traffic holds."""

Refusal = Literal["not-an-object", "no-request", "no-prompt", "bad-messages", "bad-lengths", "other-endpoint"]
"""Why a JSON value is no request."""

Constraint = Literal["json-schema", "json-object", "other"]
"""What an answer has to fit: a JSON schema, any JSON, or a regex, a choice or a grammar."""

SYSTEM, USER, ASSISTANT, TOOL, OTHER, TOOLS, PLAIN = range(7)
"""Marks between the pieces of a prompt; none is a token."""
MEDIA = 16
"""From here on a mark stands for one picture, sound or file."""

_ROLES = {
    "system": SYSTEM, "developer": SYSTEM, "user": USER, "human": USER, "assistant": ASSISTANT, "gpt": ASSISTANT,
    "chatgpt": ASSISTANT, "bing": ASSISTANT, "bard": ASSISTANT, "model": ASSISTANT, "tool": TOOL, "function": TOOL,
    "observation": TOOL, "function_response": TOOL,
}  # fmt: skip
_BODIES = (
    "body", "request", "request_body", "requestBody", "reqPayload", "request_payload", "payload", "json", "req",
    "data", "params", "kwargs", "http.request.body", "providerRequest", "standard_logging_object", "input",
)  # fmt: skip
SAMPLING = (
    "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty", "seed",
    "stop", "n", "logprobs", "logit_bias", "reasoning_effort", "ignore_eos", "min_tokens",
)  # fmt: skip
"""Sampling fields that are counted."""
_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "n_predict", "max_new_tokens")
_ADAPTERS = ("lora_request", "lora_name", "lora_path", "adapter_id", "adapter", "adapter_name", "lora")
_FREE = ("regex", "guided_regex", "guided_choice", "guided_grammar", "grammar", "ebnf", "structural_tag")
_MEDIA = ("image_url", "input_image", "image", "input_audio", "audio_url", "video_url", "input_file", "file", "video")

Tokens = tuple[int, ...]


class NotARequest(Exception):
    """A record asks nothing the lab can count; `why` says it in one word."""

    def __init__(self, why: Refusal) -> None:
        self.why = why
        super().__init__(why)


@dataclass(slots=True)
class Request:
    """One request of a log. Private: it holds the text until it has been counted.

    Attributes:
        pieces: mark and text, or mark and token ids, in the order of the prompt.
        answer: text of the answer; None when the log does not have it.
        turns: messages of the user in it.
        follows: True when it holds an earlier answer, or names one.
        at_s: when it came; None when nothing says so.
        calendar: whether `at_s` counts from 1970 or from anywhere.
        took_s: until its answer was complete.
    """

    pieces: list[tuple[int, str | Tokens]] = field(default_factory=list, repr=False)
    answer: str | None = field(default=None, repr=False)
    turns: int = 0
    follows: bool = False
    held: bool = False
    """True when the server keeps what came before: the prompt is longer than what the record holds."""
    at_s: float | None = None
    calendar: bool = False
    took_s: float | None = None
    time_broken: bool = False
    no_unit: bool = False
    """A duration is there, but nothing says in which unit."""
    answers_last: bool = False
    """The last message is the assistant's and was taken as the answer."""
    prompts: int = 1
    """Prompts of one body; several are counted as one request, one behind the other."""
    usage_in: int | None = None
    usage_out: int | None = None
    usage_cached: int | None = None
    limit: int | None = None
    stream: bool | None = None
    tools: int = 0
    """Tools that are offered."""
    uses_tools: bool = False
    """A tool is called or answers, in the history or in the answer."""
    constraint: Constraint | None = None
    media: int = 0
    sampling: dict[str, float | None] = field(default_factory=dict)
    """Fields that are set; the value where it is one number."""
    model: str | None = field(default=None, repr=False)
    adapter: str | None = field(default=None, repr=False)
    name: str | None = field(default=None, repr=False)
    """Id of the record, to find what was logged twice."""
    failed: bool = False


def kind_of(value: Any) -> Kind | None:
    """What a record looks like; None when it looks like none of the kinds."""
    if not isinstance(value, Mapping):
        return None
    if "input_length" in value and ("hash_ids" in value or "output_length" in value):
        return "mooncake"
    if isinstance(value.get("conversations"), list):
        return "sharegpt"
    return "openai" if _find(value) is not None else None


def requests_of(value: Any, kind: Kind) -> Iterator[Request]:
    """The requests of one record that is a body or a conversation.

    Raises:
        NotARequest: it asks nothing.
    """
    if not isinstance(value, Mapping):
        raise NotARequest("not-an-object")
    if kind == "sharegpt":
        yield from _conversation(value)
    else:
        yield _logged(value)


# ---------------------------------------------------------------- conversations


def _conversation(value: Mapping[str, Any]) -> Iterator[Request]:
    turns = value.get("conversations")
    if not isinstance(turns, list):
        raise NotARequest("no-request")
    read = []
    for turn in turns:
        who, text = (turn.get("from", turn.get("role")), turn.get("value", turn.get("content"))) if isinstance(
            turn, Mapping) else (None, None)  # fmt: skip
        if not isinstance(who, str) or not isinstance(text, str):
            raise NotARequest("bad-messages")
        read.append((_ROLES.get(who.lower(), OTHER), text))
    found = False
    for place, (mark, text) in enumerate(read):
        before = read[:place]
        asked = sum(one == USER for one, _ in before)
        if mark == ASSISTANT and asked and before[-1][0] in (USER, TOOL):
            found = True
            yield Request(pieces=list(before), answer=text, turns=asked, follows=any(m == ASSISTANT for m, _ in before))
    if read and read[-1][0] == USER and read[-1][1].strip():  # a question nobody has answered yet
        found = True
        yield Request(pieces=list(read), turns=sum(one == USER for one, _ in read),
                      follows=any(m == ASSISTANT for m, _ in read))  # fmt: skip
    if not found:
        raise NotARequest("no-prompt")


# ---------------------------------------------------------------- bodies


def _logged(record: Mapping[str, Any]) -> Request:
    found = _find(record)
    if found is None:
        raise NotARequest("no-request")
    body, around = found
    if isinstance(body.get("extra_body"), Mapping):
        body = {**body["extra_body"], **body}
    if isinstance(record.get("model_parameters"), Mapping):
        body = {**record["model_parameters"], **body}
    route = first_of((*around, record), ("url", "path", "route", "endpoint", "call_type", "request_path"))
    if isinstance(route, str) and any(
        one in route for one in ("embedding", "rerank", "audio", "images/", "moderation")
    ):
        raise NotARequest("other-endpoint")
    request = Request()
    _read_prompt(body, request)
    _read_use(body, request)
    _read_clock(around, request)
    _take(said_in(record, body), request)
    if not any(text for _, text in request.pieces):
        raise NotARequest("no-prompt")
    status = first_of(around, ("status_code", "statusCode", "response_status", "status"))
    request.failed = isinstance(status, int) and status >= 400
    name = first_of(around, ("request_id", "requestId", "custom_id", "id", "trace_id", "x-request-id"))
    request.name = name if isinstance(name, str) else None
    return request


def _take(said: Said, request: Request) -> None:
    request.usage_in, request.usage_out, request.usage_cached = said.usage_in, said.usage_out, said.usage_cached
    request.uses_tools |= said.called
    if said.text is not None:
        request.answer, request.answers_last = said.text, False


def _find(
    value: Any, depth: int = 0, around: tuple[Mapping[str, Any], ...] = ()
) -> tuple[Mapping[str, Any], tuple[Mapping[str, Any], ...]] | None:
    """The body in a record, and everything it is wrapped in, the outermost first."""
    if isinstance(value, str) and value.lstrip()[:1] == "{" and depth:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, Mapping) or depth > DEPTH:
        return None
    around = (*around, value)
    if isinstance(value.get("messages"), list) or isinstance(value.get("prompt"), str | list):
        return value, around
    for key in _BODIES:
        inner = value.get(key)
        if isinstance(inner, Mapping | str) and (found := _find(inner, depth + 1, around)) is not None:
            return found
    asks = isinstance(value.get("input"), str | list) and "model" in value
    # an embedding has an input too
    if asks and "encoding_format" not in value and "dimensions" not in value:
        return value, around
    return None


def _read_prompt(body: Mapping[str, Any], request: Request) -> None:
    tools = body.get("tools") or body.get("functions")
    if isinstance(tools, list) and tools:
        request.tools = len(tools)
        request.pieces.append((TOOLS, json.dumps(tools, ensure_ascii=False)))
    if isinstance(body.get("messages"), list):
        _read_messages(body["messages"], request)
    elif isinstance(body.get("prompt"), str | list):
        _read_plain(body["prompt"], request)
    else:
        if isinstance(body.get("instructions"), str):
            request.pieces.append((SYSTEM, body["instructions"]))
        given = body["input"]
        if isinstance(given, str):
            request.turns = 1
            request.pieces.append((USER, given))
        else:
            _read_messages(
                [one for one in given if isinstance(one, Mapping) and one.get("type") != "reasoning"], request
            )
        request.held = body.get("previous_response_id") is not None or body.get("conversation") is not None
        request.follows |= request.held


def _read_plain(prompt: Any, request: Request) -> None:
    request.turns = 1
    several = prompt if isinstance(prompt, list) else [prompt]
    if several and all(_is_id(one) for one in several):
        request.pieces.append((PLAIN, tuple(several)))
        return
    for one in several:
        if isinstance(one, str):
            request.pieces.append((PLAIN, one))
        elif isinstance(one, list) and all(_is_id(token) for token in one):
            request.pieces.append((PLAIN, tuple(one)))
        else:
            raise NotARequest("bad-messages")
    request.prompts = len(several)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _read_messages(messages: list[Any], request: Request) -> None:
    read: list[tuple[int, list[tuple[int, str | Tokens]]]] = []
    for message in messages:
        if not isinstance(message, Mapping):
            raise NotARequest("bad-messages")
        mark = _mark(message)
        pieces = list(_pieces(message, mark))
        request.media += sum(own >= MEDIA for own, _ in pieces)
        calls = message.get("tool_calls") or message.get("function_call")
        if calls or mark == TOOL or message.get("type") in ("function_call", "function_call_output"):
            request.uses_tools = True
        if calls:
            pieces.append((mark, json.dumps(calls_of(calls), ensure_ascii=False)))
        read.append((mark, pieces or [(mark, "")]))
    if read and read[-1][0] == ASSISTANT and len(read) > 1:
        answer = "".join(text for _, text in read.pop()[1] if isinstance(text, str))
        request.answer, request.answers_last = answer, True
    request.turns = sum(mark == USER for mark, _ in read)
    request.follows = any(mark == ASSISTANT for mark, _ in read)
    request.pieces.extend(piece for _, pieces in read for piece in pieces)


def _mark(message: Mapping[str, Any]) -> int:
    role = message.get("role", message.get("from"))
    if isinstance(role, str):
        return _ROLES.get(role.lower(), OTHER)
    if message.get("type") == "function_call":
        return ASSISTANT
    return TOOL if message.get("type") == "function_call_output" else OTHER


def _pieces(message: Mapping[str, Any], mark: int) -> Iterator[tuple[int, str | Tokens]]:
    content = message.get("content", message.get("value"))
    if content is None:
        content = message.get("output", message.get("arguments"))
    if isinstance(content, str):
        yield mark, content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, str):
                yield mark, part
            elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
                yield mark, part["text"]
            elif isinstance(part, Mapping) and part.get("type") in _MEDIA:
                # the same picture is the same prefix; it is a mark, because its tokens cannot be counted from here
                seen = zlib.crc32(json.dumps(part, sort_keys=True).encode("utf-8", "surrogatepass"))
                yield MEDIA + seen % (1 << 28), ""
    elif content is not None:
        raise NotARequest("bad-messages")


def _read_use(body: Mapping[str, Any], request: Request) -> None:
    request.stream = body["stream"] if isinstance(body.get("stream"), bool) else None
    request.model = body["model"] if isinstance(body.get("model"), str) else None
    for key in _LIMITS:
        value = body.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_TOKENS:
            request.limit = value
            break
    for key in SAMPLING:
        value = body.get(key)
        if value is not None and value is not False:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            request.sampling[key] = float(value) if number and abs(value) < 1e12 else None
    adapter = next((body[key] for key in _ADAPTERS if body.get(key)), None)
    request.adapter = None if adapter is None else json.dumps(adapter, sort_keys=True)
    request.constraint = _constraint(body)


def _constraint(body: Mapping[str, Any]) -> Constraint | None:
    asked = body.get("response_format")
    if not isinstance(asked, Mapping) and isinstance(body.get("text"), Mapping):
        asked = body["text"].get("format")
    kind = asked.get("type") if isinstance(asked, Mapping) else None
    outputs = body.get("structured_outputs")
    places: tuple[Mapping[str, Any], ...] = (body, outputs) if isinstance(outputs, Mapping) else (body,)
    form = body.get("format")
    if kind in ("json_schema", "json") or any(
        place.get(key) for place in places for key in ("guided_json", "json_schema")
    ):
        return "json-schema"
    if (isinstance(outputs, Mapping) and outputs.get("json")) or isinstance(form, Mapping):
        return "json-schema"
    if kind == "json_object" or body.get("guided_json_object") or form == "json":
        return "json-object"
    if (isinstance(outputs, Mapping) and outputs.get("json_object")) or body.get("json_object"):
        return "json-object"
    chosen = isinstance(outputs, Mapping) and outputs.get("choice")
    if (
        chosen
        or kind in ("regex", "ebnf", "structural_tag", "grammar")
        or any(place.get(key) for place in places for key in _FREE)
    ):
        return "other"
    return None


def _read_clock(around: tuple[Mapping[str, Any], ...], request: Request) -> None:
    nested = tuple(
        inner for place in around for key in ("timing", "metadata") if isinstance(inner := place.get(key), Mapping)
    )
    places = (*around, *nested)
    began = first_of(places, START_KEYS)
    if began is not None:
        try:
            request.at_s, request.calendar = moment(began)
        except BrokenTime:
            request.time_broken = True
    request.took_s, request.no_unit = duration(places)
    ended = first_of(places, END_KEYS)
    if request.took_s is None and ended is not None and request.at_s is not None and request.calendar:
        try:
            at_s, calendar = moment(ended)
            if calendar and at_s >= request.at_s:
                request.took_s, request.no_unit = at_s - request.at_s, False
        except BrokenTime:
            request.time_broken = True
