"""Drop-in endpoints: the shapes in which clients of other execution services send programs and read results.

Here unknown fields are tolerated, verdicts come with HTTP 200, and a caller that must wait too long gets 504.
"""

from fastapi import APIRouter

from assay.service.compat.common_oj import common_oj_routes
from assay.service.compat.judge0 import judge0_routes
from assay.service.compat.nemo_gym import nemo_gym_routes
from assay.service.compat.open_instruct import open_instruct_routes
from assay.service.compat.open_r1 import open_r1_routes
from assay.service.compat.piston import piston_routes
from assay.service.compat.sandbox_fusion import sandbox_fusion_routes
from assay.service.compat.trainers import trainer_routes
from assay.service.parts import Parts

_ROUTES = (
    sandbox_fusion_routes, common_oj_routes, piston_routes, judge0_routes, open_r1_routes, open_instruct_routes,
    trainer_routes, nemo_gym_routes,
)  # fmt: skip


def compat_routes(parts: Parts) -> APIRouter:
    """Return the routes of every other service that is stood in for."""
    router = APIRouter()
    for routes in _ROUTES:
        router.include_router(routes(parts))
    return router
