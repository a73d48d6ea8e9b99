"""`assay doctor` about languages: what is on this machine, and what passes its self-test where attempts run."""

from assay.errors import AssayError
from assay.sandboxes.backends import open_pool
from assay.sandboxes.probe import Finding
from assay.settings import Settings
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.offering import missing_tools
from assay.verifiers.languages.table import LANGUAGES


def languages_finding() -> Finding:
    """Say for which languages this machine has what compiles or runs them; nothing is started."""
    here = [name for name, language in LANGUAGES.items() if not missing_tools(language)]
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
                    version = builder.check_offered(slot, language)
            except AssayError as error:
                findings.append(Finding(name, None, str(error), language.install))
            else:
                findings.append(Finding(name, True, f"its self-test passes ({version})"))
    finally:
        pool.close()
    return findings
