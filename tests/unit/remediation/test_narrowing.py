"""An edit only narrows, makes a new plan, and tells people of it; a notice carries the link, never the power."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.investigations.incidents import Mailbox, a_channel, an_incident
from tests.support.investigations.notices import a_sender
from tests.support.peers.http_peer import Answer, a_peer
from tests.support.repairing.remediation import an_action
from tests.support.repairing.repairs import ALICE, BOB, Unreadable, Workshop, a_workshop, arn_of

from affidavit.adapters.channels.slack_app import SlackAppNotifier
from affidavit.errors import Conflict, InputRefused, UpstreamFailed
from affidavit.evidence.diagnosis import RiskLevel
from affidavit.incidents.notices.channel import ChannelName
from affidavit.incidents.notices.incident_notice import NoticeStyle
from affidavit.incidents.notices.sent_notices import ToldState, ToldStates
from affidavit.incidents.store.state import Status
from affidavit.remediation.approvals.people import Approver, IdentityProof
from affidavit.remediation.plan.narrowing import narrowed
from affidavit.remediation.plan.seal import seal_of, typed_part
from affidavit.remediation.plan_notices import PlanNotices
from affidavit.remediation.proposing import Proposing
from affidavit.remediation.record.phases import Phase

CONSOLE = NoticeStyle(console_url="https://console.example/")


@dataclass
class Reviewer:
    """A Critic that says what a test wants."""

    reader: Any = field(default_factory=Unreadable)
    against: list[str] = field(default_factory=list)

    def refusals(self, plan: Any, incident: Any, diagnosis: Any) -> list[str]:
        return self.against


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return a_workshop(tmp_path)


def waiting(workshop: Workshop) -> Any:
    """A plan of three actions, the second of which is a high risk."""
    actions = [an_action(target=arn_of(f"orders-{number}")) for number in (1, 2, 3)]
    actions[1] = replace(actions[1], risk=RiskLevel.HIGH)
    return workshop.awaiting(workshop.plan(*actions, needed_approvals=2))


def proposing(workshop: Workshop, critic: Reviewer, tell: Any = None) -> Proposing:
    supervisor = workshop.bench.supervisor
    return Proposing(
        states=supervisor.states,
        contexts=supervisor.contexts,
        resolver=None,  # pyright: ignore[reportArgumentType] - an edit resolves nothing
        critic=critic,  # pyright: ignore[reportArgumentType] - a Critic of a test
        plans=workshop.plans,
        tell=tell,
    )


def told(workshop: Workshop) -> ToldStates:
    return ToldStates(workshop.plans.table, workshop.clock)


def test_what_is_left_is_a_new_plan_that_others_approve(workshop: Workshop) -> None:
    row, mailbox = waiting(workshop), Mailbox()
    desk = proposing(
        workshop, Reviewer(), PlanNotices(channels=(a_channel(mailbox),), told=told(workshop), style=CONSOLE)
    )
    old = workshop.plans.plan(row)
    new = desk.narrow(row.plan_id, [2], approvals=workshop.approvals, person=ALICE).row
    assert new is not None
    plan = workshop.plans.plan(new)
    assert plan.actions == (old.actions[0], old.actions[2])
    assert (plan.needed_approvals, plan.expires_at, plan.created_by) == (1, old.expires_at, ALICE.identity)
    assert plan.blast_radius == (arn_of("orders-1"), arn_of("orders-3"))
    ended = workshop.plans.get(row.plan_id)
    assert (ended.phase, ended.reason) == (Phase.REJECTED, f"narrowed to {new.plan_id}")
    assert workshop.status(row.incident_id) is Status.AWAITING_APPROVAL
    with pytest.raises(Conflict):
        workshop.approvals.approve(row.plan_id, BOB, typed=typed_part(row.seal))
    with pytest.raises(InputRefused, match="proposed this plan"):
        workshop.approvals.approve(new.plan_id, ALICE, typed=typed_part(new.seal))
    assert workshop.approvals.approve(new.plan_id, BOB, typed=typed_part(new.seal)).phase is Phase.APPROVED
    ((title, text, _),) = mailbox.notices
    assert "a repair waits for 1 approval(s)" in title
    assert f"https://console.example/plans/{new.plan_id}" in text
    assert f"affidavit remedy show {new.plan_id}" in text
    assert typed_part(new.seal) not in text


@pytest.mark.parametrize("drop", [[], [0], [4], [1, 2, 3], [-1]], ids=str)
def test_some_must_go_and_some_must_stay(workshop: Workshop, drop: list[int]) -> None:
    row = waiting(workshop)
    with pytest.raises(InputRefused, match="some must go and some must stay"):
        proposing(workshop, Reviewer()).narrow(row.plan_id, drop, approvals=workshop.approvals, person=ALICE)
    assert workshop.plans.get(row.plan_id).phase is Phase.AWAITING


def test_who_may_not_approve_and_what_the_critic_refuses_change_nothing(workshop: Workshop) -> None:
    row, stranger = waiting(workshop), Approver(identity="arn:aws:iam::999999999999:user/eve", proof=IdentityProof.AWS)
    with pytest.raises(InputRefused, match="may not approve"):
        proposing(workshop, Reviewer()).narrow(row.plan_id, [1], approvals=workshop.approvals, person=stranger)
    refused = proposing(workshop, Reviewer(against=["no"]))
    done = refused.narrow(row.plan_id, [1], approvals=workshop.approvals, person=ALICE)
    assert (done.refusals, done.row) == (("no",), None)
    assert workshop.plans.get(row.plan_id).phase is Phase.AWAITING


def test_a_plan_that_no_longer_waits_is_not_narrowed(workshop: Workshop) -> None:
    row = waiting(workshop)
    workshop.approvals.reject(row.plan_id, ALICE, "no")
    with pytest.raises(Conflict, match="rejected"):
        proposing(workshop, Reviewer()).narrow(row.plan_id, [1], approvals=workshop.approvals, person=ALICE)


def test_every_kept_action_is_the_same_to_the_byte(workshop: Workshop) -> None:
    plan = workshop.plans.plan(waiting(workshop))
    made = narrowed(plan, [1], created_by="bob", now=workshop.clock.now(), reader=Unreadable())
    assert made.actions == plan.actions[1:]
    assert made.needed_approvals == 2, "a high risk is left"
    assert seal_of(made) != seal_of(plan)


def test_a_channel_that_fails_harms_neither_the_plan_nor_the_others(workshop: Workshop) -> None:
    plan, failures = workshop.plans.plan(waiting(workshop)), list[str]()
    broken, working = Mailbox(error=UpstreamFailed("gone")), Mailbox()
    channels = (a_channel(broken), a_channel(working))
    notices = PlanNotices(channels=channels, told=told(workshop), failed=failures.append)
    notices(plan, an_incident())
    assert len(working.notices) == 1
    assert "gone" in failures[0]
    assert "https://" not in working.notices[0][1], "without CONSOLE_URL there is no link"


@pytest.mark.parametrize("has_message", [True, False])
def test_a_plan_is_told_in_the_thread_of_its_incident(workshop: Workshop, has_message: bool) -> None:
    plan, kept = workshop.plans.plan(waiting(workshop)), told(workshop)
    answer = Answer(body={"ok": True, "channel": "C1", "ts": "2.2"})
    with a_peer(answer) as peer:
        slack = a_channel(SlackAppNotifier(sender=a_sender(), token="t", channel="C1", api=peer.url), ChannelName.SLACK)
        ended = ToldState(epoch=3, is_settled=True, message="C1:1.1")
        if has_message:
            kept.keep(plan.incident_id, slack, ended)
        notices = PlanNotices(channels=(slack,), told=kept)
        notices(plan, an_incident())
        notices(plan, an_incident())
    threads = [one.json.get("thread_ts") for one in peer.sent]
    assert [one.path for one in peer.sent] == ["/chat.postMessage"] * 2
    # The end of the incident stays told; its next notice goes to the same message.
    assert threads == (["1.1", "1.1"] if has_message else [None, "2.2"])
    known = kept.of(plan.incident_id, slack, epoch=3)
    assert known == (ended if has_message else ToldState(epoch=3, message="C1:2.2"))
