"""Folders of saved models, which can be read anywhere and execute nothing, and the bundled models.

::

    model.safetensors   the weights
    config.json         version, options, fitted features, report, SHA-256 of the weights and of itself
    MODEL_CARD.md       a summary for people

The digests reveal a truncated, damaged or exchanged file; they do not prove its author. The models in
``shipped_models/`` were trained by ``tools/make_models.py``; their cards state data, training and results.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

from graphmetric._foundation.atomic_files import make_folder, system_errors_named, unfinished
from graphmetric._foundation.options import from_plain
from graphmetric._foundation.threads import thread_limit
from graphmetric.distance.pair_distance import COUPLING_REMOVED
from graphmetric.encoder import GraphEncoder
from graphmetric.errors import FileError, InvalidArgument, needs_extra
from graphmetric.features import GraphFeaturizer
from graphmetric.model import GraphDistanceNetwork, ModelOptions

with needs_extra("learn", "a saved model"):
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load, save
    from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)

BUNDLED_MODELS = ("molecules", "programs", "unlabelled")
"""``molecules``: nodes are atoms, labeled by element symbol and charge, edges are bonds of any type or without one.
``programs``: directed control-flow graphs. ``unlabelled``: undirected graphs without labels."""
FORMAT = "graphmetric model"
VERSION = 2
READABLE = (1, 2)
"""In version 1 there were options that have been removed since: see :data:`_REMOVED`."""
_REMOVED: Mapping[str, Mapping[str, Any]] = {
    "encoder": {"structural_bias": False, "join_layers": False},
    "features": {"max_hops": 0},
    "training": {"near_share": 0.0},
    "head": {"edge_price": 0.0, "fractions": False, "one_image": False},
}
"""Options of version 1 that were removed, with the value at which they had no effect, by the part of the model."""
_REMOVED_VALUES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {"encoder": {"messages": ("normalised", "sum")}}
"""Values of version 1 that options which are still there cannot have."""
WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "MODEL_CARD.md"
_PREDICTOR = "interval."
"""Weights of version 1 whose names begin so belong to a predictor that was removed; distances do not depend on it."""
CHECKPOINT = "checkpoint"
"""The folder of an unfinished training run, beside these files or instead of them."""


class ModelParts(NamedTuple):
    """Contents of the folder of a model."""

    network: GraphDistanceNetwork
    featurizer: GraphFeaturizer
    config: dict[str, Any]


def find_model(model: str | os.PathLike[str]) -> Path:
    """Resolve a folder or a name to the folder of a model; an existing folder takes precedence."""
    folder = Path(model)
    if not folder.exists() and str(model) in BUNDLED_MODELS:
        return Path(__file__).parent / "shipped_models" / folder
    return folder


def package_versions() -> dict[str, str]:
    """Return the installed versions of the packages that distances depend on."""
    names = ("graphmetric", "numpy", "torch", "safetensors")
    return {"python": platform.python_version()} | {name: version(name) for name in names}


def write_model(
    folder: str | os.PathLike[str],
    network: GraphDistanceNetwork,
    config: dict[str, Any],
    card: str,
) -> None:
    """Write the folder atomically; an existing model is replaced at the end.

    Raises FileError, instead of removing it, if the folder holds anything that is not part of a model.
    """
    target = Path(folder).resolve()
    check_replaceable(target)
    text, weights = pack_model(network, config)
    part = unfinished(make_folder(target.parent) / target.name)
    try:
        with system_errors_named(target):
            part.mkdir()
            for name, data in {WEIGHTS: weights, CONFIG: text, CARD: card.encode(errors="backslashreplace")}.items():
                _write_through(part / name, data)
            _replace_folder(part, target)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def pack_model(network: GraphDistanceNetwork, config: dict[str, Any]) -> tuple[bytes, bytes]:
    """Serialize configuration and weights; rejects a network that they cannot describe."""
    if type(network.encoder) is not GraphEncoder or not isinstance(network.options, ModelOptions):
        kind = type(network.encoder)
        raise InvalidArgument(
            f"a model with the encoder {kind.__module__}.{kind.__qualname__} cannot be saved: its folder could not be "
            "loaded, as only graphmetric's GraphEncoder is built from a folder. Save the weights with torch, and "
            "build the model in your program"
        )
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    weights = save(tensors, metadata={"format": "pt"})
    file = {"file": WEIGHTS, "bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()}
    config = {"format": FORMAT, "version": VERSION, **config, "weights": file | config["weights"]}
    config["sha256"] = _digest(config)
    return json.dumps(config, indent=1, allow_nan=False).encode(), weights


def read_model(folder: str | os.PathLike[str]) -> ModelParts:
    """Read the parts of the model in a folder.

    Raises FileError, naming file and reason, for anything that does not fit together.
    """
    target = Path(folder).resolve()
    _check_is_model(target)
    config = read_config(target)
    return unpack_model(config, _read_weights(config, target / WEIGHTS), target)


def unpack_model(config: dict[str, Any], data: bytes, target: Path) -> ModelParts:
    """Read the parts of a model; errors name ``target``."""
    weights = _load_weights(data, config, target / WEIGHTS)
    try:
        options = from_plain(ModelOptions, config["model"])
        featurizer = GraphFeaturizer.from_state(config["features"])
        path = target / WEIGHTS
        if config["version"] == 1:
            weights = {name: tensor for name, tensor in weights.items() if not name.startswith(_PREDICTOR)}
        with thread_limit(1):
            network = _build(featurizer, options, weights, path)
        own_copy = config | {part: dict(config[part]) for part in ("parameters", "report")}
        return ModelParts(network, featurizer, own_copy)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"does not describe a model: {error!r}", target / CONFIG) from None


def read_config(folder: Path) -> dict[str, Any]:
    """Read the configuration of a saved model."""
    path = folder / CONFIG
    try:
        return check_config(path.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeError) as error:
        raise FileError(f"cannot be read, it may be cut or damaged: {error}", path) from None


def check_config(text: str | bytes, path: Path) -> dict[str, Any]:
    """Parse a configuration; raises FileError, naming ``path``, if it has another version or was changed."""
    try:
        config = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FileError(f"cannot be read, it may be cut or damaged: {error}", path) from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise FileError("is not the configuration of a graphmetric model", path)
    if config.get("version") not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise FileError(
            f"has version {config.get('version')!r}; this graphmetric reads versions {known}: install the one it was "
            f"saved with, {_saved_with(config)}",
            path,
        )
    if config.get("sha256") != _digest(config):
        raise FileError("was changed after it was written: its SHA-256 does not match", path)
    return _without_removed_options(config, path) if config["version"] == 1 else config


def _saved_with(config: dict[str, Any]) -> str:
    packages = config.get("packages")
    return f"graphmetric {packages.get('graphmetric')}" if isinstance(packages, dict) else "of unknown version"


def _was_removed(config: dict[str, Any], path: Path, name: str, value: object) -> FileError:
    return FileError(
        f"was trained with {name}={value!r}, which was removed: train the model again, or install the version that it "
        f"was saved with, {_saved_with(config)}",
        path,
    )


def _without_removed_options(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """Drop removed options from a configuration of version 1; raises FileError if one of them had an effect."""
    config = copy.deepcopy(config)
    for part, options in _find_options(config):
        if part == "head":
            if options.get("kind") == "coupling":
                raise FileError(COUPLING_REMOVED, path)
            options.setdefault("own", {})
        for name, without_effect in _REMOVED[part].items():
            value = options.pop(name, without_effect)
            if value != without_effect:
                raise _was_removed(config, path, f"{part}.{name}", value)
        for name, values in _REMOVED_VALUES.get(part, {}).items():
            if options.get(name) in values:
                raise _was_removed(config, path, f"{part}.{name}", options[name])
    return config


def _find_options(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate over the options of each part of a model, with its name, in all places of a configuration."""
    parameters, features = config.get("parameters"), config.get("features")
    models = [config.get("model")]
    if isinstance(parameters, dict):
        models.append({"head": parameters.get("head")})
        if isinstance(parameters.get("preset"), list):
            models += [*parameters["preset"][:1], {"training": parameters["preset"][-1]}]
    if isinstance(features, dict):
        models.append({"features": features.get("options")})
    for model in models:
        for part in _REMOVED:
            options = model.get(part) if isinstance(model, dict) else None
            if isinstance(options, dict):
                yield part, options


