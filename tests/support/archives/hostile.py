"""Archives that attack, lie or are damaged, each with good members that must not suffer for it."""

import bz2
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.support.archives.raw_archives import (
    BLOCK_DEVICE,
    CHAR_DEVICE,
    END_MARK,
    FIFO,
    FOLDER,
    GLOBAL_PAX,
    HARD_LINK,
    LONG_LINK,
    SPARSE,
    SYMLINK,
    ZipEntry,
    base_256,
    deflated_zeros,
    flipped,
    gz,
    gz_zeros,
    header,
    long_name,
    member,
    octal,
    padded,
    pax,
    pax_record,
    tar,
    with_checksum,
    zipped,
)

BEFORE = "kernel/dmesg.current"
AFTER = "kernel/dmesg.boot"
# Nothing of this name may ever appear.
PROBE = "affidavit-was-here"

OOM = (
    b"[ 8123.561377] Out of memory: Killed process 18342 (java) total-vm:9213440kB, anon-rss:7710020kB, "
    b"file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:16204kB oom_score_adj:980\n"
)
FIRST = member(BEFORE, OOM)
LAST = member(AFTER, OOM)
NOISE = b"".join(
    b"[%5d.%06d] usb 1-1: new device %08x\n" % (i, i * 7919 % 10**6, i * 2654435761 % 2**32) for i in range(9000)
)


@dataclass(frozen=True, kw_only=True)
class Hostile:
    """`says` stands in a reason of the manifest, or in the refusal. `bad` members are failed or skipped there.

    `good` members are analyzed although they share the archive. `is_refused`: nothing of it can be used.
    `is_lossless`: odd, but nothing is missing in the end. `is_variant`: another archive does much the same.
    """

    name: str
    build: Callable[[], bytes]
    form: str
    says: str
    bad: tuple[str, ...]
    good: tuple[str, ...]
    is_refused: bool
    is_lossless: bool
    is_variant: bool


ARCHIVES: dict[str, Hostile] = {}


def hostile(
    says: str,
    *bad: str,
    form: str = "tar",
    good: tuple[str, ...] = (BEFORE, AFTER),
    is_refused: bool = False,
    is_lossless: bool = False,
    is_variant: bool = False,
) -> Callable[[Callable[[], bytes]], Callable[[], bytes]]:
    def register(build: Callable[[], bytes]) -> Callable[[], bytes]:
        name = build.__name__
        ARCHIVES[name] = Hostile(
            name=name,
            build=build,
            form=form,
            says=says,
            bad=bad,
            good=() if is_refused else good,
            is_refused=is_refused,
            is_lossless=is_lossless,
            is_variant=is_variant,
        )
        return build

    return register


def around(*middle: bytes) -> bytes:
    """A tar with a good member at either end."""
    return tar(FIRST, *middle, LAST)


def link(name: bytes, target: bytes, kind: bytes = SYMLINK) -> bytes:
    return header(name, kind=kind, link=target)


def zip_around(*middle: ZipEntry) -> bytes:
    first, last = (ZipEntry(name=name.encode(), content=OOM) for name in (BEFORE, AFTER))
    return zipped(first, *middle, last)


# Names


LEAVING = (f"../{PROBE}", f"kernel/../../../{PROBE}", "kernel/..", f"..\\..\\{PROBE}")


@hostile("leaves the bundle", *LEAVING, f"../../{PROBE}")
def dots_anywhere_in_a_path() -> bytes:
    return around(*(member(name, OOM) for name in LEAVING), member(PROBE, OOM, prefix=b"../.."))


@hostile("absolute path", f"/{PROBE}/x.log", f"//{PROBE}/x.log", is_variant=True)
def absolute_paths() -> bytes:
    return around(member(f"/{PROBE}/x.log", OOM), member(f"//{PROBE}/x.log", OOM))


@hostile("its name is empty", "(no name)", "./.", is_variant=True)
def empty_names() -> bytes:
    return around(member("", OOM), member("./.", OOM))


@hostile("control characters", "kernel/\\x1b[2J\\x1b]0;owned\\x07.log", "kernel/x\\nCRITICAL forged line\\r.log")
def escape_sequences_and_line_ends_in_names() -> bytes:
    names = ("kernel/\x1b[2J\x1b]0;owned\x07.log", "kernel/x\nCRITICAL forged line\r.log")
    return around(*(member(name, OOM) for name in names))


