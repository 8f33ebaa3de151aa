"""Probes of scoring: logprobs of a prompt, which loglikelihood tasks need, and of a chat answer."""

from __future__ import annotations

from lab.preflight.asking import Engine, Reply, Seen

START = "The capital of France is"
TRUE_END, NONSENSE = " Paris", " zqxv"


def echo(engine: Engine) -> Seen:
    """Whether completions give a logprob for every prompt token: the contract of loglikelihood tasks.

    Asked with max_tokens 0, and with 1 where that is refused. The sums over the whole prompt are compared: what
    both have in common cancels.
    """
    sums = []
    asked = 0
    for end in (TRUE_END, NONSENSE):
        reply = engine.complete(START + end, asked, echo=True, logprobs=1)
        if reply.refused and asked == 0:
            asked = 1
            reply = engine.complete(START + end, asked, echo=True, logprobs=1)
        if not reply.ok:
            return Seen("not-exposed" if reply.refused else "fail", f"max_tokens {asked}: {reply.said()}")
        logprobs = _logprobs(reply)
        prompt = reply.count("prompt_tokens")
        if logprobs is None:
            return Seen("fail", f"echo ignored with max_tokens {asked}: no token_logprobs, text {reply.text[:40]!r}")
        answered = reply.count("completion_tokens") or 0
        if prompt is None or len(logprobs) not in (prompt, prompt + answered):
            what = f"{len(logprobs)} logprobs for {prompt} prompt tokens and {answered} of the answer"
            return Seen("fail", f"echo ignored with max_tokens {asked}: {what}")
        if logprobs[0] is not None:
            return Seen("fail", f"the first prompt token has a logprob, {logprobs[0]}: it has nothing before it")
        known = [value for value in logprobs[1:prompt] if value is not None]
        if len(known) < prompt - 1:
            return Seen("fail", f"only {len(known)} of {prompt - 1} later prompt tokens have a logprob")
        sums.append(sum(known))
    words = f"max_tokens {asked}: a logprob for every prompt token; true end {sums[0]:.1f}, nonsense {sums[1]:.1f}"
    return Seen("pass" if sums[0] > sums[1] else "fail", words)


def logprobs(engine: Engine) -> Seen:
    """Whether a chat answer brings a logprob for each of its tokens."""
    reply = engine.on_chat().ask(engine.user("say yes."), 2, logprobs=True, top_logprobs=2)
    if not reply.ok:
        return Seen("not-exposed" if reply.refused else "fail", reply.said())
    held = reply.choice.get("logprobs")
    content = held.get("content") if isinstance(held, dict) else None
    if not isinstance(content, list) or not content:
        return Seen("fail", "asked for, answered without them")
    values = [entry.get("logprob") for entry in content if isinstance(entry, dict)]
    wrong = [value for value in values if not isinstance(value, int | float) or value > 0]
    answered = reply.count("completion_tokens")
    if wrong or len(values) < len(content):
        return Seen("fail", f"not a logprob: {wrong[:1]}")
    if answered is not None and len(values) != answered:
        return Seen("fail", f"{len(values)} logprobs for {answered} tokens")
    return Seen("pass", f"{len(values)} logprobs for {len(values)} tokens")


def _logprobs(reply: Reply) -> list[float | None] | None:
    """`token_logprobs` of the completions route; None when it has none of that shape."""
    held = reply.choice.get("logprobs")
    values = held.get("token_logprobs") if isinstance(held, dict) else None
    if not isinstance(values, list) or not values:
        return None
    if not all(value is None or isinstance(value, int | float) for value in values):
        return None
    return values
