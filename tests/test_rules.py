"""The rules of the match cover every field, and name what differs."""

from __future__ import annotations

from typing import Any

import pytest

from lab.errors import TooManyVaried
from lab.plan import RunPlan
from lab.rules import RULES, differences, paths, subject
from lab.spec import CONDITION_FIELDS, LaunchProfile, RunSpec, match_id


@pytest.fixture
def spec(small_plan: tuple[RunPlan, Any]) -> RunSpec:
    return small_plan[0].runs[0].spec


def profile(spec: RunSpec, **changes: Any) -> RunSpec:
    return spec.model_copy(update={"profile": spec.profile.model_copy(update=changes)})


def test_no_field_of_a_spec_is_without_a_rule_and_no_rule_without_a_field(spec: RunSpec) -> None:
    assert set(paths(spec.model_dump(mode="json"))) == set(RULES)
    assert {f"profile.{name}" for name in LaunchProfile.model_fields} <= set(RULES)


def test_conditions_and_subject_together_are_the_whole_spec() -> None:
    intended = {"spec_version", "engine", "behind", "attached", "served_as", "isolation", "profile"}
    assert set(CONDITION_FIELDS) | intended == set(RunSpec.model_fields)


def test_one_launch_setting_may_vary_and_its_label_does_not_count(spec: RunSpec) -> None:
    assert subject((spec, profile(spec, prefix_caching=True, name="other"))) == "profile.prefix_caching"
    assert subject((spec, profile(spec, name="other"))) is None


def test_two_varied_things_are_refused_with_both_named(spec: RunSpec) -> None:
    with pytest.raises(TooManyVaried, match=r"profile\.prefix_caching") as refusal:
        subject((spec, profile(spec, prefix_caching=True, tick_s=0.5)))
    assert "profile.tick_s: 0.005 / 0.5" in refusal.value.what


def test_how_many_tokens_are_drafted_is_a_part_of_drafting(spec: RunSpec) -> None:
    drafting = profile(spec, speculative="ngram", speculative_tokens=4)
    assert subject((spec, drafting)) == "profile.speculative"
    assert subject((drafting, profile(drafting, speculative_tokens=8))) == "profile.speculative_tokens"
    with pytest.raises(TooManyVaried, match=r"profile\.speculative, profile\.tick_s"):
        subject((spec, profile(drafting, tick_s=0.5)))


def test_what_has_to_be_equal_may_not_even_vary_alone(spec: RunSpec) -> None:
    with pytest.raises(TooManyVaried, match="context_limit"):
        subject((spec, spec.model_copy(update={"context_limit": 99})))


def kv(spec: RunSpec, kind: str, **changes: Any) -> RunSpec:
    formats = spec.quantization.model_copy(update={"kv_cache": kind})
    return spec.model_copy(update={"quantization": formats} | changes)


def test_the_kv_format_may_vary_in_a_pipeline_check_and_nowhere_else(spec: RunSpec) -> None:
    pair = [kv(spec, kind, table="pipeline-check") for kind in ("F16", "Q8_0")]
    assert subject(pair) == "quantization.kv_cache"
    for table in ("comparison", "instrument-check"):
        with pytest.raises(TooManyVaried, match=r"quantization\.kv_cache"):
            subject([kv(one, one.quantization.kv_cache, table=table) for one in pair])
    with pytest.raises(TooManyVaried, match=r"2 things differ"):
        subject([pair[0], profile(pair[1], max_num_seqs=3)])


def test_a_match_of_two_kv_formats_is_another_one_than_that_of_either(spec: RunSpec) -> None:
    one, other = kv(spec, "F16"), kv(spec, "Q8_0")
    ids = {match_id((one,)), match_id((other,)), match_id((one, other))}
    assert len(ids) == 3
    assert match_id((other, one)) in ids
    assert match_id((one, one)) == match_id((one,))


def test_every_difference_is_named_with_its_values(spec: RunSpec) -> None:
    other = profile(spec.model_copy(update={"preparation_counts": False}), max_num_seqs=3)
    found = {difference.field: difference.values for difference in differences((spec, other))}
    assert found == {"profile.max_num_seqs": (None, 3), "preparation_counts": (True, False)}


def test_match_id_means_conditions_and_engines_not_settings(spec: RunSpec) -> None:
    assert match_id((spec,)) == match_id((profile(spec, prefix_caching=True),))
    assert match_id((spec,)) != match_id((spec.model_copy(update={"preparation_counts": False}),))


def test_a_digest_is_the_same_in_every_process_and_changes_with_every_value(spec: RunSpec) -> None:
    again = RunSpec.model_validate_json(spec.model_dump_json())
    assert again.spec_digest == spec.spec_digest
    assert profile(spec, tick_s=0.006).spec_digest != spec.spec_digest


def test_a_field_that_was_added_with_a_default_leaves_older_digests_alone(spec: RunSpec) -> None:
    older = spec.model_dump(mode="json", exclude={"cache_tier": True, "profile": {"cuda_graphs"}})
    assert RunSpec.model_validate(older).spec_digest == spec.spec_digest
    assert spec.model_copy(update={"cache_tier": "warm"}).spec_digest != spec.spec_digest


def test_the_engine_inside_a_packaging_is_a_part_of_the_engine(spec: RunSpec) -> None:
    packaged = spec.model_copy(update={"engine": "nim", "behind": "vllm"})
    assert subject((spec, packaged)) == "engine"
    assert subject((packaged, packaged.model_copy(update={"behind": "sglang"}))) == "behind"