@hostile("kernel/\\xff\\xc3.log", is_lossless=True)
def names_that_are_not_utf_8_or_not_visible() -> bytes:
    marked = member("kernel/\u202egol.exe\u2066", b"x")
    return around(member(b"kernel/\xff\xc3.log", OOM), pax({"path": b"kernel/\xfe.log"}), member("short", OOM), marked)


@hostile("its name is too long", f"kernel/{'n' * 193}…", "kernel/\\xff", "folder/folder/", "d/d/d/d/")
def names_too_long_and_paths_too_deep() -> bytes:
    """One becomes too long only when its bytes are written as escapes."""
    names = (b"kernel/" + b"n" * 300, b"kernel/" + b"\xff" * 100, b"folder/" * 700 + b"x.log", b"d/" * 400 + b"x.log")
    return around(*(long_name(name) + member("short", OOM) for name in names))


@hostile("more than 3000 folders", f"119/{'d/' * 29}x.log", good=(BEFORE,))
def more_folders_than_files() -> bytes:
    deep = "d/" * 29
    return tar(FIRST, *(member(f"{i}/{deep}x.log", OOM) for i in range(120)))


# Links and special files


@hostile("refused: it is a link (/etc/passwd)", "kernel/passwd", "kernel/up")
def symlinks_out_of_the_bundle() -> bytes:
    return around(link(b"kernel/passwd", b"/etc/passwd"), link(b"kernel/up", b"../../.."))


@hostile("refused: it is a link (/etc/passwd)", "kernel/passwd", "kernel/copy.log", is_variant=True)
def hard_links() -> bytes:
    inside = link(b"kernel/copy.log", BEFORE.encode(), HARD_LINK)
    return around(link(b"kernel/passwd", b"/etc/passwd", HARD_LINK), inside)


@hostile("refused: it is a link (..)", "up", "up/up2")
def chain_of_symlinks_with_a_file_through_it() -> bytes:
    return around(link(b"up", b".."), link(b"up/up2", b".."), member(f"up/up2/{PROBE}", OOM))


@hostile("refused: it is a link", "kernel/messages (2)", is_variant=True)
def symlink_and_then_a_file_of_its_name() -> bytes:
    return around(link(b"kernel/messages", f"../../{PROBE}".encode()), member("kernel/messages", OOM))


@hostile("its name is empty", "(no name)", is_variant=True)
def link_with_an_empty_name() -> bytes:
    return around(link(b"", b"/etc/passwd"))


@hostile("refused: it is a link", "kernel/nowhere", "kernel/hard", is_variant=True)
def links_with_empty_targets() -> bytes:
    return around(link(b"kernel/nowhere", b""), link(b"kernel/hard", b"", HARD_LINK))


@hostile("refused: it is a link (\\x1b[31m", "kernel/red")
def escape_sequences_in_a_link_target() -> bytes:
    return around(long_name(b"\x1b[31m" + b"/far" * 500, kind=LONG_LINK), link(b"kernel/red", b"x"))


@hostile("special file", "kernel/tty", "kernel/sda", "kernel/pipe", "kernel/odd")
def devices_and_pipes() -> bytes:
    return around(
        header(b"kernel/tty", kind=CHAR_DEVICE),
        header(b"kernel/sda", kind=BLOCK_DEVICE),
        header(b"kernel/pipe", kind=FIFO),
        member("kernel/odd", OOM, kind=b"Z"),
    )


# Extended headers


@hostile("leaves the bundle", f"../{PROBE}", f"../../{PROBE}")
def extended_headers_that_rename_a_member_to_leave() -> bytes:
    renamed = member("kernel/harmless.log", OOM)
    return around(pax({"path": f"../{PROBE}"}), renamed, long_name(f"../../{PROBE}".encode()), renamed)


PAX_SIZES = ("4096", "1", "-512", "many", "9" * 5000)


@hostile("disagree about its size", *(f"kernel/{number}.log" for number in range(len(PAX_SIZES))))
def pax_sizes_that_lie() -> bytes:
    """Larger than the member, smaller, and no sizes at all."""
    return around(*(pax({"size": size}) + member(f"kernel/{i}.log", OOM * 10) for i, size in enumerate(PAX_SIZES)))


