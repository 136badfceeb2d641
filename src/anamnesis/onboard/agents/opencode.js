// OpenCode and Kilo Code.

const TIMEOUT = 15000

// Starts a process that collects events, and runs the program with each of them when OpenCode ends. A signal ends
// OpenCode without an event for its plugins, but closes the pipe.
function collector(verb) {
  if (process.platform === "win32") return
  const script = 'sort -u | while IFS= read -r event; do printf %s "$event" | "$@"; done'
  const stdio = ["pipe", "ignore", "ignore"]
  const child = spawn("sh", ["-c", script, "sh", ...calls[verb]], { stdio, detached: true })
  child.on("error", () => {})
  child.stdin.on("error", () => {})
  child.stdin.unref?.()
  child.unref()
  return child
}

function memory(directory) {
  const started = new Map()
  const open = new Map()
  let atExit

  function track(session) {
    if (open.has(session)) return
    const event = { session_id: session, cwd: directory, hook_event_name: "SessionEnd" }
    open.set(session, event)
    atExit ??= collector("end")
    atExit?.stdin.write(JSON.stringify(event) + "\n")
  }

  return {
    atStart(session) {
      if (!started.has(session)) started.set(session, run("inject", { session_id: session, cwd: directory }, TIMEOUT))
      return started.get(session)
    },
    atPrompt(session, prompt) {
      track(session)
      return run("recall", { session_id: session, cwd: directory, prompt }, TIMEOUT)
    },
    atCompaction: (session) => started.delete(session),
    atTurn(session) {
      track(session)
      return start("turn", { session_id: session, cwd: directory, hook_event_name: "Stop" })
    },
    atDeletion(session) {
      open.delete(session)
      started.delete(session)
    },
    async atEnd() {
      const events = [...open.values()]
      open.clear()
      if (atExit?.exitCode === null) await new Promise((resolve) => atExit.stdin.end(resolve))
      else await Promise.all(events.map((event) => start("end", event)))
      atExit = undefined
    },
  }
}

// OpenCode's own requests to its model: a session's title, and the summary at a compaction.
const OWN_REQUEST = /^You are (a title generator|an? [a-z ]*context summarization |a helpful AI assistant tasked with summ)/

// OpenCode 1 and Kilo Code.
export const Anamnesis = async ({ directory }) => {
  const notes = memory(directory)

  return {
    // Called before every step of the model. The text stays the same, so the provider can cache it.
    "experimental.chat.system.transform": async (input, output) => {
      if (!input?.sessionID || OWN_REQUEST.test(output.system[0])) return
      const text = await notes.atStart(input.sessionID)
      if (text) output.system.push(text)
    },

    "chat.message": async (input, output) => {
      const asked = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      if (!asked.length) return
      await notes.atStart(input.sessionID)
      const text = await notes.atPrompt(input.sessionID, asked.map((part) => part.text).join("\n"))
      if (!text) return
      const last = output.parts[output.parts.length - 1]
      // Parts are ordered by their ids, which begin with the time.
      const id = last.id.slice(0, 16) + "zz" + Math.random().toString(36).slice(2).padEnd(12, "0").slice(0, 12)
      output.parts.push({ id, sessionID: last.sessionID, messageID: last.messageID, type: "text", text, synthetic: true })
    },

    event: async ({ event }) => {
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type === "session.compacted") notes.atCompaction(session)
      if (event.type === "session.idle") await notes.atTurn(session)
      if (event.type === "session.deleted") notes.atDeletion(session)
    },

    dispose: () => notes.atEnd(),
  }
}

const ENDED = ["session.execution.succeeded", "session.execution.failed", "session.execution.interrupted"]

// OpenCode 2, which does not run plugins of version 1.
async function setup(context) {
  const notes = memory(context.location?.directory ?? process.cwd())
  const recalled = new Map()
  const ended = new AbortController()

  await context.session?.hook?.("prompt", async (event) => {
    if (!event.prompt?.text) return
    await notes.atStart(event.sessionID)
    const text = await notes.atPrompt(event.sessionID, event.prompt.text)
    if (text) recalled.set(event.sessionID, [...(recalled.get(event.sessionID) ?? []), text])
  })
  await context.session?.hook?.("context", async (event) => {
    const texts = [await notes.atStart(event.sessionID), ...(recalled.get(event.sessionID) ?? [])]
    for (const text of texts) if (text) event.system.push({ type: "text", text })
  })
  const watching = (async () => {
    for await (const event of context.event.subscribe({ signal: ended.signal })) {
      const session = event.data?.sessionID
      if (session && ENDED.includes(event.type)) await notes.atTurn(session)
      if (session && event.type === "session.deleted") {
        notes.atDeletion(session)
        recalled.delete(session)
      }
    }
  })().catch(() => {})

  return async () => {
    ended.abort()
    await watching
    await notes.atEnd()
  }
}
