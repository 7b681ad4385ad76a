"""Private folders: who can look into them, and what becomes of those that killed processes left."""

import os
import subprocess
import sys

import pytest

from shoal.io.private import private_folder


def test_a_folder_for_its_owner_alone_that_is_gone_at_the_end(tmp_path):
    with private_folder("shoal-x-", str(tmp_path)) as folder:
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "secret").write_text("x")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ZeroDivisionError), private_folder("shoal-x-", str(tmp_path)):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_deleted_and_nothing_else(tmp_path):
    code = f"""if True:
        import os
        from shoal.io.private import private_folder
        with private_folder("shoal-x-", {str(tmp_path)!r}) as folder:
            (folder / "secret").write_text("x")
            os.kill(os.getpid(), 9)
    """
    subprocess.run([sys.executable, "-c", code], check=False)
    (left,) = tmp_path.iterdir()
    other = tmp_path / "precious"
    other.mkdir()
    (tmp_path / "shoal-x-link").symlink_to(other)  # planted in a folder that is shared
    (tmp_path / "shoal-x-file").write_text("x")
    with (
        private_folder("shoal-x-", str(tmp_path)) as first,
        private_folder("shoal-x-", str(tmp_path)) as second,
    ):
        assert first.is_dir()  # the living are locked
        assert second.is_dir()
        assert not left.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"precious", "shoal-x-link", "shoal-x-file"}


def test_the_folder_of_another_user_stays(tmp_path, monkeypatch):
    (tmp_path / "shoal-x-theirs").mkdir()
    me = os.geteuid()
    users = iter([me + 1, me])  # as if it was somebody else who finds it
    monkeypatch.setattr(os, "geteuid", lambda: next(users))
    with private_folder("shoal-x-", str(tmp_path)):
        pass
    assert (tmp_path / "shoal-x-theirs").exists()


def test_a_new_folder_that_a_sweeper_has_just_locked_is_given_up(tmp_path, monkeypatch):
    import tempfile

    made, make = [], tempfile.mkdtemp

    def watched(**options):
        made.append(make(**options))
        if len(made) == 1:
            os.rmdir(made[0])  # as the sweeper does
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", watched)
    with private_folder("shoal-x-", str(tmp_path)) as folder:
        assert str(folder) == made[1]