@hostile("an extended header claims 3221225472 bytes")
def pax_header_that_claims_gigabytes() -> bytes:
    return around(header(b"x", size=3 << 30, kind=b"x"))


@hostile("an extended header claims 200000 bytes", is_variant=True)
def pax_header_of_200_kilobytes() -> bytes:
    return around(pax({"comment": "c" * 199_984}), member("kernel/x.log", OOM))


@hostile("no list of records", "kernel/x.log")
def pax_header_of_digits_alone() -> bytes:
    return around(pax(b"1" * 60_000), member("kernel/x.log", OOM))


@hostile("no list of records", *(f"kernel/{i}.log" for i in range(6)), is_variant=True)
def pax_records_of_impossible_length() -> bytes:
    broken = (b"0 a=b\n", b"99 path=x\n", b"3 a", b"6 path\n", b"-1 path=x\n", b"9" * 18 + b" path=x\n")
    return around(*(pax(record) + member(f"kernel/{i}.log", OOM) for i, record in enumerate(broken)))


@hostile("more than 200 records", "kernel/x.log")
def pax_header_of_thousands_of_records() -> bytes:
    return around(pax(pax_record("a", "") * 10_000), member("kernel/x.log", OOM))


@hostile("extended headers take more than", "kernel/x.log")
def chain_of_pax_headers() -> bytes:
    return around(pax({"comment": "again"}) * 5000, member("kernel/x.log", OOM))


@hostile("extended headers take more than", "kernel/again.log", is_variant=True)
def chain_of_gnu_long_names() -> bytes:
    return around(long_name(b"kernel/again.log") * 5000, member("kernel/x.log", OOM))


@hostile("extended headers take more than", "kernel/x.log")
def flood_of_global_headers() -> bytes:
    flood = b"".join(pax({f"k{i}": "v" * 900}, kind=GLOBAL_PAX) for i in range(2000))
    return around(flood, member("kernel/x.log", OOM))


@hostile("more than 60000 headers", good=(BEFORE,), form="tar.gz")
def endless_headers() -> bytes:
    return gz(around(pax({"comment": "again"}, kind=GLOBAL_PAX) * 61_000), level=1)


@hostile("a global header was ignored, as it changes all members: linkpath", is_variant=True)
def global_header_that_renames_everything() -> bytes:
    return around(pax({"path": f"../{PROBE}", "size": "1", "linkpath": "/etc/passwd"}, kind=GLOBAL_PAX))


@hostile("announces a member that is not there", is_variant=True)
def extended_header_without_a_member() -> bytes:
    return around()[: -len(END_MARK)] + pax({"path": "kernel/promised.log"}) + END_MARK


# Sparse files


def gnu_sparse(name: bytes, *, goes_on: bool, claims: int) -> bytes:
    block = bytearray(header(name, size=512, kind=SPARSE, magic=b"ustar  \0"))
    block[386:410] = octal(0, 12) + octal(512, 12)
    block[482] = goes_on
    block[483:495] = octal(claims, 12)
    return with_checksum(bytes(block))


@hostile("refused: it is a sparse file", "kernel/holes.log", "kernel/more-holes.log", is_variant=True)
def gnu_sparse_files() -> bytes:
    more = (octal(512, 12) + octal(512, 12)).ljust(512, b"\0")
    return around(
        gnu_sparse(b"kernel/holes.log", goes_on=False, claims=4 << 30) + padded(OOM)[:512],
        gnu_sparse(b"kernel/more-holes.log", goes_on=True, claims=4 << 30) + more + padded(OOM)[:512],
    )


@hostile("the map of a sparse file has no end")
def gnu_sparse_file_with_an_endless_map() -> bytes:
    further = bytearray(octal(0, 12) * 42)
    further = further.ljust(512, b"\0")
    further[504] = 1
    return around(gnu_sparse(b"kernel/holes.log", goes_on=True, claims=4 << 30), bytes(further) * 1000)


