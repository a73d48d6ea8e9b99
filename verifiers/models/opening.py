"""Opens the endpoints that the settings name, if any."""

from assay.settings import Settings
from assay.verifiers.models.client import ModelClient
from assay.verifiers.models.endpoints import read_endpoints
from assay.verifiers.models.interface import Models, NoModels


def open_models(settings: Settings) -> Models:
    """Return the process's endpoints. Raises InvalidRequest if the table of them is broken or a key is missing."""
    if settings.models is None:
        return NoModels()
    return ModelClient(read_endpoints(settings.models))
