"""Chooses by the settings where the evidence of nodes comes from, and who says how the control plane sees them."""

from affidavit.bootstrap import App
from affidavit.incidents.evidence.control_plane_port import NodeStates
from affidavit.incidents.evidence.node_evidence_port import NodeEvidence


def node_states(app: App) -> NodeStates | None:
    """How the control plane sees nodes, where settings say how its API is reached."""
    if app.control_plane is None:
        return None
    from affidavit.node_evidence.control_plane_state import ControlPlaneStates

    return ControlPlaneStates(control_plane=app.control_plane)


def node_evidence(app: App) -> NodeEvidence:
    """Where the evidence of nodes comes from: what is stored, and a collection where that is allowed."""
    from affidavit.node_evidence.stored_or_collected import StoredNodeEvidence

    if app.collector is None:
        return StoredNodeEvidence(objects=app.objects, state=app.state, why_not="there is no AWS to collect from")
    if not app.settings.enable_collection:
        return StoredNodeEvidence(objects=app.objects, state=app.state)
    from affidavit.entrypoints.collection_wiring import collected_evidence

    return collected_evidence(app)
