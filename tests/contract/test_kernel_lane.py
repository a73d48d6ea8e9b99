"""Where each acceptance test of the kernel lane is, and each hack of its catalogue.

A name is `file::function`, or `file::entry` for a hack in a table of tests/hostile/kernels/.
"""

import ast
from collections.abc import Mapping
from functools import cache

import pytest
from named_tests import TESTS, entries, tabled

SPEED, REFUSALS = (f"unit/kernels/test_kernel_acceptance_{part}.py" for part in ("speed", "refusals"))
SANDBOX, CONFINEMENT = "sandbox/test_kernel_compilation.py", "sandbox/test_cpu_runner_confinement.py"
BOMBS = "sandbox/test_kernel_bombs.py"
NATIVE, GPU = "hostile/kernels/test_native_hacks.py", "gpu/test_gpu_acceptance.py"
BUFFERS = "unit/kernels/test_kernel_buffers.py"
GAINLESS, MACHINE = "hostile/kernels/test_gainless_hacks.py", "hostile/kernels/test_machine_hacks.py"
HIDING, TAMPERING = "hostile/kernels/hiding_hacks.py", "hostile/kernels/tampering_hacks.py"
WRONG = "hostile/kernels/wrong_hacks.py"

ACCEPTANCE: Mapping[int, tuple[str, ...]] = {
    1: (f"{SPEED}::test_01_reference_as_candidate_is_no_win",),
    2: (f"{SPEED}::test_02_noise_does_not_raise_the_median",),
    3: (f"{SPEED}::test_03_twice_as_fast_is_two",),
    4: (f"{SPEED}::test_04_position_effect_is_reported_and_not_paid",),
    5: (f"{SPEED}::test_05_warm_up_and_rounds_last_as_long_as_asked",),
    6: (
        f"{REFUSALS}::test_06_work_after_the_answer_is_rejected",
        f"{HIDING}::06 a thread finishes 5 ms after the answer",
        f"{HIDING}::06 an alarm computes after the answer",
        f"{HIDING}::06 the answer comes first, and the work goes on",
    ),
    7: (
        f"{HIDING}::07 a child computes",
        f"{CONFINEMENT}::test_07_a_runner_starts_nothing_else",
        f"{CONFINEMENT}::test_07_work_of_children_is_charged",
    ),
    8: (
        f"{REFUSALS}::test_08_output_cached_by_address_is_wrong",
        f"{GAINLESS}::test_08_results_kept_by_address_win_nothing",
        f"{HIDING}::08 results are kept by shape",
    ),
    9: (
        f"{SPEED}::test_09_output_cached_by_content_gains_nothing",
        f"{GAINLESS}::test_09_results_kept_by_content_win_nothing",
    ),
    10: (
        f"{REFUSALS}::test_10_calls_answered_together_are_rejected_at_the_first",
        f"{HIDING}::10 eight calls are collected",
    ),
    11: (f"{REFUSALS}::test_11_a_kernel_that_does_nothing_is_rejected", f"{WRONG}::11 nothing is done"),
    12: (
        f"{REFUSALS}::test_12_not_quite_all_elements_is_rejected",
        f"{WRONG}::12 one element in two hundred is left out",
    ),
    13: (f"{REFUSALS}::test_13_overwritten_inputs_are_rejected", f"{WRONG}::13 inputs and output are zeroed"),
    14: (
        f"{REFUSALS}::test_14_writing_beside_the_output_is_rejected",
        f"{WRONG}::14 one element is written past the output",
        f"{WRONG}::14 one element is written before the output",
        f"{REFUSALS}::test_14_bytes_far_from_all_buffers_are_found",
        f"{REFUSALS}::test_14_a_reference_that_writes_far_from_its_buffers_is_the_tasks_fault",
        f"{WRONG}::14 a word is written far from all buffers",
    ),
    15: (
        f"{REFUSALS}::test_15_nonfinite_output_is_rejected_before_it_is_compared",
        f"{WRONG}::15 NaN everywhere",
        f"{WRONG}::15 one infinity",
    ),
    16: (
        f"{REFUSALS}::test_16_sums_in_single_precision_fail_a_double_task",
        f"{NATIVE}::test_16_a_float_sum_fails_where_doubles_are_asked_for",
        f"{NATIVE}::test_16_a_float_sum_passes_where_floats_are_asked_for",
    ),
    17: (f"{REFUSALS}::test_17_one_element_corrupted_after_a_while_is_rejected", f"{HIDING}::17 right for ten calls"),
    18: (f"{REFUSALS}::test_18_a_tile_that_is_hard_coded_fails_at_a_hidden_shape", f"{WRONG}::18 tiles of 64"),
    19: (
        f"{REFUSALS}::test_19_a_task_whose_answer_is_constant_is_rejected",
        "unit/kernels/test_kernel_verifier.py::test_a_faulty_task_is_not_scored",
        "sandbox/test_kernel_timing_jobs.py::test_19_a_task_whose_answer_is_constant_is_not_judged",
    ),
    20: (
        f"{SPEED}::test_20_a_candidate_that_burns_cpu_is_frozen_or_not_paid",
        f"{GAINLESS}::test_20_burning_in_the_references_turn_wins_nothing",
        f"{MACHINE}::test_20_a_kernel_stays_on_the_core_that_the_reference_has",
    ),
    21: (f"{SPEED}::test_21_sleeping_in_the_warm_up_changes_no_count",),
    22: (
        f"{REFUSALS}::test_22_a_runner_that_ends_or_talks_earns_the_minimum",
        f"{TAMPERING}::22 a forged verdict on every descriptor",
    ),
    23: (f"{GAINLESS}::test_23_clocks_of_its_own_process_are_not_asked",),
    24: (f"{MACHINE}::test_24_nothing_is_there_to_be_found", f"{CONFINEMENT}::test_a_kernel_opens_no_file"),
    25: (
        f"{REFUSALS}::test_25_a_kernel_that_does_not_end_is_ended_at_its_deadline",
        f"{MACHINE}::test_25_a_kernel_that_does_not_end_is_ended",
    ),
    26: (
        f"{SANDBOX}::test_26_a_foreign_file_is_not_told",
        f"{SANDBOX}::test_26_a_foreign_file_is_not_told_nor_kept_by_c",
        f"{SANDBOX}::test_26_what_the_source_may_ask_of_its_place_tells_nothing",
    ),
    27: (f"{SANDBOX}::test_27_a_host_constructor_is_dropped",),
    28: (
        f"{SANDBOX}::test_28_writable_state_is_refused",
        f"{SANDBOX}::test_28_constant_tables_are_let_through",
        f"{SANDBOX}::test_28_what_only_resembles_those_tables_is_state",
    ),
    29: (f"{SANDBOX}::test_29_kernels_launch_no_kernels",),
    30: (
        f"{BOMBS}::test_30_a_bomb_for_nvcc_ends_within_its_limits",
        f"{BOMBS}::test_30_a_bomb_for_gcc_ends_within_its_limits",
        f"{BOMBS}::test_30_a_compiler_that_does_not_end_is_ended",
        f"{BOMBS}::test_30_a_source_of_ten_megabytes_is_not_compiled",
        f"{BOMBS}::test_30_an_unknown_flag_is_refused",
    ),
    31: (f"{SANDBOX}::test_31_equal_cuda_is_compiled_once", f"{SANDBOX}::test_31_equal_c_is_compiled_once"),
    32: (
        "integration/test_device_leases.py::test_32_two_timing_jobs_for_one_device_never_overlap",
        "integration/test_device_leases.py::test_32_the_result_under_a_lease_that_ended_is_discarded",
        "sandbox/test_kernel_timing_jobs.py::test_32_two_sessions_on_one_processor_never_overlap",
        "sandbox/test_kernel_timing_jobs.py::test_32_a_session_whose_lease_has_ended_pays_nothing",
        "unit/kernels/test_host_locks.py::test_32_jobs_of_one_host_never_overlap",
    ),
    33: (f"{SPEED}::test_33_equation_3_is_exact",),
    34: (f"{SPEED}::test_34_a_shape_below_physics_is_rejected",),
    35: (
        f"{SPEED}::test_35_a_busy_device_is_inconclusive",
        "unit/kernels/test_kernel_verifier.py::test_a_busy_machine_is_asked_again_and_no_more_than_allowed",
    ),
    36: (f"{GPU}::test_36_references_are_right_on_the_device", f"{GPU}::test_36_events_and_wall_agree"),
    37: (f"{GPU}::test_37_work_on_another_stream_is_rejected",),
    38: (f"{GPU}::test_38_lines_that_persist_gain_nothing", f"{GPU}::test_38_a_persisting_window_gains_nothing"),
    39: (f"{GPU}::test_39_a_poisoned_context_ends_and_the_next_job_passes",),
    40: (f"{GPU}::test_40_work_on_another_stream_is_charged",),
    41: (f"{GPU}::test_41_clocks_that_are_not_locked_are_told_or_refused",),
}
"""By number. Those of timings (1, 2, 20) run on the real clock in benchmarks/kernels.py."""

