"""A contrast is put down to what differs, and to nothing when that is not known."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from lab.quality.path import QUANTIZATION_FIELDS, ContrastClass, QualityPath, contrast, enters
from lab.records import Lane
from lab.spec import LaunchProfile

SHA = "ab" * 32
OTHER_SHA = "cd" * 32


def path(**changes: Any) -> QualityPath:
    """A path with every field recorded; `changes` replace fields."""
    whole: dict[str, Any] = {
        "engine": "P",
        "engine_version": "1.0",
        "hardware": "x86_64",
        "weights_sha256": SHA,
        "quantization_weights": "BF16",
        "quantization_activations": "BF16",
        "quantization_kv_cache": "BF16",
        "compute_dtype": "bfloat16",
        "attention_backend": "flash",
        "tensor_parallel": 1,
        "pipeline_parallel": 1,
        "speculative_decoding": "none",
        "chat_template_sha256": SHA,
        "chat_template_kwargs": "none",
        "tool_parser": "none",
        "reasoning_parser": "none",
        "grammar_backend": "grammar-a",
        "sampling_defaults": "request",
        "settings": {"prefix_caching": "true"},
    }
    return QualityPath.model_validate(whole | changes)


def test_the_example_records_every_field() -> None:
    assert [name for name, value in path().fields().items() if value is None] == []
    assert QualityPath.model_fields.keys() - {"settings"} <= path().fields().keys()
    assert path().fields().keys() > QUANTIZATION_FIELDS


def test_path_id_covers_every_field() -> None:
    base = path()
    assert base.path_id.startswith("q-") and len(base.path_id) == 14
    assert base.path_id == path().path_id
    others = {name: 2 if "parallel" in name else "other" for name in QualityPath.model_fields if name != "settings"}
    ids = {path(**{name: value}).path_id for name, value in others.items()} | {path(settings={}).path_id}
    assert base.path_id not in ids
    assert len(ids) == len(QualityPath.model_fields)


def test_nothing_differs_is_noise() -> None:
    found = contrast(path(), path())
    assert (found.kind, found.differs, found.unrecorded) == (ContrastClass.REPEAT, (), ())


@pytest.mark.parametrize("field", sorted(set(path().fields()) - QUANTIZATION_FIELDS - {"profile.prefix_caching"}))
def test_a_part_of_the_engine_path_is_class_e_and_is_named(field: str) -> None:
    found = contrast(path(), path(**{field: 2 if "parallel" in field else "other"}))
    assert (found.kind, found.differs) == (ContrastClass.ENGINE_PATH, (field,))


@pytest.mark.parametrize("name", sorted(set(LaunchProfile.model_fields) - {"name"}))
def test_a_launch_setting_is_a_part_of_the_engine_path_and_is_named(name: str) -> None:
    found = contrast(path(settings={name: "1"}), path(settings={name: "2"}))
    assert (found.kind, found.differs) == (ContrastClass.ENGINE_PATH, (f"profile.{name}",))


@pytest.mark.parametrize("field", sorted(QUANTIZATION_FIELDS - {"weights_sha256"}))
def test_a_format_of_numbers_is_class_q(field: str) -> None:
    assert contrast(path(), path(**{field: "FP8"})).kind is ContrastClass.QUANTIZATION


def test_other_weights_belong_to_their_format_and_to_nothing_without_one() -> None:
    quantized = contrast(path(), path(quantization_weights="FP8", weights_sha256=OTHER_SHA))
    assert quantized.kind is ContrastClass.QUANTIZATION
    same_name = contrast(path(), path(weights_sha256=OTHER_SHA))
    assert same_name.kind is ContrastClass.NOT_ATTRIBUTABLE
    assert same_name.other_weights


def test_engine_and_quantization_together_are_not_attributable() -> None:
    found = contrast(path(), path(engine="Q", quantization_kv_cache="FP8"))
    assert found.kind is ContrastClass.NOT_ATTRIBUTABLE
    assert found.differs == ("engine", "quantization_kv_cache")
    assert found.unrecorded == ()


@pytest.mark.parametrize("field", sorted(set(path().fields()) - {"engine", "profile.prefix_caching"}))
@pytest.mark.parametrize("engine", ["P", "Q"])
def test_a_field_that_one_side_did_not_record_is_named_and_decides_nothing(field: str, engine: str) -> None:
    found = contrast(path(), path(**{field: None, "engine": engine}))
    turned = contrast(path(**{field: None, "engine": engine}), path())
    if engine == "Q" and field not in QUANTIZATION_FIELDS:
        # the engine path differs whatever this part of it is
        assert (found.kind, found.differs, found.open) == (ContrastClass.ENGINE_PATH, ("engine",), (field,))
        assert (turned.kind, turned.open) == (found.kind, found.open)
    else:
        assert (found.kind, found.unrecorded) == (ContrastClass.NOT_ATTRIBUTABLE, (field,))
        assert turned.unrecorded == (field,)


def test_a_part_nobody_recorded_hides_nothing_behind_other_numbers() -> None:
    found = contrast(path(), path(grammar_backend=None, quantization_kv_cache="FP8"))
    assert (found.kind, found.unrecorded) == (ContrastClass.NOT_ATTRIBUTABLE, ("grammar_backend",))


def test_a_setting_left_to_the_engine_on_one_side_is_not_recorded() -> None:
    found = contrast(path(settings={"prefix_caching": "true"}), path(settings={}))
    assert found.unrecorded == ("profile.prefix_caching",)


def test_one_program_resolves_one_launch_to_one_value() -> None:
    found = contrast(path(compute_dtype=None, attention_backend=None), path(compute_dtype=None, attention_backend=None))
    assert found.kind is ContrastClass.REPEAT
    assert found.open == ("compute_dtype", "attention_backend")


@pytest.mark.parametrize("other", [{"engine": "Q"}, {"engine_version": "1.1"}])
def test_two_programs_may_hide_a_format_nobody_recorded(other: dict[str, str]) -> None:
    found = contrast(path(compute_dtype=None), path(compute_dtype=None, **other))
    assert (found.kind, found.unrecorded) == (ContrastClass.NOT_ATTRIBUTABLE, ("compute_dtype",))
    engine_part = contrast(path(attention_backend=None), path(attention_backend=None, **other))
    assert (engine_part.kind, engine_part.open) == (ContrastClass.ENGINE_PATH, ("attention_backend",))


def test_an_engine_that_does_not_say_its_version_is_never_a_repeat() -> None:
    found = contrast(path(engine_version=None), path(engine_version=None))
    assert (found.kind, found.unrecorded) == (ContrastClass.NOT_ATTRIBUTABLE, ("engine_version",))


def test_a_path_holds_nothing_that_may_not_be_published() -> None:
    with pytest.raises(ValidationError):
        path(tool_parser="/opt/parsers/own.py")
    with pytest.raises(ValidationError):
        path(settings={"prefix_caching": "<b>"})


@pytest.mark.parametrize(
    ("lanes", "where"),
    [
        ({}, ()),
        ({Lane.TOKENS: True, Lane.CHAT: True}, ()),
        ({Lane.TOKENS: False, Lane.CHAT: False}, (Lane.TOKENS,)),
        ({Lane.TOKENS: True, Lane.TEXT: True, Lane.CHAT: False}, (Lane.CHAT,)),
        ({Lane.TOKENS: True, Lane.TEXT: True, Lane.CHAT: True, Lane.PARSER: False}, (Lane.PARSER,)),
        # a lane that was not asked may have brought it in as well
        ({Lane.TOKENS: True, Lane.CHAT: False}, (Lane.TEXT, Lane.CHAT)),
        ({Lane.GRAMMAR: False}, tuple(Lane)),
        # a later lane that agrees takes nothing back
        ({Lane.TOKENS: True, Lane.TEXT: False, Lane.CHAT: True, Lane.GRAMMAR: False}, (Lane.TEXT,)),
    ],
)
def test_a_difference_enters_behind_the_last_lane_that_agrees(lanes: dict[Lane, bool], where: tuple[Lane, ...]) -> None:
    assert enters(lanes) == where


@pytest.mark.parametrize(
    ("lanes", "prompts", "where"),
    [
        ({Lane.TEXT: False}, {Lane.TEXT: True}, (Lane.TOKENS,)),
        ({Lane.TEXT: False}, {Lane.TEXT: False}, (Lane.TEXT,)),
        ({Lane.CHAT: False}, {Lane.CHAT: False}, (Lane.TEXT, Lane.CHAT)),
        ({Lane.GRAMMAR: False}, {Lane.GRAMMAR: True}, (Lane.TOKENS, Lane.PARSER, Lane.GRAMMAR)),
        # nothing else remains: a template as long as the other is not the same one
        ({Lane.TOKENS: True, Lane.TEXT: True, Lane.CHAT: False}, {Lane.CHAT: True}, (Lane.CHAT,)),
        # what other lanes count says nothing about the one that differs
        ({Lane.TEXT: False, Lane.CHAT: False}, {Lane.CHAT: True}, (Lane.TOKENS, Lane.TEXT)),
    ],
)
def test_prompts_counted_equally_long_leave_out_what_makes_a_prompt(
    lanes: dict[Lane, bool], prompts: dict[Lane, bool], where: tuple[Lane, ...]
) -> None:
    assert enters(lanes, prompts) == where
