#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks at pages of rtl report as a person does: check_report.py RTL FOLDER [SHOTS].

FOLDER has NAME.db and NAME.html of each name below. Figures are those of the verbs' JSON. With SHOTS
pictures are left there, to be looked at.
"""
import json
import pathlib
import subprocess
import sys

from browser import Browser

RTL, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
SHOTS = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
failed = []


def check(name, truth, detail=""):
    print(f"{'ok' if truth else 'not ok'} - {name}{'' if truth else f': {detail}'}", flush=True)
    if not truth:
        failed.append(name)


def same(name, have, want):
    check(name, have == want, f"{have!r} is not {want!r}")


def verb(name, *arguments):
    return json.loads(subprocess.run([RTL, *arguments, "--json", str(FOLDER / f"{name}.db")],
                                     check=True, capture_output=True).stdout)


def table(b, section):
    """Rows of a section's first table, by title; numbers exact."""
    return b.ask(f"""(() => {{
        const table = document.querySelector({json.dumps(section)}).querySelector(".scroll table");
        const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
        return [...table.tBodies[0].rows].map((row) => Object.fromEntries([...row.cells].map((cell, i) =>
            [titles[i], cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v)])));
    }})()""")


def numbers(steps):
    """Numbers of the steps of a row: 3, or 1-7,9."""
    if isinstance(steps, (int, float)):
        return [int(steps)]
    ranges = [[int(n) for n in part.split("-")] for part in steps.split(" +")[0].split(",")]
    return [n for ends in ranges for n in range(ends[0], ends[-1] + 1)]


def shoot(b, name, **look):
    if SHOTS:
        b.look(**look)
        b.shoot(SHOTS / f"{name}.png")
        b.look()


def load(b, name):
    b.look()
    b.open(FOLDER / f"{name}.html")
    same(f"{name}: nothing complains, nothing asks a network", b.complaints(), [])


def view(b):
    return b.ask("({...document.querySelector('.lanes').dataset})")


def figures(b):
    """What the tables say is what the verbs say."""
    summary, timeline, late = verb("demo", "summary"), verb("demo", "timeline"), verb("demo", "collectives")
    text = b.ask("document.querySelector('header').innerText")
    check("the banner is the verdict", summary["line"] in text, text)
    check("SIMULATED is said, in the title too",
          "SIMULATED: " in text and b.ask("document.title").startswith("SIMULATED"), text)
    check("the reason is there", summary["reason"]["text"][1:] in text and timeline["reading"] in text, text)
    columns = {"CALLS": "calls", "TOTAL ms": "total_ns", "AVG us": "avg_ns", "MIN us": "min_ns", "MAX us": "max_ns"}
    same("kernels", [{t: row[t] for t in columns} | {"KERNEL": row["KERNEL"]} for row in table(b, "#f0-kernels")],
         [{t: k[c] for t, c in columns.items()} | {"KERNEL": k["name"]} for k in summary["kernels"]])
    share = {"COMP %": "computation_time_ns", "COMM %": "exposed_comm_time_ns", "IDLE %": "idle_time_ns"}
    rows = table(b, "#f0-ranks")
    same("time of ranks", [(r["RANK"], r["GPU"], r["STEPS"], r["TIME ms"]) for r in rows],
         [(r["rank"], r["gpuId"], r["steps"], r["total_time_ns"]) for r in timeline["ranks"]])
    same("shares of ranks", [round(r[t], 9) for r in rows for t in share],
         [round(100 * r[c] / r["total_time_ns"], 9) for r in timeline["ranks"] for c in share.values()])
    steps = table(b, "#f0-steps")
    left = {(r["rank"], r["gpuId"], r["step"]): r["total_time_ns"] for r in timeline["rows"] if r["step"] is not None}
    listed = [(r["TIME ms"], left.pop((r["RANK"], r["GPU"], step))) for r in steps for step in numbers(r["STEP"])]
    check("a step in a row of the longest ones is as long as the row says",
          listed and all(abs(a - b) <= 1000 for a, b in listed), listed)
    shown = [r["TIME ms"] for r in steps]
    check("the longest steps are there, the longest first", all(a >= b - 1000 for a, b in zip(shown, shown[1:])) and
          (any("+" in str(r["STEP"]) for r in steps) or max(left.values(), default=0) <= shown[-1] + 1000), shown)
    same("a bar a rank", b.ask("document.querySelectorAll('.bars svg').length"), len(timeline["ranks"]))
    drawn = b.ask("[...document.querySelectorAll('.bars > div')].map((d) => [...d.querySelectorAll('rect')]"
                  ".reduce((sum, r) => sum + Number(r.getAttribute('width')), 0))")
    most = max(r["total_time_ns"] for r in timeline["ranks"])
    check("as long as the time of the rank",
          all(abs(d - 1000 * r["total_time_ns"] / most) < 0.1 for d, r in zip(drawn, timeline["ranks"])), drawn)
    sums = b.ask("rtl.steps.decode(rtl.load('data-f0').steps).map((l) => l.wall.reduce((a, v, i) => a + v * l.steps[i], 0))")
    check("points of the charts add up to the time of the rank",
          all(abs(s - r["total_time_ns"] / 1e6) < 0.01 for s, r in zip(sums, timeline["ranks"])), sums)
    same("no collective of the demo is missed", late["operations"], b.ask("rtl.load('data-f0').heat.collectives"))


