"""What an incident says about itself, for whoever judges a diagnosis of it."""

from affidavit.incidents.incident import Incident
from affidavit.verification.names_from_incident import About


def about_incident(incident: Incident) -> About:
    names = (incident.subject.id, *incident.resources, incident.account, incident.region, incident.signal_name)
    return About(
        names=tuple(dict.fromkeys(name for name in names if name)),
        alert=f"{incident.signal_name}\n{incident.error_type}\n{incident.message}",
    )
