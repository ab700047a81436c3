"""Over every check: its samples hold through the real run, and taking one away is noticed."""

from pathlib import Path

import pytest

from affidavit.checks.check import Check
from affidavit.checks.compute import COMPUTATIONS
from affidavit.checks.run_on_bundle import ChecksResult, load_checks, run_checks
from affidavit.evidence.severity import Severity
from affidavit.rules.pack import load_pack

CHECKS = load_checks()

# What the product promises to measure. A check that goes, or changes its weight, has to be struck here too.
PROMISED = {
    "cni.address-requests-failed": "low",
    "cni.addresses-nearly-used": "low",
    "cni.checkpoint-contradicts": "medium",
    "cni.default-route-missing": "medium",
    "cni.interfaces-limited": "info",
    "cni.ipamd-not-running": "high",
    "cni.other-config-first": "low",
    "cni.pod-routes-missing": "medium",
    "cni.pod-rules-missing": "medium",
    "containerd.cgroup-driver-differs": "info",
    "containerd.cri-disabled": "info",
    "containerd.registry-mirrored": "info",
    "containerd.sandbox-image-own": "info",
    "kubelet.certificates-not-renewed": "info",
    "kubelet.endpoint-unknown": "high",
    "kubelet.eviction-early": "info",
    "kubelet.image-cleaning-early": "info",
    "kubelet.max-pods-differs": "low",
    "kubelet.pod-pids-few": "info",
    "kubelet.proxy-set": "info",
    "kubelet.pulls-few": "info",
    "kubelet.setting-refused": "info",
    "kubelet.unit-limits-low": "info",
    "kubelet.unit-resources-limited": "info",
    "networking.conntrack-dropped": "medium",
    "networking.conntrack-early-drop": "low",
    "networking.conntrack-insert-failed": "low",
    "networking.default-route-absent": "high",
    "networking.ena-bandwidth-in-exceeded": "low",
    "networking.ena-bandwidth-out-exceeded": "low",
    "networking.ena-conntrack-allowance-exceeded": "medium",
    "networking.ena-link-local-exceeded": "medium",
    "networking.ena-packet-rate-exceeded": "low",
    "networking.forward-drops-pods": "high",
    "networking.interface-down": "high",
    "networking.interface-errors": "low",
    "networking.interface-not-running": "high",
    "networking.iptables-kinds-mixed": "low",
    "networking.loopback-missing": "high",
    "networking.mac-address-policy": "medium",
    "networking.mac-address-policy-kept": "info",
    "networking.name-server-custom": "info",
    "networking.name-server-local": "info",
    "networking.name-servers-ignored": "low",
    "networking.no-name-server": "high",
    "networking.packet-size-odd": "info",
    "networking.reject-rule-unexpected": "medium",
    "networking.route-refuses": "info",
    "networking.search-list-too-long": "low",
    "networking.service-rules-missing": "high",
    "storage.disk-full": "high",
    "storage.disk-nearly-full": "medium",
    "storage.inodes-exhausted": "high",
    "storage.inodes-nearly-exhausted": "medium",
    "storage.lustre-module-missing": "info",
    "storage.mounted-noexec": "info",
    "storage.mounted-read-only": "critical",
    "storage.pod-writes-much": "info",
    "storage.volume-read-only": "high",
    "storage.xfs-free-space-fragmented": "medium",
    "sysctls.bridge-traffic-unfiltered": "low",
    "sysctls.conntrack-filling": "low",
    "sysctls.conntrack-limit-low": "info",
    "sysctls.conntrack-nearly-full": "high",
    "sysctls.file-handles-high": "medium",
    "sysctls.filter-memory-low": "info",
    "sysctls.huge-pages-many": "info",
    "sysctls.inotify-instances-low": "info",
    "sysctls.inotify-watches-few": "info",
    "sysctls.ipv6-disabled": "info",
    "sysctls.kernel-died": "high",
    "sysctls.kernel-foreign-module": "info",
    "sysctls.kernel-machine-check": "medium",
    "sysctls.kernel-module-forced": "medium",
    "sysctls.kernel-soft-lockup": "medium",
    "sysctls.kernel-warned": "low",
    "sysctls.local-ports-few": "info",
    "sysctls.memory-kept-free": "info",
    "sysctls.neighbours-few": "info",
    "sysctls.open-files-few": "info",
    "sysctls.overcommit-refused": "info",
    "sysctls.pids-high": "medium",
    "sysctls.process-ids-few": "info",
    "sysctls.reverse-path-filter-strict": "medium",
    "sysctls.threads-few": "info",
    "system.blocked-processes": "medium",
    "system.container-runtime-not-active": "high",
    "system.cpu-stalls": "low",
    "system.cron-too-frequent": "low",
    "system.daemon-holds-memory": "high",
    "system.disk-waiting": "low",
    "system.io-stalls": "medium",
    "system.kubelet-not-active": "high",
    "system.large-environment": "low",
    "system.memory-nearly-used": "medium",
    "system.process-holds-memory": "high",
    "system.memory-stalls": "medium",
    "system.processors-taken": "medium",
    "system.rebooted-often": "medium",
    "system.rebooted-unplanned": "high",
    "system.storage-helper-defunct": "high",
    "system.time-service-not-active": "medium",
    "system.zombie-processes": "low",
    "windows.node-service-stopped": "high",
}


