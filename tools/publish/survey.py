"""survey.py - make survey: fills missing traces of test surveys, compares with what a processing
package offers, and draws them (tools/measure/survey.py).
"""
from __future__ import annotations

import sys

from tools.measure import survey
from tools.publish import draw


def show(picture: survey.Picture) -> None:
    picture.path.parent.mkdir(parents=True, exist_ok=True)
    draw.filled_survey(picture)
    print(picture.path)


def main(words: list[str] | None = None) -> int:
    return survey.main(show, words)


if __name__ == "__main__":
    sys.exit(main())
