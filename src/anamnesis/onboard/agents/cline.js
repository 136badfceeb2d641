// Written by `anamnesis init`, which updates it when it is outdated; `anamnesis uninstall` removes it.
// Gives the model its notes at the start of a session and beside a prompt, and captures the session after each turn.
// Whatever fails, the session goes on.
import { spawn } from "node:child_process"

const calls = CALLS

function run(event) {
  return new Promise((resolve) => {
    const [program, ...words] = calls.recall
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], timeout: 10000, windowsHide: true })
    const parts = []
    child.on("error", () => resolve(""))
    child.on("close", () => resolve(Buffer.concat(parts).toString("utf8")))
    child.stdout.on("data", (part) => parts.push(part))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(event))
  }).catch(() => "")
}

// Resolves when the program has its event. It outlives Cline, which may exit at any time.
function start(event) {
  return new Promise((resolve) => {
    const [program, ...words] = calls.capture
    const child = spawn(program, words, { stdio: ["pipe", "ignore", "ignore"], detached: true, windowsHide: true })
    child.on("error", resolve)
    child.stdin.on("error", resolve)
    child.stdin.end(JSON.stringify(event), resolve)
    child.unref()
  }).catch(() => {})
}

function asked(messages) {
  const last = messages.findLast((message) => message.role === "user" && message.metadata?.displayRole !== "system")
  const parts = Array.isArray(last?.content) ? last.content : []
  const text = parts.filter((part) => part.type === "text").map((part) => part.text).join("\n")
  return text.replace(/^<user_input[^>]*>|<\/user_input>$/g, "")
}

let session = ""
let folder = ""

export default {
  name: "anamnesis",
  manifest: { capabilities: ["hooks"] },

  setup(_, context) {
    session = context.session?.sessionId ?? ""
    folder = context.workspaceInfo?.rootPath ?? process.cwd()
  },

  hooks: {
    async beforeRun({ snapshot }) {
      if (snapshot.parentAgentId) return
      const event = { session_id: session, cwd: folder, hook_event_name: "UserPromptSubmit" }
      const text = await run({ ...event, prompt: asked(snapshot.messages) })
      if (text) return { appendContext: text }
    },

    async afterRun({ snapshot, result }) {
      if (snapshot.parentAgentId) return
      const event = { session_id: session, cwd: folder, hook_event_name: "Stop" }
      await start({ ...event, last_assistant_message: result?.outputText ?? "" })
    },
  },
}
