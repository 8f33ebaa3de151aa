"""Names of models, machines and people: what the policy lets through, and what it hides the same way every week."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import EvidenceError, ParamsError
from lab.evidence import EvidenceStore
from lab.plan import RunPlan
from lab.publish.edition import keep_apart
from lab.publish.identity import KEY_VARIABLE, Identity, Namer, read_identity, read_key, unique_machines
from lab.records import MachineClass
from lab.spec import ModelSpec
from tests.report.report_examples import run

MACHINE = MachineClass(accelerator="NVIDIA H200", cpu_cores=224, memory_gib=2015, system="Linux", machine="x86_64",
                       python="3.11.7")  # fmt: skip
MODEL = ModelSpec(series="kitsune-7b-internal", revision="build-0412", weights_format="none", weights_sha256=None,
                  tokenizer="words", chat_template="none")  # fmt: skip
KEY = b"0123456789abcdef0123456789abcdef"


def test_without_a_policy_everything_is_said_exactly() -> None:
    namer = Namer(Identity())
    assert namer.model(MODEL) == MODEL
    assert namer.machine(MACHINE) == MACHINE
    assert (namer.key_id, namer.uses_key) == (None, False)


def test_an_alias_hides_the_name_and_its_release() -> None:
    public = Namer(Identity(models={"kitsune-7b-internal": "Model K"}), KEY).model(MODEL)
    assert (public.series, public.revision) == ("Model K", "withheld")


def test_two_models_are_never_called_the_same() -> None:
    with pytest.raises(ValueError, match="two models would be called Model K"):
        Identity(models={"kitsune-7b": "Model K", "tanuki-3b": "Model K"})


def test_a_digest_of_a_hidden_model_cannot_be_tried_out_and_stays_the_same() -> None:
    weights, spec = "ab" * 32, "s-0123456789abcdef"
    namer = Namer(Identity(models={"kitsune-7b-internal": "Model K"}), KEY)
    hidden = namer.digest_of(MODEL, spec)
    assert hidden == namer.digest_of(MODEL, spec) != spec
    assert (hidden[:2], len(hidden)) == ("s-", len(spec))
    assert namer.digest_of(MODEL, weights) != weights
    assert namer.digest_of(MODEL, "s-0123456789abcdee") != hidden  # what differs still differs
    assert Namer(namer.identity, KEY[::-1]).digest_of(MODEL, spec) != hidden
    assert Namer(Identity()).digest_of(MODEL, spec) == spec
    assert namer.digest_of(MODEL, None) is None
    with pytest.raises(ParamsError, match="no key"):
        Namer(namer.identity).digest_of(MODEL, spec)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_key_behind_a_name_stands_on_its_evidence_card(lang: str) -> None:
    from lab.report.build import build_pages

    shown = run("P", "base", pseudonym_key="k-abcdefg2")
    assert b"k-abcdefg2" in build_pages((shown,), (lang,))[f"{lang}/index.html"]
    assert b"k-abcdefg2" not in build_pages((run("P", "base"),), (lang,))[f"{lang}/index.html"]


def test_a_pseudonym_is_the_same_every_week_and_another_with_another_key() -> None:
    policy = Identity(models={"kitsune-7b-internal": "pseudonym"})
    first = Namer(policy, KEY).model(MODEL).series
    assert first == Namer(policy, KEY).model(MODEL).series
    assert first != Namer(policy, KEY[::-1]).model(MODEL).series
    assert first.startswith("model-")
    assert "kitsune" not in first


def test_the_same_name_in_two_domains_cannot_be_joined() -> None:
    namer = Namer(Identity(), KEY)
    letters = {kind: namer.pseudonym(kind, "x").partition("-")[2] for kind in ("model", "machine")}  # type: ignore[arg-type]
    assert letters["model"] != letters["machine"]
    assert namer.key_id is not None
    assert KEY.decode() not in namer.key_id


def test_a_pseudonym_without_a_key_says_how_to_make_one() -> None:
    with pytest.raises(ParamsError, match="no key") as refusal:
        Namer(Identity(models={"kitsune-7b-internal": "pseudonym"})).model(MODEL)
    assert KEY_VARIABLE in str(refusal.value.next_step)


def test_a_class_of_machine_keeps_the_order_of_magnitude() -> None:
    public = Namer(Identity(machine="class", accelerators={"NVIDIA H200": "data-centre GPU 80 GB or more"})).machine(
        MACHINE
    )
    assert (public.accelerator, public.cpu_cores, public.memory_gib) == ("data-centre GPU 80 GB or more", 128, 1024)


def test_the_key_stays_outside_the_checkout_and_is_nobody_elses_to_read(tmp_path: Path) -> None:
    from tests.conftest import CHECKOUT

    path = tmp_path / "key"
    path.write_bytes(KEY + b"\n")
    path.chmod(0o644)
    with pytest.raises(ParamsError, match="may be read by others"):
        read_key({KEY_VARIABLE: str(path)})
    path.chmod(0o600)
    assert read_key({KEY_VARIABLE: str(path)}) == KEY
    assert read_key({}) is None
    with pytest.raises(ParamsError, match="lies in the checkout"):
        read_key({KEY_VARIABLE: str(CHECKOUT / "pyproject.toml")})
    with pytest.raises(ParamsError, match="does not exist"):
        read_key({KEY_VARIABLE: str(tmp_path / "nothing")})
    with pytest.raises(ParamsError, match="has 5 bytes"):
        read_key({KEY_VARIABLE: "short"})


def test_the_policy_is_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "publish.yaml"
    assert read_identity(path) == Identity()
    path.write_text("identity: {models: {a-b: Model A}, machine: class}\n")
    assert read_identity(path) == Identity(models={"a-b": "Model A"}, machine="class")
    path.write_text("identity: {modles: {}}\n")
    with pytest.raises(ParamsError, match="modles"):
        read_identity(path)


def test_a_machine_that_only_one_edition_shows_is_named(tmp_path: Path) -> None:
    first, second = run("P", "base"), run("Q", "base")
    other = second.model_copy(update={"machine": MACHINE})
    for folder, public in (("one", first), ("two", second), ("three", other)):
        (tmp_path / folder / "evidence").mkdir(parents=True)
        (tmp_path / folder / "evidence" / f"{public.run_id}.json").write_text(public.model_dump_json())
    assert unique_machines(tmp_path / "one", tmp_path) == ()
    assert unique_machines(tmp_path / "three", tmp_path) == (MACHINE,)


def test_two_machines_that_would_look_like_one_are_not_published_together(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path]
) -> None:
    from lab.environment import capture

    namer = Namer(Identity(machine="class"))
    public = []
    for cores in (5, 6):
        run_id = store.create(small_plan[0].runs[0].spec, plan="small", plan_digest="p", match_id="m-1", varied=())
        machine = capture().model_copy(update={"cpu_cores": cores})
        store.write(run_id, "environment.json", machine)
        public.append(run("P", "base", run_id=run_id, machine=namer.machine(machine.machine_class).model_dump()))
    keep_apart(store, public[:1])
    with pytest.raises(EvidenceError, match="both would be published as the same"):
        keep_apart(store, public)
