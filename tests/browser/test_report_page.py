"""The report in a real Chromium: what a person does with it."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from affidavit.evaluation.generator import BundleSpec, Form, Layout, generate, write
from affidavit.evidence.severity import Severity
from affidavit.investigation import Analysis
from affidavit.knowledge import Knowledge, load_knowledge
from affidavit.nodes.correlation.correlate import correlate
from tests.browser.chromium import chromium, needs_chromium
from tests.browser.pages import multiplied, page_of, saved
from tests.support.archives.bundles import analyze_at, analyze_files
from tests.support.knowledge.packs import a_pack, a_rule

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load_knowledge()


@pytest.fixture(scope="module")
def broken(knowledge: Knowledge, tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("broken")
    path = write(generate(BundleSpec(layout=Layout.AL2, faults=("oom", "kernel_hang", "dns"))), folder, Form.TAR_GZ)
    return analyze_at(path, knowledge, folder / "work")


@pytest.fixture(scope="module")
def address(broken: Analysis, knowledge: Knowledge, tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(page_of(broken, knowledge), tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that must stay without errors and must ask for nothing but itself."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    troubles: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda request: asked.append(request.url.split("#")[0]))
    yield page
    opened = {page.url.split("#")[0]}
    context.close()
    assert troubles == []
    assert set(asked) <= opened


def rows(page: Page) -> Locator:
    return page.locator("#list > .finding")


def numbers(page: Page) -> tuple[int, int]:
    """Shown and hidden, as the page says."""
    found = re.match(r"([\d,]+) shown, ([\d,]+) hidden", page.locator("#status").inner_text())
    assert found is not None
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


def test_the_page_leads_with_verdicts_and_ends_with_what_was_not_looked_at(
    page: Page, address: str, broken: Analysis
) -> None:
    page.goto(address)
    titles = page.locator("h2").all_inner_texts()
    assert [title.split()[0] for title in titles] == [
        *("Verdict", "Components", "Potential", "Timeline", "Findings", "What", "Gaps", "Suppressed")
    ]
    assert page.locator("h1").inner_text() == f"Node {broken.index.instance_id}"
    head = page.locator("#head").inner_text()
    assert broken.index.index_id in head
    assert broken.manifest.source_archive in head
    assert f"{broken.index.summary.critical} critical" in head
    assert "nothing known found in" in page.locator("#verdicts").inner_text()
    assert "Not in this bundle: " in page.locator("#verdicts").inner_text()
    assert numbers(page) == (len(broken.index.findings), 0)


def test_severity_chips_hide_and_show(page: Page, address: str, broken: Analysis) -> None:
    page.goto(address)
    total, critical = len(broken.index.findings), broken.index.summary.critical
    chip = page.locator('.chip[data-severity="critical"]')
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "false")
    assert numbers(page) == (total - critical, critical)
    assert "critical" not in page.locator("#list .level").all_inner_texts()
    chip.click()
    assert numbers(page) == (total, 0)


def test_component_filter_works_from_the_list_and_from_the_verdict(page: Page, address: str, broken: Analysis) -> None:
    page.goto(address)
    wanted = sum(finding.component == "kubelet" for finding in broken.index.findings)
    page.select_option("#filter-component", "kubelet")
    assert numbers(page)[0] == rows(page).count() == wanted
    page.click("#filter-reset")
    page.locator("#verdicts").get_by_role("button", name="kubelet").click()
    assert numbers(page)[0] == wanted
    assert set(page.locator("#list .component").all_inner_texts()) == {"kubelet"}


def test_every_word_of_the_text_filter_must_be_there(page: Page, address: str, broken: Analysis) -> None:
    page.goto(address)
    page.fill("#filter-text", "OOM dmesg.current")
    shown = page.locator("#list .place").all_inner_texts()
    assert shown
    assert all("kernel/dmesg.current" in place for place in shown)
    page.fill("#filter-text", "no line says this")
    assert numbers(page) == (0, len(broken.index.findings))


def test_a_time_window_keeps_what_touches_it(page: Page, address: str, broken: Analysis) -> None:
    page.goto(address)
    page.fill("#filter-from", "2026-01-15 09:50")
    page.fill("#filter-to", "2026-01-15 09:55")
    page.press("#filter-to", "Enter")
    inside = [
        finding
        for finding in broken.index.findings
        if finding.first_seen is None
        or (
            f"{finding.last_seen:%F %T}" >= "2026-01-15 09:50:00"
            and f"{finding.first_seen:%F %T}" <= "2026-01-15 09:55:59"
        )
    ]
    assert 0 < len(inside) < len(broken.index.findings)
    assert numbers(page)[0] == len(inside)
    page.fill("#filter-from", "ten past nine")
    page.press("#filter-from", "Enter")
    expect(page.locator("#time-problem")).to_contain_text("is not a time")
    page.click("#filter-reset")
    assert numbers(page)[1] == 0


def test_dragging_over_the_timeline_chooses_a_time(page: Page, address: str) -> None:
    page.goto(address)
    chart = page.locator("#timeline svg")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 60, steps=4)
    page.mouse.up()
    assert page.input_value("#filter-from").startswith("2026-01-15 ")
    assert numbers(page)[1] > 0
    expect(page.locator("#timeline-note")).to_contain_text("outside the chosen time")


def test_a_finding_opens_to_its_line_in_context(
    page: Page, address: str, broken: Analysis, knowledge: Knowledge
) -> None:
    page.goto(address)
    finding = broken.index.findings[0]
    row = page.locator(f"#{finding.finding_id}")
    row.locator(".summary").click()
    expect(row.locator(".summary")).to_have_attribute("aria-expanded", "true")
    body = row.locator(".body")
    expect(body).to_contain_text(knowledge.rule(finding.rule).means)
    assert body.locator(".steps li").all_inner_texts() == list(knowledge.rule(finding.rule).first_steps)
    line = finding.evidence.line_range.start
    assert body.locator(".evidence .text").inner_text() == finding.evidence.excerpt
    shown = [number.inner_text().split()[-1] for number in body.locator(".log .number").all()]
    assert shown == [str(number) for number in range(line - 5, line + 6)]
    row.locator(".summary").click()
    expect(row.locator(".body")).to_have_count(0)


def test_the_citation_can_be_copied(page: Page, address: str, broken: Analysis) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address)
    finding = broken.index.findings[0]
    evidence = finding.evidence
    page.click("#F-001 .summary")
    page.locator("#F-001").get_by_role("button", name="Copy citation").click()
    expect(page.locator("#F-001 .copied")).to_have_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == (
        f"F-001 {finding.pattern} — {evidence.source_file}:{evidence.line_range.start} "
        f"bytes {evidence.byte_offset.start}-{evidence.byte_offset.end} sha256 {evidence.sha256} "
        f"(index {broken.index.index_id})"
    )


def test_a_chain_leads_to_its_findings_even_when_a_filter_hides_them(
    page: Page, address: str, broken: Analysis
) -> None:
    page.goto(address)
    chain = correlate(broken.index).potential_root_cause_chains[0]
    expect(page.locator(".chain").first).to_contain_text(f"Potential, {chain.confidence.value} confidence")
    assert page.locator(".chain").first.locator("a").all_inner_texts() == list(chain.finding_ids)
    page.fill("#filter-text", "no line says this")
    page.locator(".chain").first.locator("a").last.click()
    row = page.locator(f"#{chain.finding_ids[-1]}")
    expect(row.locator(".body")).to_be_visible()
    expect(row.locator(".summary")).to_be_focused()
    expect(page.locator("#status")).to_contain_text("filters were cleared")


def test_the_timeline_has_a_bar_for_every_finding_with_a_time(page: Page, tmp_path: Path) -> None:
    rules = a_pack(a_rule("test.kaput", "KAPUT"), a_rule("test.dead", "DEAD", severity="critical"))
    files = {
        "kubelet/kubelet.log": b"".join(
            f"Jan 15 1{hour}:00:00 ip-10-0-0-1 kubelet[1]: {word}\n".encode()
            for hour, word in enumerate(("KAPUT", "KAPUT", "DEAD"))
        ),
        "containerd/containerd-log.txt": b"Jan 15 10:30:00 ip-10-0-0-1 containerd[1]: KAPUT\n",
        "var_log/kube-proxy.log": b"KAPUT without a time\n",
    }
    analysis = analyze_files(files, rules, tmp_path)
    page.goto(saved(page_of(analysis, rules), tmp_path))
    timed = [finding for finding in analysis.index.findings if finding.first_seen is not None]
    bars = page.locator(".finding-bar")
    assert bars.count() == len(timed) == 3
    assert page.locator(".finding-bar.s0").count() == 1
    expect(page.locator("#timeline-note")).to_contain_text("1 finding without a time is not on the chart.")
    page.locator(".finding-bar.s0").hover()
    expect(page.locator(".tip")).to_contain_text("test.dead")
    page.locator(".finding-bar.s0").click()
    expect(page.locator("#F-001 .body")).to_be_visible()
    page.locator('.chip[data-severity="critical"]').click()
    expect(page.locator(".finding-bar.s0")).to_have_class(re.compile("dim"))


def test_the_keyboard_is_enough(page: Page, address: str) -> None:
    page.goto(address)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("j")
    expect(page.locator("#F-002 .summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#F-002 .body")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator("#filter-text")).to_be_focused()
    assert page.input_value("#filter-text") == ""
    page.keyboard.type("jk")
    assert page.input_value("#filter-text") == "jk"


def test_a_link_with_an_id_opens_that_finding(page: Page, address: str) -> None:
    page.goto(f"{address}#F-007")
    expect(page.locator("#F-007 .body")).to_be_visible()


def test_hostile_lines_are_shown_and_not_run(page: Page, tmp_path: Path) -> None:
    rules = a_pack(a_rule("test.kaput", "KAPUT"))
    line = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script> \u202e KAPUT"
    name = "var_log/<img src=x onerror=alert(1)>.log"
    analysis = analyze_files({name: f"{line}\n{line}\n".encode()}, rules, tmp_path)
    page.goto(saved(page_of(analysis, rules), tmp_path))
    page.click("#F-001 .summary")
    assert page.locator("#F-001 .evidence .text").inner_text() == line.replace("\u202e", "\\u202e")
    assert page.locator("img").count() == 0
    assert "owned" not in page.title()


def test_ten_thousand_findings_stay_usable(
    page: Page, broken: Analysis, knowledge: Knowledge, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    many = multiplied(broken, 10_000)
    page.goto(saved(page_of(many, knowledge), tmp_path))
    assert numbers(page) == (10_000, 0)
    assert rows(page).count() < 1_000
    expect(page.locator("#context-note")).to_contain_text("of 10,000 findings")
    took = page.evaluate(
        """() => {
          const field = document.getElementById("filter-text");
          const start = performance.now();
          field.value = "oom kernel";
          field.dispatchEvent(new Event("input"));
          document.body.offsetHeight;
          return performance.now() - start;
        }"""
    )
    record_property("filter_ms", took)
    print(f"filtering 10,000 findings took {took:.0f} ms")
    assert 0 < numbers(page)[0] < 10_000
    page.click("#filter-reset")
    page.evaluate("location.hash = 'F-9999'")
    expect(page.locator("#F-9999 .body")).to_be_visible()
    assert rows(page).count() < 1_000
    assert page.locator(".finding-bar").count() > 100


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_severities_can_be_read_in_either_scheme(page: Page, address: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(address)
    for severity in Severity:
        chip = page.locator(f'.chip[data-severity="{severity.value}"]')
        assert chip.evaluate(CONTRAST) >= 4.5


def test_paper_shows_the_findings_opened_and_no_controls(page: Page, address: str, broken: Analysis) -> None:
    page.goto(address)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#list .body").count() == len(broken.index.findings)
    for control in ("#filters", ".copy", ".keys"):
        expect(page.locator(control).first).to_be_hidden()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("#list .body").count() == 0


def test_without_script_the_findings_are_listed(browser: Browser, address: str, broken: Analysis) -> None:
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(address)
    assert plain.locator("noscript li").count() == len(broken.index.findings)
    assert plain.locator("main").is_hidden()
    context.close()


def test_a_narrow_window_needs_no_sideways_scrolling(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(address)
    page.click("#F-001 .summary")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


CONTRAST = """node => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = getComputedStyle(node);
  const [a, b] = [light(style.color), light(style.backgroundColor)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""
