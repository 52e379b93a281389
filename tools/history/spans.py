"""spans.py - which side of a hybrid back-end was busy when, as busy=FILE.csv records it.

A row is a span: begin, end (seconds since the first), who (device, or host 0 ..) and what.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.history import results

COLUMNS = ["begin", "end", "who", "what"]


@dataclass(frozen=True)
class Span:
    begin: float
    end: float
    who: str
    what: str
    busy: float  # seconds of work; less than end - begin if spans were merged


def from_row(row: Mapping[str, str]) -> Span:
    begin, stop = float(row["begin"]), float(row["end"])
    return Span(begin, stop, row["who"], row["what"],
                float(row.get("busy") or stop - begin))


def read(path: Path) -> list[Span]:
    """The spans of a file, in the order of their beginnings."""
    return [from_row(r) for r in results.read(path)]


def by_owner(spans: Iterable[Span]) -> dict[str, list[Span]]:
    """{who: its spans}, the device first."""
    spans = list(spans)
    names = sorted({s.who for s in spans}, key=lambda w: (w != "device", len(w), w))
    return {who: [s for s in spans if s.who == who] for who in names}


def end(spans: Iterable[Span]) -> float:
    return max((s.end for s in spans), default=0.0)


def both(spans: Iterable[Span]) -> float:
    """Seconds in which the device and at least one thread of the host were busy."""
    spans = list(spans)
    total, since, busy = 0.0, 0.0, {True: 0, False: 0}
    edges = sorted([(s.begin, 1, s.who == "device") for s in spans] +
                   [(s.end, -1, s.who == "device") for s in spans])
    for moment, change, is_device in edges:
        if busy[True] and busy[False]:
            total += moment - since
        busy[is_device] += change
        since = moment
    return total


def merged(spans: Iterable[Span], width: float) -> list[Span]:
    """The same spans for a drawing that cannot show anything shorter than width. Spans of
    one owner that are closer together are merged if they are of one kind or if one of them
    is short; a merged span is of the kind that took longest."""
    found = []
    for own in by_owner(spans).values():
        last, times = own[0], {own[0].what: own[0].busy}
        for s in own[1:]:
            short = min(last.end - last.begin, s.end - s.begin) < width
            if s.begin - last.end < width and (s.what == last.what or short):
                times[s.what] = times.get(s.what, 0) + s.busy
                last = replace(last, end=max(last.end, s.end), busy=last.busy + s.busy,
                               what=max(times, key=lambda what: times[what]))
            else:
                found.append(last)
                last, times = s, {s.what: s.busy}
        found.append(last)
    return sorted(found, key=lambda s: (s.begin, s.who))


def middle(spans: Sequence[Span], count: int) -> list[Span]:
    """The spans during `count` spans of the device in the middle of the run; their times
    are cut to that interval."""
    device = by_owner(spans).get("device", [])
    first = max(0, (len(device) - count) // 2)
    chosen = device[first:first + count]
    if not chosen:
        return []
    begin, last = chosen[0].begin, chosen[-1].end
    cut = [replace(s, begin=max(s.begin, begin), end=min(s.end, last)) for s in spans
           if s.end > begin and s.begin < last]
    return [replace(s, busy=s.end - s.begin) for s in cut]
