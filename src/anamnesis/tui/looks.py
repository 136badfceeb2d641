"""How the application looks: its two themes and its style sheet."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="anamnesis-dark",
    primary="#82a7cf",
    secondary="#8f9bb3",
    accent="#e0b062",
    success="#8fbf7f",
    warning="#e0b062",
    error="#df8080",
    foreground="#d6dae2",
    background="#16181d",
    surface="#1d2027",
    panel="#2a2f3a",
    dark=True,
    variables={"faint": "#8c93a0", "line": "#343a46", "cursor": "#2b3444", "blurred": "#22262f"},
)
LIGHT = Theme(
    name="anamnesis-light",
    primary="#2c628f",
    secondary="#5c6677",
    accent="#8f5a06",
    success="#3f7a2c",
    warning="#8f5a06",
    error="#a8323a",
    foreground="#26282e",
    background="#fbfaf7",
    surface="#f1efe9",
    panel="#e2dfd7",
    dark=False,
    variables={"faint": "#686a72", "line": "#d5d1c7", "cursor": "#d9e3ee", "blurred": "#ebe9e3"},
)

STYLES = """
Screen { background: $background; color: $foreground; }
#heading, #keys { height: 1; background: $surface; color: $faint; text-wrap: nowrap; text-overflow: clip; }
#heading, #keys { link-color: $faint; link-style: none; link-background: transparent; }
#heading, #keys { link-color-hover: $foreground; link-style-hover: none; link-background-hover: $panel; }

Rows { height: 1fr; border: none; padding: 0; background: $background; text-wrap: nowrap; text-overflow: ellipsis; }
Rows:focus { border: none; background: $background; background-tint: transparent; }
Rows > .option-list--option { padding: 0 1; }
Rows > .option-list--option-highlighted { background: $blurred; color: $foreground; text-style: none; }
Rows:focus > .option-list--option-highlighted { background: $cursor; color: $foreground; text-style: none; }
Rows > .option-list--option-hover { background: $surface; }
Rows > .option-list--option-disabled { color: $faint; }
Rows, Pane { scrollbar-size-vertical: 1; scrollbar-background: $background; scrollbar-color: $line; }
Rows, Pane { scrollbar-background-hover: $background; scrollbar-background-active: $background; }
Rows, Pane { scrollbar-color-hover: $secondary; scrollbar-color-active: $secondary; }

Pane { height: 1fr; width: 1fr; padding: 0 1; border-left: solid $line; background: $background; }
Pane { scrollbar-gutter: stable; }
Pane:focus { border-left: solid $primary; }
Pane > Static { width: 1fr; height: auto; }
#text, #text:focus { border-left: none; }
.columns { height: 1fr; }
.list { width: 1fr; }
.narrow { width: 34; }
.line { height: 1; padding: 0 1; color: $faint; text-wrap: nowrap; text-overflow: ellipsis; }

.query { height: 1; padding: 0 1; }
.query > .mark { width: 2; color: $primary; }
.query > .label { width: 8; color: $faint; }
.query > .count { width: auto; color: $faint; }
Input, Input:focus { border: none; height: 1; padding: 0; background: $background; color: $foreground; }
Input { width: 1fr; background-tint: transparent; }
Input:focus { background-tint: transparent; }
Input > .input--placeholder, Input > .input--suggestion { color: $faint; }

#facets { width: 26; border-right: solid $line; display: none; }
#facets:focus { border-right: solid $primary; }
.faceted #facets { display: block; }
.-narrow.faceted Pane { display: none; }
#linked { height: auto; max-height: 9; border-top: solid $line; }
#linked:focus { border-top: solid $primary; }

ModalScreen { align: center middle; background: $background 60%; }
.dialog { width: 64; max-width: 90%; height: auto; max-height: 90%; padding: 1 2; }
.dialog { background: $surface; border: round $line; }
.dialog Input { background: $panel; padding: 0 1; margin-top: 1; }
.dialog Input:focus { background: $panel; }
.wide { width: 72; }
.wide > Static { width: 1fr; }
Toast { background: $panel; color: $foreground; padding: 0 1; border-left: outer $primary; }
Toast.-error { border-left: outer $error; }
Toast.-warning { border-left: outer $warning; }
"""
