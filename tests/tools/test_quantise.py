"""The model reads the quantiser's output, and the shipped model is such an output."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from tools.training.quantise import dequantised, main, quantised, safetensors

from anamnesis.meaning.model import WIDTH, Model, tensors

DATA = files("anamnesis.meaning") / "data"


def test_rows_are_restored_within_half_a_step() -> None:
    chance = np.random.default_rng(1)
    matrix = chance.standard_normal((50, 30), np.float32) * np.float32(10) ** chance.integers(-3, 3, (50, 1))
    weights = {"m.weight": matrix.astype(np.float32), "m.bias": matrix[0].astype(np.float32)}
    arrays = tensors(safetensors(quantised(weights)))
    found = dequantised(arrays)
    assert arrays["m.weight.q"].dtype == np.int8
    assert arrays["m.weight.s"].dtype == np.float16
    assert np.array_equal(found["m.bias"], weights["m.bias"])
    assert (np.abs(found["m.weight"] - matrix) <= np.abs(matrix).max(axis=1, keepdims=True) / 127 * 0.57).all()


def test_a_row_of_zeros_stays_zero() -> None:
    found = dequantised(quantised({"m.weight": np.zeros((2, 3), np.float32)}))
    assert not found["m.weight"].any()


def test_requantising_the_shipped_model_changes_nothing() -> None:
    shipped = (DATA / "model.safetensors").read_bytes()
    assert safetensors(quantised(dequantised(tensors(shipped)))) == shipped


def test_the_model_reads_the_output_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = np.random.default_rng(1)
    shapes = {name: values.shape for name, values in tensors((DATA / "model.safetensors").read_bytes()).items()}
    names = {name.removesuffix(".q"): shape for name, shape in shapes.items() if not name.endswith(".s")}
    weights = {name: chance.standard_normal(shape, np.float32) / 20 for name, shape in names.items()}
    np.savez(tmp_path / "trained.npz", **weights)  # type: ignore[arg-type]
    assert main([str(tmp_path / "trained.npz"), str(tmp_path / "model.safetensors")]) == 0
    model = Model((tmp_path / "model.safetensors").read_bytes(), (DATA / "vocab.txt").read_text("utf-8"))
    assert model.passages(["some words"]).shape == (1, WIDTH)
    assert str(tmp_path / "model.safetensors") in capsys.readouterr().out


def test_wrong_arguments_are_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
