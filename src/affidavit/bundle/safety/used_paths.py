"""Records used paths, so that no two members collide on any file system."""

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.safety.paths import UnsafeName, collision_key


class Names:
    def __init__(self, limits: UnpackLimits) -> None:
        self._limits = limits
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def claim(self, path: str) -> None:
        """For a file. Raises UnsafeName when the place, or a folder on the way to it, is taken."""
        key = collision_key(path)
        parents = {key[:index] for index, char in enumerate(key) if char == "/"}
        if key in self._files or key in self._folders:
            raise UnsafeName("another member came before by that name, or one that differs only in case")
        if not self._files.isdisjoint(parents):
            raise UnsafeName("another member is a file where this one needs a folder")
        if len(self._folders) + len(parents - self._folders) > self._limits.folders:
            raise UnsafeName(f"the bundle has more than {self._limits.folders} folders")
        self._files.add(key)
        self._folders |= parents

    def becomes_folder(self, path: str) -> None:
        self._files.discard(collision_key(path))
        self._folders.add(collision_key(path))
