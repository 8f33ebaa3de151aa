"""Probes a running engine before anything is measured: what it does, not what its manual says.

Each check of `lab.checks.CHECKS` is asked once and ends as pass, fail or not exposed. On an engine whose answers
carry meaning that is about 45 requests with some 350 tokens of answers, one prompt beyond the context limit and three
to seven of a third of it; an engine of seeded text is asked about 20. Nothing waits longer than its own limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lab.checks import CHECKS, CheckName, CheckRule
from lab.endpoint import Endpoint
from lab.engines.base import Adapter
from lab.errors import EndpointError
from lab.preflight import cache, forms, lengths, sampling, scoring
from lab.preflight.asking import Engine, Seen
from lab.records import Capabilities, Check, Effective
from lab.spec import RunSpec

CHECK_LIMIT_S = 120.0
"""The most one check may take."""

WHOLE_LIMIT_S = 600.0
"""The most all of them may take; what is left then is not exposed."""


def probe(
    adapter: Adapter,
    endpoint: Endpoint,
    spec: RunSpec,
    effective: tuple[Effective, ...] = (),
    tokenizer: Callable[[str], int] | None = None,
    alive: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda _: None,
) -> Capabilities:
    """Try everything a run or a comparison relies on, and leave the prefix cache empty where the engine can be told.

    Args:
        adapter: knows the engine's dialect.
        endpoint: the running engine.
        spec: what is about to be run.
        effective: what was read back from it.
        tokenizer: counts the tokens of a text with the model's own files; None: the lab cannot read them.
        alive: called when it does not answer; raises when its process has ended.
        say: told the name of each check before it starts.

    Returns:
        Every check, in the order of `CHECKS`; none is left out, and no answer makes one raise.
    """
    engine = Engine(adapter, endpoint, spec, effective, tokenizer).until(time.monotonic() + WHOLE_LIMIT_S)
    checks = []
    for rule in CHECKS:
        say(rule.name)
        checks.append(_try(engine.until(time.monotonic() + CHECK_LIMIT_S), rule, alive))
    return Capabilities(checks=(*checks[:-1], _emptied(engine, checks[-1])))


def _try(engine: Engine, rule: CheckRule, alive: Callable[[], None]) -> Check:
    if rule.about_text and not engine.adapter.has_quality:
        seen = Seen("not-exposed", "not asked: its text carries no meaning")
    else:
        try:
            seen = PROBES[rule.name](engine)
        except EndpointError as problem:
            alive()
            late = time.monotonic() >= engine.deadline
            seen = Seen("not-exposed" if late else "fail", problem.what)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as problem:
            seen = Seen("fail", f"an answer of no known shape: {type(problem).__name__}: {problem}")
    return Check(name=rule.name, result=seen.result, detail=seen.detail[:500], counts=seen.counts)


def _emptied(engine: Engine, check: Check) -> Check:
    """The last check, with what became of the prompts that the probes have left in the cache."""
    try:
        done = engine.adapter.reset_cache(engine.endpoint)
    except EndpointError:
        done = False
    words = {True: "the cache was emptied", False: "it did not empty its cache", None: "no way to empty its cache"}
    return check.model_copy(update={"detail": f"{check.detail[:440]}; afterwards: {words[done]}"})


def _models(engine: Engine) -> Seen:
    answer = engine.get(engine.adapter.api_path + "/models")
    document = answer.json()
    entries = document.get("data") if isinstance(document, dict) else None
    if answer.status != 200 or not isinstance(entries, list):
        return Seen("not-exposed", f"HTTP {answer.status}")
    names = [str(entry.get("id")) for entry in entries if isinstance(entry, dict)]
    wanted = engine.adapter.served_name(engine.spec)
    return Seen("pass" if wanted in names else "fail", f"asked for {wanted}, served: {', '.join(names)}")


def _tokenize(engine: Engine) -> Seen:
    count = engine.adapter.count_tokens(engine.endpoint, "one two three")
    if count is None:
        return Seen("not-exposed", "no tokenizer can be asked")
    return Seen("pass", f"{count} tokens for 3 words")


PROBES: dict[CheckName, Callable[[Engine], Seen]] = {
    CheckName.MODELS: _models,
    CheckName.TOKENIZE: _tokenize,
    CheckName.LOCAL_TOKENIZER: lengths.local_tokenizer,
    CheckName.PROMPT_TOKENS: lengths.prompt_tokens,
    CheckName.EXACT_LENGTH: lengths.exact_length,
    CheckName.STREAM_DIALECT: forms.stream_dialect,
    CheckName.KV_CAPACITY: lengths.kv_capacity,
    CheckName.CONTEXT_LIMIT: lengths.context_limit,
    CheckName.NEUTRAL_SAMPLING: sampling.neutral_sampling,
    CheckName.SEED: sampling.seed,
    CheckName.REPEAT: sampling.repeat,
    CheckName.ECHO: scoring.echo,
    CheckName.LOGPROBS: scoring.logprobs,
    CheckName.JSON_SCHEMA: forms.json_schema,
    CheckName.TOOL_CALL: forms.tool_call,
    CheckName.UNKNOWN_FIELD: forms.unknown_field,
    CheckName.THINKING: forms.thinking,
    CheckName.PREFIX_CACHE: cache.prefix_cache,
}
"""Who asks what: one entry for each check of `lab.checks.CHECKS`."""
