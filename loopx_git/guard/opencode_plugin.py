"""The plugin that `agent-hook install --for opencode` writes: opencode runs JavaScript, and no hook of a shell."""

from __future__ import annotations

import json

from loopx_git.guard.agents import AGENTS

#: The line by which a plugin of ours is recognised.
MARK = "// Written by: git loopx agent-hook install --for opencode"

_TEXT = """\
%(mark)s
// An edit of a guarded path needs a claim that covers it: git-loopx is asked before each tool call.
import { spawn } from "node:child_process"

// When git-loopx does not run, these tools are stopped, and no other one is.
const EDITS = new Set(%(edits)s)

const ask = (call, cwd) =>
  new Promise((resolve) => {
    const child = spawn("git-loopx", ["agent-hook", "--format=opencode"], { cwd, stdio: ["pipe", "ignore", "pipe"] })
    let said = ""
    child.stderr.setEncoding("utf8")
    child.stderr.on("data", (text) => (said += text))
    child.stdin.on("error", () => {})
    child.on("error", (error) => resolve({ code: null, said: `git-loopx does not run: ${error.message}` }))
    child.on("close", (code) => resolve({ code, said }))
    child.stdin.end(JSON.stringify(call))
  })

export const LoopxGuard = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const call = { hook_event_name: "tool.execute.before", cwd: directory, tool: input.tool, args: output.args }
    const { code, said } = await ask(call, directory)
    if (code === 2 || (code !== 0 && EDITS.has(input.tool))) throw new Error(said || "loopx guard: denied")
  },
})
"""


def text() -> str:
    """The whole file."""
    return _TEXT % {"mark": MARK, "edits": json.dumps(AGENTS["opencode"].edits)}