def charts(b):
    """Over steps; of a build without uPlot a word that there are none."""
    told = b.ask("document.querySelector('.charts').innerText")
    if b.ask("typeof uPlot") == "undefined":
        check("a build without uPlot says so", "no uPlot" in told, told)
        return
    same("two charts", b.ask("document.querySelectorAll('.charts canvas').length"), 2)
    # The part of a step that the first point of a lane is made of.
    b.ask("""(() => { const s = document.querySelector('.charts select'); s.value = 2; s.dispatchEvent(new Event('change')); })()""")
    x, y = b.ask("""(() => { const o = document.querySelector('.charts .u-over'); o.scrollIntoView({block: 'center'});
        const r = o.getBoundingClientRect(); return [r.left + 1, r.top + r.height / 2]; })()""")
    b.mouse("mouseMoved", x, y)
    b.look()
    told = b.ask("[...document.querySelectorAll('.steps-chart .u-value')].map((v) => v.textContent)")
    step = [r for r in verb("demo", "timeline")["rows"] if r["rank"] == 1 and r["step"] is not None][0]
    exposed, idle = step["exposed_comm_time_ns"] / 1e6, step["idle_time_ns"] / 1e6
    check("a chart tells the figures of the step", f"{exposed:.3f} ms" in told and f"{idle:.3f} ms" in told, (told, exposed, idle))


def bins(b):
    """The bins of the time line add up to what the ranks did."""
    sums = b.ask("""(() => { const line = rtl.shown[0].line; return line.lanes.map((_, lane) =>
        line.shares(lane, 0, line.data.ns).map((share) => share * line.data.ns)); })()""")
    rows = verb("demo", "timeline")["rows"]
    for lane, (compute, hidden, exposed, *_) in enumerate(sums):
        mine = [r for r in rows if r["rank"] == lane]
        want = sum(r["computation_time_ns"] for r in mine)
        late = sum(r["exposed_comm_time_ns"] for r in mine)
        check(f"bins of lane {lane}", abs(compute + hidden - want) < 0.02 * want and abs(exposed - late) < 0.1 * late,
              f"{compute + hidden} of {want}, {exposed} of {late}")


