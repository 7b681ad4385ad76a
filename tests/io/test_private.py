"""Private folders: who can look into them, and what becomes of those that killed processes left."""

import subprocess
import sys

import pytest

from shoal.io.private import private_folder


def test_a_folder_for_its_owner_alone_that_is_gone_at_the_end(tmp_path):
    with private_folder("x", str(tmp_path)) as folder:
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "secret").write_text("x")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ZeroDivisionError), private_folder("x", str(tmp_path)):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_deleted_and_nothing_else(tmp_path):
    code = f"""if True:
        import os
        from shoal.io.private import private_folder
        with private_folder("x", {str(tmp_path)!r}) as folder:
            (folder / "secret").write_text("x")
            os.kill(os.getpid(), 9)
    """
    subprocess.run([sys.executable, "-c", code], check=False)
    (left,) = tmp_path.iterdir()
    other = tmp_path / "precious"
    other.mkdir()
    link = tmp_path / ".x.12345678.part"
    link.symlink_to(other)  # planted in a folder that is shared
    with private_folder("x", str(tmp_path)) as first, private_folder("x", str(tmp_path)) as second:
        assert first.is_dir()  # the living are locked
        assert second.is_dir()
        assert not left.exists()
    assert set(tmp_path.iterdir()) == {other, link}