CATALOGUE: Mapping[str, tuple[str, ...]] = {
    "A2": (*ACCEPTANCE[6], *ACCEPTANCE[7]),
    "A3": (f"{HIDING}::A3 the output is computed when it is read",),
    "A4": ACCEPTANCE[10],
    "A5": (*ACCEPTANCE[8], *ACCEPTANCE[9]),
    "A6": (f"{GAINLESS}::test_a6_results_kept_on_disk_win_nothing",),
    "A7": (f"{HIDING}::A7 it is all computed while it is loaded, from the seed in the environment",),
    "A10": ACCEPTANCE[20],
    "A11": (
        *ACCEPTANCE[21],
        f"{HIDING}::A11 it is slow in the warm-up, and the one call that is timed is stolen",
        f"{GAINLESS}::test_a11_it_is_the_slow_warm_up_that_pays",
    ),
    "A12": (*ACCEPTANCE[17], f"{HIDING}::A12 nothing is done after ten calls"),
    "B1": ACCEPTANCE[23],
    "B2": (f"{TAMPERING}::B2 names of the harness are replaced",),
    "B3": (f"{TAMPERING}::B3 what is expected is found in memory",),
    "B4": (f"{TAMPERING}::B4 what is expected is made NaN",),
    "B5": (*ACCEPTANCE[22], f"{TAMPERING}::a constructor that ends the process"),
    "B6": (*ACCEPTANCE[23], *ACCEPTANCE[24]),
    "B8": (f"{TAMPERING}::B8 what is expected is read from a file",),
    "B9": (f"{HIDING}::A7 it is all computed while it is loaded, from the seed in the environment",),
    "B10": (*ACCEPTANCE[26], f"{MACHINE}::test_b10_the_compiler_finds_nothing_that_is_expected"),
    "B11": (*ACCEPTANCE[30], f"{MACHINE}::test_b11_a_bomb_ends_within_its_limits"),
    "B12": (f"{TAMPERING}::B12 it prints a benchmark of its own",),
    "B13": (*ACCEPTANCE[34], f"{GAINLESS}::test_b13_no_time_at_one_size_wins_nothing"),
    "B14": ACCEPTANCE[23],
    "C1": ACCEPTANCE[11],
    "C3": ACCEPTANCE[13],
    "C4": (
        f"{BUFFERS}::test_buffers_are_aligned_apart_and_in_the_segment",
        f"{WRONG}::C4 the output is the input",
    ),
    "C5": (
        *ACCEPTANCE[19],
        "unit/kernels/test_kernel_lint.py::test_lint_finds_tasks_that_a_lazy_kernel_passes",
        f"{WRONG}::C5 the answer is a constant",
        f"{MACHINE}::test_c5_a_task_that_a_constant_passes_is_refused",
    ),
    "C6": ACCEPTANCE[18],
    "C7": (f"{WRONG}::C7 right for values between 0 and 1 alone",),
    "C8": ACCEPTANCE[16],
    "C9": ACCEPTANCE[15],
    "C10": ACCEPTANCE[12],
    "C11": (
        f"{BUFFERS}::test_outputs_are_read_in_their_shape",
        *ACCEPTANCE[12],
        f"{WRONG}::C11 the output is empty",
    ),
    "C12": ACCEPTANCE[14],
    "C13": (
        f"{WRONG}::C13 the reference computes",
        "sandbox/test_kernel_compilation.py::test_what_cannot_be_linked_does_not_compile",
        "unit/kernels/test_native_gate.py::test_another_library_is_refused",
    ),
    "C14": (
        "unit/kernels/test_kernel_session_checks.py::test_bits_that_differ_are_flagged_or_refused",
        f"{WRONG}::C14 a race that is lost now and then",
    ),
    "C15": (
        f"{BUFFERS}::test_inputs_lie_in_their_layout_and_outputs_hold_a_word",
        *ACCEPTANCE[18],
        f"{WRONG}::C15 the second input is taken for transposed",
    ),
    "C16": (f"{SANDBOX}::test_other_cubins_are_refused", f"{WRONG}::C16 the fast path is never taken"),
    "D1": ACCEPTANCE[25],
    "D3": (f"{MACHINE}::test_d3_a_kernel_that_takes_all_memory_is_ended", *ACCEPTANCE[7]),
    "D5": (*ACCEPTANCE[32], f"{MACHINE}::test_d5_a_second_job_on_the_processor_wins_nothing"),
    "D6": (*ACCEPTANCE[35], f"{MACHINE}::test_d6_load_beside_it_wins_nothing"),
}
"""Of what can be shown on any machine (C, S): every entry that the catalogue marks so."""

