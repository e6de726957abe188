"""Every coding agent that the guard serves, as one table: its tools, its settings, and how it is told no.

`docs/agents.md` says against which edition of the vendors' documents each row was checked. The hook that runs at
every edit reads this table, and so does `agent-hook install`. Standard library alone.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: Stands for the text of a denial in the forms below; SUMMARY for its first line.
TEXT, SUMMARY = "{text}", "{summary}"
_SECONDS = 20


class Agent:
    """One coding agent.

    name      the word after `--for`
    title     its name for people
    events    the events before a tool call: event -> the tools that it is installed for ("": the event says it)
    edits     its tools that change the files that they name
    shells    its tools that run a command
    reads     its tools that change no file, whatever they name
    local     the settings of this clone, below the work tree
    shared    the settings that are part of the code
    layout    how those are written: nested, flat, listed, plugin
    code      the exit code of a denial
    denial    what a denial prints on standard output; the text is on standard error as well
    warning   what a warning prints on standard output
    """

    __slots__ = ("code", "denial", "edits", "events", "layout", "local", "name", "reads", "shared", "shells", "title",
                 "warning")  # fmt: skip

    def __init__(
        self, name: str, title: str, *, events: Mapping[str, str], edits: str, shells: str, reads: str, local: str,
        shared: str, layout: str, code: int = 2, denial: Any = None, warning: Any = None,
    ) -> None:  # fmt: skip
        self.name, self.title, self.events = name, title, events
        self.edits, self.shells, self.reads = edits.split(), shells.split(), reads.split()
        self.local, self.shared, self.layout = local, shared, layout
        self.code, self.denial, self.warning = code, denial, warning


#: The decision of an event with Claude's name, as Claude Code, VS Code and Copilot read it.
_DECISION = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": TEXT}
_MESSAGE = {"systemMessage": TEXT}

AGENTS: Mapping[str, Agent] = {
    row.name: row
    for row in (
        Agent(
            "claude", "Claude Code",
            events={"PreToolUse": "Edit|MultiEdit|Write|NotebookEdit|Bash|mcp__.*"},
            edits="Edit MultiEdit Write NotebookEdit",
            shells="Bash PowerShell Monitor",
            reads="Read NotebookRead Glob Grep LS LSP Agent Task TaskCreate TaskGet TaskList TaskOutput TaskStop "
                  "TaskUpdate TodoRead TodoWrite AskUserQuestion Skill SlashCommand WebFetch WebSearch ToolSearch "
                  "BashOutput KillShell KillBash EnterPlanMode ExitPlanMode EnterWorktree ExitWorktree SendMessage "
                  "SendUserFile ReadMcpResource ReadMcpResourceTool ListMcpResources ListMcpResourcesTool "
                  "CronCreate CronDelete CronList EndConversation",
            local=".claude/settings.local.json", shared=".claude/settings.json", layout="nested", warning=_MESSAGE,
        ),
        Agent(
            "codex", "Codex",
            events={"PreToolUse": "apply_patch|Edit|Write|Bash|mcp__.*"},
            edits="apply_patch Edit Write",
            shells="Bash shell local_shell shell_command container.exec exec exec_command unified_exec write_stdin",
            reads="update_plan view_image web_search read_file list_dir grep_files spawn_agent send_input wait "
                  "wait_agent close_agent request_user_input",
            local=".codex/hooks.json", shared=".codex/hooks.json", layout="nested", warning=_MESSAGE,
        ),
        Agent(
            "cursor", "Cursor",
            events={"preToolUse": "Write|Edit|MultiEdit|StrReplace|Delete|EditNotebook|ApplyPatch|Shell|MCP:.*"},
            edits="Write Edit MultiEdit StrReplace Delete EditNotebook ApplyPatch TabWrite edit_file search_replace "
                  "delete_file edit_notebook",
            shells="Shell beforeShellExecution run_terminal_cmd",
            reads="Read ReadLints Grep Glob LS SemanticSearch Task TodoWrite AskQuestion WebSearch WebFetch "
                  "SwitchMode ListMcpResources FetchMcpResource beforeReadFile beforeTabFileRead beforeSubmitPrompt "
                  "codebase_search",
            local=".cursor/hooks.json", shared=".cursor/hooks.json", layout="flat",
            denial={"permission": "deny", "user_message": SUMMARY, "agent_message": TEXT},
        ),
        Agent(
            "gemini", "Gemini CLI",
            events={"BeforeTool": "write_file|replace|edit|run_shell_command|mcp_.*"},
            edits="write_file replace edit smart_edit",
            shells="run_shell_command",
            reads="read_file read_many_files list_directory glob search_file_content grep_search google_web_search "
                  "web_fetch save_memory write_todos ask_user activate_skill get_internal_docs enter_plan_mode "
                  "exit_plan_mode codebase_investigator delegate_to_agent",
            local=".gemini/settings.json", shared=".gemini/settings.json", layout="nested",
            denial={"decision": "deny", "reason": TEXT}, warning=_MESSAGE,
        ),
        # An exit code of 2 was only a warning before Copilot CLI took it for a denial: the decision is printed.
        Agent(
            "copilot", "Copilot CLI",
            events={"preToolUse": ""},
            edits="create edit str_replace_editor str_replace apply_patch insert",
            shells="bash powershell write_bash write_powershell",
            reads="view grep rg glob task ask_user web_fetch web_search update_todo report_intent read_bash "
                  "read_powershell list_bash stop_bash stop_powershell store_memory fetch_copilot_cli_documentation "
                  "show_file read_agent write_agent list_agents skill exit_plan_mode sql",
            local=".github/hooks/loopx.json", shared=".github/hooks/loopx.json", layout="listed", code=0,
            denial={"permissionDecision": "deny", "permissionDecisionReason": TEXT},
        ),
        Agent(
            "vscode", "VS Code",
            events={"PreToolUse": ""},
            edits="create_file replace_string_in_file multi_replace_string_in_file insert_edit_into_file apply_patch "
                  "edit_notebook_file edit_file edit_files editFiles createFile deleteFile renameFile delete_file "
                  "rename_file create_new_jupyter_notebook",
            shells="run_in_terminal runInTerminal runTerminalCommand send_to_terminal",
            reads="read_file readFile list_dir file_search grep_search semantic_search fetch_webpage get_errors "
                  "get_changed_files get_terminal_output list_code_usages test_search view_image open_file "
                  "open_simple_browser create_directory run_notebook_cell copilot_getNotebookSummary "
                  "read_notebook_cell_output manage_todo_list runSubagent search_subagent vscode_askQuestions "
                  "askQuestions memory runTests run_task create_and_run_task get_task_output "
                  "configure_python_environment install_python_packages configure_notebook notebook_list_packages "
                  "notebook_install_packages restart_notebook_kernel create_new_workspace run_vscode_command "
                  "get_vscode_api get_project_setup_info get_search_view_results install_extension test_failure "
                  "renderMermaidDiagram kill_terminal terminal_last_command terminal_selection",
            local=".github/hooks/loopx-vscode.json", shared=".github/hooks/loopx-vscode.json", layout="listed",
            denial={"hookSpecificOutput": _DECISION}, warning=_MESSAGE,
        ),
        Agent(
            "opencode", "opencode",
            events={"tool.execute.before": ""},
            edits="edit write multiedit patch apply_patch",
            shells="bash",
            reads="read list glob grep codesearch webfetch websearch task todoread todowrite question skill lsp "
                  "lsp_diagnostics lsp_hover invalid plan_enter plan_exit",
            local=".opencode/plugins/loopx.js", shared=".opencode/plugins/loopx.js", layout="plugin",
        ),
        Agent(
            "windsurf", "Windsurf",
            events={"pre_write_code": "", "pre_run_command": "", "pre_mcp_tool_use": ""},
            edits="pre_write_code",
            shells="pre_run_command",
            reads="pre_read_code pre_user_prompt",
            local=".windsurf/hooks.json", shared=".windsurf/hooks.json", layout="flat",
        ),
    )
}  # fmt: skip

#: What Copilot CLI reads when the event has Claude's name; VS Code finds its own part in it, too.
BOTH = {"permissionDecision": "deny", "permissionDecisionReason": TEXT, "hookSpecificOutput": _DECISION}


_JOINTS = {ord(letter): None for letter in "_-.: /"}


def folded(name: str) -> str:
    """A tool's or a key's name without what its spellings differ in: `file_path`, `filePath`, `FilePath`."""
    return name.translate(_JOINTS).lower()


def _tools(part: str) -> frozenset[str]:
    return frozenset(folded(tool) for row in AGENTS.values() for tool in getattr(row, part))


#: The tools of all agents, folded: an agent may run another one's hooks, with tools of its own.
EDITS, SHELLS = _tools("edits"), _tools("shells")
READS = _tools("reads") - EDITS - SHELLS


def command(agent: Agent) -> str:
    """What the agent runs; whatever shell runs it, `sh` does the work.

    Only exit 2 stops an edit, so whatever goes wrong with the program (it is not on the PATH, it is killed) must end
    in a denial. But some agents run a hook for every tool, whatever its settings say, and they read the settings of
    others. So then the call itself says whether it is an edit, and every other one passes.
    """
    why = f"git-loopx does not run: put it on the PATH, or: git loopx agent-hook uninstall --for {agent.name}"
    # The quotes of a text inside of a JSON string are escaped: this is found as a key of the call alone.
    asked = f'"(tool_?[nN]ame|agent_action_name)" *: *"({"|".join(_edits_seen(agent))})"'
    if agent.code == 0:
        said = json.dumps(filled(BOTH, why, why), separators=(",", ":"))
        end = f"echo {_quoted(said)}; exit 0"
    else:
        end = f"echo {_quoted(f'loopx guard: denied: {why}')} >&2; exit 2"
    script = (
        f'call=$(cat); printf %s "$call" | git-loopx agent-hook --format={agent.name}; code=$?; '
        f"case $code in 0|2) exit $code;; esac; "
        f'printf %s "$call" | tr "\\n" " " | grep -Eq {_quoted(asked)} || exit 0; {end}'
    )
    return f"sh -c '{script}'"


def _quoted(text: str) -> str:
    """The text in double quotes, for a script that stands in single quotes itself."""
    for letter in '\\"$`':
        text = text.replace(letter, f"\\{letter}")
    return f'"{text}"'


def filled(form: Any, text: str, summary: str) -> Any:
    """A form of the table with the text of a denial in it."""
    if isinstance(form, dict):
        return {key: filled(value, text, summary) for key, value in form.items()}
    return {TEXT: text, SUMMARY: summary}.get(form, form)


def _edits_seen(agent: Agent) -> list[str]:
    """The edit tools of the agents that run what stands in this agent's settings."""
    both = ("copilot", "vscode")
    readers = {"claude": ("claude", "vscode"), "copilot": both, "vscode": both}.get(agent.name, (agent.name,))
    return list(dict.fromkeys(tool for name in readers for tool in AGENTS[name].edits))


def entries(agent: Agent) -> dict[str, dict[str, Any]]:
    """Event -> the entry of ours, as the agent's settings have it. A plugin has none."""
    run = command(agent)
    made: dict[str, dict[str, Any]] = {}
    for event, tools in agent.events.items():
        matcher = {"matcher": tools} if tools else {}
        if agent.layout == "nested":
            # Gemini CLI counts milliseconds.
            seconds = _SECONDS * 1000 if agent.name == "gemini" else _SECONDS
            named = {"name": "loopx-guard"} if agent.name == "gemini" else {}
            made[event] = {**matcher, "hooks": [{**named, "type": "command", "command": run, "timeout": seconds}]}
        elif agent.name == "cursor":
            made[event] = {"command": run, **matcher, "timeout": _SECONDS, "failClosed": True}
        elif agent.name == "windsurf":
            made[event] = {"command": run, "show_output": True}
        elif agent.name == "copilot":
            made[event] = {"type": "command", "bash": run, "timeoutSec": _SECONDS}
        elif agent.layout == "listed":
            made[event] = {"type": "command", "command": run, "timeout": _SECONDS}
    return made


#: Settings that say which edition they are.
VERSIONED = ("cursor", "copilot")
