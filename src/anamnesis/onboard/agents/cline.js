// Cline. The notes of a session's start come with its first prompt.

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
      const text = await run("recall", { ...event, prompt: asked(snapshot.messages) }, 10000)
      if (text) return { appendContext: text }
    },

    async afterRun({ snapshot, result }) {
      if (snapshot.parentAgentId) return
      const event = { session_id: session, cwd: folder, hook_event_name: "Stop" }
      await start("capture", { ...event, last_assistant_message: result?.outputText ?? "" })
    },
  },
}
