"""Which language a text is in, as the rule `instructions` asks."""

from typing import get_args

import pytest

from assay.verifiers.rules.instructions.language import Language, is_in

SENTENCES = {
    "ar": "الكلب في المنزل",
    "bg": "Кучето е в къщата и не иска да излезе.",
    "cs": "Pes je v domě a nechce jít ven.",
    "da": "Hunden er i huset og vil ikke gå ud af det.",
    "de": "Der Hund ist im Haus.",
    "el": "Ο σκύλος είναι στο σπίτι",
    "en": "The dog is in the house.",
    "es": "El perro está en la casa y no quiere salir.",
    "fa": "سگ در خانه است",
    "fi": "Koira on talossa eikä se tule ulos.",
    "fr": "Le chien est dans la maison.",
    "he": "הכלב בבית",
    "hi": "कुत्ता घर में है",
    "hu": "A kutya a házban van.",
    "id": "Anjing itu ada di dalam rumah.",
    "it": "Il cane è nella casa.",
    "ja": "犬は家の中にいます。",
    "ko": "개는 집 안에 있다",
    "mr": "कुत्रा घरात आहे",
    "ne": "कुकुर घर भित्र छ",
    "nl": "De hond is in het huis.",
    "no": "Hunden er i huset og går ikke ut av det.",
    "pl": "Pies jest w domu i nie chce wyjść.",
    "pt": "O cachorro está na casa e não quer sair.",
    "ro": "Câinele este în casă.",
    "ru": "Собака в доме и не хочет выходить.",
    "sv": "Hunden är i huset och vill inte gå ut.",
    "sw": "Mbwa yuko katika nyumba.",
    "th": "สุนัขอยู่ในบ้าน",
    "tr": "Köpek evde ve dışarı çıkmıyor.",
    "uk": "Собака в будинку і не хоче виходити.",
    "ur": "کتا گھر میں ہے",
    "vi": "Con chó ở trong nhà.",
    "zh": "狗在房子里。",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_plain_sentence_is_in_its_language_alone(language: str) -> None:
    """Chinese has three names."""
    found = {other for other in get_args(Language) if is_in(SENTENCES[language], other)}

    assert found == ({"zh", "zh-cn", "zh-tw"} if language == "zh" else {language})


@pytest.mark.parametrize("text", ["", "123", "Zzyzx", "....", "\ud800"])
def test_a_text_without_evidence_is_in_no_language_of_a_shared_script(text: str) -> None:
    """One word in Latin letters may be of any."""
    assert not any(is_in(text, language) for language in ("en", "de", "ru", "hi"))
