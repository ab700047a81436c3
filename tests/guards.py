# ruff: noqa: E501 - a table: one guard a line
"""Removes each guard of remediation and of the console in turn and shows that its test goes red: `make guards`.

A guard is a text in a file and what replaces it. A copy of the package is changed, never the sources themselves.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = "src/affidavit/remediation"
C = "tests/unit/console/test_console"
E, A, P, R, N, Q, V = (
    f"tests/unit/remediation/{name}.py"
    for name in (
        "test_executor",
        "test_approvals",
        "test_proposing",
        "test_critic",
        "actions/test_node_actions",
        "actions/test_sqs_redrive",
        "actions/test_variables",
    )
)


@dataclass(frozen=True, kw_only=True)
class Guard:
    name: str
    file: str
    text: str
    instead: str
    test: str


def guard(name: str, file: str, text: str, instead: str, test: str) -> Guard:
    return Guard(name=name, file=f"{HOME}/{file}", text=text, instead=instead, test=test)


def console_guard(name: str, file: str, text: str, instead: str, test: str) -> Guard:
    return Guard(name=name, file=f"src/affidavit/entrypoints/console/{file}", text=text, instead=instead, test=test)


GUARDS = (
    guard("expiry", "approvals/plan_decisions.py", "if self.plans.clock.now() >= plan.expires_at:", "if False:", f"{A}::test_expiry_is_exact"),
    guard("expiry to the second", "approvals/plan_decisions.py", "now() >= plan.expires_at", "now() > plan.expires_at", f"{A}::test_expiry_is_exact"),
    guard("self-approval", "approvals/plan_decisions.py", "if is_same_person(person.identity, plan.created_by):", "if False:", f"{A}::test_who_proposed_cannot_approve"),
    guard("same person twice", "approvals/plan_decisions.py", "if any(is_same_person(person.identity, one) for one in row.approvers):", "if False:", f"{A}::test_a_high_risk_needs_two_different_people"),
    guard("number of people", "approvals/plan_decisions.py", "max(plan.needed_approvals, self.least)", "1", f"{A}::test_a_high_risk_needs_two_different_people"),
    guard("the setting of two people", "approvals/plan_decisions.py", "max(plan.needed_approvals, self.least)", "plan.needed_approvals", f"{A}::test_the_setting_may_ask_for_two_always"),
    guard("who may approve", "approvals/people.py", "if not person.identity or not any(", "if False and any(", f"{A}::test_an_identity_that_the_list_does_not_name_approves_nothing"),
    guard("the executor's role approves nothing", "approvals/people.py", 'if role and f":assumed-role', 'if False and f":assumed-role', f"{A}::test_the_executors_own_role_approves_nothing"),
    guard("typed seal", "approvals/plan_decisions.py", "if typed != typed_part(row.seal):", "if False:", f"{A}::test_other_characters_than_the_seals_approve_nothing"),
    guard("approving while off", "approvals/plan_decisions.py", "        self.switch.check()\n", "", f"{A}::test_while_repairs_are_off_nobody_approves"),
    guard("clock set back", "record/store.py", "if now < row.at:", "if False:", f"{A}::test_a_clock_that_was_set_back_revives_nothing"),
    guard("digest of an entry", "record/chain.py", "entry.text != text or entry.sha256 != sha256", "False", f"{A}::test_every_flipped_byte_of_a_record_is_found"),
    guard("row as written", "record/store.py", "if _item(row) != dict(item):", "if False:", f"{A}::test_every_flipped_byte_of_a_record_is_found"),
    guard("seal of the stored bytes", "plan/seal.py", "if seal_of_bytes(data) != seal:", "if False:", "tests/unit/remediation/test_seal.py"),
    guard("nothing beside what is read", "plan/seal.py", "if plan_bytes(plan) != data:", "if False:", "tests/unit/remediation/test_seal.py"),
    guard("kill switch", "kill_switch.py", "if settings.remediation is not Switch.ON:", "if False:", f"{E}::test_nothing_runs_while_remediation_is_off_which_is_the_default"),
    guard("freeze", "kill_switch.py", "if frozen is not None:", "if False:", f"{E}::test_the_kill_switch_stops_at_every_boundary"),
    guard("switch right before the call", "execution/executor.py", "                self.tools.switch.check()\n                ids +=", "                ids +=", f"{E}::test_the_kill_switch_stops_at_every_boundary"),
    guard("citations", "execution/executor.py", "problems = list(self.tools.citations.problems(plan))", "problems = list[str]()", f"{E}::test_a_source_that_says_something_else_by_now_is_stale"),
    guard("read-back", "execution/shared_executor_steps.py", "if is_same(live.state, wanted):", "if True:", f"{E}::test_a_change_right_after_the_call_is_reported_and_left_alone"),
    guard("a read error is no success", "execution/shared_executor_steps.py", 'return f"{action.target} could not be read back: {error}", False', 'return "", False', f"{E}::test_a_read_back_that_fails_is_never_success"),
    guard("failing runs", "execution/executor.py", "if seen.bad:", "if False:", f"{E}::test_the_right_configuration_without_a_good_run_is_undone"),
    guard("a good run is needed", "execution/executor.py", "if seen.good >= symptom.good_runs and seen.is_complete:", "if seen.is_complete:", f"{E}::test_the_right_configuration_without_a_good_run_is_undone"),
    guard("runs read whole", "execution/executor.py", "seen.good >= symptom.good_runs and seen.is_complete", "seen.good >= symptom.good_runs", f"{E}::test_the_right_configuration_without_a_good_run_is_undone"),
    guard("undo after a third party", "execution/undoing.py", "        if not is_same(live, action.expected):\n", "        if False:\n", f"{E}::test_an_undo_after_somebody_elses_change_is_refused_and_says_what"),
    guard("undo before the call", "execution/executor.py", '"undo": action.undo, ', "", f"{E}::test_the_undo_is_on_record_before_the_call"),
    guard("the executor counts people itself", "execution/executor.py", "people = others_than(plan.created_by, (one.by for one in given if one.details.get(\"seal\") == row.seal))", "people = {one.by for one in given}", f"{E}::test_an_approval_in_the_record_under_a_second_name_is_not_a_second_person"),
    guard("a user named as a mail address begins", "approvals/people.py", "return first.partition(\"@\")[0] == second.partition(\"@\")[0]", "return False", f"{A}::test_in_doubt_two_names_are_one_person"),
    guard("lock of an undo", "execution/start_limits.py", "if (holder := self._holder(target)) not in (\"\", plan.plan_id):", "if (holder := self._holder(target)) is None:", f"{E}::test_an_undo_waits_for_the_plan_that_works_on_its_target"),
    guard("an effect that comes late", "execution/unseen_outcomes.py", "if self.may_come else 0", "if False else 0", f"{E}::test_a_call_whose_answer_is_lost_is_waited_for_before_it_is_called_none"),
    guard("what AWS still carries out", "execution/unseen_outcomes.py", "return live if live.is_settled else", "return live if True else", f"{E}::test_what_aws_still_carries_out_is_not_settled_yet"),
    guard("lock", "execution/start_limits.py", 'if held["held_by"]:', "if False:", f"{E}::test_two_plans_on_one_target_do_not_run_at_once"),
    guard("rest of a target", "execution/start_limits.py", 'if cast("float", held["last_at"]) > rested:', "if False:", f"{E}::test_a_target_is_left_alone_for_a_while_and_the_hour_has_a_limit"),
    guard("starts an hour", "execution/start_limits.py", "if len(earlier) >= self.per_hour:", "if False:", f"{E}::test_a_target_is_left_alone_for_a_while_and_the_hour_has_a_limit"),
    guard("the source says so", "review/action_matches_source.py", "elif not check(action.arguments, action.target, said):", "elif False:", f"{P}::test_the_critic_refuses_an_action_with_anything_that_its_source_or_the_live_state_does_not_say"),
    guard("only the catalog", "critic.py", "kind = catalog().get(action.type)", 'kind = catalog().get(action.type) or catalog()["lambda.concurrency.restore"]', f"{P}::test_the_critic_refuses_an_action_with_anything_that_its_source_or_the_live_state_does_not_say"),
    guard("stopping traffic", "critic.py", "if stops_traffic(action):", "if False:", f"{R}::test_a_fix_that_only_stops_traffic_is_refused_for_every_type"),
    guard("longest expiry", "critic.py", "< plan.expires_at <= plan.created_at + LONGEST:", "< plan.expires_at:", f"{P}::test_the_critic_refuses_a_plan_out_of_bounds"),
    guard("nothing wider than its source", "critic.py", "            yield from widened_policy(action, said, self.reader)\n", "", f"{R}::test_a_policy_that_was_widened_since_is_not_attached_again"),
    guard("the source is about the subject", "critic.py", "            yield from foreign_target(action, incident.subject, said, self.reader)\n", "", f"{R}::test_a_state_of_another_function_is_no_source"),
    guard("rules stand whole", "review/network_scope.py", " and any(wanted <= set(_single(one)) for one in listed(told))", "", f"{R}::test_parts_of_two_rules_do_not_make_a_third"),
    guard("injected orders", "review/action_matches_source.py", "elif not check(action.arguments, action.target, said):", "elif False:", f"{P}::test_two_hundred_injected_orders_give_no_unregistered_action_and_no_wider_argument"),
    guard("positions alone", "plan_resolver.py", "if 0 <= one < len(repairs)", "", f"{R}::test_a_chat_model_orders_leaves_out_and_objects_and_nothing_else"),
    guard("no opinion lifts a refusal", "critic.py", "return found or self._objections(plan)", "return self._objections(plan)", f"{R}::test_a_chat_model_orders_leaves_out_and_objects_and_nothing_else"),
    guard("a fifth of a group", "actions/nodes/scaling_group_health.py", "if len(unwell) + missing > most:", "if False:", f"{N}::test_at_most_a_fifth_of_a_group_is_unhealthy_and_one_is_handled_at_a_time"),
    guard("one node at a time", "actions/nodes/scaling_group_health.py", "if others := [one for one in moving if one != instance_id]:", "if others := list[str]():", f"{N}::test_at_most_a_fifth_of_a_group_is_unhealthy_and_one_is_handled_at_a_time"),
    guard("evidence before a node is lost", "actions/nodes/reboot.py", ' if said.get("has_evidence") is True else ""', "", f"{N}::test_without_evidence_in_store_or_an_allowed_cluster_nothing_is_lost"),
    guard("allowed clusters", "sources/node_as_source.py", "if cluster is None or cluster not in self.allowed_clusters:", "if cluster is None:", f"{N}::test_without_evidence_in_store_or_an_allowed_cluster_nothing_is_lost"),
    guard("our own document", "review/node_checks.py", "return is_ours and is_pinned and arguments", "return arguments", f"{N}::test_the_critic_refuses_another_node_document_or_operation"),
    guard("dead letters of this queue", "actions/services/sqs_redrive.py", "if dead_letters_of(queue, reader) != aim.target:", "if False:", f"{Q}::test_only_the_dead_letters_of_the_queue_that_feeds_it_go_back_and_slowly"),
    guard("so many a second", "actions/services/sqs_redrive.py", "if not 1 <= int(str(aim.arguments[\"per_second\"])) <= PER_SECOND:", "if False:", f"{Q}::test_only_the_dead_letters_of_the_queue_that_feeds_it_go_back_and_slowly"),
    guard("variables that are known good", "review/action_matches_source.py", " and said.document.get(GOOD_VARIABLES) is True", "", f"{V}::test_variables_come_back_from_the_version_that_the_known_good_state_vouches_for"),
    guard('actions of a plan', 'critic.py', 'if not plan.actions or len(plan.actions) > MOST_ACTIONS:', 'if False:', f"{P}::test_the_critic_refuses_a_plan_out_of_bounds"),
    guard('policy in force', 'critic.py', 'if plan.policy_version != POLICY_VERSION:', 'if False:', f"{P}::test_the_critic_refuses_a_plan_out_of_bounds"),
    guard('account of the incident', 'critic.py', 'if (plan.account, plan.region) != (incident.account, incident.region):', 'if False:', f"{P}::test_each_refusal_of_the_critic_says_its_own_reason"),
    guard('proof about the subject', 'critic.py', 'if plan.symptom.subject != incident.subject or', 'if False and', f"{P}::test_each_refusal_of_the_critic_says_its_own_reason"),
    guard('people for a high risk', 'critic.py', 'if plan.needed_approvals < (2 if plan.risk is RiskLevel.HIGH else 1):', 'if False:', f"{P}::test_the_critic_refuses_a_plan_out_of_bounds"),
    guard('blast radius', 'critic.py', 'if not touched <= set(plan.blast_radius):', 'if False:', f"{P}::test_the_critic_refuses_a_plan_out_of_bounds"),
    guard('shape of arguments', 'critic.py', '        yield from shapes\n', '', f"{P}::test_each_refusal_of_the_critic_says_its_own_reason"),
    guard('target of another account', 'critic.py', '        yield from _foreign(plan, action)\n', '', f"{P}::test_each_refusal_of_the_critic_says_its_own_reason"),
    guard('evidence of the diagnosis', 'critic.py', 'if not action.evidence_basis or not all(', 'if False and not all(', f"{P}::test_the_critic_refuses_an_action_with_anything_that_its_source_or_the_live_state_does_not_say"),
    guard('faults of the diagnosis', 'critic.py', 'if not kind.repairs & set(diagnosis.fault_types):', 'if False:', f"{P}::test_each_refusal_of_the_critic_says_its_own_reason"),
    guard('risk as in the catalog', 'critic.py', 'if _RISKS.index(action.risk) < _RISKS.index(kind.risk) or action.undo_class is not kind.undo_class:', 'if False:', f"{P}::test_the_critic_refuses_an_action_with_anything_that_its_source_or_the_live_state_does_not_say"),
    guard('precondition is live', 'critic.py', 'if sha256_of(state) != action.precondition.sha256 or sha256_of(live.state) != action.precondition.sha256:', 'if False:', f"{P}::test_each_refusal_of_the_critic_says_its_own_reason"),
    guard('expected is what it leads to', 'critic.py', 'if sha256_of(kind.expected(aim, state)) != sha256_of(action.expected):', 'if False:', f"{P}::test_the_critic_refuses_an_action_with_anything_that_its_source_or_the_live_state_does_not_say"),
    guard('it changes something', 'critic.py', 'if sha256_of(action.expected) == sha256_of(state):', 'if False:', f"{P}::test_each_refusal_of_the_critic_says_its_own_reason"),
    guard('there is an undo', 'critic.py', 'if (action.undo is None) != (kind.undo_class is UndoClass.NONE):', 'if False:', f"{P}::test_the_critic_refuses_an_action_with_anything_that_its_source_or_the_live_state_does_not_say"),
    guard('the undo leads back', 'critic.py', 'elif action.undo is not None and not _leads_back(kind, action):', 'elif False:', f"{P}::test_the_critic_refuses_an_action_with_anything_that_its_source_or_the_live_state_does_not_say"),
    guard('phase of a plan', 'approvals/plan_decisions.py', 'if row.phase is not phase:', 'if False:', f"{E}::test_a_plan_that_is_not_approved_calls_nothing_through_any_door"),
    guard('state right before the call', 'execution/executor.py', '        if not is_same(live.state, action.precondition.state):\n            differs', '        if False:\n            differs', f"{E}::test_drift_between_two_steps_takes_the_first_back"),
    guard('changed while the proof was awaited', 'execution/executor.py', 'or self._changed_again(plan)', '', f"{E}::test_a_change_while_the_proof_is_awaited_is_no_repair"),
    guard('an executor that is alive', 'execution/executor.py', 'if row.until > self.tools.clock.now().timestamp():', 'if False:', f"{E}::test_nobody_takes_over_from_an_executor_that_is_alive"),
    guard('an undo that there is', 'execution/undoing.py', '        if action.undo is None:\n            raise', '        if False:\n            raise', f"{Q}::test_dead_letters_go_back_once_two_people_approved"),
    guard('state right before an undo', 'execution/undoing.py', '        if not is_same(live.state, action.expected):\n            raise UndoRefused(f"{action.target} changed right', '        if False:\n            raise UndoRefused(f"{action.target} changed right', f"{E}::test_drift_between_two_undos_is_left_alone"),
    guard('lines of a plan', 'plan/rendering.py', 'return "\\\\n".join(line.splitlines())', 'return line', "tests/unit/remediation/test_seal.py::test_no_value_poses_as_a_line_of_what_is_approved"),
    guard('a record that grows', 'record/check.py', '        if after == row:\n', '        if True:\n', f"{A}::test_a_record_that_grows_while_it_is_proven_is_not_called_broken"),
    Guard(name="one thing a credential", file="src/affidavit/adapters/aws/remediation/least_privilege_calls.py", text="    _check_names_one_thing(calls)\n", instead="", test="tests/unit/remediation/test_session_policies.py::test_a_name_that_iam_reads_as_a_pattern_gets_no_credential"),
)  # fmt: skip


CONSOLE_GUARDS = (
    console_guard("end of a session", "access/sessions.py", "return found if found.expires_at > self._clock.now() else None", "return found", f"{C}_expiry.py"),
    console_guard("end of a share", "access/share_links.py", "if until <= self._clock.now():", "if False:", f"{C}_expiry.py"),
    console_guard("end of a login link", "access/sessions.py", "and until > self._clock.now().timestamp() else None", "else None", f"{C}_expiry.py"),
    console_guard("a link works once", "access/sessions.py", 'when=Lacks("used")', "when=None", f"{C}_access.py::test_a_link_of_the_laptop_logs_in_once"),
    console_guard("CSRF: origin", "guarded_page_requests.py", "if is_unsafe and not is_from_here(request):", "if False:", f"{C}_access.py::test_a_form_that_another_site_sent_is_refused"),
    console_guard("CSRF: Sec-Fetch-Site", "access/same_origin.py", 'if site is not None and site != "same-origin":', "if False:", f"{C}_access.py::test_a_form_that_another_site_sent_is_refused"),
    console_guard("CSRF: Origin", "access/same_origin.py", "return origin == f", "return True or origin == f", f"{C}_access.py::test_a_form_that_another_site_sent_is_refused"),
    console_guard("CSRF: token", "guarded_page_requests.py", "if is_unsafe and not (isinstance(token, str) and session.has_token(token)):", "if False:", f"{C}_access.py::test_a_form_needs_the_token_of_its_own_session"),
    console_guard("session fixation: a new id", "access/login.py", "session_id = desk.sessions.start(person)", "session_id = session_id_of(request) or desk.sessions.start(person)", f"{C}_access.py::test_a_session_that_somebody_brings_along_is_never_taken_over"),
    console_guard("session fixation: the old one ends", "access/login.py", "        desk.sessions.end(session_id_of(request))\n", "        pass\n", f"{C}_access.py::test_a_session_that_somebody_brings_along_is_never_taken_over"),
    console_guard("session fixation: the login's browser", "access/oidc_pages.py", "if not state or not hmac.compare_digest(state.encode(), held.encode()):", "if False:", f"{C}_oidc.py::test_a_login_comes_back_in_the_browser_that_began_it_and_once"),
    console_guard("clickjacking: policy", "access/security_headers.py", "form-action 'self'; frame-ancestors 'none'; ", "form-action 'self'; ", f"{C}_access.py::test_every_answer_tells_the_browser_what_to_refuse"),
    console_guard("clickjacking: X-Frame-Options", "access/security_headers.py", '    "X-Frame-Options": "DENY",\n', "", f"{C}_access.py::test_every_answer_tells_the_browser_what_to_refuse"),
    console_guard("open redirect", "access/same_origin.py", 'return wanted if is_path and is_clean and not wanted.startswith(("/login", "/logout")) else "/"', "return wanted", f"{C}_access.py::test_after_the_login_nobody_is_sent_elsewhere"),
    console_guard("hosts that are not ours", "access/same_origin.py", "return name in _LOOPBACK or given in hosts", "return True", f"{C}_access.py::test_a_name_that_is_not_ours_is_not_answered"),
    Guard(name="path tricks: dots", file="src/affidavit/nodes/library/object_keys.py", text='if any(part in (".", "..") for part in _SEPARATORS.split(found[2])) or', instead="if", test=f"{C}_nodes.py::test_a_path_that_leads_elsewhere_is_refused"),
    console_guard("IDOR: a link opens its incident", "pages/share.py", "desk.incident(share.incident_id)", 'desk.incident("inc-2")', f"{C}_sharing.py"),
    console_guard("IDOR: a link under another incident", "access/share_links.py", "if handle not in {share.handle for share in self.of(incident_id)}:", "if False:", f"{C}_sharing.py::test_a_link_of_one_incident_is_not_revoked_under_another"),
    console_guard("IDOR: sessions of others", "pages/settings.py", 'if visit.field("handle") not in own:', "if False:", f"{C}_sharing.py::test_a_person_revokes_sessions_of_their_own_alone"),
    console_guard("roles", "guarded_page_requests.py", "if not session.person.may(page.role):", "if False:", f"{C}_access.py::test_a_viewer_cannot_act"),
    console_guard("raw lines", "pages/logs.py", "if not visit.person.may(PersonRole.OPERATOR):", "if False:", f"{C}_nodes.py::test_secrets_are_hidden_neither_shown_nor_found_and_raw_is_logged"),
    console_guard("long forms", "guarded_page_requests.py", "FORM_BYTES: Final = 64 << 10", "FORM_BYTES: Final = 64 << 20", f"{C}_access.py::test_a_long_form_is_refused_before_it_is_read"),
    console_guard("an ARN is no person of the console", "plans/repair_services.py", 'if person.name.startswith("arn:"):', "if False:", f"{C}_plans.py::test_a_name_that_the_list_does_not_have_or_that_reads_like_an_arn_decides_nothing"),
    console_guard("role of who decides", "routes.py", "_APPROVER = PersonRole.OPERATOR, PersonRole.APPROVER", "_APPROVER = PersonRole.OPERATOR, PersonRole.VIEWER", f"{C}_plans.py::test_only_an_approver_decides"),
    console_guard("a reason", "plans/decisions.py", "if not why:", "if False:", f"{C}_plans.py::test_rejecting_and_revoking_need_a_reason_and_lead_back_to_diagnosed"),
    console_guard("a link proves no person", "services.py", "if self.oidc is not None else", "if True else", f"{C}_plans.py::test_a_link_of_the_laptop_proves_no_person"),
    console_guard("a broken record offers nothing", "plans/pages.py", "broken = list(broken_record(plans, row.plan_id))", "broken = list[str]()", f"{C}_plans.py::test_a_record_that_was_changed_is_said_first_and_offers_no_approval"),
    guard("one person by two names", "approvals/people.py", "    return first == second", "    return one == other", f"{C}_plans.py::test_who_proposed_cannot_approve_by_any_name"),
    guard("mail addresses are the issuer's", "approvals/people.py", "person.proof is not IdentityProof.CONSOLE", "False", f"{A}::test_a_pattern_names_people_of_one_kind_alone"),
    guard("ARNs are AWS's", "approvals/people.py", "person.proof is not IdentityProof.AWS", "False", f"{A}::test_a_pattern_names_people_of_one_kind_alone"),
)  # fmt: skip


def main(names: list[str]) -> int:
    chosen = [one for one in (*GUARDS, *CONSOLE_GUARDS) if not names or one.name in names]
    survived = [one.name for one in chosen if not _goes_red(one)]
    print(f"{len(chosen) - len(survived)} of {len(chosen)} guards: removed, and a test went red")
    for name in survived:
        print(f"NOT NOTICED: {name}")
    return 1 if survived else 0


def _goes_red(one: Guard) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        file = copy / one.file
        text = file.read_text()
        if text.count(one.text) < 1:
            print(f"MISSING: {one.name}: its text is not in {one.file}")
            return False
        file.write_text(text.replace(one.text, one.instead))
        environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}:{copy}"}
        run = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", one.test]
        done = subprocess.run(run, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        print(f"{'red ' if done.returncode == 1 else 'GREEN'} {one.name}", flush=True)
        return done.returncode == 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
