# One image for the five services and the demo model; the argument chooses: `docker run IMAGE gateway`.
ARG NODE_IMAGE=node:22-bookworm-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts
COPY .swcrc tsconfig.base.json ./
COPY tools/build tools/build
COPY tools/access tools/access
COPY tools/demo-model tools/demo-model
COPY libs libs
COPY apps apps
COPY skills skills
# Compilers and what the console is made of are needed for the build alone; of Swagger UI the page of /docs needs one script and one style sheet.
RUN node tools/build/product.mjs && rm -rf node_modules/@swc node_modules/esbuild node_modules/@esbuild node_modules/acorn* \
    node_modules/vite node_modules/*rolldown node_modules/lightningcss* node_modules/react* node_modules/@base-ui \
    node_modules/@tanstack node_modules/@langchain node_modules/langsmith node_modules/lucide-react node_modules/highlight.js \
    node_modules/swagger-ui-dist/*.map node_modules/swagger-ui-dist/swagger-ui-es-bundle*

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY docker/entrypoint.sh docker/healthcheck.mjs docker/
# The services need no rights at all: code is root's and read-only, data is in NATS and Redis. docker-compose.yml runs
# two as root, as they hand the threads' files to the sandboxes' own user: the gateway, with nothing but the rights to
# do so, and sandbox-manager, which speaks to the engine's socket as well: whoever may use that is root on the host.
USER node
ENTRYPOINT ["/app/docker/entrypoint.sh"]
CMD ["gateway"]
