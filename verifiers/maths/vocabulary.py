"""The words of LaTeX and of plain mathematics that the reader knows, and what each stands for."""

from assay.verifiers.maths.nodes import Combination, Function, Known, Named, Sign


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTIONS = {
    **{name: Function(name) for name in ("sin", "cos", "tan", "cot", "sec", "csc", "ln", "log", "gcd", "lcm", "min",
                                         "max", "sinh", "cosh", "tanh", "coth", "arg", "floor")},
    **{f"arc{name}": Function(f"a{name}") for name in ("sin", "cos", "tan", "cot", "sec", "csc")},
    **{f"a{name}": Function(f"a{name}") for name in ("sin", "cos", "tan", "cot", "sec", "csc")},
    **{f"{prefix}{name}h": Function(f"a{name}h") for prefix in ("ar", "arc", "a") for name in ("sin", "cos", "tan")},
    "tg": Function.TAN, "ctg": Function.COT, "cosec": Function.CSC, "arctg": Function.ATAN, "lg": Function.LOG,
    "lb": Function.LOG, "abs": Function.ABS, "ceil": Function.CEILING, "Re": Function.REAL, "Im": Function.IMAGINARY,
    "sgn": Function.SIGN, "sign": Function.SIGN, "exp": None, "sqrt": Function.ROOT,
}  # fmt: skip
"""Functions by name; `exp` is a power of e."""

INVERSES = {
    Function.SIN: Function.ASIN, Function.COS: Function.ACOS, Function.TAN: Function.ATAN, Function.COT: Function.ACOT,
    Function.SEC: Function.ASEC, Function.CSC: Function.ACSC, Function.SINH: Function.ASINH,
    Function.COSH: Function.ACOSH, Function.TANH: Function.ATANH,
}  # fmt: skip
"""What an exponent of -1 on the name of a function makes of it."""

GREEK = _words(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell"
)
VARIANTS = {"varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi", "varrho": "rho", "varsigma": "sigma"}

CONSTANTS = {"pi": Named.PI, "infty": Named.INFINITY, "infinity": Named.INFINITY, "oo": Named.INFINITY,
             "inf": Named.INFINITY, "imath": Named.I}  # fmt: skip
KNOWN_SETS = {"emptyset": Known.EMPTY, "varnothing": Known.EMPTY, "R": Known.REAL, "N": Known.NATURAL,
              "Z": Known.INTEGER, "Q": Known.RATIONAL, "C": Known.COMPLEX}  # fmt: skip

SIGNS = {
    "=": Sign.EQUAL, "==": Sign.EQUAL, ":=": Sign.EQUAL, "equiv": Sign.EQUAL, "coloneqq": Sign.EQUAL,
    "approx": Sign.ABOUT, "cong": Sign.ABOUT, "simeq": Sign.ABOUT, "sim": Sign.ABOUT, "doteq": Sign.ABOUT,
    "ne": Sign.UNEQUAL, "neq": Sign.UNEQUAL, "!=": Sign.UNEQUAL,
    "<": Sign.LESS, "lt": Sign.LESS, ">": Sign.MORE, "gt": Sign.MORE,
    "<=": Sign.AT_MOST, "le": Sign.AT_MOST, "leq": Sign.AT_MOST, "leqslant": Sign.AT_MOST, "leqq": Sign.AT_MOST,
    ">=": Sign.AT_LEAST, "ge": Sign.AT_LEAST, "geq": Sign.AT_LEAST, "geqslant": Sign.AT_LEAST, "geqq": Sign.AT_LEAST,
    "in": Sign.MEMBER,
}  # fmt: skip
COMBINATIONS = {
    "cup": Combination.UNION, "bigcup": Combination.UNION, "cap": Combination.INTERSECTION,
    "bigcap": Combination.INTERSECTION, "setminus": Combination.DIFFERENCE, "backslash": Combination.DIFFERENCE,
}  # fmt: skip
OPERATORS = {
    "cdot": "*", "times": "*", "ast": "*", "div": "/", "pm": "pm", "mp": "mp", "circ": "deg", "degree": "deg",
    "prime": "'", "%": "%", "bmod": "mod", "mod": "mod", "pmod": "pmod", "choose": "choose", "over": "over",
    "to": "to", "rightarrow": "to", "mid": "mid", "vert": "|", "lvert": "|", "rvert": "|", "Vert": "|", "lVert": "|",
    "rVert": "|", "|": "|",
}  # fmt: skip
OPENING = {"{": "{", "lbrace": "{", "langle": "(", "lfloor": "floor", "lceil": "ceil", "lbrack": "[", "lparen": "("}
CLOSING = {"}": "}", "rbrace": "}", "rangle": ")", "rfloor": "floor", "rceil": "ceil", "rbrack": "]", "rparen": ")"}
SEPARATORS = {"land": "and", "wedge": "and", "lor": "or", "vee": "or", "and": "and", "or": "or"}
STRUCTURES = _words(
    "frac sqrt binom sum prod int lim overline bar vec hat widehat tilde overrightarrow overarc dot angle triangle "
    "measuredangle"
)
"""Commands that the grammar has a rule for."""
ALIASES = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom", "ldots": "dots",
    "cdots": "dots", "dotsc": "dots", "root": "sqrt", "nicefrac": "frac", "sfrac": "frac",
}  # fmt: skip
SKIPPED = _words(
    "left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr displaystyle textstyle "
    "scriptstyle limits nolimits boxed fbox ensuremath quad qquad thinspace mathstrut underline hline bf rm it "
    "mathopen mathclose mathbin mathrel mathord therefore bold , ; : ! > ( ) [ ]"
) | {" "}
"""Commands without a meaning of their own; what they apply to stays."""
SKIPPED_WITH_ARGUMENT = _words("color textcolor hspace vspace phantom tag label")
"""Commands that are dropped with the group behind them."""
CURRENCY = _words("$ pounds euro yen rupee cents")