def test_every_promised_check_is_there_with_its_severity_and_no_other() -> None:
    assert {check.id: check.severity.value for check in CHECKS} == PROMISED
    assert {check.severity for check in CHECKS} == set(Severity)


def test_no_check_shares_its_id_or_name_with_a_rule() -> None:
    rules = load_pack().rules
    assert not {check.id for check in CHECKS} & {rule.id for rule in rules}
    assert not {check.name for check in CHECKS} & {rule.name for rule in rules}


def test_every_computation_is_used_by_a_check() -> None:
    assert {check.compute for check in CHECKS} == set(COMPUTATIONS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_the_run_shows_exactly_the_lines_that_a_checks_samples_promise(check: Check, tmp_path: Path) -> None:
    for number, sample in enumerate(check.samples.fires):
        result = _run(check, sample.files, tmp_path / f"fires{number}", newline="\n")
        assert _places(result) == sorted((place.in_, place.line) for place in sample.shows)
        for shown in result.shown:
            lines = sample.files[shown.path].encode().split(b"\n")
            content = (tmp_path / f"fires{number}" / shown.path).read_bytes()
            assert [content[hit.start : hit.end] for hit in shown.hits] == [lines[hit.line - 1] for hit in shown.hits]
            assert all(hit.detail for hit in shown.hits)
    for number, sample in enumerate(check.samples.quiet):
        assert not _run(check, sample.files, tmp_path / f"quiet{number}", newline="\n").shown


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_windows_line_ends_change_nothing(check: Check, tmp_path: Path) -> None:
    for number, sample in enumerate(check.samples.fires):
        result = _run(check, sample.files, tmp_path / str(number), newline="\r\n")
        assert _places(result) == sorted((place.in_, place.line) for place in sample.shows)


def test_the_weaker_and_the_stronger_check_of_one_measure_never_both_fire(tmp_path: Path) -> None:
    for percent in range(101):
        table = f"Filesystem Size Used Avail Use% Mounted on\n/dev/nvme0n1p1 80G 70G 10G {percent}% /\n"
        sysctls = f"net.netfilter.nf_conntrack_count = {percent}000\nnet.netfilter.nf_conntrack_max = 100000\n"
        files = {"storage/mounts.txt": table, "storage/inodes.txt": table, "sysctls/sysctl_all.txt": sysctls}
        shown = [each.path for each in _run_all(files, tmp_path).shown]
        assert len(shown) == len(set(shown)), percent


def _run(check: Check, files: dict[str, str], folder: Path, *, newline: str) -> ChecksResult:
    return run_checks([check], _written({path: text.replace("\n", newline) for path, text in files.items()}, folder))


def _run_all(files: dict[str, str], folder: Path) -> ChecksResult:
    return run_checks(CHECKS, _written(files, folder))


def _written(files: dict[str, str], folder: Path) -> dict[str, Path]:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    return {path: folder / path for path in files}


def _places(result: ChecksResult) -> list[tuple[str, int]]:
    return sorted((shown.path, hit.line) for shown in result.shown for hit in shown.hits)