def timeline(b):
    whole = view(b)
    same("the whole time first", (whole["from"], whole["drawn"]), ("0", "bins"))
    colours = b.ask("""(() => { const c = document.querySelector('.lanes canvas');
        const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
        for (let i = 0; i < data.length; i += 4) seen.add(data.slice(i, i + 3).join());
        return [seen.has('0,114,178'), seen.has('213,94,0'), seen.size]; })()""")
    check("computation and exposed communication are drawn", colours[0] and colours[1], colours)
    b.ask("document.querySelector('.lanes canvas').focus()")
    for _ in range(6):
        b.key("ArrowUp")
    near = view(b)
    check("arrow up zooms in to kernels",
          near["drawn"] == "kernels" and abs((float(near["to"]) - float(near["from"])) * 64 - float(whole["to"])) < 1, near)
    b.key("ArrowRight")
    check("arrow right moves", float(view(b)["from"]) > float(near["from"]), view(b))
    b.key("ArrowDown")
    check("arrow down zooms out", float(view(b)["to"]) - float(view(b)["from"]) > 1.9 * (float(near["to"]) - float(near["from"])), view(b))
    b.key("Home")
    same("Home shows all", view(b), whole)
    # A kernel in the middle of the first lane.
    middle = """const line = rtl.shown[0].line, e = line.windows[0].lanes[0];
        const i = e.start.findIndex((s, i) => i >= e.start.length / 2 && line.names[e.name[i]][2] === 'compute');"""
    x, y, at = b.ask(f"""(() => {{ const c = document.querySelector('.lanes canvas'); c.scrollIntoView({{block: 'center'}});
        {middle} const r = c.getBoundingClientRect(); return [r.left, r.top, line.x(e.start[i])]; }})()""")
    b.drag(x + at - 15, y + 60, x + at + 15, y + 60)
    check("a drag zooms in", view(b)["drawn"] == "kernels", view(b))
    place = b.ask(f"(() => {{ {middle} return [line.x((e.start[i] + e.end[i]) / 2), line.y(0) + 5, line.names[e.name[i]][0]]; }})()")
    b.mouse("mouseMoved", x + place[0], y + place[1])
    told = b.ask("document.querySelector('.timeline .status').textContent")
    check("what is pointed at is named", place[2] in told and "rank 0, GPU 0" in told, told)
    shoot(b, "near", height=1100)
    b.key("Home")


def sorting(b):
    for how in ("click", "Enter"):
        b.ask("""[...document.querySelectorAll('#f0-kernels th button')].find((t) => t.textContent === 'CALLS').focus()""")
        if how == "click":
            b.ask("document.activeElement.click()")
        else:
            b.key("Enter")
        calls = [row["CALLS"] for row in table(b, "#f0-kernels")]
        same(f"{how} sorts", calls, sorted(calls, reverse=how == "click"))
    same("and says so", b.ask("document.activeElement.parentElement.getAttribute('aria-sort')"), "ascending")
    b.ask("""(() => { const i = document.querySelector('.filter'); i.value = 'NCCL'; i.dispatchEvent(new Event('input')); })()""")
    names = b.ask("[...document.querySelectorAll('#f0-kernels tbody tr')].filter((r) => !r.hidden).map((r) => r.textContent)")
    check("the filter leaves what has it", names and all("nccl" in n.lower() for n in names), names)


def colours(b):
    def ground():
        return b.ask("getComputedStyle(document.body).backgroundColor"), b.ask(
            "document.querySelector('.lanes canvas').getContext('2d').getImageData(3, 60, 1, 1).data.slice(0, 3).join()")

    b.look()
    light = ground()
    b.look(dark=True)
    dark = ground()
    same("light", light, ("rgb(255, 255, 255)", "255,255,255"))
    same("dark, charts too", dark, ("rgb(20, 23, 27)", "20,23,27"))
    for width in (1280, 390):
        b.look(width=width)
        check(f"{width} wide without a scroll bar below", b.ask("document.documentElement.scrollWidth") <= width,
              b.ask("document.documentElement.scrollWidth"))
    b.look()


def policy(b):
    told = b.ask("""new Promise((done) => {
        document.addEventListener('securitypolicyviolation', (e) => done(e.effectiveDirective));
        fetch('http://127.0.0.1:9/').catch(() => {}); setTimeout(() => done('nothing'), 20000); })""")
    same("the policy forbids a network", told, "connect-src")
    told = b.ask("""new Promise((done) => {
        document.addEventListener('securitypolicyviolation', (e) => done(e.effectiveDirective));
        const s = document.createElement('script'); s.textContent = 'window.pwned = 1'; document.body.append(s);
        setTimeout(() => done('nothing'), 20000); })""")
    same("and scripts that are not the build's", (told, b.ask("window.pwned")), ("script-src-elem", None))