@hostile("refused: it is a sparse file", "kernel/a.log", "kernel/b.log", f"../{PROBE}", is_variant=True)
def pax_sparse_files() -> bytes:
    zero = b"".join(pax_record(*item) for item in (("GNU.sparse.size", "9" * 10), ("GNU.sparse.offset", "0")))
    one = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": f"../{PROBE}"}
    return around(
        pax(zero + pax_record("GNU.sparse.numbytes", "512")),
        member("kernel/a.log", OOM),
        pax({"GNU.sparse.map": "0,512,99999999,512", "GNU.sparse.size": "99999999"}),
        member("kernel/b.log", OOM),
        pax({**one, "GNU.sparse.realsize": "99999999"}),
        member("kernel/c.log", padded(b"1\n0\n512\n") + OOM),
    )


@hostile("refused: it is a sparse file", "kernel/a.log", is_variant=True)
def pax_sparse_file_with_an_endless_map() -> bytes:
    records = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "99999999"}
    return around(pax(records), member("kernel/a.log", b"999999999999\n" + b"1\n" * 100_000))


# Two members for one place


@hostile("another member came before by that name", f"{BEFORE} (2)", f"{BEFORE} (3)")
def duplicate_members() -> bytes:
    return around(member(BEFORE, b"forged\n"), member(f"./{BEFORE}", b"forged again\n"))


@hostile("another member came before by that name", f"{BEFORE} (3)", is_variant=True)
def duplicate_whose_label_is_taken() -> bytes:
    return around(member(BEFORE, b"forged\n"), member(f"{BEFORE} (2)", OOM))


@hostile("differs only in case", "KERNEL/DMESG.current", is_variant=True)
def names_that_differ_in_case() -> bytes:
    return around(member("KERNEL/DMESG.current", b"forged\n"))


@hostile("another member came before by that name", unicodedata.normalize("NFD", "kernel/é.log"), is_variant=True)
def names_that_differ_in_composition() -> bytes:
    forms = (unicodedata.normalize(form, "kernel/é.log") for form in ("NFC", "NFD"))
    return around(*(member(name, OOM) for name in forms))


@hostile("is a file where this one needs a folder", "var_log/x/y.log")
def file_and_then_a_folder_of_its_name() -> bytes:
    return around(member("var_log/x", OOM), header(b"var_log/x/", kind=FOLDER), member("var_log/x/y.log", OOM))


@hostile("another member came before by that name", "var_log/x", is_variant=True)
def folder_and_then_a_file_of_its_name() -> bytes:
    return around(member("var_log/x/y.log", OOM), member("var_log/x", OOM))


@hostile("another member came before by that name", "var_log/x.log.gz/x.log", "var_log/x.log.gz (2)")
def rotated_log_and_a_member_inside_it() -> bytes:
    rotated = gz(OOM)
    return around(
        member("var_log/x.log.gz", rotated), member("var_log/x.log.gz/x.log", b"x"), member("var_log/x.log.gz", rotated)
    )


# Very many members


@hostile("more than 20000 members", form="tar.gz", good=(BEFORE,))
def a_million_members() -> bytes:
    """A thousand blocks of a thousand headers each, so that writing them takes no time."""
    thousand = b"".join(header(b"var_log/%d" % i) for i in range(1000))
    return gz(FIRST + thousand, level=1) + gz(thousand, level=1) * 998 + gz(thousand + LAST + END_MARK, level=1)


@hostile("lists more members than a log bundle has", form="zip", is_refused=True)
def zip_of_very_many_members() -> bytes:
    return zip_around(*(ZipEntry(name=b"var_log/%d" % i, method=0) for i in range(60_000)))


# Sizes that lie, numbers that are none


@hostile("bytes before the member does", "kernel/x.log", good=(BEFORE,))
def size_larger_than_the_archive() -> bytes:
    return tar(FIRST, header(b"kernel/x.log", size=1 << 30) + padded(OOM))


@hostile("is damaged: \\n[ 8123.561377] Out of memory", is_variant=True)
def size_smaller_than_the_content() -> bytes:
    return around(member("kernel/x.log", OOM * 20, size=512))


@hostile("kernel/0.log claims -512 bytes", is_variant=True)
def sizes_that_are_none() -> bytes:
    sizes = (base_256(-512, 12), b"-0000000001", b"0x7fffffffff", b"99999999999", b"\xff" * 12)
    return around(*(member(f"kernel/{i}.log", OOM, size=size) for i, size in enumerate(sizes)))


