"""The named presets of `sql`: published rewards, and what this project recommends."""

from assay.verifiers.rules.rule import Profile
from assay.verifiers.sql.choices import Order, Refused
from assay.verifiers.sql.comparison import Columns, Rows
from assay.verifiers.sql.extraction import Layout, Need

_ARCTIC = "Yao et al. 2025, arXiv:2505.20315 (1 / 0.1 / 0); snowflakedb/ArcticTraining@b28638e (set comparison)"
_SPIDER = "Yu et al. 2018, arXiv:1809.08887; Zhong et al. 2020, arXiv:2010.02840 (bag comparison of execution results)"
_SQL_R1 = "DataArcTech/SQL-R1@acb5c0d, verl/utils/reward_score/synsql.py and exec_eval.py"
_READ = {"reasoning": "kept"}

PROFILES = (
    Profile(
        "arctic/paper",
        {
            "compare": Rows.SET,
            "order": Order.IGNORE,
            "tag": Need.REQUIRED,
            "fence": Need.REQUIRED,
            "relative_tolerance": 0.0,
            **_READ,
        },
        _ARCTIC,
        "1 / 0.1 / 0 with sets of rows: order and repetition are lost. A refused statement is `violation`, and 0.",
    ),
    Profile(
        "spider/code",
        {"order": Order.MENTIONED, "columns": Columns.ANY, "relative_tolerance": 0.0, **_READ},
        _SPIDER,
        "Bags of rows under any assignment of columns, in order if the gold has the words anywhere; 1 / 0.1 / 0.",
    ),
    Profile(
        "sql-r1/code",
        {
            "weights": {"format": 1.0, "execution": 2.0, "match": 3.0, "length": 1.0},
            "signed": True,
            "format_gate": True,
            "layout": Layout.SQL_R1,
            "order": Order.MENTIONED,
            "columns": Columns.ANY,
            "distinct": "dropped",
            "relative_tolerance": 0.0,
            "refused": Refused.MISMATCH,
            "tag": Need.REQUIRED,
            "fence": Need.REQUIRED,
            "pass_threshold": 6.0,
            **_READ,
        },
        _SQL_R1,
        "Format 1 or -1, execution 2 or -2, match 3 or -3, and for a match a bonus for length. Safe where the "
        "released code is not: a gold query that fails is `task_error` there a match; writes are not run, so they "
        "never match an empty gold; a second statement is an error, not dropped; no role marker is asked for.",
    ),
    Profile(
        "sql/hardened",
        {},
        "this project",
        "The default: bags of rows, columns in order, row order where the gold query itself asks for it; no drafts.",
    ),
)
