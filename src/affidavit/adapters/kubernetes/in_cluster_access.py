"""The API of the cluster that this program runs in, by the account that Kubernetes gave its pod."""

import os
from dataclasses import dataclass
from pathlib import Path

from affidavit.errors import InputRefused
from affidavit.ports.cluster.api_connection import ClusterPlace, ClusterReach

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, kw_only=True)
class InClusterAccess:
    """`clusters` are those that may be looked at. The pod's own cluster must be the only one: it has no other name."""

    clusters: frozenset[str]
    account: Path = _ACCOUNT

    def reach(self, place: ClusterPlace) -> ClusterReach:
        if self.clusters != frozenset((place.cluster,)):
            raise InputRefused(
                f"from inside a cluster that one alone is reached; ALLOWED_CLUSTERS must name {place.cluster} alone",
                hint="name the own cluster alone in ALLOWED_CLUSTERS, or set KUBERNETES_API=eks",
            )
        host, port = (os.environ.get(f"KUBERNETES_SERVICE_{part}", "") for part in ("HOST", "PORT"))
        if not host:
            raise InputRefused("this program does not run inside a cluster", hint="set KUBERNETES_API=eks, or off")
        shown = f"[{host}]" if ":" in host else host
        # Kubernetes renews the token on disk, so it is read each time.
        return ClusterReach(
            url=f"https://{shown}:{port or 443}",
            token=self._file("token"),
            authority=self._file("ca.crt"),
        )

    def _file(self, name: str) -> str:
        try:
            return (self.account / name).read_text().strip()
        except OSError as error:
            raise InputRefused(
                f"the pod has no {name} of a service account", hint="let its service account be mounted"
            ) from error