@hostile("claims 38685626227668133590597632 bytes", is_variant=True)
def size_of_85_bits() -> bytes:
    return around(member("kernel/x.log", OOM, size=base_256(1 << 85, 12)))


@hostile("kernel/x.log", is_lossless=True)
def impossible_modification_times() -> bytes:
    times = (base_256(1 << 87, 12), base_256(-(1 << 60), 12), base_256(253_402_300_799, 12), b"77777777777")
    strange = (member(f"var_log/{i}", OOM, mtime=mtime) for i, mtime in enumerate(times))
    floats = (pax({"mtime": text}) + member(f"kernel/{text}.log", OOM) for text in ("nan", "inf", "-1e300", "1_0"))
    return around(*strange, *floats, member("kernel/x.log", OOM))


# Damage


@hostile("bytes before the member does", "kernel/noise.log", good=(BEFORE,))
def cut_inside_a_member() -> bytes:
    return around(member("kernel/noise.log", NOISE))[:100_000]


@hostile("ends inside a header", good=(BEFORE,), is_variant=True)
def cut_inside_a_header() -> bytes:
    return FIRST + header(b"kernel/x.log", size=len(OOM))[:300]


@hostile("ends inside an extended header", good=(BEFORE,), is_variant=True)
def cut_inside_an_extended_header() -> bytes:
    return FIRST + pax({"path": "kernel/" + "x" * 2000})[:1500]


@hostile("no end mark", is_variant=True)
def cut_before_the_end_mark() -> bytes:
    return around()[: -len(END_MARK)]


