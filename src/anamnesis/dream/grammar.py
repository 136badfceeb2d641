"""The closed word classes of English: function words, units, months, and their equivalents. Pure.

No thesaurus lists these words. A word can replace the others of its class and no other word: `before` is not
equivalent to `after`.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words without a meaning of their own: articles, pronouns, auxiliaries and the like.
DROPPED = _words(
    """
    a an the this that these those it its itself he him his she her hers they them their theirs we us our ours you your
    yours i me my mine who whom whose which what there here be is are am been being has have had having do does did
    doing done will would to of as and also too very really quite simply please indeed even both
    already still now well rather then afterwards so therefore thus hence consequently accordingly because since but
    however yet although though whereas while nevertheless nonetheless moreover furthermore additionally besides plus
    let etc eg ie own such per truly actually basically certainly definitely extremely incredibly highly literally
    obviously surely s t ve ll re d m
    """
)
# Words at which a clause begins, in addition to punctuation.
OPENERS = _words(
    """
    and or but so because since although though whereas while when whenever if unless until till after before once which
    who where then therefore thus hence however as
    """
)
# Words whose absence changes nothing; they differ only if the other text has another such word in the same place.
WEAK = _words("just in with for about by on at into through again like")
NEGATIONS = _words(
    """
    not no never none neither nor without cannot nothing nobody nowhere hardly unless except
    nicht kein keine keinen keiner nie niemals ohne non pas jamais sans nunca sin niet geen nooit zonder nao não sem
    """
)
# Words that accompany the date of a note. Their synonyms count too.
STAMPS = _words(
    """
    note record update check verify confirm review write see add edit observe learn test measure status date log valid
    correct last current revise state entry know stand aktualisiert notiert mise jour actualizado
    """
)
# Words that say that something was noted before, or is still valid.
FRAMES = _words(
    """
    note confirm verify check mention say state remind reminder remember repeat recap record memo fyi nb ps btw heads
    was again before earlier previously above still true hold valid see observe know discuss important attention up
    erinnerung hinweis achtung rappel recordatorio nota
    """
)
# Abbreviations that are no names although they are written in capitals; and names that are function words otherwise.
ABBREVIATIONS = _words("db dbs doc docs repo repos app apps config configs env auth admin info prod dev")
CAPITALS = _words("US IT")
# Verbs that say where a thing is.
SITUATED = _words("live lives reside resides sit sits lie lies")
# Words that distinguish things of one kind.
QUALIFIERS = _words(
    """
    staging production prod dev development test testing canary qa sandbox preview local remote internal external public
    private old new legacy alpha beta debug release client server backend frontend mobile desktop
    """
)
# After these verbs, "if" asks whether and "when" asks for the time; elsewhere both begin a condition.
ASKING = _words(
    "ask asks check checks decide decides determine determines find know knows learn log remember see show shows"
    " tell tells test tests verify verifies wonder"
)
# Words that begin a clause which changes the meaning of a statement.
CONDITIONS = _words("if unless until when whenever only except before after while once where without")

_CLASSES = """
in within inside into; with using via through by; about regarding concerning approximately roughly around circa;
over above exceeding; under below beneath; before; after; until till; if when whenever provided assuming;
once; only solely exclusively merely just; half; double twice; triple thrice; quarter; dozen; single; all every each;
some certain; more; less fewer; most; least; must shall; should ought; can could; may might; was were; or;
instead; always; never; not; no; except excluding; between among amongst; during throughout; toward towards; without;
both; last; ever; off; out; up; down; left; on onto; at; from; than; against; across; behind; ahead; since; yes;
at_most; at_least; everything; anything; something; everyone everybody; someone somebody; anyone anybody; everywhere;
anywhere; somewhere; unless; neither; none; nothing; nobody
"""
_UNITS = """
nanosecond ns nanoseconds; microsecond us µs microseconds; millisecond ms millis milliseconds msec; second s sec secs
seconds; minute min mins minutes; hour h hr hrs hours; day d days; week w wk weeks; month mo months; year y yr years
yrs; byte b bytes; bit bits; kilobyte kb kilobytes; megabyte mb megabytes; gigabyte gb gigabytes; terabyte tb
terabytes; kibibyte kib; mebibyte mib; gibibyte gib; tebibyte tib; percent % pct; dollar dollars usd $; euro euros eur
€; pound pounds gbp £; pixel px pixels; point pt points; em; rem; hertz hz; kilohertz khz; megahertz mhz; gigahertz
ghz; meter meters metre metres m; kilometer kilometers km kilometre kilometres; centimeter cm centimeters; millimeter
mm millimeters; mile miles; foot feet ft; inch inches; gram grams g; kilogram kilograms kg kilos; milligram mg; liter
liters litre litres l; celsius °c; fahrenheit °f; degree degrees °; watt watts; volt volts; thousand k; million mio;
billion bn; decade decades; fps; rpm; rps; qps; kbps; mbps; gbps; core cores; hourly; daily; nightly; weekly; biweekly
fortnightly; monthly; quarterly; yearly annually annual; monday mon; tuesday tue tues; wednesday wed; thursday thu
thurs; friday fri; saturday sat; sunday sun
"""
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety hundred"
_MONTHS = """
january jan januar janvier enero; february feb februar février febrero; march mar märz mars marzo; april apr avril
abril; may mai mayo; june jun juni juin junio; july jul juli juillet julio; august aug août agosto; september sep sept
septembre septiembre; october oct oktober okt octobre octubre; november nov novembre noviembre; december dec dezember
dez décembre diciembre
"""
# Phrases of function words, and the single word that replaces each.
PHRASES = {
    tuple(phrase.split()): word
    for word, phrases in {
        "must": "has to; have to; had to; needs to; need to; needed to; is required to; are required to",
        "can": "is able to; are able to; be able to",
        "before": "prior to; ahead of",
        "because": "because of; due to; owing to; on account of; as a result of; thanks to; given that",
        "also": "as well as; in addition to; in addition; as well",
        "to": "in order to; so as to; so that; such that",
        "therefore": "as a result; for this reason; that is why",
        "instead": "instead of; rather than; in place of; in lieu of",
        "if": "in case; as long as; provided that; in the event that",
        "when": "as soon as; at the time",
        "now": "at the moment; at present; right now; for now; as of now",
        "many": "a lot of; lots of; plenty of; a large number of; a great many",
        "several": "a number of; a couple of; a few",
        "over": "more than; greater than; in excess of",
        "under": "less than; fewer than; lower than",
        "about": "more or less; close to; with regard to; with respect to; in relation to; when it comes to",
        "with": "by means of; with the help of; by way of",
        "although": "even though; even if; in spite of; despite",
        "like": "such as; for example; for instance; e g; i e; that is",
        "all": "all of; each of; every one of",
        "without": "free of; in the absence of",
        "not": "no longer; not any more",
        "until": "up to; up until",
        "at_most": "at most; at the most; no more than; not more than; a maximum of",
        "at_least": "at least; at the least; no less than; no fewer than; not less than; a minimum of",
        "use": "make use of; makes use of; made use of; making use of",
        "again": "once more; once again; one more time",
        "nobody": "no one",
        "want": "would like",
        "manually": "by hand",
        "except": "apart from; with the exception of",
        "current": "up to date",
        "outdated": "out of date",
        "in": "is located in; are located in; is situated in; is found in; are found in",
        "hourly": "every hour; each hour; once an hour; once per hour",
        "daily": "every day; each day; once a day; once per day",
        "nightly": "every night; each night; once a night",
        "weekly": "every week; each week; once a week; once per week",
        "monthly": "every month; each month; once a month; once per month",
        "yearly": "every year; each year; once a year; once per year",
    }.items()
    for phrase in phrases.split("; ")
}


def _heads(classes: str) -> dict[str, str]:
    return {word: group.split()[0] for group in " ".join(classes.split()).split("; ") for word in group.split()}


CLASS_OF = _heads(_CLASSES)
UNIT_OF = _heads(_UNITS)
MONTH_OF = {
    word: number for number, group in enumerate(" ".join(_MONTHS.split()).split("; "), 1) for word in group.split()
}
_ONES = {word: number for number, word in enumerate(_NUMBERS.split())}
_TIMES_TEN = {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
NUMBER_OF = {word: str(number) for word, number in (_ONES | _TIMES_TEN).items()} | {
    f"{tens}-{one}": str(_TIMES_TEN[tens] + _ONES[one]) for tens in _TENS.split()[:-1] for one in _NUMBERS.split()[1:10]
}
ORDINAL_OF = {word: f"{number}." for number, word in enumerate(_ORDINALS.split(), 1)} | {
    f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }": f"{number}." for number in range(1, 13)
}
# These are units wherever they stand; the others only after a number.
ALWAYS_UNITS = frozenset(word for word in UNIT_OF if len(word) > 2) - _words(
    "min mins sec secs second point points degree degrees pound pounds core cores foot feet bit bits mon sun sat wed"
    " fri tue thu rem pct yrs mio inch gram mile millis watt volt"
)
WEEKDAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
