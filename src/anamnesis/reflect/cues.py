"""The words by which reflection judges a statement, in ten languages. Data only."""

from __future__ import annotations

# Phrases of statements that are only temporarily true, and so no knowledge.
PASSING = (
    *("for now", "for the moment", "for the time being", "right now", "at the moment", "today", "tonight", "tomorrow"),
    *("this week", "next week", "this session", "this branch", "this pr", "this commit", "this time", "this morning"),
    *("temporarily", "temporary", "yet", "still need", "until monday", "until tuesday", "until wednesday"),
    *("until thursday", "until friday", "until then", "until tomorrow", "until the demo", "until the release"),
    *("vorerst", "vorläufig", "heute", "morgen", "im moment", "fürs erste", "noch nicht", "diesen branch"),
    *("por ahora", "de momento", "hoy", "mañana", "todavía no", "temporalmente"),
    *("pour l'instant", "pour le moment", "aujourd'hui", "demain", "pas encore", "provisoirement"),
    *("por enquanto", "por agora", "hoje", "amanhã", "ainda não", "temporariamente"),
    *("per ora", "per adesso", "oggi", "domani", "non ancora", "temporaneamente"),
    *("пока не", "пока что", "сегодня", "завтра", "временно", "ещё не"),
    *("暂时", "今天", "明天", "目前先", "先不要", "とりあえず", "今日", "明日", "一時的", "まだ"),
    *("일단", "오늘", "내일", "임시로", "아직"),
)
# First words that refer to something outside the sentence.
POINTING = frozenset(
    (
        *("it", "this", "that", "they", "these", "those", "he", "she", "both", "same", "here", "there", "which"),
        *("eso", "esto", "ça", "cela", "ceci", "isso", "isto", "questo", "quello", "это", "das", "dies", "dieses"),
    )
)
# Objects of a fix that the sentence does not name: "I fixed it by ...".
POINTING_FIXES = (
    *(
        "fixed it",
        "fixed this",
        "fixed that",
        "solved it",
        "solved this",
        "solved that",
        "resolved it",
        "resolved this",
    ),
    *("worked around it", "worked around this", "worked around that"),
)
# Openings that begin with such a word, but name what they refer to.
SELF_CONTAINED = (
    *("it turned out", "it turns out", "this repo", "this repository", "this project", "this codebase", "this service"),
    *("this package", "this team", "das projekt", "das repo", "das problem war", "это проект"),
)
# Words that negate a statement.
NEGATIONS = frozenset(
    (
        *("not", "no", "never", "don't", "doesn't", "didn't", "won't", "can't", "cannot", "isn't", "aren't", "wasn't"),
        *("mustn't", "shouldn't", "stop", "avoid", "without", "against", "neither", "nor", "instead", "drop", "remove"),
        *("nicht", "nie", "niemals", "kein", "keine", "keinen", "keiner", "ohne", "statt"),
        *("nunca", "jamás", "sin", "ne", "pas", "jamais", "sans", "não", "sem", "non", "mai", "senza"),
        *("не", "нет", "никогда", "без", "нельзя"),
    )
)
# Negations in scripts without spaces, where they are parts of words.
UNSPACED_NEGATIONS = ("不", "没", "勿", "别", "无", "ない", "ません", "せず", "않", "못", "말")
# Words that introduce a statement and add nothing to its meaning.
OPENERS = frozenset(
    (
        *("always", "please", "remember", "now", "forward", "going", "future", "rule", "convention", "root", "cause"),
        *("reason", "decided", "decision", "agreed", "ok", "okay", "so", "also", "lesson", "important", "turned"),
        *("turns", "out", "and", "but", "then", "ever", "make", "sure", "keep", "mind", "here"),
        *("ab", "jetzt", "sofort", "immer", "bitte", "künftig", "siempre", "ahora", "adelante", "partir", "recuerda"),
        *("toujours", "désormais", "maintenant", "sempre", "agora", "diante", "ora", "poi", "ricorda", "всегда"),
        *("отныне", "впредь", "запомни"),
    )
)
# Words of causes and fixes that say nothing alone: "the fix was simple".
EMPTY = frozenset(
    (
        *(
            "fix",
            "fixed",
            "solution",
            "problem",
            "issue",
            "bug",
            "error",
            "failure",
            "workaround",
            "solved",
            "resolved",
        ),
        *("simple", "easy", "same", "thing", "things", "way", "one", "use", "used", "using", "go", "went", "stick"),
        *("done", "works", "working", "better", "good", "right", "wrong", "chose", "choose", "picked", "culprit"),
        *("resolved", "stay", "staying", "we'll", "i'll", "let's", "it's", "i'm", "i've", "we've", "we're"),
    )
)
