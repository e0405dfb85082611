"""Files appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmetric._foundation.atomic_files import atomic_write


def test_the_name_is_taken_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "data.bin"
    target.write_bytes(b"old")
    with atomic_write(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_after_an_error_everything_is_as_before(tmp_path: Path) -> None:
    def stop_in_the_middle() -> None:
        with atomic_write(tmp_path / "data.bin") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_in_the_middle()
    assert list(tmp_path.iterdir()) == []