ON_DEVICES_ALONE: Mapping[str, str] = {
    "A1": "streams are CUDA's; its likeness on a processor, a thread, is A2",
    "A8": "graphs that are captured and replayed are CUDA's",
    "A9": "the part of a cache that persists is reserved through CUDA",
    "A13": "a processor's clocks are not the candidate's to heat or rest beside its reference: it is frozen",
    "A14": "events are CUDA's; on a processor the judge asks its own clock",
    "B7": "the counter of errors lies in the device's memory",
    "C2": "a launch that is skipped for its shared memory; a native entry is called, not launched",
    "D2": "a context that stays broken is CUDA's",
    "D4": "what is left over in the device's memory; a processor's pages are new to each process",
    "D7": "the device's writes to the host's memory; a processor's kernel reaches its own process alone",
}
"""Entries that the catalogue marks G alone, each with why no processor can show it."""

LENGTHS: Mapping[str, int] = {"A": 14, "B": 14, "C": 16, "D": 7}
"""Entries of each part of the catalogue."""


def test_every_acceptance_test_has_a_place() -> None:
    """From 1 to 41, and each name is that of a test."""
    assert list(ACCEPTANCE) == list(range(1, 42))
    assert missing(ACCEPTANCE) == []


def test_every_hack_of_the_catalogue_has_a_place() -> None:
    """What any machine can show has tests, the rest a reason."""
    whole = [f"{part}{number}" for part, length in LENGTHS.items() for number in range(1, length + 1)]

    assert list(CATALOGUE) == [hack for hack in whole if hack not in ON_DEVICES_ALONE]
    assert set(ON_DEVICES_ALONE) < set(whole)
    assert missing(CATALOGUE) == []


