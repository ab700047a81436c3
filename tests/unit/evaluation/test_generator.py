"""The generator keeps its word: same arguments, same bytes, and a truth that the files bear out."""

import gzip
import re
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from affidavit.evaluation.generator import (
    BulkSpec,
    BundleSpec,
    Form,
    GeneratedBundle,
    Layout,
    fault_names,
    generate,
    write,
    write_bulk,
)

PLANTED = {
    "kernel": ["BUG: unable to handle page fault for address: 0000000000001c38", "nf_conntrack: table full"],
    "kubelet": ['E@{klog} kubelet.go:2353] "Skipping pod synchronization" err="planted one"', "planted two"],
    "systemd": ["kubelet.service: Failed with result 'signal'."],
    "cni": ["planted: no addresses"],
    "coredns": ["[FATAL] plugin/loop: planted"],
}

CHARACTERISTIC = {
    Layout.AL2: ["var_log/messages", "kubelet/kubelet-config.json", "docker/docker.log", "var_log/user-data.log"],
    Layout.AL2023: ["nodeadm/nodeadm-config.log", "kubelet/config.json", "networking/curl_api_server.txt"],
    Layout.UBUNTU: ["var_log/syslog", "kubelet/kubelet-eks_service.txt"],
    Layout.NODE_DIAGNOSTIC: ["system/pressure_io.txt", "networking/get_api_server.txt"],
    Layout.BOTTLEROCKET: ["bottlerocket-logs/journalctl.log", "bottlerocket-logs/settings.json"],
    Layout.BOTTLEROCKET_NESTED: ["bottlerocket/logdog/bottlerocket-logs.tar.gz", "automode/coredns-boostrap.txt"],
    Layout.WINDOWS: ["system/kubelet/kubelet-service.csv", "system/events/System.evtx"],
}


def everything_wrong(layout: Layout, **changes: object) -> GeneratedBundle:
    return generate(replace(BundleSpec(layout=layout, faults=fault_names()), **changes))


def healthy(layout: Layout) -> GeneratedBundle:
    return generate(BundleSpec(layout=layout))


def readable(bundle: GeneratedBundle) -> Iterator[tuple[str, bytes]]:
    nested = {problem.file for problem in everything_wrong(bundle.spec.layout).truth.problems}
    for file in sorted({*bundle.files, *(name for name in nested if ".tar.gz/" in name)}):
        yield file, bundle.content(file)


@pytest.mark.parametrize("layout", Layout)
def test_the_same_arguments_give_the_same_bundle(layout: Layout) -> None:
    assert everything_wrong(layout) == everything_wrong(layout)


def test_another_seed_gives_another_node() -> None:
    first, second = healthy(Layout.AL2), generate(BundleSpec(layout=Layout.AL2, seed=2))
    assert first.files["system/ps.txt"] != second.files["system/ps.txt"]


@pytest.mark.parametrize("form", [Form.TAR_GZ, Form.TAR, Form.ZIP])
def test_the_same_arguments_give_the_same_archive(form: Form, tmp_path: Path) -> None:
    bundle = everything_wrong(Layout.AL2023)
    first, second = write(bundle, tmp_path / "a", form), write(bundle, tmp_path / "b", form)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_every_line_that_the_truth_names_holds_its_text(layout: Layout, newline: bytes) -> None:
    bundle = everything_wrong(layout, newline=newline)
    assert bundle.truth.problems
    for problem in bundle.truth.problems:
        lines = bundle.content(problem.file).split(b"\n")
        assert problem.count == len(problem.lines) > 0
        assert all(problem.text.encode() in lines[number - 1] for number in problem.lines), problem
        assert all(problem.text.encode() not in lines[number - 1] for number in problem.context), problem
        assert problem.severity in {"critical", "high", "medium", "low", "info"}


@pytest.mark.parametrize("layout", Layout)
def test_every_time_in_the_truth_lies_between_boot_and_collection(layout: Layout) -> None:
    bundle = everything_wrong(layout)
    for problem in bundle.truth.problems:
        if problem.first_time and problem.last_time:
            assert bundle.spec.booted_at < problem.first_time <= problem.last_time < bundle.spec.collected_at


