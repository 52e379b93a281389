"""report_test.py: the report (tools/publish/report.py) from invented numbers.

    report_test.py [PAGE]      checks a page that is there instead of one made here

The page must parse, its identifiers be unique, its links resolve, every drawing say what
it shows; nothing may come from outside. In Chromium, where that is installed, it must
not be wider than its window on a phone and on a screen, in light and dark; pictures of
it go to build/report/. Chromium is spoken to through two pipes, in its own protocol.
"""
import base64
import csv
import itertools
import json
import os
import random
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from html.parser import HTMLParser
from pathlib import Path

from tests.helpers import ROOT, Tally
from tools.history import tree
from tools.measure import bench


WIDTHS = {"phone": 360, "screen": 1280}
VOID = set("area base br col embed hr img input link meta source track wbr".split())

# ---- invented numbers ----------------------------------------------------------------

# Machine: its threads, and {back-end: (device, gain of each step after the first)}.
MACHINES = {
    "Invented-CPU-2-cores": (2, {
        "omp": ("2 threads", [1.96, 1.01, 0.97, 1.0, 2.31, 1.0, 0.88]),
        "ocl": ("cpu-Invented Processor", [0, 1.12, 1.02, 1.01, 1.78, 0.93, 1.0]),
    }),
    "Invented-GPU-80GB": (16, {
        "omp": ("16 threads", [14.2, 1.0, 1.02, 1.0, 2.22, 1.01, 0.92]),
        "ocl": ("Invented GPU", [0, 0.08, 131.0, 1.0, 1.71, 1.12, 1.64]),
        "cuda": ("Invented GPU", [0, 0.09, 127.0, 1.03, 1.88, 1.08, 1.41]),
    }),
}


HALFWAY = 777.0  # times as fast as the first step: a half-way point, which is no step


def rows_of(machine, program, name, chance):
    """Rows as bench.py would write them: what repeats is repeated, the rest invented."""
    threads, backends = MACHINES[machine]
    steps = [s for s in tree.steps() if s.has(program)]
    base = {"machine": machine, "compiler": "gcc 12", "flags": "-std=c11 -O3", "runs": 20,
            "commit": "abc1234", "program": program.name, "set": name, "mark": ""}
    first = 9.0 * chance.uniform(0.8, 1.2)
    last = {"omp": first}

    def row(step, backend, device, threads, seconds, over_previous, over_first):
        wide = chance.uniform(0.004, 0.03)
        values = base | {
            "device": device, "step": step.name, "backend": backend, "threads": threads,
            "cpu_percent": 100 * threads, "init_mean": 0.12, "init_sd": 0.01,
            "run_mean": seconds, "run_sd": seconds * wide, "run_median": seconds,
            "run_q1": seconds * (1 - wide), "run_q3": seconds * (1 + wide),
            "kernel_median": seconds * 0.97, "share": f"{chance.uniform(0, 40):.2f}"}
        for key, value in (("over_previous", over_previous), ("over_first", over_first)):
            for end, factor in (("", 1), ("_low", 1 - wide), ("_high", 1 + wide)):
                values[key + end] = f"{value * factor:.3f}" if value else ""
        return values

    yield row(steps[0], "seq", "1 core", 1, first, None, None)
    for i, step in enumerate(steps[1:]):
        for backend, (device, gains) in backends.items():
            if backend not in step.backends(program):
                continue
            gain = (gains + [1.0] * len(steps))[i] or 1.0
            seconds = last.get(backend, last["omp"]) / gain
            last[backend] = seconds
            yield row(step, backend, device, threads, seconds, gain, first / seconds)
    halfway = row(steps[-1], "omp", "2 threads", threads, 1.0, 1.0, HALFWAY)
    yield halfway | {"step": f"{steps[-1].name}/invented"}