@hostile("ends too early", form="tar.gz", good=(BEFORE,))
def gzip_cut_after_a_quarter() -> bytes:
    whole = gz(around(member("kernel/noise.log", NOISE)))
    return whole[: len(whole) // 4]


@hostile("ends too early", form="tar.gz", good=(BEFORE,), is_variant=True)
def gzip_cut_short_of_the_last_member() -> bytes:
    whole = gz(around(member("kernel/noise.log", NOISE)))
    return whole[: len(whole) - 300]


@hostile("ends too early", form="tar.gz", is_variant=True)
def gzip_cut_inside_its_checksum() -> bytes:
    return gz(around())[:-5]


@hostile("nothing readable in it", form="tar.gz", is_refused=True)
def gzip_cut_inside_its_header() -> bytes:
    return gz(around())[:8]


@hostile("incorrect data check", form="tar.gz")
def gzip_with_a_wrong_checksum() -> bytes:
    return flipped(gz(around()), -8)


@hostile("not gzip follows", form="tar.gz", is_variant=True)
def garbage_behind_a_gzip() -> bytes:
    return gz(around()) + b"\x00" * 100 + b"garbage" * 2000


@hostile("the compressed data is damaged", form="tar.gz", good=(BEFORE,))
def deflate_broken_in_the_middle() -> bytes:
    whole = gz(around(member("kernel/noise.log", NOISE)))
    middle = len(whole) // 2
    return whole[:middle] + b"\xff" * 64 + whole[middle + 64 :]


@hostile("kernel/x.log: bad checksum")
def header_with_a_bad_checksum() -> bytes:
    return around(flipped(member("kernel/x.log", OOM * 40), 150, 1))


@hostile("kernel/x.log: bad checksum", good=(AFTER,), is_variant=True)
def first_header_with_a_bad_checksum() -> bytes:
    return tar(flipped(member("kernel/x.log", OOM), 150, 1), LAST)


@hostile("more than 100 damaged headers", good=(BEFORE,))
def hundreds_of_damaged_headers() -> bytes:
    return around(*(flipped(header(b"bad"), 150, 1) + member(f"var_log/{i}") for i in range(300)))


@hostile("something follows the end mark", good=(BEFORE,), is_variant=True)
def members_behind_the_end_mark() -> bytes:
    return tar(FIRST) + tar(LAST)


@hostile("is damaged", form="tar.gz")
def a_hundred_thousand_empty_gzip_streams_and_damage() -> bytes:
    return gz(FIRST) + gz(b"") * 100_000 + flipped(gz(LAST + END_MARK), -8)


# Bombs and archives in archives


@hostile("more than 200 times its compressed size", "kernel/bomb.log", form="tar.gz")
def gzip_bomb_between_good_members() -> bytes:
    size = 300 << 20
    return gz(FIRST + header(b"kernel/bomb.log", size=size)) + gz_zeros(300) + gz(LAST + END_MARK)


@hostile("more than 200 times its compressed size", "var_log/messages.1.gz")
def rotated_log_that_is_a_bomb() -> bytes:
    return around(member("var_log/messages.1.gz", gz_zeros(300)))


@hostile("more than 200 times its compressed size", "var_log/messages.59.gz", form="tar.gz")
def dozens_of_small_bombs() -> bytes:
    """None is large enough to be judged alone, and each compresses to nothing beside the first."""
    return gz(around(*(member(f"var_log/messages.{i}.gz", gz_zeros(60)) for i in range(60))))


@hostile("more than 200 times its compressed size", "var_log/9.log", form="tar.gz")
def gzip_bomb_of_many_members() -> bytes:
    forty = b"".join(gz(header(b"var_log/%d.log" % i, size=40 << 20)) + gz_zeros(40) for i in range(10))
    return gz(FIRST) + forty + gz(LAST + END_MARK)


def nested(content: bytes, levels: int) -> bytes:
    for level in range(levels):
        content = gz(tar(member(f"var_log/{level}.tar.gz", content)))
    return content


@hostile(
    "nested more than 2 deep",
    "var_log/2.tar.gz/var_log/1.tar.gz/var_log/0.tar.gz",
    good=("kernel/dmesg.current",),
    is_variant=True,
)
def archives_nested_too_deep() -> bytes:
    return around(member("var_log/2.tar.gz", nested(gz(tar(FIRST)), 2)))


@hostile("nested more than 2 deep", "x.tar.gz/x.tar.gz/x.tar.gz", form="tar.gz")
def archive_that_seems_to_hold_itself() -> bytes:
    content = gz(tar(FIRST))
    for _ in range(40):
        content = gz(around(member("x.tar.gz", content)))
    return content


@hostile("nested more than 2 deep", "var_log/x.gz.gz.gz/x.gz.gz/x.gz", is_variant=True)
def rotated_log_gzipped_again_and_again() -> bytes:
    return around(member("var_log/x.gz.gz.gz", gz(gz(gz(OOM)))))


@hostile("leaves the bundle", f"inner.tar/../../{PROBE}", good=(BEFORE, AFTER, f"inner.tar/{BEFORE}"))
def nested_archive_whose_members_leave() -> bytes:
    return around(member("inner.tar", tar(FIRST, member(f"../../{PROBE}", OOM))))


@hostile("var_log/x.tar.gz: the rest of the archive was not read: the compressed data is damaged", is_variant=True)
def nested_archive_that_is_damaged() -> bytes:
    return around(member("var_log/x.tar.gz", flipped(gz(around()), 40)))


@hostile("ends too early", "var_log/x.log.gz", is_variant=True)
def rotated_log_that_is_cut() -> bytes:
    return around(member("var_log/x.log.gz", gz(NOISE)[:5000]))


@hostile("var_log/...gz", is_lossless=True, is_variant=True)
def rotated_logs_without_a_name() -> bytes:
    return around(*(member(f"var_log/{name}", gz(OOM)) for name in (".gz", "..gz", "...gz")))


@hostile("var_log/text.gz", is_lossless=True, is_variant=True)
def archives_by_name_only() -> bytes:
    return around(member("var_log/text.gz", OOM), member("var_log/text.tar.gz", OOM), member("var_log/text.tar", OOM))


# Zip


@hostile("absolute path", "C:/Windows/evil.log", "C:evil.log", "//server/share/evil.log", form="zip")
def zip_with_windows_paths() -> bytes:
    names = (b"C:\\Windows\\evil.log", b"C:evil.log", b"\\\\server\\share\\evil.log")
    return zip_around(*(ZipEntry(name=name, content=OOM) for name in names))


@hostile("leaves the bundle", f"../../{PROBE}", f"kernel/../../{PROBE}", form="zip")
def zip_with_paths_that_leave() -> bytes:
    names = (f"..\\..\\{PROBE}", f"kernel/../../{PROBE}")
    return zip_around(*(ZipEntry(name=name.encode(), content=OOM) for name in names))


@hostile("control characters", f"kernel/x.log\\x00/../../{PROBE}", form="zip", is_variant=True)
def zip_with_a_nul_in_a_name() -> bytes:
    return zip_around(ZipEntry(name=f"kernel/x.log\0/../../{PROBE}".encode(), content=OOM))


@hostile("damaged zip archive", form="zip", is_refused=True)
def zip_with_a_name_that_is_not_utf_8() -> bytes:
    return zip_around(ZipEntry(name=b"kernel/\xff\xfe.log", content=OOM, flags=0x800))


@hostile("refused: it is a link", "kernel/passwd", "kernel/pipe", "kernel/tty", form="zip")
def zip_with_links_and_special_files() -> bytes:
    modes = ((b"kernel/passwd", 0o120777), (b"kernel/pipe", 0o010644), (b"kernel/tty", 0o020644))
    return zip_around(*(ZipEntry(name=name, content=b"/etc/passwd", mode=mode) for name, mode in modes))


@hostile("refused: it is a encrypted file", "kernel/secret.log", form="zip")
def zip_with_an_encrypted_member() -> bytes:
    return zip_around(ZipEntry(name=b"kernel/secret.log", content=OOM, flags=1))


@hostile("compression method 12 is not supported", "kernel/bomb.log", "kernel/odd.log", form="zip")
def zip_with_a_bzip2_bomb_and_an_unknown_method() -> bytes:
    once = bz2.compress(bytes(45_899_235), 9)
    bomb = ZipEntry(name=b"kernel/bomb.log", method=12, raw=once * 20_000, claimed_size=1 << 31)
    return zip_around(bomb, ZipEntry(name=b"kernel/odd.log", content=OOM, method=99))


@hostile("more than 200 times its compressed size", "kernel/bomb.log", form="zip")
def zip_with_a_bomb() -> bytes:
    return zip_around(ZipEntry(name=b"kernel/bomb.log", raw=deflated_zeros(300), claimed_size=300 << 20))


@hostile("overlap those of another member", "var_log/1.log", "var_log/249.log", form="zip")
def zip_of_overlapping_members() -> bytes:
    """The trick of the smallest bombs: one run of zeros, listed 250 times."""
    run = ZipEntry(name=b"var_log/0.log", raw=deflated_zeros(30), claimed_size=30 << 20)
    at = len(ZipEntry(name=BEFORE.encode(), content=OOM).local())
    return zip_around(run, *(replace(run, name=b"var_log/%d.log" % i, at=at) for i in range(1, 250)))


@hostile("the archive says it has", "kernel/small.log", "kernel/large.log", form="zip", is_variant=True)
def zip_whose_list_lies_about_sizes() -> bytes:
    lies = ((b"kernel/small.log", 3), (b"kernel/large.log", 4_000_000_000))
    return zip_around(*(ZipEntry(name=name, content=OOM, claimed_size=size) for name, size in lies))


@hostile("the compressed data is damaged", "kernel/x.log", form="zip", is_variant=True)
def zip_with_damaged_data() -> bytes:
    packed = ZipEntry(name=b"x", content=NOISE).packed
    broken = packed[:20_000] + b"\xff" * 64 + packed[20_064:]
    return zip_around(ZipEntry(name=b"kernel/x.log", content=NOISE, raw=broken))


@hostile("its checksum does not match", "kernel/x.log", "kernel/y.log", "kernel/z.log", form="zip", is_variant=True)
def zip_whose_list_and_content_disagree() -> bytes:
    changed = ZipEntry(name=b"kernel/x.log", content=OOM, crc=1)
    renamed = ZipEntry(name=b"kernel/y.log", local_name=b"kernel/a.log", content=OOM)
    return zip_around(changed, renamed, ZipEntry(name=b"kernel/z.log", content=OOM, at=100_000))


@hostile("damaged zip archive", form="zip", is_refused=True)
def zip_cut_short() -> bytes:
    return zip_around(ZipEntry(name=b"kernel/noise.log", content=NOISE))[:-40]


@hostile("kernel/x.log", form="zip", is_lossless=True, is_variant=True)
def zip_with_impossible_dates() -> bytes:
    return zip_around(ZipEntry(name=b"kernel/x.log", content=OOM, date=0xFFFF))
