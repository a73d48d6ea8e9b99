"""The attacks, by what they aim at."""

from attacks import files, kernel, network, others, outliving, processes, resources, survival

ATTACKS = (
    *network.ATTACKS,
    *processes.ATTACKS,
    *kernel.ATTACKS,
    *files.ATTACKS,
    *survival.ATTACKS,
    *others.ATTACKS,
    *outliving.ATTACKS,
    *resources.ATTACKS,
)
