"""What preflight tries on a running engine before any number counts: each check once, and what its result means.

One table, as data. `lab.preflight` asks the questions, `lab.match` and the report read the answers.
"""

from __future__ import annotations

from enum import StrEnum

from lab.spec import Frozen, Workload


class CheckName(StrEnum):
    """Name of a check, as `Capabilities.can` knows it; in the order in which they are tried."""

    MODELS = "models"
    TOKENIZE = "tokenize"
    LOCAL_TOKENIZER = "local-tokenizer"
    PROMPT_TOKENS = "prompt-tokens"
    EXACT_LENGTH = "exact-length"
    STREAM_DIALECT = "stream-dialect"
    KV_CAPACITY = "kv-capacity"
    CONTEXT_LIMIT = "context-limit"
    NEUTRAL_SAMPLING = "neutral-sampling"
    SEED = "seed"
    REPEAT = "repeat"
    ECHO = "echo"
    LOGPROBS = "logprobs"
    JSON_SCHEMA = "json-schema"
    TOOL_CALL = "tool-call"
    UNKNOWN_FIELD = "unknown-field"
    THINKING = "thinking"
    PREFIX_CACHE = "prefix-cache"


class Consequence(StrEnum):
    """What a check that did not pass does to the run."""

    EQUALITY = "equality"
    """A fail makes the run not comparable."""
    CAPABILITY = "capability"
    """What needs it is not supported on this engine."""
    RECORD = "record"
    """It is kept and shown; nothing follows from it."""


class CheckRule(Frozen):
    """One check: what is asked of the engine, what its results mean, and what follows."""

    name: CheckName
    asked: str
    means: str
    consequence: Consequence
    about_text: bool = False
    """True when the answer's text is looked at: an engine whose text carries no meaning is not asked."""


def _rule(name: CheckName, consequence: Consequence, asked: str, means: str, *, about_text: bool = False) -> CheckRule:
    return CheckRule(name=name, asked=asked, means=means, consequence=consequence, about_text=about_text)


CHECKS: tuple[CheckRule, ...] = (
    _rule(
        CheckName.MODELS,
        Consequence.RECORD,
        "GET /v1/models",
        "pass: the name that requests use is among those served",
    ),
    _rule(
        CheckName.TOKENIZE,
        Consequence.CAPABILITY,
        "its tokenizer, three words",
        "pass: prompts can be made of an exact number of its tokens",
    ),
    _rule(
        CheckName.LOCAL_TOKENIZER,
        Consequence.EQUALITY,
        "its tokenizer, a few texts of several scripts; the same with the tokenizer out of the model's files",
        "pass: both count the same, so the engine reads the tokenizer that was named",
    ),
    _rule(
        CheckName.PROMPT_TOKENS,
        Consequence.EQUALITY,
        "a fixed set of conversations, one token of answer each: how long it counts the prompts; the same text of its "
        "own tokenize route, where it has one",
        "pass: it counts, and no token is put in front twice; the counts themselves are compared between engines",
    ),
    _rule(
        CheckName.EXACT_LENGTH,
        Consequence.EQUALITY,
        "two exact lengths, streamed and whole",
        "pass: every answer has the length asked and ends with finish_reason length",
    ),
    _rule(
        CheckName.STREAM_DIALECT,
        Consequence.RECORD,
        "one streamed answer with usage",
        "pass: a finish reason or [DONE] ends it, and usage is sent; the detail says the rest of its dialect",
    ),
    _rule(
        CheckName.KV_CAPACITY,
        Consequence.EQUALITY,
        "nothing: the budget read back from the engine",
        "pass: it has room for the KV tokens that were asked",
    ),
    _rule(
        CheckName.CONTEXT_LIMIT,
        Consequence.EQUALITY,
        "a prompt longer than the context limit; the limit it states",
        "pass: refused with a 4xx, and no stated limit differs; fail: cut silently, or another limit",
    ),
    _rule(
        CheckName.NEUTRAL_SAMPLING,
        Consequence.EQUALITY,
        "one prompt with every sampling field neutral, and with temperature 0 alone; two without any",
        "pass: the same text, so no default of the server (a repeat penalty) is at work; the detail says whether it "
        "draws by itself",
        about_text=True,
    ),
    _rule(
        CheckName.SEED,
        Consequence.RECORD,
        "temperature 1: one seed twice, another seed",
        "pass: the same seed gives the same text, another seed another",
        about_text=True,
    ),
    _rule(
        CheckName.REPEAT,
        Consequence.RECORD,
        "one greedy prompt three times alone, twice among others",
        "pass: one text; fail: the engine's own noise, below which no difference of text means anything",
        about_text=True,
    ),
    _rule(
        CheckName.ECHO,
        Consequence.CAPABILITY,
        "completions with echo and logprobs: a true and a nonsense end of one sentence",
        "pass: a logprob for every prompt token, none for the first, the true end above the nonsense; else tasks that "
        "score by loglikelihood are not supported",
        about_text=True,
    ),
    _rule(
        CheckName.LOGPROBS,
        Consequence.CAPABILITY,
        "a chat answer with logprobs",
        "pass: one for each token of the answer",
        about_text=True,
    ),
    _rule(
        CheckName.JSON_SCHEMA,
        Consequence.CAPABILITY,
        "response_format json_schema with an enum, an integer and required fields",
        "pass: the answer parses and fits; else structured output is not supported",
        about_text=True,
    ),
    _rule(
        CheckName.TOOL_CALL,
        Consequence.CAPABILITY,
        "one tool, tool_choice required, then auto where that is refused",
        "pass: a parsed call with JSON arguments",
        about_text=True,
    ),
    _rule(
        CheckName.UNKNOWN_FIELD,
        Consequence.RECORD,
        "a request field that nobody knows",
        "pass: refused or ignored, the detail says which; both are manners",
    ),
    _rule(
        CheckName.THINKING,
        Consequence.EQUALITY,
        "an answer under the plan's chat_template_kwargs",
        "pass: it thinks or does not think, as asked; not exposed: nothing was asked",
        about_text=True,
    ),
    _rule(
        CheckName.PREFIX_CACHE,
        Consequence.EQUALITY,
        "one long prompt twice, and a never-seen one as long: cached tokens, else the time to the first token",
        "pass: a hit where the cache is on, none where it is off; not exposed: nobody decided, or times cannot tell",
    ),
)
"""Every check, in the order in which it is tried: what warms the prefix cache most comes last."""

NEEDS = {"structured-output": CheckName.JSON_SCHEMA}
"""Content of a workload → the capability without which it is not supported."""


def rule_of(name: str) -> CheckRule | None:
    """The rule of a check; None for a name this version does not know."""
    return next((rule for rule in CHECKS if rule.name == name), None)


def needed(workload: Workload) -> CheckName | None:
    """The capability a workload cannot do without; None when it needs none."""
    return NEEDS.get(workload.content)
