#!/bin/sh
# Installs foreign realtime servers and clients under .peers, each apart from Earpiece and from one another.
# The npm packages include axe-core, which looks at the page as people who cannot see it would.
# speech-to-speech comes without its models and their libraries: only its server is used.
set -eu
cd "$(dirname "$0")/../.."
export UV_LINK_MODE=copy

environment() {
    .venv/bin/uv venv --quiet --clear --python .venv/bin/python --no-project ".peers/$1"
    .venv/bin/uv pip install --quiet --python ".peers/$1/bin/python" --require-hashes -r "tests/peers/realtime/$1.txt"
}

if ! test -e .peers/speech-to-speech/complete; then
    environment speech-to-speech
    .venv/bin/uv pip install --quiet --python .peers/speech-to-speech/bin/python --no-deps --require-hashes \
        -r tests/peers/realtime/speech-to-speech-itself.txt
    touch .peers/speech-to-speech/complete
    echo "installed speech-to-speech"
fi
if ! test -e .peers/dashscope/complete; then
    environment dashscope
    touch .peers/dashscope/complete
    echo "installed dashscope"
fi
if ! test -e .peers/npm/complete || ! cmp -s tests/peers/npm/package-lock.json .peers/npm/package-lock.json; then
    mkdir -p .peers/npm
    cp tests/peers/npm/package.json tests/peers/npm/package-lock.json .peers/npm/
    (cd .peers/npm && npm ci --no-audit --no-fund --loglevel=error)
    touch .peers/npm/complete
    echo "installed npm packages"
fi
