"""One request through the lab's own client, as an adapter shapes it."""

from __future__ import annotations

from lab.engines import Adapter
from lab.load.driver import LoadJob, run_load
from lab.load.prompts import PATHS, first_request
from lab.records import RequestRecord
from lab.spec import RunSpec
from tests.engines.imitations.server import Imitation


def once(adapter: Adapter, imitation: Imitation, spec: RunSpec) -> RequestRecord:
    """What became of the first request of `spec`, sent with exactly the fields the adapter gives."""
    workload = spec.workload
    parts = (
        adapter.sampling_fields(spec.sampling),
        adapter.length_fields(workload.output_tokens, workload.exact_output),
        adapter.template_fields(spec),
    )
    fields = {name: value for part in parts for name, value in part.body.items()}
    job = LoadJob(
        url=imitation.endpoint.url + "/v1",
        path=PATHS[workload.endpoint],
        levels=(first_request(workload, model=imitation.model, fields=fields),),
        timeout_s=30.0,
        workers=1,
    )
    return run_load(job).records[0]