def heat(b):
    load(b, "late")
    late = verb("late", "collectives")
    columns = {"RANK": "rank", "LATE ms": "late_mean_ns", "COMPUTE": "compute_ns"}
    rows = table(b, "#f0-collectives")
    same("stragglers", [[r[t] for t in columns] for r in rows if isinstance(r["LATE ms"], (int, float))],
         [[r[c] for c in columns.values()] for r in late["ranks"] if r["late_mean_ns"] is not None])
    check("the reason names the straggler", late["reading"] in b.ask("document.querySelector('.reason').innerText"))
    b.ask("document.querySelector('.heat canvas').focus()")
    for key in ("ArrowRight", "ArrowDown", "ArrowDown"):
        b.key(key)
    told = b.ask("document.querySelector('.heat .status').textContent")
    check("a cell of the heat map is told", told.startswith("rank 2, collective 0") and "90.000 us behind the first" in told, told)
    b.key("Enter")
    check("Enter shows it in the time line", float(view(b)["to"]) < b.ask("rtl.shown[0].line.data.ns"), view(b))


def bare(b):
    """Without scripts."""
    b.scripts(False)
    b.open(FOLDER / "demo.html")
    text = b.ask("document.body.innerText")
    kernels = verb("demo", "summary")["kernels"]
    check("all is readable without scripts", all(k["name"] in text for k in kernels) and "TOTAL ms" in text)
    same("and no chart's place is left empty",
         b.ask("[...document.querySelectorAll('.scripted')].filter((e) => e.offsetHeight).length"), 0)
    shoot(b, "bare", height=1600)
    b.scripts(True)


def others(b):
    page = (FOLDER / "demo.html").read_text(encoding="utf-8")
    at = page.find("<script>/*! https://github.com/leeoniya/uPlot")
    if at >= 0:
        (FOLDER / "plain.html").write_text(page[:at] + page[page.index("</script>", at) + 9:], encoding="utf-8")
        load(b, "plain")
        charts(b)
    load(b, "hostile")
    same("hostile names are texts", b.ask("[window.pwned === undefined, document.querySelectorAll('main img, main script:not([type])').length]"),
         [True, 0])
    names = [row["KERNEL"] for row in table(b, "#f0-kernels")]
    check("and are shown", any("</script>" in n for n in names) and any(len(n) > 4000 for n in names), [n[:60] for n in names])
    shoot(b, "hostile", height=2000)
    load(b, "lossy")
    check("INCOMPLETE is loud", b.ask("document.querySelector('.banner.bad').textContent.includes('INCOMPLETE')"))
    shoot(b, "lossy", height=1600)
    load(b, "live")
    check("an open session is said to be", "LIVE" in b.ask("document.querySelector('header').innerText"))
    for name in ("none", "one"):
        load(b, name)
        shoot(b, name)
    load(b, "many")
    same("a thousand ranks", b.ask("[rtl.shown[0].line.lanes.length, document.querySelectorAll('.bars svg').length]"), [1000, 1000])
    shoot(b, "many", height=3200)
    load(b, "both")
    same("two side by side", b.ask("document.querySelectorAll('article.file').length"), 2)
    rows = {row["FIGURE"]: row for row in table(b, "#comparison")}
    same("their kernels", [rows["kernels"][n] for n in ("left", "right")],
         [verb(n, "summary")["stored"] for n in ("demo", "late")])
    shoot(b, "both", height=2400)
    load(b, "wide")
    b.look(width=390)
    check("a long label makes no page wider", b.ask("document.documentElement.scrollWidth") <= 390,
          b.ask("document.documentElement.scrollWidth"))


def main():
    b = Browser()
    try:
        load(b, "demo")
        figures(b)
        charts(b)
        bins(b)
        timeline(b)
        sorting(b)
        colours(b)
        policy(b)
        for dark in (False, True) if SHOTS else ():
            b.open(FOLDER / "demo.html")
            shoot(b, f"demo-{'dark' if dark else 'light'}", dark=dark, height=3400)
        heat(b)
        shoot(b, "late-narrow", width=390, height=3800)
        shoot(b, "late", height=3000, dark=True)
        bare(b)
        others(b)
    finally:
        b.close()
    sys.exit(f"{len(failed)} failed" if failed else 0)


if __name__ == "__main__":
    main()