def write_results(folder):
    """A results folder of two machines."""
    chance = random.Random(1)
    for machine in MACHINES:
        with open(folder / f"{machine}.csv", "w", newline="") as f:
            writer = csv.DictWriter(f, bench.COLUMNS, lineterminator="\n")
            writer.writeheader()
            for program in tree.programs():
                for name in program.sets:
                    writer.writerows(rows_of(machine, program, name, chance))
    program = tree.programs()[0]
    (folder / "Invented-CPU-2-cores-flags.csv").write_text(
        "program,set,flags,seconds,ratio,low,high\n"
        f"{program.name},2,the tree's,9.1,1.000,1.000,1.000\n"
        f"{program.name},2,-O0,31.0,0.294,0.290,0.299\n")
    (folder / "registers.csv").write_text(
        "# invented\nprogram,step,compiler,window,registers,stack_bytes,"
        "spill_store_bytes,spill_load_bytes,shared_bytes,constant_bytes\n" + "".join(
            f"{program.name},{s.name},nvcc,any,{60 + i},0,0,0,0,384\n"
            for i, s in enumerate(tree.steps())))


# ---- the page as text ----------------------------------------------------------------


class Page(HTMLParser):
    """Collects what is checked: identifiers, links, drawings, headings, faults."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.ids, self.links, self.headings = [], [], []
        self.faults, self.outside, self.silent = [], [], []
        self.open = []
        self.feed(text)
        self.close()
        if self.open:
            self.faults.append(f"not closed: {self.open}")

    def handle_startendtag(self, tag, attributes):
        self.seen(tag, dict(attributes))

    def handle_starttag(self, tag, attributes):
        self.seen(tag, dict(attributes))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"line {self.getpos()[0]}: </{tag}> in {self.open[-2:]}")
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def seen(self, tag, attributes):
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes.get("href", ""))
        elif "href" in attributes or tag in ("script", "iframe", "object", "embed"):
            self.outside.append(f"<{tag}>")
        source = attributes.get("src", attributes.get("srcset", "data:"))
        if not source.startswith("data:"):
            self.outside.append(f"<{tag} src={source}>")
        if any(name.startswith("on") for name in attributes):
            self.outside.append(f"<{tag} {list(attributes)}>")
        named = attributes.get("alt") if tag == "img" else attributes.get("aria-label")
        if tag in ("img", "svg") and not (named or "").strip():
            self.silent.append(f"line {self.getpos()[0]}: <{tag}>")
        if tag == "svg" and attributes.get("role") != "img":
            self.silent.append(f"line {self.getpos()[0]}: <svg> has no role")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))


def check_text(tally, text):
    page = Page(text)
    twice = sorted({i for i in page.ids if page.ids.count(i) > 1})
    loose = [x for x in page.links if x.startswith("#") and x[1:] not in page.ids]
    other = [x for x in page.links if not re.match("#.|https?://|mailto:", x)]
    jumps = [b for a, b in zip([0] + page.headings, page.headings) if b > a + 1]
    style = re.findall(r"@import|url\(\s*[\"']?(?!data:)[^)]*\)", text)
    tally.check("HTML parses", "; ".join(page.faults[:5]))
    tally.check("identifiers are unique", twice)
    tally.check("links resolve", loose)
    tally.check("links lead into the page or to the web", other)
    tally.check("nothing from outside", page.outside + style)
    tally.check("drawings say what they show", page.silent)
    tally.check("one title", page.headings.count(1) != 1 and page.headings)
    tally.check("headings in order", jumps)
    tally.check("no part was left unplaced", "REPORT-PART" in text)
    tally.check("totals are of steps", [foot for foot in re.findall(
        "<tfoot>.*?</tfoot>", text) if f"{HALFWAY:.0f}" in foot])
    for step in tree.steps():
        tally.check(f"{step.name} is in the contents",
                    f"#step-{step.number}" not in page.links)


# ---- the page in a browser -----------------------------------------------------------

# What sticks out of the window, and is not inside a box that scrolls.
STICKS_OUT = """(() => {
  const wide = document.documentElement.clientWidth, found = [];
  const scrolls = e => { for (; e && e !== document.body; e = e.parentElement)
    if (getComputedStyle(e).overflowX !== 'visible' && e.tagName !== 'svg') return true;
    return false; };
  for (const e of document.body.querySelectorAll('*')) {
    const box = e.getBoundingClientRect();
    if (box.width && (box.right > wide + 1 || box.left < -1 && box.right > 0)
        && !scrolls(e) && !e.closest('.skip'))
      found.push(e.tagName + '.' + (e.getAttribute('class') || '') + ' '
                 + Math.round(box.left) + '..' + Math.round(box.right) + ' '
                 + e.textContent.slice(0, 30));
  }
  return JSON.stringify({scroll: document.documentElement.scrollWidth, wide,
                         height: document.documentElement.scrollHeight, found});
})()"""


class Chromium:
    """A headless browser with one page."""

    def __init__(self, program, folder):
        down, self.out = os.pipe()
        self.into, up = os.pipe()
        flags = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
            --disable-background-networking --disable-component-update --disable-sync
            --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe""".split()
        # The browser reads commands from descriptor 3 and answers on 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{down} 4>&{up}', "bash", program, *flags,
             f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(down, up), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(down)
        os.close(up)
        self.waiting, self.number, self.session = b"", itertools.count(1), None
        self.events = []  # what it said that was no answer

    def start(self):
        """Opens its page."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target,
                                flatten=True)["sessionId"]
        self.ask("Page.enable")

    def message(self, deadline):
        while b"\0" not in self.waiting:
            left = max(0, deadline - time.monotonic())
            if not select.select([self.into], [], [], left)[0]:
                raise TimeoutError("Chromium does not answer")
            more = os.read(self.into, 1 << 20)
            if not more:
                raise EOFError("Chromium has ended")
            self.waiting += more
        text, _, self.waiting = self.waiting.partition(b"\0")
        return json.loads(text)

    def ask(self, method, wait=60, **parameters):
        number = next(self.number)
        words = {"id": number, "method": method, "params": parameters}
        if self.session:
            words["sessionId"] = self.session
        os.write(self.out, json.dumps(words).encode() + b"\0")
        deadline = time.monotonic() + wait
        while True:
            answer = self.message(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer.get("method"))

    def show(self, path, width, scheme):
        """Opens a file in a window so wide; returns what STICKS_OUT finds."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900,
                 deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events = []
        self.ask("Page.navigate", url=Path(path).absolute().as_uri())
        deadline = time.monotonic() + 60
        while "Page.loadEventFired" not in self.events:
            self.events.append(self.message(deadline).get("method"))
        found = self.ask("Runtime.evaluate", expression=STICKS_OUT)
        return json.loads(found["result"]["value"])

    def picture(self, path, top, width, height):
        """A picture of a part of the page."""
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True,
                        clip={"x": 0, "y": top, "width": width, "height": height,
                              "scale": 1})
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        try:
            self.session = None
            self.ask("Browser.close", wait=10)
            self.process.wait(10)
        except (OSError, EOFError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.into)


