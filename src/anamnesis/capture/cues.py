"""The words that mark a cause, a decision or a rule, by language. Data only.

A phrase counts anywhere in a sentence, whole words only; one that begins with `^` counts only at the start of a
clause. A phrase under `user` counts only in the user's words: in a model's answers, it usually means something else.
"""

from __future__ import annotations

CAUSE, DECISION, RULE = "cause", "decision", "rule"

Phrases = dict[str, tuple[str, ...]]

PHRASES: dict[str, Phrases] = {
    "en": {
        CAUSE: (
            *("root cause is", "root cause was", "root cause:", "cause is", "cause was", "cause turned out"),
            *("turned out to be", "turned out that", "turns out", "it turned out", "culprit is", "culprit was"),
            *("bottleneck is", "bottleneck was", "bug was", "bug is that", "bug is in", "problem was", "issue was"),
            *("reason was", "reason is that", "mistake was", "failure was", "stems from", "stemmed from"),
            *("came from a",),
            *("traced it to", "traced it back to", "traced back to", "traced to", "comes down to", "came down to"),
            *("fix is", "fix was", "fix:", "fixed by", "fixed it by", "fixed this by", "fixed that by", "solved by"),
            *("solved it by", "resolved by", "resolved it by", "solution is", "solution was", "workaround is"),
            *("workaround was", "workaround:", "worked around by", "worked around it by"),
        ),
        DECISION: (
            *("we decided", "i decided", "we've decided", "i've decided", "we have decided", "decided to"),
            *("decided on",),
            *("decided against", "decision is", "decision was", "decision:", "we agreed", "agreed on", "agreed to"),
            *("going with", "we go with", "go with", "went with", "settled on", "settle on", "opted for", "opted to"),
            *("i chose", "we chose", "we've chosen", "i picked", "we picked"),
            *("we'll stick", "sticking with", "stick with", "stay with", "staying on", "stay on", "we are using"),
            *("ruled out",),
        ),
        RULE: (
            *("from now on", "going forward", "from here on", "remember that", "remember:", "^remember to"),
            *("please remember", "don't ever", "do not ever", "never again", "as a rule", "rule of thumb"),
            *("the rule is",),
            *("by convention", "our convention", "convention is", "convention:", "our policy", "keep in mind"),
            *("watch out", "beware", "gotcha", "caveat", "footgun", "pitfall"),
            *("i learned that", "we learned that", "^learned that", "^learnt that", "^til", "learning:", "takeaway:"),
            *("the user prefers", "user prefers"),
        ),
    },
    "de": {
        CAUSE: (
            *("ursache war", "ursache ist", "ursache:", "grund war", "lag daran", "liegt daran", "das problem war"),
            *("der fehler war", "der fehler lag", "behoben durch", "die lösung ist", "die lösung war"),
        ),
        DECISION: (
            *("haben uns entschieden", "haben entschieden", "haben beschlossen", "wir haben uns für", "entscheidung:"),
            *("^wir nehmen", "^wir bleiben bei", "wir verwenden ab"),
        ),
        RULE: (
            *("^immer", "^bitte immer", "^nie", "^niemals", "^bitte nie", "ab jetzt", "ab sofort", "in zukunft"),
            *("^künftig", "merk dir", "^denk daran", "^vorsicht:", "^achtung:"),
        ),
    },
    "es": {
        CAUSE: (
            *("la causa es", "la causa era", "la causa fue", "causa raíz", "el problema era", "el problema fue"),
            *("el error era", "el fallo era", "resultó que", "resultó ser", "la solución es", "la solución fue"),
        ),
        DECISION: ("decidimos", "hemos decidido", "se decidió", "decisión:", "vamos a usar", "nos quedamos con"),
        RULE: (
            *("^siempre", "^nunca", "^jamás", "a partir de ahora", "de ahora en adelante", "recuerda que"),
            *("^no uses", "por convención", "^cuidado con"),
        ),
    },
    "fr": {
        CAUSE: (
            *("la cause est", "la cause était", "cause racine", "cause première", "le problème était"),
            *("le problème venait", "l'erreur venait", "il s'avère que", "la solution est", "la solution était"),
        ),
        DECISION: ("nous avons décidé", "on a décidé", "j'ai décidé", "décision :", "décision:", "on part sur"),
        RULE: (
            *("^toujours", "^jamais", "^ne jamais", "^désormais", "^dorénavant", "à partir de maintenant"),
            *("rappelle-toi", "souviens-toi", "par convention", "^attention :"),
        ),
    },
    "pt": {
        CAUSE: (
            *("a causa é", "a causa era", "a causa foi", "causa raiz", "o problema era", "o problema foi"),
            *("o erro era", "a solução é", "a solução foi"),
        ),
        DECISION: ("decidimos", "foi decidido", "decisão:", "vamos usar", "ficamos com"),
        RULE: ("^sempre", "^nunca", "^jamais", "a partir de agora", "de agora em diante", "lembre-se", "por convenção"),
    },
    "it": {
        CAUSE: (
            *("la causa è", "la causa era", "causa principale", "il problema era", "l'errore era"),
            *("la soluzione è", "la soluzione era"),
        ),
        DECISION: ("abbiamo deciso", "ho deciso", "decisione:", "^usiamo"),
        RULE: ("^sempre", "^mai", "^non usare mai", "d'ora in poi", "da ora in poi", "ricorda che", "per convenzione"),
    },
    "ru": {
        CAUSE: (
            *("причина в том", "причина была", "корневая причина", "проблема была", "ошибка была", "оказалось, что"),
            *("решение:",),
        ),
        DECISION: ("мы решили", "решено", "остановились на", "выбрали"),
        RULE: ("^всегда", "^никогда", "^впредь", "с этого момента", "^запомни", "отныне"),
    },
    "zh": {
        CAUSE: (
            "根本原因",
            "原因是",
            "原因在于",
            "问题是",
            "问题在于",
            "问题出在",
            "修复方法是",
            "解决方法是",
            "解决办法是",
        ),
        DECISION: ("我们决定", "决定使用", "决定采用", "决定改用", "最终选择", "我们选择"),
        RULE: ("始终", "永远不要", "以后", "从现在起", "从今以后", "今后", "记住", "务必", "切勿", "切记", "一律"),
    },
    "ja": {
        CAUSE: ("根本原因", "原因は", "原因でした", "問題は", "解決策は", "修正方法は"),
        DECISION: ("に決めました", "に決定", "ことにしました", "ことにします", "を採用しました", "を採用します"),
        RULE: ("必ず", "絶対に", "今後は", "これからは", "常に", "覚えておいて"),
    },
    "ko": {
        CAUSE: ("근본 원인", "원인은", "원인이었", "문제는", "해결 방법은"),
        DECISION: ("결정했", "하기로 했", "하기로 결정"),
        RULE: ("항상", "절대", "앞으로는", "지금부터", "기억해", "반드시"),
    },
}

