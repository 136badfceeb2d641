#!/usr/bin/env bash
# What the plugins of Engram for Claude Code and OpenCode send in the life of a session, from the server's start on.
# Ends at the first answer that they would take for a failure. They give up after 0.2 to 5 seconds; this waits, however
# slow the machine is.
#
#   plugins.sh FOLDER     FOLDER is where the agent works; `engram` is on the PATH, ENGRAM_PORT is set.
set -euo pipefail
folder=$1
url="http://127.0.0.1:${ENGRAM_PORT:-7437}"
project=$(basename "$folder")
json=(-H "Content-Type: application/json")

expect() { # what was to be found, and the answer
  grep -qF -- "$1" <<<"$2" || { echo "expected $1 in: $2" >&2; exit 1; }
}

# --- Claude Code, SessionStart: the server is down and is started. The plugin waits half a second; `python -m bench.load`
# measures whether that is enough, and this only waits until it is.
! curl -sf "$url/health" >/dev/null 2>&1
engram serve >/dev/null 2>>"$folder/serve.err.log" &
for _ in $(seq 600); do curl -sf "$url/health" >/dev/null 2>&1 && break || sleep 0.1; done
expect '"status":"ok"' "$(curl -sf "$url/health")"
expect '"status":"skipped"' "$(curl -sf "$url/projects/migrate" -X POST "${json[@]}" \
  -d "{\"old_project\":\"elsewhere\",\"new_project\":\"$project\"}")"
expect '"project_source":"dir_basename"' "$(curl -sf --get "$url/project/current" --data-urlencode "cwd=$folder")"
expect '"status":"created"' "$(curl -sf "$url/sessions" -X POST "${json[@]}" \
  -d "{\"id\":\"claude-1\",\"project\":\"$project\",\"directory\":\"$folder\"}")"
curl -sf "$url/context?project=$project" >/dev/null
curl -sf "$url/context?project=$project&compact=1&pinned=20&max_bytes=16384" >/dev/null

# --- UserPromptSubmit: given up after 0.2 seconds
curl -sf "$url/sessions/recent?limit=50" | grep -qF '"id":"claude-1"'
curl -sf "$url/observations/recent?project=$project&limit=1" | grep -qFx null
curl -sf "$url/sessions/claude-1" | grep -qF '"started_at":'
curl -sf "$url/observations?project=$project&limit=1&sort=created_at:desc" | grep -qFx '[]'
expect '"status":"saved"' "$(curl -sf "$url/prompts" -X POST "${json[@]}" \
  -d "{\"session_id\":\"claude-1\",\"content\":\"make the parser faster\",\"project\":\"$project\"}")"

# --- SubagentStop, in the background as the plugin does it; the text comes from a file, larger than a pipe
{
  printf '{"session_id":"claude-1","project":"%s","source":"subagent-stop","content":"' "$project"
  head -c 200000 /dev/zero | tr '\0' x
  printf '\\n\\n## Key Learnings:\\n\\n1. The parser has to be warmed before it is measured\\n"}'
} >"$folder/passive.json"
expect '{"extracted":1,"saved":1,"duplicates":0}' "$(curl -sf "$url/observations/passive" -X POST "${json[@]}" \
  --data-binary @"$folder/passive.json")"

# --- Compaction
curl -sf "$url/sessions" -X POST "${json[@]}" -d "{\"id\":\"claude-1\",\"project\":\"$project\"}" >/dev/null
expect 'The parser has to be warmed' "$(curl -sf "$url/context?project=$project")"

# --- Stop: at the end of every turn, with an empty body; what a session was about must not go with it
expect '"status":"completed"' "$(curl -sf "$url/sessions/claude-1/end" -X POST "${json[@]}" -d '{"summary":"faster"}')"
expect '"status":"completed"' "$(curl -sf "$url/sessions/claude-1/end" -X POST "${json[@]}" -d '{}')"
expect '"summary":"faster"' "$(curl -sf "$url/sessions/claude-1")"

# --- OpenCode: the session is ensured again and again, then a prompt, a task's result and a compaction
curl -sf "$url/health" >/dev/null
for _ in 1 2 3; do
  expect '{"id":"ses_1/x y","status":"created"}' "$(curl -sf "$url/sessions" -X POST "${json[@]}" \
    -d "{\"id\":\"ses_1/x y\",\"project\":\"$project\",\"directory\":\"$folder\",\"resume\":true}")"
done
curl -sf "$url/prompts" -X POST "${json[@]}" \
  -d "{\"session_id\":\"ses_1/x y\",\"content\":\"why is the queue slow?\",\"project\":\"$project\"}" >/dev/null
expect '"saved":1' "$(curl -sf "$url/observations/passive" -X POST "${json[@]}" -d \
  "{\"session_id\":\"ses_1/x y\",\"project\":\"$project\",\"source\":\"task-complete\",\"content\":\"## Learnings\\n- the queue is drained once a minute only\\n\"}")"
expect 'the queue is drained' "$(curl -sf "$url/context?project=$project")"
expect '{"id":"ses_1/x y","status":"completed"}' "$(curl -sf "$url/sessions/ses_1%2Fx%20y/end" -X POST)"
expect '"total_observations":2' "$(curl -sf "$url/stats")"

# --- A second start finds the port taken and says so; the first goes on
! engram serve 2>"$folder/second.err.log"
expect "process id" "$(cat "$folder/second.err.log")"
expect '"status":"ok"' "$(curl -sf "$url/health")"
echo done