@pytest.mark.parametrize("layout", Layout)
def test_a_healthy_bundle_holds_no_text_of_any_fault(layout: Layout) -> None:
    bundle = healthy(layout)
    assert bundle.truth.problems == ()
    texts = {problem.text.encode() for problem in everything_wrong(layout).truth.problems}
    for file, content in readable(bundle):
        assert not [text for text in texts if text in content], file


@pytest.mark.parametrize("fault", [name for name in fault_names() if name != "healthy"])
def test_every_fault_shows_on_a_shell_collected_node(fault: str) -> None:
    bundle = generate(BundleSpec(layout=Layout.AL2, faults=(fault,)))
    assert {problem.fault for problem in bundle.truth.problems} == {fault}


def test_a_fault_adds_lines_and_changes_none() -> None:
    quiet = healthy(Layout.AL2).files["kubelet/kubelet.log"].splitlines()
    faulty = generate(BundleSpec(layout=Layout.AL2, faults=("oom",))).files["kubelet/kubelet.log"].splitlines()
    assert set(quiet) < set(faulty)


def test_an_unknown_fault_is_refused_with_the_list_of_faults() -> None:
    with pytest.raises(ValueError, match="cert_expiry"):
        generate(BundleSpec(layout=Layout.AL2, faults=("gremlins",)))


def test_three_kills_are_three_in_every_copy_of_the_kernel_log() -> None:
    truth = generate(BundleSpec(layout=Layout.AL2, faults=("oom",))).truth
    kills = {problem.file: problem.count for problem in truth.problems if "Killed process" in problem.text}
    assert kills == {"kernel/dmesg.current": 3, "kernel/dmesg.human.current": 3, "var_log/messages": 3}


def test_the_kubelet_reports_five_containers_killed_for_memory() -> None:
    truth = generate(BundleSpec(layout=Layout.AL2, faults=("oom",))).truth
    found = [problem for problem in truth.in_file("kubelet/kubelet.log") if "OOMKilled" in problem.text]
    assert [problem.count for problem in found] == [5]


def test_old_lines_of_a_busy_pod_log_are_in_its_rotated_file() -> None:
    bundle = generate(BundleSpec(layout=Layout.AL2, faults=("dns",)))
    rotated = [problem for problem in bundle.truth.problems if problem.file.endswith(".gz")]
    border = bundle.spec.collected_at - timedelta(minutes=90)
    assert rotated
    assert all(problem.last_time and problem.last_time < border for problem in rotated)
    assert all(gzip.decompress(bundle.files[problem.file]) for problem in rotated)


@pytest.mark.parametrize("layout", Layout)
def test_every_layout_holds_its_characteristic_files(layout: Layout) -> None:
    assert set(CHARACTERISTIC[layout]) <= set(healthy(layout).files)


def test_only_al2_and_ubuntu_have_a_system_log() -> None:
    having = {layout for layout in Layout if {"var_log/messages", "var_log/syslog"} & healthy(layout).files.keys()}
    assert having == {Layout.AL2, Layout.UBUNTU}


@pytest.mark.parametrize(
    ("layout", "name"),
    [
        (Layout.AL2, r"eks_i-0f3a9c1d7e5b24680_2026-01-15_1030-UTC_0\.7\.9\.tar\.gz"),
        (Layout.NODE_DIAGNOSTIC, r"ip-10-0-1-\d+\.us-west-2\.compute\.internal-logs\.tar\.gz"),
        (Layout.BOTTLEROCKET, r"bottlerocket-logs\.tar\.gz"),
    ],
)
def test_archives_have_the_names_their_collectors_give(layout: Layout, name: str) -> None:
    assert re.fullmatch(name, healthy(layout).archive_name(Form.TAR_GZ))


