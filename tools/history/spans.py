"""spans.py - who was busy when: the files that busy=FILE.csv of a hybrid back-end leaves.

A row is a span: begin, end (seconds from the first), who (device, or host 0 ..) and what.
"""
import csv
from dataclasses import dataclass, replace

COLUMNS = ["begin", "end", "who", "what"]


@dataclass(frozen=True)
class Span:
    begin: float
    end: float
    who: str
    what: str
    busy: float  # seconds of it; fewer than it is long where several were made one


def of(row):
    """A row of a table as a span."""
    begin, stop = float(row["begin"]), float(row["end"])
    return Span(begin, stop, row["who"], row["what"],
                float(row.get("busy") or stop - begin))


def read(path):
    """Those of a file, in the order of their beginnings."""
    with path.open(newline="", encoding="utf-8") as f:
        return [of(r) for r in csv.DictReader(f)]


def whose(spans):
    """{who: its spans}, the device first."""
    names = sorted({s.who for s in spans}, key=lambda w: (w != "device", len(w), w))
    return {who: [s for s in spans if s.who == who] for who in names}


def end(spans):
    return max((s.end for s in spans), default=0.0)


def both(spans):
    """Seconds in which the device and at least one thread of the host were busy."""
    found, turn, busy = 0.0, None, {True: 0, False: 0}
    edges = sorted([(s.begin, 1, s.who == "device") for s in spans] +
                   [(s.end, -1, s.who == "device") for s in spans])
    for moment, step, is_device in edges:
        if busy[True] and busy[False]:
            found += moment - turn
        busy[is_device] += step
        turn = moment
    return found


def merged(spans, width):
    """The same for a drawing in which nothing shorter than width can be seen: spans of
    one who that lie closer are one, and so are short ones with what is beside them. Its
    what is what it was longest."""
    found = []
    for own in whose(spans).values():
        last, times = None, {}
        for s in own:
            near = last and s.begin - last.end < width
            if near and (s.what == last.what or min(last.end - last.begin,
                                                    s.end - s.begin) < width):
                times[s.what] = times.get(s.what, 0) + s.busy
                last = replace(last, end=max(last.end, s.end), busy=last.busy + s.busy,
                               what=max(times, key=times.get))
            else:
                found += [last] if last else []
                last, times = s, {s.what: s.busy}
        found.append(last)
    return sorted(found, key=lambda s: (s.begin, s.who))


def middle(spans, count):
    """What happened around the middle, while the device did so many things; the times are
    cut to that."""
    device = whose(spans).get("device", [])
    first = max(0, (len(device) - count) // 2)
    chosen = device[first:first + count]
    if not chosen:
        return []
    begin, last = chosen[0].begin, chosen[-1].end
    cut = [replace(s, begin=max(s.begin, begin), end=min(s.end, last)) for s in spans
           if s.end > begin and s.begin < last]
    return [replace(s, busy=s.end - s.begin) for s in cut]
