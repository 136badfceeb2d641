// Written by `anamnesis init`, which updates it when it is outdated; `anamnesis uninstall` removes it.
// Tells the model its notes at the start of a session and beside a prompt. Whatever fails, the session goes on.
import { spawn } from "node:child_process"

const calls = CALLS

function run(verb, event) {
  return new Promise((resolve) => {
    const [program, ...words] = calls[verb]
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], timeout: 15000, windowsHide: true })
    const parts = []
    child.on("error", () => resolve(""))
    child.on("close", () => resolve(Buffer.concat(parts).toString("utf8")))
    child.stdout.on("data", (part) => parts.push(part))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(event))
  })
}

export const Anamnesis = async ({ directory }) => {
  const started = new Map()

  function atStart(session) {
    if (!started.has(session)) {
      started.set(session, run("inject", { session_id: session, cwd: directory }))
    }
    return started.get(session)
  }

  return {
    // Called before every step of the model: the same words each time, so that the provider's cache holds.
    "experimental.chat.system.transform": async (input, output) => {
      if (!input?.sessionID) return
      const text = await atStart(input.sessionID)
      if (text) output.system.push(text)
    },

    "chat.message": async (input, output) => {
      const asked = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      if (!asked.length) return
      await atStart(input.sessionID)
      const prompt = asked.map((part) => part.text).join("\n")
      const text = await run("recall", { session_id: input.sessionID, cwd: directory, prompt })
      if (!text) return
      const last = output.parts[output.parts.length - 1]
      // Parts are ordered by their ids, which begin with the time.
      const id = last.id.slice(0, 16) + "zz" + Math.random().toString(36).slice(2).padEnd(12, "0").slice(0, 12)
      output.parts.push({ id, sessionID: last.sessionID, messageID: last.messageID, type: "text", text, synthetic: true })
    },

    event: async ({ event }) => {
      if (event.type === "session.compacted") started.delete(event.properties.sessionID)
    },
  }
}
