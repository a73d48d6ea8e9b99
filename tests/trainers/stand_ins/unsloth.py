"""Stands in for Unsloth, which needs a GPU: remembers what it is asked for, and patches nothing."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Tokenizer:
    """What the model's texts would be made with."""

    model_name: str


@dataclass(frozen=True)
class Model:
    """A model by name, and how it was changed."""

    model_name: str
    loaded: dict[str, Any]
    adapter: dict[str, Any] = field(default_factory=dict)


class FastLanguageModel:
    """Unsloth's way to load a model."""

    @staticmethod
    def from_pretrained(model_name: str, **loaded: Any) -> tuple[Model, Tokenizer]:
        """Return a model and its tokenizer."""
        return Model(model_name, loaded), Tokenizer(model_name)

    @staticmethod
    def get_peft_model(model: Model, **adapter: Any) -> Model:
        """Return the model with an adapter."""
        return Model(model.model_name, model.loaded, adapter)
