"""Run a suite on a running engine: lm-eval asks and scores, the lab watches every request.

Kept from lm-eval: chat turns, filters, the evaluation loop. Not used: its caches, retries and hub, which hide
what happened, and its averages, which know nothing of unscored items. Every item has a score or a reason.
"""

from __future__ import annotations

import logging
import math
import os
import statistics
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lab.errors import QualityError
from lab.quality.replies import QualityItem
from lab.quality.suite import Suite, Task, lm_eval_version
from lab.records import QualityResult, RunId, TaskScore

RESERVED = frozenset({"model", "messages", "stream", "max_tokens", "stop", "response_format"})
"""Request fields that the suite decides; sampling may not set them."""

OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


def run_suite(
    suite: Suite,
    *,
    base_url: str,
    model: str,
    sampling: dict[str, Any],
    context_limit: int,
    run_id: str,
    timeout_s: float = 60,
    concurrency: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[QualityResult, tuple[QualityItem, ...]]:
    """Ask every item of a suite once, over `/chat/completions`.

    A request that fails costs its item the score, never the run. When the engine stops accepting connections
    the rest is not asked: those items are unscored with 0 attempts. A key in `OPENAI_API_KEY` is sent.

    Args:
        suite: from `load_suite`.
        base_url: root of the OpenAI routes, for instance `http://127.0.0.1:8080/v1`.
        model: the name the engine knows the model by.
        sampling: every sampling field, spelled as the engine spells it, sent as it is in each request.
        context_limit: most tokens of one sequence on this engine.
        run_id: the run the answers belong to.
        timeout_s: limit for one request, seconds.
        concurrency: requests in flight.
        on_progress: called after each item with items done and items in all, from another thread.

    Returns:
        The scores by task, and every item in the order of the suite.

    Raises:
        QualityError: lm-eval is missing, or an argument cannot be followed. Nothing was sent.
    """
    start = time.perf_counter()
    version = lm_eval_version()
    _check_arguments(suite, base_url, sampling, context_limit, run_id, timeout_s, concurrency)
    with _offline(), _quiet():
        from lm_eval import simple_evaluate
        from lm_eval.tasks import TaskManager

        from lab.quality.lmeval import ItemTask, WatchedChat

        chat = WatchedChat(
            base_url=base_url,
            model=model,
            sampling=sampling,
            context_limit=context_limit,
            timeout_s=timeout_s,
            concurrency=concurrency,
            on_progress=on_progress,
        )
        results = simple_evaluate(
            model=chat,
            tasks=[ItemTask(suite, task) for task in suite.tasks],
            task_manager=TaskManager(include_defaults=False),
            apply_chat_template=True,
            bootstrap_iters=0,
            random_seed=None,  # the generators of the caller's process are not ours to seed
            numpy_random_seed=None,
            torch_random_seed=None,
        )
    items = tuple(
        QualityItem(
            **dict(chat.replies[task.name, sample["doc_id"]]),
            run_id=run_id,
            suite=suite.name,
            version=suite.version,
            task=task.name,
            item_id=task.items[sample["doc_id"]].id,
            score=sample.get(task.config.metric),
        )
        for task in suite.tasks
        for sample in results["samples"][task.name]
    )
    result = QualityResult(
        suite=suite.name,
        version=suite.version,
        suite_sha256=suite.ref().sha256,
        lm_eval_version=version,
        tasks=tuple(score_task(task, items) for task in suite.tasks),
        seconds=time.perf_counter() - start,
    )
    return result, items


def score_task(task: Task, items: tuple[QualityItem, ...]) -> TaskScore:
    """Mean and standard error over the items that have a score; the others are counted by reason.

    Args:
        task: the task.
        items: of this task, or of a whole suite: those of other tasks are passed over.

    Source of the standard error: s / sqrt(n) with the sample deviation s, which for scores of 0 and 1 is
    sqrt(p (1 - p) / (n - 1)). None for fewer than two scored items.
    """
    asked = [item for item in items if item.task == task.name]
    scores = [item.score for item in asked if item.score is not None]
    return TaskScore(
        task=task.name,
        metric=task.config.metric,
        n=len(asked),
        unscored=dict(Counter(item.unscored for item in asked if item.unscored is not None)),
        score=statistics.fmean(scores) if scores else None,
        stderr=statistics.stdev(scores) / math.sqrt(len(scores)) if len(scores) > 1 else None,
    )


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
    longest = max(suite.tasks, key=lambda task: task.config.max_tokens)
    if longest.config.max_tokens >= context_limit:
        raise QualityError(
            f"Task '{longest.name}' asks for answers of up to {longest.config.max_tokens} tokens, "
            f"but a whole sequence has {context_limit}.",
            "give the engine a longer context_limit",
        )


@contextmanager
def _offline() -> Iterator[None]:
    """Hugging Face libraries get no network and a throw-away home; afterwards the environment is as before.

    Those imported for the first time in here stay offline for the life of the process: they read it once.
    """
    with tempfile.TemporaryDirectory(prefix="lab-quality-") as home:
        ours = OFFLINE | {"HF_HOME": home}
        before = {key: os.environ.get(key) for key in ours}
        os.environ.update(ours)
        try:
            yield
        finally:
            for key, value in before.items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value


@contextmanager
def _quiet() -> Iterator[None]:
    """lm-eval's logger says errors only and its packages do not warn; afterwards it is as before."""
    logger = logging.getLogger("lm_eval")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they would quote paths of this machine into the notebook
            yield
    finally:
        logger.setLevel(before)
