# The image of sandbox pods: that of sandboxes, with the agent that is process 1 of a pod. It serves Docker's sandboxes as well. Built from
# the root of the repository, after the product's image and that of the sandboxes:
#
#   docker build -t caribou-sandbox-kubernetes -f docker/sandbox/kubernetes.Dockerfile .
#
# The agent speaks the protocol of the sandbox-manager in PRODUCT_IMAGE: both are of one version.
ARG PRODUCT_IMAGE=caribou:latest
ARG SANDBOX_IMAGE=caribou-sandbox:latest
FROM ${PRODUCT_IMAGE} AS product

FROM ${SANDBOX_IMAGE} AS addon
USER root
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev
COPY apps/sandbox-agent/native/process-one.c /build/
RUN cc -O2 -Wall -Werror -shared -fPIC -o /build/process-one.node /build/process-one.c

FROM ${SANDBOX_IMAGE}
USER root
# The user of commands is that of the agent: a program that he may run but not read has memory that he may not read either.
COPY --from=product --chmod=0711 /usr/local/bin/node /usr/local/lib/caribou/node
COPY --from=product --chmod=0644 /app/dist/sandbox-agent/sandbox-agent.js /usr/local/lib/caribou/
COPY --from=addon --chmod=0644 /build/process-one.node /usr/local/lib/caribou/
RUN mkdir -p /mnt/user-data /mnt/skills
USER agent