@pytest.mark.parametrize("layout", [Layout.AL2, Layout.BOTTLEROCKET_NESTED, Layout.WINDOWS])
def test_every_form_holds_the_same_bytes(layout: Layout, tmp_path: Path) -> None:
    bundle = healthy(layout)
    prefix = bundle.member_prefix
    for form in (Form.TAR, Form.TAR_GZ):
        with tarfile.open(write(bundle, tmp_path, form)) as archive:
            members = {member.name: archive.extractfile(member) for member in archive if member.isfile()}
            assert {name: file.read() for name, file in members.items() if file} == {
                f"{prefix}{path}": content for path, content in bundle.files.items()
            }
    with zipfile.ZipFile(write(bundle, tmp_path, Form.ZIP)) as packed:
        assert {name: packed.read(name) for name in packed.namelist()} == bundle.files
    folder = write(bundle, tmp_path, Form.DIRECTORY)
    unpacked = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in unpacked.items()} == bundle.files


def test_members_of_a_linux_archive_start_with_a_dot(tmp_path: Path) -> None:
    with tarfile.open(write(healthy(Layout.AL2), tmp_path, Form.TAR_GZ)) as archive:
        assert all(name.startswith("./") or name == "." for name in archive.getnames())


def test_the_truth_of_a_big_bundle_equals_a_recount(tmp_path: Path) -> None:
    spec = BulkSpec(size_bytes=2_000_000, density=0.02, extra_members=20)
    truth = write_bulk(spec, None, tmp_path, PLANTED)
    texts = {(stream, index): text for stream, all_ in PLANTED.items() for index, text in enumerate(all_)}
    counted = {}
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        offset = 0
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
            for (stream, index), text in texts.items():
                if text.rpartition("] ")[2].encode() in line:
                    key = (path.relative_to(tmp_path).as_posix(), stream, index)
                    count, first, start, _ = counted.get(key, (0, number, offset, number))
                    counted[key] = (count + 1, first, start, number)
            offset += len(line)
    assert counted == {
        (each.file, each.stream, each.index): (each.count, each.first_line, each.first_offset, each.last_line)
        for each in truth.plants
    }
    assert len({(each.stream, each.index) for each in truth.plants}) == len(texts)


def test_the_archive_of_a_big_bundle_holds_what_its_directory_holds(tmp_path: Path) -> None:
    spec = BulkSpec(size_bytes=2_000_000, density=0.001, extra_members=5)
    truth = write_bulk(spec, tmp_path / "big.tar.gz", tmp_path / "big", PLANTED)
    with tarfile.open(tmp_path / "big.tar.gz") as archive:
        packed = {member.name: archive.extractfile(member) for member in archive}
        content = {name.removeprefix("./"): file.read() for name, file in packed.items() if file}
    assert {each.file: each.size for each in truth.files} == {name: len(data) for name, data in content.items()}
    assert all((tmp_path / "big" / name).read_bytes() == data for name, data in content.items())
    assert all(each.lines == len(content[each.file].splitlines()) for each in truth.files)
    assert abs(sum(each.size for each in truth.files) - spec.size_bytes) < 1_000


def test_a_big_bundle_is_the_same_every_time(tmp_path: Path) -> None:
    spec = BulkSpec(size_bytes=1_000_000, density=0.01)
    first = write_bulk(spec, tmp_path / "a.tar.gz", None, PLANTED)
    assert first == write_bulk(spec, tmp_path / "b.tar.gz", None, PLANTED)
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def test_about_the_wanted_share_of_lines_is_planted(tmp_path: Path) -> None:
    truth = write_bulk(BulkSpec(size_bytes=3_000_000, density=0.05), None, tmp_path, PLANTED)
    carrying = {each.file for each in truth.plants}
    lines = sum(each.lines for each in truth.files if each.file in carrying)
    assert sum(each.count for each in truth.plants) / lines == pytest.approx(0.05, rel=0.2)


def test_a_stream_that_no_big_file_carries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="kube-proxy"):
        write_bulk(BulkSpec(size_bytes=100_000, density=0.1), None, tmp_path, {"toaster": ["burnt"]})
