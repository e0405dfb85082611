"""A fitted model as a folder that can be read anywhere and executes nothing.

::

    model.safetensors   the weights
    config.json         version, options, fitted features, report, SHA-256 of the weights and of itself
    MODEL_CARD.md       the same for people

The digests find a file that was cut, damaged or exchanged; they do not prove who wrote it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from graphmetric._foundation.atomic_files import make_folder, system_errors_named, unfinished
from graphmetric._foundation.threads import working_threads
from graphmetric.errors import FileError
from graphmetric.features import GraphFeaturizer
from graphmetric.learned.report import describe_model
from graphmetric.learned.shipped_models import SHIPPED_MODELS
from graphmetric.model import GraphDistanceModel, ModelOptions

FORMAT = "graphmetric model"
VERSION = 1
WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "MODEL_CARD.md"
CHECKPOINT = "checkpoint"
"""Folder of an unfinished training, beside or instead of the files."""
_PACKAGES = ("graphmetric", "numpy", "torch", "safetensors")
"""What predictions depend on."""


@dataclass(frozen=True, slots=True, eq=False)
class SavedModel:
    """What the folder holds."""

    model: GraphDistanceModel
    featurizer: GraphFeaturizer
    parameters: dict[str, Any]
    """Of the estimator, as plain data."""
    report: dict[str, Any]
    """On what and how it was trained, as plain data."""


def write_model(folder: str | os.PathLike[str], saved: SavedModel) -> None:
    """Write the folder whole or not at all; a model that is there already is replaced in the end.

    Raises FileError where the folder holds anything that is not of a model, rather than removing it.
    """
    target = Path(folder).resolve()
    check_replaceable(target)
    weights = save(_weights_of(saved.model), metadata={"format": "pt"})
    config = _describe(saved, weights)
    card = describe_model(config, saved.model.head.promise(bool(saved.parameters.get("strict"))))
    files = {WEIGHTS: weights, CONFIG: _to_json(config), CARD: card.encode(errors="backslashreplace")}
    part = unfinished(make_folder(target.parent) / target.name)
    try:
        with system_errors_named(target):
            part.mkdir()
            for name, data in files.items():
                _write_through(part / name, data)
            _replace_folder(part, target)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def read_model(folder: str | os.PathLike[str]) -> SavedModel:
    """The model of a folder; raises FileError, naming file and reason, for anything that does not fit together."""
    target = Path(folder).resolve()
    _check_is_model(target)
    path = target / CONFIG
    config = _read_config(path)
    weights = _read_weights(target / WEIGHTS, config.get("weights"))
    try:
        options = ModelOptions.from_dict(config["model"])
        featurizer = GraphFeaturizer.from_state(config["features"])
        with working_threads(1):
            model = _build(featurizer, options, weights, target / WEIGHTS)
        return SavedModel(model, featurizer, dict(config["parameters"]), dict(config["report"]))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"does not describe a model: {error!r}", path) from None


def check_replaceable(target: Path) -> None:
    """Raise unless saving to this folder would remove nothing but an earlier model."""
    if target.is_dir():
        ours = {WEIGHTS, CONFIG, CARD, CHECKPOINT}
        if strange := sorted(entry.name for entry in target.iterdir() if entry.name not in ours):
            raise FileError(f"holds {', '.join(strange[:3])}, not of a model; choose another folder", target)
    elif target.exists():
        raise FileError("is a file; a model is a folder", target)


def _describe(saved: SavedModel, weights: bytes) -> dict[str, Any]:
    config = {
        "format": FORMAT,
        "version": VERSION,
        "packages": {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        "parameters": saved.parameters,
        "model": saved.model.options.to_dict(),
        "report": saved.report,
        "weights": {
            "file": WEIGHTS,
            "bytes": len(weights),
            "sha256": hashlib.sha256(weights).hexdigest(),
            "numbers": sum(parameter.numel() for parameter in saved.model.parameters()),
        },
        "features": saved.featurizer.to_state(),
    }
    return {**config, "sha256": _digest(config)}


def _to_json(config: dict[str, Any]) -> bytes:
    return json.dumps(config, indent=1, allow_nan=False).encode()


def _digest(config: dict[str, Any]) -> str:
    """Of everything in the configuration except the digest itself, whatever its layout."""
    rest = {key: value for key, value in config.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _weights_of(model: GraphDistanceModel) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}


def _write_through(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _replace_folder(new: Path, target: Path) -> None:
    """Give the folder its name. The old one is put aside first, so at any moment one of them is whole."""
    old = _put_aside(target)
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException:
        if old.exists():
            os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _put_aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.replaced")


def _check_is_model(target: Path) -> None:
    if (target / CONFIG).exists():
        return
    if _put_aside(target).exists() and not target.exists():
        raise FileError(f"was being replaced when that was stopped; the old model is in {_put_aside(target)}", target)
    if (target / CHECKPOINT).exists():
        raise FileError("holds an unfinished training, not yet a model; go on with it first", target)
    if not target.exists():
        names = ", ".join(SHIPPED_MODELS)
        raise FileError(f"is not a folder of a model, nor the name of one that comes with graphmetric: {names}", target)
    raise FileError(f"is not a folder of a model: it has no {CONFIG}", target)


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"cannot be read, it may be cut or damaged: {error}", path) from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise FileError("is not the configuration of a graphmetric model", path)
    if config.get("version") != VERSION:
        raise FileError(
            f"has version {config.get('version')!r}; this graphmetric reads version {VERSION}: install the one it was "
            f"saved with, {_package_of(config)}",
            path,
        )
    if config.get("sha256") != _digest(config):
        raise FileError("was changed after it was written: its SHA-256 does not match", path)
    return config


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _package_of(config: dict[str, Any]) -> str:
    packages = config.get("packages")
    return f"graphmetric {packages.get('graphmetric')}" if isinstance(packages, dict) else "of unknown version"


def _read_weights(path: Path, described: Any) -> dict[str, Tensor]:
    try:
        size, digest = int(described["bytes"]), str(described["sha256"])
        found = path.stat().st_size
        if found != size:
            raise FileError(f"has {found} bytes instead of {size}: it was cut or exchanged", path)
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != digest:
            raise FileError(f"was changed after it was written: its SHA-256 is not that of {CONFIG}", path)
        return load(data)
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", path) from None
    except FileError:
        raise
    except (KeyError, TypeError, ValueError, SafetensorError) as error:
        raise FileError(f"cannot be read as weights: {error!r}", path) from None


def _build(
    featurizer: GraphFeaturizer, options: ModelOptions, weights: dict[str, Tensor], path: Path
) -> GraphDistanceModel:
    """The model with these weights. Names and shapes are compared on a model without memory before any is taken."""
    if options.encoder.layers > len(weights):
        raise FileError(f"has {len(weights)} tensors; {options.encoder.layers} layers need more", path)
    try:
        with torch.device("meta"):
            expected = GraphDistanceModel(featurizer.schema, options).state_dict()
    except RuntimeError as error:
        raise FileError(f"does not fit {CONFIG}, whose sizes are impossible: {error}", path) from None
    if expected.keys() != weights.keys():
        different = sorted(expected.keys() ^ weights.keys())
        raise FileError(f"does not fit {CONFIG}: {', '.join(different[:3])} in only one of them", path)
    for name, tensor in weights.items():
        wanted = expected[name]
        if tensor.shape != wanted.shape or tensor.dtype != wanted.dtype:
            raise FileError(
                f"does not fit {CONFIG}: {name} is {tensor.dtype} {tuple(tensor.shape)} instead of {wanted.dtype} "
                f"{tuple(wanted.shape)}",
                path,
            )
        if not bool(tensor.isfinite().all()):
            raise FileError(f"has numbers that are not finite, first in {name}", path)
    model = GraphDistanceModel(featurizer.schema, options)
    model.load_state_dict(weights)
    return model.eval()
