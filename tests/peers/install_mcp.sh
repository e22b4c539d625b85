#!/bin/sh
# Installs published MCP servers, each into an environment of its own under .peers: they need another SDK than Earpiece.
set -eu
cd "$(dirname "$0")/../.."
export UV_LINK_MODE=copy
for name in compliance-kb-mcp agents-docs; do
    test -x ".peers/$name/bin/$name" && continue
    .venv/bin/uv venv --quiet --python .venv/bin/python --no-project ".peers/$name"
    .venv/bin/uv pip install --quiet --python ".peers/$name/bin/python" --require-hashes -r "tests/peers/mcp/$name.txt"
    echo "installed $name"
done
