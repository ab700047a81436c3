from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from affidavit.checks import run_named_computation
from affidavit.checks.computation_results import Found, Shown
from affidavit.checks.numbered_lines import LARGEST, Document
from affidavit.checks.run_on_bundle import Hit, load_checks, run_checks

CHECKS = {check.id: check for check in load_checks()}


def put(folder: Path, files: dict[str, bytes]) -> dict[str, Path]:
    for number, data in enumerate(files.values()):
        (folder / str(number)).write_bytes(data)
    return {path: folder / str(number) for number, path in enumerate(files)}


def test_a_hit_has_the_line_its_bytes_and_the_measured_fact(tmp_path: Path) -> None:
    data = b"net.ipv4.ip_forward = 1\r\nnet.netfilter.nf_conntrack_count = 254331\r\nnet.nf_conntrack_max = 262144\r\n"
    result = run_checks(CHECKS.values(), put(tmp_path, {"top/sysctls/sysctl_all.txt": data}))
    [shown] = result.shown
    assert (shown.check.id, shown.path) == ("sysctls.conntrack-nearly-full", "top/sysctls/sysctl_all.txt")
    detail = "nf_conntrack_count is 97 % of nf_conntrack_max (254331 of 262144)"
    assert shown.hits == (Hit(line=2, start=25, end=66, detail=detail),)
    assert data[25:66] == b"net.netfilter.nf_conntrack_count = 254331"
    assert result.gaps == ()


def test_files_of_two_bundles_are_not_computed_on_together(tmp_path: Path) -> None:
    rules = b"1536:\tfrom 10.0.2.17 lookup 2\n"
    route = b"default via 10.0.2.1 dev eth1 table 2\n"
    check = CHECKS["cni.default-route-missing"]
    inner = "inner.tar.gz/networking"
    outside = {"networking/iprule.txt": rules, f"{inner}/iproute.txt": route}
    assert not run_checks([check], put(tmp_path, outside)).shown
    both = {
        **outside,
        "networking/iproute.txt": b"default via 10.0.1.1 dev eth0 table 3\n",
        f"{inner}/iprule.txt": rules,
    }
    assert [shown.path for shown in run_checks([check], put(tmp_path, both)).shown] == ["networking/iprule.txt"]


def test_a_file_that_is_too_large_is_one_gap_however_many_checks_read_it(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LARGEST + 1)
    result = run_checks(CHECKS.values(), {"networking/iptables-save.txt": tmp_path / "large"})
    assert result.shown == ()
    assert result.gaps == ("networking/iptables-save.txt: is larger than 32 MiB, so nothing was computed from it",)


def test_a_large_connection_table_is_read_as_far_as_its_counters(tmp_path: Path) -> None:
    head = b"*** Output of conntrack -S ***\ncpu=0   \tfound=0 insert_failed=0 drop=5120 early_drop=0\n"
    with (tmp_path / "table").open("wb") as file:
        file.write(head)
        file.truncate(LARGEST + 1)
    result = run_checks(CHECKS.values(), {"networking/conntrack.txt": tmp_path / "table"})
    assert [(shown.check.id, shown.hits[0].line) for shown in result.shown] == [("networking.conntrack-dropped", 2)]
    assert result.gaps == ()


def test_files_that_hold_no_table_are_gaps_and_no_findings(tmp_path: Path) -> None:
    files = {
        "storage/mounts.txt": b"timeout: failed to run command 'mount'\n",
        "storage/inodes.txt": b"",
        "sysctls/sysctl_all.txt": b"\n",
        "system/services.txt": b"Failed to list units: Connection timed out\n",
        "networking/resolv.conf": b"",
    }
    result = run_checks(CHECKS.values(), put(tmp_path, files))
    assert result.shown == ()
    assert {gap.partition(":")[0] for gap in result.gaps} == set(files)


def test_a_computation_that_fails_is_a_gap_and_costs_neither_what_it_showed_nor_the_other_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(documents: Sequence[Document]) -> Iterator[Found]:
        yield Shown(documents[0].path, 1, "as far as it came")
        raise OverflowError

    monkeypatch.setitem(run_named_computation.COMPUTATIONS, "dns.no-nameserver", failing)
    files = {"networking/resolv.conf": b"".join(b"nameserver 10.0.0.%d\n" % number for number in range(9))}
    result = run_checks(CHECKS.values(), put(tmp_path, files))
    assert result.gaps == (
        "networking/resolv.conf: networking.no-name-server could not be computed (OverflowError), "
        "so whether it holds is unknown",
    )
    shown = {each.check.id: each.hits[0].detail for each in result.shown}
    assert shown.pop("networking.no-name-server") == "as far as it came"
    assert shown
    assert "check networking.no-name-server failed" in caplog.text


def test_too_many_files_for_one_check_are_left_out_and_named(tmp_path: Path) -> None:
    (tmp_path / "link").write_bytes(b"[Link]\n")
    files = {f"networking/systemd-network/{number:04}.link": tmp_path / "link" for number in range(600)}
    result = run_checks(CHECKS.values(), files)
    assert result.gaps == tuple(
        f"networking/systemd-network/0512.link: is one of too many files for {check}, which left it out"
        for check in ("networking.mac-address-policy", "networking.mac-address-policy-kept")
    )


def test_the_order_of_files_and_checks_changes_nothing(tmp_path: Path) -> None:
    sample = {path: text.encode() for check in CHECKS.values() for path, text in check.samples.fires[0].files.items()}
    files = put(tmp_path, sample)
    backwards = dict(reversed(files.items()))
    assert run_checks(CHECKS.values(), files) == run_checks(reversed(CHECKS.values()), backwards)
