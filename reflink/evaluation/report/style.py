"""The report's style sheet: light and dark by the reader's choice, one column on a phone."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --page: #ffffff; --card: #f5f7fa; --edge: #d9dfe7;
  --link: #0b62c4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9f0; --soft: #9aa7b8; --page: #11161d; --card: #1a212b;
  --edge: #323d4b; --link: #6cb2ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 1rem 1rem 4rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .6rem 0; } h2 { font-size: 1.3rem; margin: 2.4rem 0 .4rem; }
h3 { font-size: 1.05rem; margin: 1.4rem 0 .3rem; } h4 { margin: 1rem 0 .3rem; }
p { margin: .4rem 0; max-width: 75ch; } .note, figcaption, small { color: var(--soft); font-size: .875rem; }
nav a { margin-right: .9rem; white-space: nowrap; } a { color: var(--link); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: .7rem; margin: 1rem 0; }
.card { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: .6rem .8rem; }
.card b { display: block; font-size: 1.5rem; font-variant-numeric: tabular-nums; } .card span { font-size: .875rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 1rem; }
figure { margin: .5rem 0; min-width: 0; max-width: 640px; } figure h3 { margin: 0 0 .2rem; }
figure img { display: block; width: 100%; height: auto; background: #ffffff; border-radius: 8px; }
@media (max-width: 700px) { .rate small { display: block; } }
.wide b { white-space: nowrap; } .wide { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-size: .875rem; overflow-wrap: normal; }
th, td { text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--edge); vertical-align: top; }
th { font-weight: 600; color: var(--soft); } .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
article { border: 1px solid var(--edge); background: var(--card); border-radius: 8px; padding: .5rem .8rem; margin: .6rem 0;
  content-visibility: auto; contain-intrinsic-size: auto 300px; }
article td { min-width: 9rem; max-width: 24rem; overflow-wrap: anywhere; } .query { max-width: none; }
.reason { display: inline-block; border: 1px solid var(--edge); border-radius: 99px; padding: 0 .6rem; margin: 0 .3rem .3rem 0;
  font-size: .8rem; } code { font-size: .8rem; }
details > summary { cursor: pointer; padding: .2rem 0; } dt { font-weight: 600; } dd { margin: 0 0 .3rem 1rem; }
@media print { details { display: block; } article { break-inside: avoid; } }
"""