WRITTEN_OUT = _words("text textbf textit textrm textsf texttt textnormal textup mbox hbox emph")
"""Commands whose group is words."""
UPRIGHT = _words("mathrm mathbf mathsf mathit mathtt mathcal mathscr mathfrak operatorname boldsymbol bm pmb")
"""Commands whose group is a name, set in another face."""

SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
SPELLED = {
    word: value
    for value, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
         "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty")
    )
}  # fmt: skip
LABELS = _words("answer solution result value final the is are so thus hence therefore equals exactly total")
"""Words that may stand before a value and change nothing about it."""
SHORT_WORDS = _words("no is it if of to so we")
"""Words of two letters that are not read as products."""
TURNING = _words(
    "more less least most fewer greater smaller not no minus plus times half twice double over under than above "
    "below except without between from"
)
"""Words beside a value that make another one of it."""
CURRENCIES = _words("usd eur gbp inr rs dollars euros")
"""Units that may stand before their value."""
UNITS = CURRENCIES | _words(
    "st nd rd th mm cm dm km in ft yd mi inch inches foot feet yard yards mile miles meter meters metre metres "
    "centimeter centimeters centimetre centimetres millimeter millimeters kilometer kilometers kilometre kilometres "
    "sq square cubic cu unit units mg kg lb lbs oz gram grams kilogram kilograms pound pounds ounce ounces ton tons "
    "ml dl liter liters litre litres gallon gallons sec secs second seconds min mins minute minutes hr hrs hour "
    "hours day days week weeks month months year years mph kph kmh rpm hz khz mhz per dollar dollars usd cent cents "
    "euro euros eur gbp rupee rupees yen rad radian radians sr mol moles joule joules newton newtons watt watts "
    "volt volts amp amps ohm ohms pa kpa kj kw kwh ms ns cm2 cm3 m2 m3 km2 km3 mm2 mm3 ft2 ft3 in2 in3 people "
    "students ways"
)
"""Words that are units wherever they stand beside a value; other words are, at its end."""
TEMPERATURES = frozenset("CFK")
"""Letters that behind a degree sign are scales of temperature."""
UNIT_LETTERS = frozenset("mgslhLNJWVAKCF")
"""Letters that are units when a blank parts them from a number and nothing follows."""

PHRASES = {
    **dict.fromkeys(("no solution", "no solutions", "no real solution", "no real solutions", "empty set",
                     "the empty set"), Known.EMPTY),
    **dict.fromkeys(("all real numbers", "all reals", "the real numbers", "any real number", "all real number"),
                    Known.REAL),
}  # fmt: skip
"""Phrases that name a set."""
SYNONYMS = {
    "dne": "does not exist", "d n e": "does not exist", "undefined": "does not exist", "it does not exist":
    "does not exist", "doesnt exist": "does not exist", "infinitely many solutions": "infinitely many",
    "infinite solutions": "infinitely many", "infinite": "infinitely many", "impossible": "not possible",
}  # fmt: skip
"""Phrases that mean the same."""
