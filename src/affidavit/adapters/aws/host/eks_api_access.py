"""The API of an EKS cluster, by the role this program has: the endpoint, and a token made of a signed request."""
# botocore ships no types for this part.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import base64
from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.ports.cluster.api_connection import ClusterPlace, ClusterReach

_PREFIX = "k8s-aws-v1."
# The cluster asks STS with it who we are; it must be used within a minute, the token that carries it within 15.
_SECONDS = 60
_CLUSTER_HEADER = "x-k8s-aws-id"


class EksClusterAccess:
    def __init__(self, clients: AwsClients) -> None:
        self._clients = clients

    def reach(self, place: ClusterPlace) -> ClusterReach:
        with translated(f"cluster {place.cluster}"):
            eks = self._clients.client("eks", region=place.region)
            cluster: dict[str, Any] = eks.describe_cluster(name=place.cluster)["cluster"]
            authority = str(cluster.get("certificateAuthority", {}).get("data") or "")
            return ClusterReach(
                url=str(cluster.get("endpoint") or ""),
                authority=base64.b64decode(authority).decode() if authority else "",
                token=self._token(place),
            )

    def _token(self, place: ClusterPlace) -> str:
        """Signed for this cluster alone: the header is part of the signature."""
        from botocore.signers import RequestSigner

        sts = self._clients.client("sts", region=place.region)
        signer: Any = RequestSigner(
            sts.meta.service_model.service_id,
            place.region,
            "sts",
            "v4",
            sts._request_signer._credentials,
            sts.meta.events,
        )
        url: str = signer.generate_presigned_url(
            {
                "method": "GET",
                "url": f"{sts.meta.endpoint_url}/?Action=GetCallerIdentity&Version=2011-06-15",
                "body": {},
                "headers": {_CLUSTER_HEADER: place.cluster},
                "context": {},
            },
            region_name=place.region,
            expires_in=_SECONDS,
            operation_name="",
        )
        return _PREFIX + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
