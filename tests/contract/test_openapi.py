"""`openapi.yaml` is what the service says about itself."""

from pathlib import Path

from assay.service.openapi import describe, render

ROOT = Path(__file__).resolve().parents[2]


def test_the_committed_document_is_the_generated_one() -> None:
    """`openapi.yaml` equals the output of `python -m assay.service.openapi`."""
    committed = (ROOT / "openapi.yaml").read_text(encoding="utf-8")

    assert committed == render(), "run: python -m assay.service.openapi > openapi.yaml"


def test_every_route_of_the_design_is_there() -> None:
    """The document holds every endpoint and says how each refuses."""
    paths = describe()["paths"]

    assert {
        "/v1/batches", "/v1/score", "/v1/batches/{batch_id}", "/v1/batches/{batch_id}/cancel",
        "/v1/batches/{batch_id}/results.jsonl", "/v1/verifiers", "/v1/verifiers/{name}", "/v1/tasks",
        "/v1/tasks/{task_id}", "/v1/tasks/{task_id}/stats", "/healthz", "/readyz", "/metrics",
    } <= set(paths)  # fmt: skip
    assert "4XX" in paths["/v1/batches"]["post"]["responses"]
