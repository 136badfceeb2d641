// Written by `anamnesis init`, which updates it when it is outdated; `anamnesis uninstall` removes it.
// Gives the model notes at the start of a session and beside a prompt, and captures the session.
// A failure here never stops the session.
import { spawn } from "node:child_process"

const calls = CALLS

// Resolves to what the program prints.
function run(verb, event, timeout) {
  return new Promise((resolve) => {
    const [program, ...words] = calls[verb]
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], timeout, windowsHide: true })
    const parts = []
    child.on("error", () => resolve(""))
    child.on("close", () => resolve(Buffer.concat(parts).toString("utf8")))
    child.stdout.on("data", (part) => parts.push(part))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(event))
  }).catch(() => "")
}

// Resolves when the program has received its event. It outlives the agent, which may exit at any time.
function start(verb, event) {
  return new Promise((resolve) => {
    const [program, ...words] = calls[verb]
    const child = spawn(program, words, { stdio: ["pipe", "ignore", "ignore"], detached: true, windowsHide: true })
    child.on("error", resolve)
    child.stdin.on("error", resolve)
    child.stdin.end(JSON.stringify(event), resolve)
    child.unref()
  }).catch(() => {})
}

