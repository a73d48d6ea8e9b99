"""`assay doctor` about languages: what is on this machine, and what passes its self-test where attempts run."""

import shutil

from assay.errors import AssayError
from assay.sandboxes.backends import open_pool
from assay.sandboxes.probe import Finding
from assay.settings import Settings
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.table import LANGUAGES, Language


def languages_finding() -> Finding:
    """Say for which languages this machine has what compiles or runs them; nothing is started."""
    here = [name for name, language in LANGUAGES.items() if not _lacking(language)]
    missing = [name for name in LANGUAGES if name not in here]
    detail = f"for `run`, `stdio`, `execute`; this machine's: {', '.join(here) or 'none'}"
    if missing:
        detail += f"; without {', '.join(missing)}"
    fix = "; ".join(LANGUAGES[name].install for name in missing)
    return Finding("languages", None if missing else True, detail, fix)


def tested_languages(settings: Settings) -> list[Finding]:
    """Run every language's self-test in a jail. Raises IsolationUnavailable where there is none."""
    builder = Builder()
    pool = open_pool(settings.model_copy(update={"slots": 1}))
    findings = []
    try:
        for name, language in LANGUAGES.items():
            try:
                with pool.slot() as slot:
                    builder.check_offered(slot, language)
            except AssayError as error:
                findings.append(Finding(name, None, str(error), language.install))
            else:
                findings.append(Finding(name, True, "its self-test passes"))
    finally:
        pool.close()
    return findings


def _lacking(language: Language) -> bool:
    tools = (language.probe[0], language.run[0])
    return any("/" not in tool and shutil.which(tool) is None for tool in tools)