def check_browser(tally, path, pictures):
    """Returns how many checks were skipped."""
    program = shutil.which("chromium")
    if not program:
        print("chromium not found, the page was not looked at (Debian: chromium)")
        return 2 * len(WIDTHS)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Chromium(program, folder)
        try:
            browser.start()
            for name, width in WIDTHS.items():
                for scheme in ("light", "dark"):
                    seen = browser.show(path, width, scheme)
                    problem = seen["found"][:5]
                    if seen["scroll"] > width and not problem:
                        problem = f"{seen['scroll']} pixels in a window of {width}"
                    tally.check(f"fits a {name}, {scheme}", problem)
                    browser.picture(pictures / f"{name}-{scheme}.png", 0, width,
                                    min(seen["height"], 4000))
        except (OSError, EOFError, RuntimeError) as error:  # TimeoutError is an OSError
            tally.check("Chromium", f"{type(error).__name__} {error}")
        finally:
            browser.close()
    return 0


def main():
    tally = Tally()
    pictures = tree.build() / "report"
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if len(sys.argv) > 1:
            path = Path(sys.argv[1])
        else:
            path = folder / "index.html"
            (folder / "empty").mkdir()
            (folder / "results").mkdir()
            write_results(folder / "results")
            report = os.path.join(ROOT, "bench", "report.py")
            for results in ("empty", "results"):
                ended = subprocess.run([sys.executable, report, folder / results, path],
                                       cwd=ROOT, capture_output=True, text=True)
                tally.check(f"makes a page of {results}", ended.stderr[-500:]
                            if ended.returncode else "")
                if ended.returncode:
                    return tally.finish()
                if results == "empty":
                    check_text(tally, path.read_text())
        check_text(tally, path.read_text())
        skipped = check_browser(tally, path, pictures)
    if skipped:
        print(f"{tally.passed} passed, {tally.failed} failed, {skipped} skipped")
        return 1 if tally.failed else 0
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