@pytest.mark.parametrize("hack", CATALOGUE)
def test_every_hack_wins_somewhere_naive(hack: str) -> None:
    """A naive harness runs in one of its tests."""
    assert any(name in naive_runs() for name in CATALOGUE[hack])


@pytest.mark.parametrize("file", [HIDING, TAMPERING, WRONG])
def test_every_hack_of_the_tables_is_in_the_map(file: str) -> None:
    """None is there that no entry of the catalogue names."""
    told = {name for names in CATALOGUE.values() for name in names}

    assert {f"{file}::{entry}" for entry in tabled(file)} <= told


@pytest.mark.parametrize("file", [SPEED, REFUSALS, NATIVE, GAINLESS, MACHINE, HIDING, TAMPERING, WRONG])
def test_what_is_numbered_is_in_the_map(file: str) -> None:
    """A test or hack that bears a number is told under it."""
    for entry in entries(file):
        number = entry.removeprefix("test_").partition("_")[0].partition(" ")[0]
        assert not number.isdigit() or f"{file}::{entry}" in ACCEPTANCE[int(number)]


def missing(places: Mapping[int, tuple[str, ...]] | Mapping[str, tuple[str, ...]]) -> list[str]:
    """The names that are none of a test or of a hack."""
    named = (name for names in places.values() for name in names)
    return [name for name in named if name.partition("::")[2] not in entries(name.partition("::")[0])]


@cache
def naive_runs() -> frozenset[str]:
    """Tests in which a naive harness judges, and what stands in the tables that one of them goes through."""
    found = set[str]()
    for file in (NATIVE, GAINLESS, MACHINE):
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        found |= {f"{file}::{node.name}" for node in tree.body if isinstance(node, ast.FunctionDef) and _is_naive(node)}
    tables = (HIDING, TAMPERING, WRONG) if f"{NATIVE}::test_hack_is_not_paid" in found else ()
    return frozenset(found | {f"{table}::{entry}" for table in tables for entry in tabled(table)})


def _is_naive(test: ast.FunctionDef) -> bool:
    called = (node.func for node in ast.walk(test) if isinstance(node, ast.Call))
    names = {func.id if isinstance(func, ast.Name) else getattr(func, "attr", "") for func in called}
    return test.name.startswith("test_") and bool(names & {"judge_naively", "is_naively_paid", "assert_no_gain"})
