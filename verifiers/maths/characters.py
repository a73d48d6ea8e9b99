"""Characters outside ASCII, in the words of LaTeX: the first step of reading an answer, one pass over the text."""

import re
import unicodedata

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣʸ", "0123456789+-()nixy", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙₓₐᵢₖ", "0123456789+-()nxaik", strict=True))
_FRACTIONS = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5), "⅘": (4, 5),
    "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8), "⅐": (1, 7), "⅑": (1, 9),
    "⅒": (1, 10),
}  # fmt: skip
_LETTERS = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ϵ": "epsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "ϑ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu", "ν": "nu", "ξ": "xi",
    "π": "pi", "ρ": "rho", "σ": "sigma", "ς": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "ϕ": "phi", "χ": "chi",
    "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi",
    "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega", "ℓ": "ell",
}  # fmt: skip
_COMMANDS = {
    "×": "times", "✕": "times", "⨯": "times", "·": "cdot", "⋅": "cdot", "∙": "cdot", "•": "cdot", "÷": "div",
    "±": "pm", "∓": "mp", "≤": "le", "⩽": "le", "≦": "le", "≥": "ge", "⩾": "ge", "≧": "ge", "≠": "ne", "≈": "approx",
    "≅": "cong", "≡": "equiv", "∞": "infty", "√": "sqrt", "∪": "cup", "⋃": "cup", "∩": "cap", "∖": "setminus",
    "∅": "emptyset", "∈": "in", "∧": "wedge", "∨": "vee", "∑": "sum", "∏": "prod", "∫": "int", "…": "ldots",
    "⋯": "cdots", "→": "to", "∠": "angle", "△": "triangle", "⌊": "lfloor", "⌋": "rfloor", "⌈": "lceil", "⌉": "rceil",
    "⟨": "langle", "⟩": "rangle", "∣": "mid", "∂": "partial", "ı": "imath", "∛": "sqrt[3]", "∜": "sqrt[4]",
}  # fmt: skip
_PLAIN = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-", "﹣": "-", "∗": "*", "⁄": "/", "∕": "/", "∶": ":",
    "‘": "'", "’": "'", "′": "'", "″": "''", "“": '"', "”": '"', "％": "%",
    "ℝ": r"\mathbb{R}", "ℕ": r"\mathbb{N}", "ℤ": r"\mathbb{Z}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}",
    "°": r"^\circ ", "º": r"^\circ ", "˚": r"^\circ ", "∘": r"\circ ",
    "\u00a0": " ", "\u2007": r"\,", "\u2008": r"\,", "\u2009": r"\,", "\u200a": r"\,", "\u202f": r"\,",
    "\u2002": " ", "\u2003": " ", "\u3000": " ", "\t": " ", "\n": " ", "\r": " ", "\v": " ", "\f": " ",
    "£": r"\pounds ", "€": r"\euro ", "¥": r"\yen ", "₹": r"\rupee ", "¢": r"\cents ",
}  # fmt: skip
_UNSEEN = "\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\u2061\u2062\u2063\u2064\u00ad"

_TABLE = str.maketrans(
    {
        **{character: f"\\frac{{{top}}}{{{bottom}}}" for character, (top, bottom) in _FRACTIONS.items()},
        **{character: f"\\{name} " for character, name in (_LETTERS | _COMMANDS).items()},
        **_PLAIN,
        **dict.fromkeys(_UNSEEN, ""),
    }
)
_RAISED = re.compile(f"[{''.join(_SUPERSCRIPTS)}]+")
_LOWERED = re.compile(f"[{''.join(_SUBSCRIPTS)}]+")


def to_latex(text: str) -> str:
    """Return the text with everything beyond ASCII that means something written in LaTeX's words; the rest stays."""
    if text.isascii():
        return text.translate(_TABLE) if any(character < " " for character in text) else text
    raised = _RAISED.sub(lambda run: "^{" + "".join(map(_SUPERSCRIPTS.__getitem__, run.group())) + "}", text)
    lowered = _LOWERED.sub(lambda run: "_{" + "".join(map(_SUBSCRIPTS.__getitem__, run.group())) + "}", raised)
    composed = unicodedata.normalize("NFKC", lowered.translate(_TABLE)).translate(_TABLE)
    return "".join(map(_digit, composed))


def _digit(character: str) -> str:
    """Return the ASCII digit of a decimal digit of any script."""
    if character.isascii() or not character.isdecimal():
        return character
    return str(unicodedata.decimal(character))