# The same, but only in the user's words.
USER_PHRASES: Phrases = {
    DECISION: (
        *("we'll use", "we will use", "we'll keep", "let's keep the", "let's keep it", "let's keep using"),
        *("let's use", "let's stick", "let's switch", "let's drop", "let's stay"),
        *("i want to use", "i'd rather use"),
    ),
    RULE: (
        *("in future", "in the future", "^in this repo", "^in this repository", "^in this project"),
        *("^in this codebase", "we use", "we don't use", "we do not use", "we prefer", "we only", "i prefer"),
        *("i'd prefer", "our style", "our standard", "^stop using", "^stop adding", "^stop doing", "^stop writing"),
        *("^stop putting", "^stop making", "^important:"),
    ),
}
# The same, but only in the model's words: a user who says "the problem is" describes a symptom.
MODEL_PHRASES: Phrases = {CAUSE: ("problem is that", "problem is in", "issue is that", "issue is in", "error is that")}

# Headings and labels. What follows them is of their kind.
LABELS: Phrases = {
    CAUSE: (
        *("root cause", "root causes", "cause", "causes", "the cause", "why it failed", "why it happened", "diagnosis"),
        *("fix", "the fix", "fix applied", "solution", "resolution", "the solution", "workaround", "ursache", "lösung"),
        *("causa", "causa raíz"),
        *("solución", "cause racine", "causa raiz", "根本原因", "原因", "修复", "解決策", "원인", "причина"),
    ),
    DECISION: (
        *("decision", "decisions", "decided", "key decisions", "design decisions", "decisions made", "entscheidung"),
        *("entscheidungen", "decisión", "decisiones", "décision", "décisions", "decisão", "decisione", "决定", "決定"),
    ),
    RULE: (
        *("rule", "rules", "ground rules", "house rules", "convention", "conventions", "gotcha", "gotchas", "caveat"),
        *(
            "caveats",
            "pitfalls",
            "constraints",
            "lesson",
            "lessons",
            "lessons learned",
            "lesson learned",
            "learning",
            "learnings",
            "key learning",
            "key learnings",
            "takeaway",
            "takeaways",
        ),
        *("regeln", "reglas", "règles", "regras", "regole", "规则", "注意", "ルール", "규칙"),
    ),
}

# Words that make a sentence a guess.
HEDGES = (
    *("maybe", "perhaps", "might", "may be", "could be", "possibly", "probably", "presumably", "i suspect", "i guess"),
    *("not sure", "unclear", "unknown", "whether", "seems", "looks like", "vielleicht", "vermutlich", "quizás"),
    *("tal vez", "peut-être", "talvez", "forse", "возможно", "可能", "也许", "かもしれ", "아마"),
)

# After "always", "never" and "don't": words that make no rule, because they describe, excuse or belong to a phrase.
NO_RULE = frozenset(
    (
        *("a", "an", "the", "it", "that", "this", "there", "so", "why", "how", "what", "when", "been", "be", "had"),
        *("have", "has", "was", "were", "did", "do", "does", "get", "gets", "got", "see", "seen", "saw", "know"),
        *("knew",),
        *("think", "thought", "want", "happen", "fail", "seem", "worry", "bother", "mind", "forget", "hesitate"),
        *("need", "understand", "care", "like", "feel", "believe", "expect", "said", "return", "good", "hard", "sure"),
        *("easy", "nice", "possible", "on", "by", "to", "over", "in", "at", "of", "for", "with", "from", "twice"),
        *("both", "half", "worse", "less", "more", "once", "only", "again", "before", "after"),
    )
)
# Subjects of rules with "must", besides plurals; and words in -s that are no plurals.
PLURALS = frozenset(("we", "all", "every", "everyone", "everything", "code"))
NO_PLURALS = frozenset(("this", "is", "was", "has", "thus", "as", "always", "its", "us", "class", "process", "access"))
# Too frequent to look up a phrase by.
COMMON = frozenset(("with", "that", "this", "from", "only", "not", "let's", "using"))
