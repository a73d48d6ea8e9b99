"""Which language a text is in, by its letters and its commonest words: a rule of thumb, and the same every time.

A language with a script of its own is known by its letters. Languages that share a script are told apart by counting
words that are common in one of them, and letters that only some of them have. A text of a few words may hold none of
these: it is then in no language. Names, quotes and code count like everything else.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Literal

Language = Literal[
    "ar", "bg", "bn", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "gu", "he", "hi", "hu", "id", "it", "ja",
    "kn", "ko", "ml", "mr", "ne", "nl", "no", "pa", "pl", "pt", "ro", "ru", "sv", "sw", "ta", "te", "th", "tr", "uk",
    "ur", "vi", "zh", "zh-cn", "zh-tw",
]  # fmt: skip

MOST_CHARACTERS = 20_000
"""Only the beginning of a longer text is looked at."""

_SHARE = 0.75  # of the letters that must be of the language's script
_LETTER = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\s\d.,;:!?\"'()\[\]{}«»“”‘’„।؟،…—–-]+")  # vowel signs of Indian scripts are no letters to `re`

_LATIN, _CYRILLIC = "a-zA-Z\u00aa-\u024f\u1e00-\u1eff", "\u0400-\u052f"
_ARABIC, _DEVANAGARI = "\u0600-\u06ff", "\u0900-\u097f"
_HAN, _KANA = "\u4e00-\u9fff\u3400-\u4dbf", "\u3040-\u30ff"
_SCRIPTS: Mapping[str, str] = {
    **dict.fromkeys(("cs", "da", "de", "en", "es", "fi", "fr", "hu", "id", "it"), _LATIN),
    **dict.fromkeys(("nl", "no", "pl", "pt", "ro", "sv", "sw", "tr", "vi"), _LATIN),
    **dict.fromkeys(("bg", "ru", "uk"), _CYRILLIC),
    **dict.fromkeys(("ar", "fa", "ur"), _ARABIC),
    **dict.fromkeys(("hi", "mr", "ne"), _DEVANAGARI),
    **dict.fromkeys(("zh", "zh-cn", "zh-tw"), _HAN),
    "ja": _HAN + _KANA,
    "ko": "\uac00-\ud7af\u1100-\u11ff\u3130-\u318f",
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "he": "\u0590-\u05ff",
    "th": "\u0e00-\u0e7f",
    "bn": "\u0980-\u09ff",
    "pa": "\u0a00-\u0a7f",
    "gu": "\u0a80-\u0aff",
    "ta": "\u0b80-\u0bff",
    "te": "\u0c00-\u0c7f",
    "kn": "\u0c80-\u0cff",
    "ml": "\u0d00-\u0d7f",
}
_WORDS: Mapping[str, str] = {
    "en": "the of and to in is that it was for with as be are this by not have from you at which but they or an we",
    "es": "el la los las de que y en un una es por con para no se su lo al del como más pero está muy son tiene",
    "pt": "o os as de que e em um uma é por com para não se seu da do na no ao mais mas está são tem foi você",
    "fr": "le la les de des et un une est que qui dans pour pas sur au du ce il elle nous vous avec sont plus où je",
    "it": "il lo la gli le di che e un una è per con non del della sono più anche come ma nel alla questo si da",
    "de": "der die das und ist in den von zu mit ein eine nicht auf sich dem des im für es auch als wie wir sie ich",
    "nl": "de het een en van is in dat op te zijn voor met niet aan er ook als maar om bij naar wordt deze dit",
    "pl": "i w na z nie się jest to do że jak o po co tak ale za od dla przez czy tego są które jego",
    "cs": "a v na je se že s z do o k jako to i pro jsou by jeho ale ve od při byl nebo které tak",
    "sv": "och att det som en är av för på med den till inte om har de ett men var jag från kan vi ska",
    "da": "og at det som en er af for på med den til ikke om har de et men var jeg fra kan vi skal blev",
    "no": "og at det som en er av for på med den til ikke om har de et men var jeg fra kan vi skal ble seg",
    "fi": "ja on ei että se oli joka mutta myös kun niin hän ovat tämä olen jos tai kuin vain sen mitä minä",
    "hu": "a az és hogy nem is egy van ez meg de csak volt mint el már ha vagy kell lehet nagyon ezt azt",
    "ro": "și de la în este un o nu cu pe care din mai sunt ce pentru să au fost se dar sau ca prin",
    "tr": "ve bir bu için ile de da ne çok olarak daha gibi ama en olan var o kadar sonra değil mi ben",
    "id": "yang dan di ini itu dengan untuk dari tidak dalam pada adalah akan ke juga saya ada oleh bisa kami anda",
    "sw": "ya na wa kwa ni katika la za kuwa hii cha ili kama au pia hiyo yake watu sana lakini hivyo hayo wake",
    "vi": "và của là có cho trong không một được với các những để này đã khi tôi ở người như từ",
    "ru": "и в не на что с это как по но из у к для он от так же его был или я все этот",
    "uk": "і в не на що з це як по але у до для він від так ж його був або та є цей",
    "bg": "и в не на че с това като по но от за да се е са той така беше или съм си ще",
    "ar": "في من على أن إلى عن هذا هذه التي الذي لا ما كان مع أو هو هي ذلك كل لم",
    "fa": "و در به از که این را با است برای آن یک می شود های من ما بر کرد هم",
    "ur": "کے میں کی ہے اور سے کا کو اس ہیں نے پر بھی یہ تھا کہ ایک نہیں جو",
    "hi": "है और के में की का से को हैं नहीं यह पर भी एक ने था थी वह मैं हम कि",
    "mr": "आहे आणि च्या या ते हे करण्यात आहेत होते नाही करून मी ती तो आपल्या पण ही",
    "ne": "छ र को मा हरु ले लाई पनि गर्ने भएको छन् थियो यो त्यो म हुन्छ नेपाली",
}
_LETTERS: Mapping[str, str] = {
    "ru": "ыэё", "uk": "іїєґ", "bg": "ъ", "fa": "پچژگ", "ur": "ٹڈڑںےہ", "ar": "ةىأإ",
    "pl": "łąężśćń", "cs": "ěřů", "vi": "đạếệộươ", "tr": "ığş", "ro": "șță", "hu": "őű",
    "de": "ß", "es": "ñ¿¡", "pt": "ãõ", "no": "", "mr": "ळ",
}  # fmt: skip


def is_in(text: str, language: Language) -> bool:
    """Whether the text is in the language."""
    seen = unicodedata.normalize("NFC", text[:MOST_CHARACTERS]).lower()
    letters = "".join(_LETTER.findall(seen))
    script = _SCRIPTS[language]
    if not letters or len(re.findall(f"[{script}]", letters)) < _SHARE * len(letters):
        return False
    if language == "ja":
        return re.search(f"[{_KANA}]", letters) is not None
    rivals = [other for other in _WORDS if _SCRIPTS[other] == script]
    if language not in rivals:
        return True
    counts = Counter(_WORD.findall(seen))
    evidence = {rival: _evidence(rival, counts, letters) for rival in rivals}
    return evidence[language] > 0 and evidence[language] == max(evidence.values())


def _evidence(language: str, counts: Counter[str], letters: str) -> int:
    known = sum(counts[word] for word in _WORDS[language].split())
    return known + sum(letters.count(letter) for letter in _LETTERS.get(language, ""))
