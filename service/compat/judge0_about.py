"""What a Judge0 tells of itself (judge0/judge0, docs/api), which its official client reads first. Pure."""

from typing import Any  # Any: answers are JSON

from assay.schema import Limits
from assay.settings import Settings

VERSION = "1.13.1"
"""Of the API that is answered; clients choose the numbers of languages by it."""
BATCH_ADVISED = 100
"""Submissions that clients are told to send at once: their tokens still fit into an address that proxies take."""
_KB_PER_MB = 1024
_STACK_KB = 256 * 1024


def about() -> dict[str, str]:
    """Return what `/about` tells."""
    return {"version": VERSION, "homepage": "", "source_code": "", "maintainer": "assay"}


def config_info(settings: Settings, most_waiting: int) -> dict[str, Any]:
    """Return the features and limits, times in seconds, memory and files in kB."""
    usual = Limits()
    return {
        **_FEATURES,
        "max_queue_size": most_waiting,
        "max_submission_batch_size": BATCH_ADVISED,
        "cpu_time_limit": min(usual.cpu_s, settings.max_cpu_s),
        "max_cpu_time_limit": settings.max_cpu_s,
        "cpu_extra_time": 0.0,
        "max_cpu_extra_time": 0.0,
        "wall_time_limit": min(usual.wall_s, settings.max_wall_s),
        "max_wall_time_limit": settings.max_wall_s,
        "memory_limit": min(usual.memory_mb, settings.max_memory_mb) * _KB_PER_MB,
        "max_memory_limit": settings.max_memory_mb * _KB_PER_MB,
        "stack_limit": _STACK_KB,
        "max_stack_limit": _STACK_KB,
        "max_processes_and_or_threads": min(usual.processes, settings.max_processes),
        "max_max_processes_and_or_threads": settings.max_processes,
        "max_file_size": min(usual.disk_mb, settings.max_disk_mb) * _KB_PER_MB,
        "max_max_file_size": settings.max_disk_mb * _KB_PER_MB,
        "max_extract_size": settings.max_completion_bytes // _KB_PER_MB,
        "number_of_runs": 1,
        "max_number_of_runs": 1,
        "submission_cache_duration": 0.0,
    }


_FEATURES = {
    "maintenance_mode": False,
    "enable_wait_result": True,
    "enable_compiler_options": False,
    "allowed_languages_for_compile_options": [],
    "enable_command_line_arguments": True,
    "enable_submission_delete": True,
    "enable_batched_submissions": True,
    "enable_callbacks": False,
    "callbacks_max_tries": 0,
    "callbacks_timeout": 0.0,
    "enable_additional_files": True,
    "enable_network": False,
    "allow_enable_network": False,
    "enable_per_process_and_thread_time_limit": False,
    "allow_enable_per_process_and_thread_time_limit": False,
    "enable_per_process_and_thread_memory_limit": False,
    "allow_enable_per_process_and_thread_memory_limit": False,
    "redirect_stderr_to_stdout": False,
    "use_docs_as_homepage": False,
}
