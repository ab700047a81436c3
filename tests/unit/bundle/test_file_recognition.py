"""Files are recognised by path, else by content; what is neither is not called scanned."""

import pytest

from affidavit.bundle.file_recognition import LogForm, RecognisedBy, log_forms, recognise, refuse_misread
from affidavit.bundle.file_roles import OTHER_LOG, UNKNOWN_ROLE, WHOLE_JOURNAL, may_be_by, role_of
from affidavit.errors import InputRefused
from affidavit.evaluation.generator import BundleSpec, Layout, generate

SAMPLES = [(form.read_as, sample) for form in log_forms() for sample in form.samples]


@pytest.mark.parametrize(("read_as", "sample"), SAMPLES)
def test_every_sample_is_recognised_under_a_name_that_tells_nothing(read_as: str, sample: str) -> None:
    found = recognise("renamed", sample.encode() + b"\n")
    assert (found.read_as, found.by) == (read_as, RecognisedBy.CONTENT)


@pytest.mark.parametrize("layout", [Layout.AL2, Layout.UBUNTU, Layout.NODE_DIAGNOSTIC, Layout.WINDOWS])
def test_a_renamed_log_of_a_bundle_is_read_by_the_rules_of_its_writer(layout: Layout) -> None:
    """At least the component that owns the log under its usual name."""
    checked = 0
    for path, content in generate(BundleSpec(layout=layout, faults=("oom", "dns"))).files.items():
        role = role_of(path)
        if role.kind == "log" and role != OTHER_LOG and len(content) > 200 and not path.endswith(".gz"):
            found = recognise("renamed.txt", content[:65536])
            assert found.by is RecognisedBy.CONTENT, path
            # Both halves of the VPC CNI log alike.
            assert role.holds[0] in found.role.holds or {role.holds[0], found.role.holds[0]} <= {
                "cni",
                "network-policy",
            }
            checked += 1
    assert checked >= 5


def test_a_known_path_is_believed_where_forms_are_shared() -> None:
    found = recognise("kubelet/kubelet.log", b'time="2026-01-15T10:25:03.051085432Z" level=error msg="of containerd"\n')
    assert (found.role, found.by) == (role_of("kubelet/kubelet.log"), RecognisedBy.PATH)


@pytest.mark.parametrize(
    ("name", "head", "role"),
    [
        ("app.log", b"hello\nworld\n", OTHER_LOG),
        ("app.txt", b"2026-01-15 10:25:03 checkout failed\n" * 5, OTHER_LOG),
        ("letter.txt", b"Dear reader,\nnothing to see here.\n", UNKNOWN_ROLE),
        ("empty.txt", b"", UNKNOWN_ROLE),
    ],
)
def test_what_no_form_fits_is_recognised_by_nothing(name: str, head: bytes, role: object) -> None:
    found = recognise(name, head)
    assert (found.role, found.by) == (role, None)


def test_a_file_of_two_forms_is_read_as_neither() -> None:
    kernel = b"[ 8123.551000] Out of memory: Killed process 1 (x)\n"
    klog = b'E0115 10:25:03.123456    3478 kubelet.go:2900] "Container runtime network not ready"\n'
    assert recognise("x.log", kernel * 5 + klog * 5).by is None


def test_zeros_in_front_and_utf_16_are_seen_through() -> None:
    line = "[ 8123.551000] Out of memory: Killed process 1 (x)\r\n"
    for head in (
        bytes(30_000) + line.encode(),
        ("\ufeff" + line * 9).encode("utf-16-le"),
        (line * 9).encode("utf-16-be"),
    ):
        assert recognise("renamed", head).read_as == "kernel/dmesg.current"


def test_a_sample_that_is_read_as_something_else_is_refused_when_loaded() -> None:
    wrong = LogForm(read_as="kubelet/kubelet.log", line=r"\[", samples=("no bracket",))
    with pytest.raises(InputRefused, match="is read as None"):
        refuse_misread([wrong])
    with pytest.raises(InputRefused, match="not a log of layout"):
        refuse_misread([LogForm(read_as="kubelet/config.json", line="x", samples=("x",))])


@pytest.mark.parametrize("time", [b"[   12.100000]", b"2026-01-15T10:25:03,551000+00:00"])
def test_lines_that_systemd_wrote_into_the_kernels_buffer_do_not_make_it_a_journal(time: bytes) -> None:
    head = (
        time
        + b" systemd[1]: Mounted Kernel Trace File System.\n"
        + time
        + b" Out of memory: Killed process 22 (java)\n"
    )
    assert recognise("kernel/dmesg.current", head).read_as == "kernel/dmesg.current"


def test_a_journal_with_times_since_boot_is_a_journal_wherever_it_lies() -> None:
    head = b'[ 8124.551000] ip-10-0-1-142 kubelet[3478]: E0115 10:25:03.123456    3478 kubelet.go:2900] "x"\n' * 3
    assert recognise("kernel/dmesg.current", head).read_as == "var_log/messages"


def test_a_journal_of_a_program_that_only_the_path_knows_is_read_by_its_rules() -> None:
    line = b"2026-01-15T10:25:03.123456+0000 ip-10-0-1-2 eks-ebs-csi-driver[312]: E0115 10:25:03.123456 1 x.go:124] x\n"
    assert recognise("automode/eks-ebs-csi-driver.txt", line * 5).read_as == "automode/eks-ebs-csi-driver.txt"


def test_a_drivers_log_that_names_the_kubelet_stays_the_drivers_and_a_kubelets_log_at_its_path_does_not() -> None:
    path = "var_log/kube-system_efs-csi-node-x_1f2e/efs-plugin/0.log"
    driver = b"2026-01-15T10:25:03.123Z stderr F E0115 10:25:03.123456       1 driver.go:129] the kubelet asked again\n"
    kubelet = b"E0115 10:25:03.123456    3478 kubelet.go:2900] the kubelet asked again\n"
    assert recognise(path, driver).read_as == path
    assert recognise(path, driver.replace(b"the kubelet", b"it") * 20 + driver * 4).read_as == path
    assert recognise(path, kubelet * 10).read_as == "kubelet/kubelet.log"


@pytest.mark.parametrize(
    ("line", "readers"),
    [
        ("Jan 15 10:25:03 ip-10-0-1-23 kernel: XFS (dm-4): Corruption detected", {"kernel"}),
        ("kernel: XFS (dm-4): Corruption detected", {"kernel"}),
        ("12月 12 11:44:22 node-1 kubelet[11778]: E1212 11:44:22.849805 lost", {"kubelet"}),
        ("Jan 15 10:25:03 ip-10-0-1-23 widgetd[7]: XFS (dm-4): Corruption detected", {"system"}),
        ("XFS (dm-4): Corruption detected", {"kernel", "kubelet", "system"}),
    ],
)
def test_a_line_of_a_journal_is_read_by_rules_of_who_wrote_it_or_may_have(line: str, readers: set[str]) -> None:
    role = role_of(WHOLE_JOURNAL)
    found = {each for each in ("kernel", "kubelet", "system") if may_be_by(line.encode(), role, [each])}
    assert found == readers
