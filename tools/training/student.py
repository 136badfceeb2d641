"""The network of teachers and student in torch; loads teachers from files and derives the student from one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

HEADS = 12
POSITIONS = 258
INNER = 768
FACTOR = 128
# The layers of the teacher, of twelve, that the student starts from.
CHOSEN = (0, 4, 8, 11)
_EPSILON = 1e-12
_PARTS = {
    "o": "attention.output.dense",
    "l1": "attention.output.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "l2": "output.LayerNorm",
}


class Network(nn.Module):
    """BERT, normalising after each part. With a `factor`, its embeddings are the product of two smaller matrices."""

    def __init__(
        self, words: int, positions: int, width: int, inner: int, layers: int, factor: int | None = None
    ) -> None:
        super().__init__()
        self.we = nn.Embedding(words, factor or width)
        self.up = nn.Linear(factor, width, bias=False) if factor else None
        self.pe = nn.Embedding(positions, width)
        self.te = nn.Parameter(torch.zeros(width))
        self.ln = nn.LayerNorm(width, eps=_EPSILON)
        self.layers = nn.ModuleList(_layer(width, inner) for _ in range(layers))
        self.is_student = factor is not None

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.we(ids)
        x = self.ln((self.up(x) if self.up else x) + self.pe.weight[: ids.shape[1]] + self.te)
        texts, length, width = x.shape
        for layer in self.layers:
            heads = layer["qkv"](x).view(texts, length, 3, HEADS, width // HEADS)
            q, k, v = heads.permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
            x = layer["l1"](x + layer["o"](mixed.transpose(1, 2).reshape(texts, length, width)))
            inner = layer["f1"](x)
            # The student's activation needs one exponential, which numpy computes fast; the teachers' needs erf.
            inner = inner * torch.sigmoid(1.702 * inner) if self.is_student else functional.gelu(inner)
            x = layer["l2"](x + layer["f2"](inner))
        return x


def _layer(width: int, inner: int) -> nn.ModuleDict:
    return nn.ModuleDict(
        {
            "qkv": nn.Linear(width, 3 * width),
            "o": nn.Linear(width, width),
            "l1": nn.LayerNorm(width, eps=_EPSILON),
            "f1": nn.Linear(width, inner),
            "f2": nn.Linear(inner, width),
            "l2": nn.LayerNorm(width, eps=_EPSILON),
        }
    )


def teacher(path: Path) -> Network:
    """A teacher from the safetensors file of a BERT model."""
    weights = {name.removeprefix("bert."): values.float() for name, values in load_file(path).items()}
    words, positions = (weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position"))
    layers = len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})
    inner = weights["encoder.layer.0.intermediate.dense.bias"].shape[0]
    network = Network(len(words), len(positions), words.shape[1], inner, layers)
    named = {"we.weight": words, "pe.weight": positions, "te": weights["embeddings.token_type_embeddings.weight"][0]}
    for end in ("weight", "bias"):
        named[f"ln.{end}"] = weights[f"embeddings.LayerNorm.{end}"]
        for number in range(layers):
            start = f"encoder.layer.{number}."
            named[f"layers.{number}.qkv.{end}"] = torch.cat(
                [weights[f"{start}attention.self.{part}.{end}"] for part in ("query", "key", "value")]
            )
            for ours, theirs in _PARTS.items():
                named[f"layers.{number}.{ours}.{end}"] = weights[f"{start}{theirs}.{end}"]
    network.load_state_dict(named)
    return network.eval()


def student_of(network: Network, chosen: tuple[int, ...] = CHOSEN) -> Network:
    """A student with some of the teacher's layers, its strongest inner neurons, and its embeddings factored."""
    words, width = network.we.weight.shape
    student = Network(words, POSITIONS, width, INNER, len(chosen), FACTOR)
    with torch.no_grad():
        left, strength, right = torch.linalg.svd(network.we.weight, full_matrices=False)
        root = strength[:FACTOR].sqrt()
        named = {"we.weight": left[:, :FACTOR] * root, "up.weight": right[:FACTOR].T * root}
        named |= {"pe.weight": network.pe.weight[:POSITIONS], "te": network.te}
        named |= {f"ln.{name}": values for name, values in network.ln.state_dict().items()}
        for number, layer in enumerate(network.layers[place] for place in chosen):
            values = layer.state_dict()
            importance = values["f1.weight"].norm(dim=1) * values["f2.weight"].norm(dim=0)
            kept = importance.topk(INNER).indices
            values["f1.weight"], values["f1.bias"] = values["f1.weight"][kept], values["f1.bias"][kept]
            values["f2.weight"] = values["f2.weight"][:, kept]
            named |= {f"layers.{number}.{name}": value for name, value in values.items()}
        student.load_state_dict(named)
    return student


def student_from(weights: Mapping[str, NDArray[np.float32]]) -> Network:
    """A student from weights in the form of `weights_of`."""
    layers = len({name.split(".")[1] for name in weights if name.startswith("layers.")})
    (words, factor), width = weights["we.weight"].shape, len(weights["te"])
    student = Network(words, POSITIONS, width, len(weights["layers.0.f1.bias"]), layers, factor)
    student.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
    return student


def weights_of(student: Network) -> dict[str, NDArray[np.float32]]:
    return {name: values.detach().cpu().float().numpy() for name, values in student.named_parameters()}