def check_replaceable(target: Path) -> None:
    """Raise FileError if saving to this folder would remove anything other than an earlier model."""
    if target.is_dir():
        ours = {WEIGHTS, CONFIG, CARD, CHECKPOINT}
        if strange := sorted(entry.name for entry in target.iterdir() if entry.name not in ours):
            raise FileError(
                f"holds {', '.join(strange[:3])}, which is not part of a model; choose another folder", target
            )
    elif target.exists():
        raise FileError("is a file; a model is a folder", target)


def _digest(config: dict[str, Any]) -> str:
    """Return a digest of everything in the configuration except the digest itself, whatever its layout."""
    rest = {key: value for key, value in config.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _write_through(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _replace_folder(new: Path, target: Path) -> None:
    """Give the folder its name. The old one is moved aside first, so one of them is complete at any moment."""
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
        raise FileError(
            f"was being replaced when the program was stopped; the old model is in {_put_aside(target)}", target
        )
    if (target / CHECKPOINT).exists():
        raise FileError("holds an unfinished training, not yet a model; finish the training first", target)
    if not target.exists():
        names = ", ".join(BUNDLED_MODELS)
        raise FileError(f"is not a folder of a model, nor the name of one that comes with graphmetric: {names}", target)
    raise FileError(f"is not a folder of a model: it has no {CONFIG}", target)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _read_weights(config: dict[str, Any], path: Path) -> bytes:
    """Read the file of the weights, if it has the size in the configuration."""
    try:
        size, found = int(config["weights"]["bytes"]), path.stat().st_size
        data = path.read_bytes() if found == size else b""
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", path) from None
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"cannot be read as weights: {error!r}", path) from None
    if found != size:
        raise FileError(f"has {found} bytes instead of {size}: it was cut or exchanged", path)
    return data


def _load_weights(data: bytes, config: dict[str, Any], path: Path) -> dict[str, Tensor]:
    try:
        if hashlib.sha256(data).hexdigest() != str(config["weights"]["sha256"]):
            raise FileError(f"was changed after it was written: its SHA-256 is not that of {CONFIG}", path)
        return load(data)
    except FileError:
        raise
    except (KeyError, TypeError, ValueError, SafetensorError) as error:
        raise FileError(f"cannot be read as weights: {error!r}", path) from None


def _build(
    featurizer: GraphFeaturizer, options: ModelOptions, weights: dict[str, Tensor], path: Path
) -> GraphDistanceNetwork:
    """Build the network with these weights."""
    if options.encoder.layers > len(weights):
        raise FileError(f"has {len(weights)} tensors; {options.encoder.layers} layers need more", path)
    return _fill(lambda: GraphDistanceNetwork.build(featurizer.schema, options), weights, path)


def _fill(build: Callable[[], Module], weights: dict[str, Tensor], path: Path) -> Module:
    """Build a module with these weights, after comparing names and shapes with a module without memory."""
    try:
        with torch.device("meta"):
            expected = build().state_dict()
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
    module = build()
    module.load_state_dict(weights)
    return module.eval()
