"""Run a suite on a running engine: lm-eval asks and scores, the lab watches every request.

Kept from lm-eval: prompts, chat turns, token boundaries, likelihood metrics, the evaluation loop. Not used: its
caches, retries, truncation and hub, which hide what happened, and its averages, which know nothing of unscored
items. Every item has a score or a reason. The digest of every suite covers this file.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from lab.errors import QualityError
from lab.quality.identity import lm_eval_version
from lab.quality.quiet import offline_and_quiet
from lab.quality.replies import QualityItem, Reply, combine, unsent
from lab.quality.scoring import KEYS, METRICS
from lab.quality.suite import WRITTEN, Item, Suite, Task
from lab.records import Capabilities, Lack, QualityResult, RunId, TaskScore, Unscored

if TYPE_CHECKING:
    from lab.quality.lmeval import Tokenizer

RESERVED = frozenset(
    {"model", "messages", "prompt", "stream", "max_tokens", "stop", "response_format", "echo", "logprobs", "n"}
)
"""Request fields that the suite decides; sampling may not set them."""

ECHO = "echo"
"""The check of preflight that every output needs for which the engine scores given text; such a task is not asked of an
engine that was not seen to pass it."""


def run_suite(
    suite: Suite,
    *,
    base_url: str,
    model: str,
    sampling: dict[str, Any],
    context_limit: int,
    run_id: str,
    capabilities: Capabilities | None = None,
    tokenizer: Tokenizer | None = None,
    timeout_s: float = 60,
    concurrency: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[QualityResult, tuple[QualityItem, ...]]:
    """Ask every item of a suite once.

    A request that fails costs its item the score, never the run. When the engine stops accepting connections, or
    the user stops the run, the rest is not asked and the result says that it is incomplete. A key in
    `OPENAI_API_KEY` is sent.

    Args:
        suite: from `load_suite`.
        base_url: root of the OpenAI routes, for instance `http://127.0.0.1:8080/v1`.
        model: the name the engine knows the model by.
        sampling: every sampling field, spelled as the engine spells it, sent as it is in each request.
        context_limit: most tokens of one sequence on this engine.
        run_id: the run the answers belong to.
        capabilities: what preflight saw; a task that needs a check it did not pass is not supported. None: nothing
            was probed.
        tokenizer: of the model; without one, tasks that need token ids are not supported.
        timeout_s: limit for one request, seconds.
        concurrency: requests in flight.
        on_progress: called after each item with items done and items asked in all, from another thread.

    Returns:
        The scores by task, and every item in the order of the suite.

    Raises:
        QualityError: lm-eval is missing, or an argument cannot be followed. Nothing was sent.
    """
    start = time.perf_counter()
    version = lm_eval_version()
    _check_arguments(suite, base_url, sampling, context_limit, run_id, timeout_s, concurrency)
    lacks = {task.name: unsupported(task, capabilities, tokenizer) for task in suite.tasks}
    asked = [task for task in suite.tasks if lacks[task.name] is None]
    with offline_and_quiet():
        from lab.quality.lmeval import Asking, Transport, WatchedChat, WatchedCompletions

        transport = Transport(
            base_url,
            timeout_s,
            concurrency,
            on_progress or (lambda done, total: None),
            sum(len(task.items) for task in asked),
        )
        asking = Asking(transport, model, sampling, context_limit, tokenizer)
        chat = [task for task in asked if task.config.output == "chat"]
        rest = [task for task in asked if task.config.output != "chat"]
        scores = _evaluate(suite, chat, WatchedChat(asking)) if chat else {}
        scores |= _evaluate(suite, rest, WatchedCompletions(asking)) if rest else {}
    replies: dict[tuple[str, int], list[Reply]] = {}
    for (name, index, _), reply in sorted(transport.replies.items()):
        replies.setdefault((name, index), []).append(reply)

    def reply_to(task: Task, index: int) -> Reply:
        if (lack := lacks[task.name]) is not None:
            return unsent(Unscored.NOT_SUPPORTED, f"not asked: {lack[1]}")
        return combine(replies[task.name, index])

    items = tuple(
        QualityItem(
            **dict(reply := reply_to(task, index)),
            run_id=run_id,
            suite=suite.name,
            version=suite.version,
            task=task.name,
            item_id=item.id,
            score=scores.get((task.name, index)),
            also=further_scores(task, item, reply),
        )
        for task in suite.tasks
        for index, item in enumerate(task.items)
    )
    result = QualityResult(
        suite=suite.name,
        version=suite.version,
        suite_sha256=suite.ref().sha256,
        lm_eval_version=version,
        tasks=tuple(score_task(task, items, lacks[task.name]) for task in suite.tasks),
        seconds=time.perf_counter() - start,
        incomplete=transport.ended,
    )
    return result, items


def unsupported(task: Task, capabilities: Capabilities | None, tokenizer: Tokenizer | None) -> tuple[Lack, str] | None:
    """Why a task cannot be asked of an engine, and the same in words; None when it can.

    A check that was not made, or could not be, has not passed.
    """
    output = task.config.output
    if output in WRITTEN:
        return None
    needs = f"output '{output}' needs '{ECHO}'"
    check = capabilities.check(ECHO) if capabilities else None
    if check is None:
        return Lack.ECHO_NOT_PROBED, f"{needs} of the engine, which was not probed"
    if check.result == "not-exposed":
        return Lack.ECHO_NOT_EXPOSED, f"{needs}, which the engine does not expose: {check.detail}"
    if check.result == "fail":
        return Lack.ECHO_BROKEN, f"{needs}, which the engine does not keep: {check.detail}"
    if tokenizer is None:
        return Lack.NO_TOKENIZER, f"output '{output}' needs token ids, and the model's tokenizer is not at hand"
    return None


def further_scores(task: Task, item: Item, reply: Reply) -> dict[str, float]:
    """The task's further metrics of one answer.

    Those with a key read complete answers. The others read every text; where the token limit cut it, U+FFFD at its
    end is left out: the limit fell between the tokens of one character.
    """
    found: dict[str, float] = {}
    for metric in task.config.also:
        key, text = KEYS[metric], reply.text or ""
        if key is None and reply.unscored is Unscored.TRUNCATED:
            text = text.rstrip("\N{REPLACEMENT CHARACTER}")
        if text and (key is None or reply.unscored is None):
            found[metric] = METRICS[metric](text, getattr(item, key) if key else None)
    return found


def score_task(task: Task, items: tuple[QualityItem, ...], lack: tuple[Lack, str] | None = None) -> TaskScore:
    """The scores of a task over all its items and over those that have one; the others are counted by reason.

    Args:
        task: the task.
        items: of this task, or of a whole suite: those of other tasks are passed over.
        lack: why the whole task is not supported, and the same in words; None when it was asked.

    Source of the standard error: s / sqrt(n) with the sample deviation s, which for scores of 0 and 1 is
    sqrt(p (1 - p) / (n - 1)). Bits per byte weigh every item with its bytes, as lm-eval does, and have none.
    """
    asked = [item for item in items if item.task == task.name]
    scores = [item.score for item in asked if item.score is not None]
    over_all = [item.score or 0.0 for item in asked]
    by_bytes = task.config.metric == "bits_per_byte"
    score = answered = stderr = None
    if by_bytes and scores:
        sizes = {item.id: len(item.question.encode()) for item in task.items}
        weighted = [(item.score, sizes[item.item_id]) for item in asked if item.score is not None]
        answered = sum(value * size for value, size in weighted) / sum(size for _, size in weighted)
        score = answered if len(scores) == len(asked) else None
    elif scores:
        answered, score = statistics.fmean(scores), statistics.fmean(over_all)
        stderr = statistics.stdev(over_all) / math.sqrt(len(over_all)) if len(over_all) > 1 else None
    return TaskScore(
        task=task.name,
        metric=task.config.metric,
        better=task.config.better,
        n=len(asked),
        unscored=dict(Counter(item.unscored for item in asked if item.unscored is not None)),
        score=score,
        stderr=stderr,
        answered_score=answered,
        attempts=sum(item.attempts for item in asked),
        also={
            metric: statistics.fmean(values)
            for metric in task.config.also
            if (values := [item.also[metric] for item in asked if metric in item.also])
        },
        finish_reasons=dict(Counter(item.finish_reason for item in asked if item.finish_reason is not None)),
        lane=task.config.lane,
        lack=lack[0] if lack else None,
        reason=lack[1] if lack else None,
    )


def _evaluate(suite: Suite, tasks: list[Task], model: Any) -> dict[tuple[str, int], float]:
    """Scores by task and index of the item, of those that have one."""
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    from lab.quality.lmeval import ItemTask, WatchedChat

    chat = isinstance(model, WatchedChat)
    results = simple_evaluate(
        model=model,
        tasks=[ItemTask(suite, task) for task in tasks],
        task_manager=TaskManager(include_defaults=False),
        apply_chat_template=chat,
        fewshot_as_multiturn=chat,
        bootstrap_iters=0,
        random_seed=None,  # the generators of the caller's process are not ours to seed
        numpy_random_seed=None,
        torch_random_seed=None,
    )
    found = {}
    for task in tasks:
        for sample in results["samples"][task.name]:
            value = sample.get(task.config.metric)
            if value is not None:
                found[task.name, sample["doc_id"]] = _item_score(value)
    return found


def _item_score(value: float | tuple[float, int]) -> float:
    """What lm-eval gives for one item, as a number; bits per byte come as a log-likelihood and a count of bytes."""
    if isinstance(value, tuple):
        loglikelihood, size = value
        return max(-loglikelihood / (size * math.log(2)), 0.0)
    return float(value)


def _check_arguments(
    suite: Suite,
    base_url: str,
    sampling: dict[str, Any],
    context_limit: int,
    run_id: str,
    timeout_s: float,
    concurrency: int,
) -> None:
    if not base_url.startswith(("http://", "https://")):
        raise QualityError(f"The engine's URL is '{base_url}', expected http://HOST:PORT/v1.")
    try:
        TypeAdapter(RunId).validate_python(run_id)
    except ValidationError:
        raise QualityError(f"'{run_id}' is no run_id, expected r- and 10 characters of a-z and 2-7.") from None
    if concurrency < 1 or not timeout_s > 0:
        raise QualityError(f"concurrency is {concurrency} and timeout_s {timeout_s:g}: both must be positive.")
    if taken := sorted(RESERVED & sampling.keys()):
        raise QualityError(f"Sampling sets {', '.join(taken)}, which only the suite decides.")
    if "temperature" not in sampling:
        raise QualityError("Sampling has no temperature: the engine's own default would decide the answers.")
    longest = max(suite.tasks, key=lambda task: task.config.max_tokens or 0)
    if (longest.config.max_tokens or 0) >= context_limit:
        raise QualityError(
            f"Task '{longest.name}' asks for answers of up to {longest.config.max_tokens} tokens, "
            f"but a whole sequence has {context_limit}.",
            "give the engine a longer context_limit",
        )
