# Writes a file of each program that has MCP servers.
config=$HOME/.config
mkdir -p "$HOME/.cursor" "$config/Claude" "$config/Code/User" "$HOME/.codex" "$config/opencode"
cat > "$HOME/.claude.json" <<'FILE'
{"mcpServers": {"claude": {"command": "claude-server", "args": ["-a"], "env": {"TOKEN": "${CLAUDE_TOKEN}"}},
  "haft": {"command": "/usr/bin/haft", "args": ["serve", "mcp"]}}}
FILE
cat > "$config/Claude/claude_desktop_config.json" <<'FILE'
{"mcpServers": {"desktop": {"command": "desktop-server"}, "off": {"command": "x", "disabled": true}}}
FILE
cat > "$HOME/.cursor/mcp.json" <<'FILE'
{"mcpServers": {"cursor": {"url": "https://cursor.example/mcp?key=hidden", "headers": {"X-Key": "${env:CURSOR_KEY}"}},
  "claude": {"command": "of-cursor"}}}
FILE
cat > "$config/Code/User/mcp.json" <<'FILE'
{// with comments
 "servers": {"code": {"type": "sse", "url": "https://code.example/sse"},
  "asks": {"command": "x", "args": ["${input:key}"]}}, "inputs": [{"id": "key", "type": "promptString"}]}
FILE
cat > "$HOME/.codex/config.toml" <<'FILE'
[mcp_servers.codex]
command = "codex-server"
env_vars = ["CODEX_TOKEN"]
enabled_tools = ["read_*"]
startup_timeout_sec = 20
tool_timeout_sec = 90
FILE
cat > "$config/opencode/opencode.json" <<'FILE'
{"mcp": {"open": {"type": "local", "command": ["open-server", "--x"], "environment": {"KEY": "{env:OPEN_KEY}"}},
  "far": {"type": "remote", "url": "https://open.example/mcp", "enabled": false}}}
FILE
