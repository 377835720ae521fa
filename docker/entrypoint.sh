#!/bin/sh
# Starts one service by its name. Without a configured model, the services use the scripted demo model.
set -eu
if [ "${1:-}" = demo-model ]; then
  shift
  exec node --enable-source-maps /app/dist/tools/demo-model/main.js "$@"
fi
if [ -z "${OPENAI_API_KEY:-}${OPENAI_API_KEY_FILE:-}${OPENAI_BASE_URL:-}" ] && [ -n "${DEMO_MODEL_URL:-}" ]; then
  echo "No model is configured: this service uses the scripted demo model, which is not an AI." >&2
  export OPENAI_BASE_URL="$DEMO_MODEL_URL" OPENAI_API_KEY=demo OPENAI_MODEL=caribou-demo
fi
# The same flags as in the launcher's services.mjs, which explains them.
exec node --enable-source-maps --max-semi-space-size=64 "/app/dist/services/$1.js"
